"""How messages show invalid values: short ones in full, others by their class and size."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, bootstrap, choose, plots
from princomp.core.constraints import check_parameter, one_of, whole_number
from princomp.errors import ParameterError, value_words


class Shaped:
    """A table of another library, whose shape is a subclass of tuple."""

    class Size(tuple):
        """Such as torch.Size, which prints its own name."""

        __slots__ = ()

        def __repr__(self):
            return f"Size{list(self)}"

        __str__ = __repr__

    shape = Size((3, 4))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("auto", "'auto'"),
        (np.int64(3), "np.int64(3)"),
        (np.array(2.5), "array(2.5)"),
        (np.zeros(7), "ndarray of shape (7,)"),
        (np.zeros((40, 4)), "ndarray of shape (40, 4)"),
        (pd.DataFrame({"a": []}), "DataFrame of shape (0, 1)"),
        (Shaped(), "Shaped of shape (3, 4)"),
        (np.ndarray, "<class 'numpy.ndarray'>"),
        (pd.DataFrame, repr(pd.DataFrame)),
        ([0.5] * 3, "[0.5, 0.5, 0.5]"),
        ([0.5] * 1000, "list of length 1000"),
        ("a" * 198, repr("a" * 198)),
        ("a" * 199, "str of length 199"),
        ({"a": np.zeros(200)}, "dict of length 1"),
    ],
)
def test_a_message_names_a_value_in_a_few_words(value, words):
    assert value_words(value) == words
    with pytest.raises(ParameterError) as caught:
        check_parameter("size", value, whole_number(4))
    assert caught.value.message == f"size={words} is not valid"


def test_messages_of_a_long_value_are_short(rng):
    X = rng.standard_normal((30, 5))
    model = PCA(2).fit(X)
    for call, words in (
        (lambda: plots.scree(model, null=[np.nan] * 1000), "got list of length 1000"),
        (lambda: plots.scree(model, null=pd.DataFrame(X)), "got DataFrame of shape (30, 5)"),
        (lambda: plots.scree(model, bootstrap=X.tolist()), "got list of length 30"),
        (lambda: plots.scree(model, ax=np.empty((2, 3), object)), "got ndarray of shape (2, 3)"),
        (lambda: choose(X, [X]), "rules=ndarray of shape (30, 5) is not a rule"),
        (lambda: bootstrap(model, X, n=X), "n=ndarray of shape (30, 5) is not valid"),
        (lambda: PCA(X).fit(X), "n_components=ndarray of shape (30, 5) is not valid"),
    ):
        with pytest.raises(ParameterError) as caught:
            call()
        assert caught.value.message.endswith(words) or words in caught.value.message
        assert len(caught.value.message) < 120


@pytest.mark.parametrize("value", ["none", "a whole number", "True"])
def test_only_texts_are_suggested_for_a_text(value):
    """``'None'`` in quotes would be refused again."""
    with pytest.raises(ParameterError) as caught:
        check_parameter("size", value, one_of("auto", None) | whole_number(1))
    assert caught.value.hint == "size must be 'auto', None or a whole number of at least 1"
