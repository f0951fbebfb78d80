"""Sets of valid values of parameters, and how messages name them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from princomp.core.constraints import (
    FLAG,
    Constraint,
    array_like,
    check_parameter,
    fraction,
    number,
    one_of,
    whole_number,
)
from princomp.core.request import PCAParameters, Request
from princomp.errors import ParameterError


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (number, "a number"),
        (lambda: number(0), "a number of at least 0"),
        (lambda: number(-1.5, exclusive=True), "a number greater than -1.5"),
        (lambda: number(0, 1), "a number between 0 and 1"),
        (lambda: number(0, 1, exclusive=True), "a number between 0 and 1 (exclusive)"),
        (whole_number, "a whole number"),
        (lambda: whole_number(-1), "a whole number of at least -1"),
        (
            lambda: fraction() | whole_number(1),
            "a fraction in (0, 1) (0.8 is 80%) or a whole number of at least 1",
        ),
        (lambda: array_like("an array"), "an array"),
    ],
)
def test_messages_name_the_limits_that_exist(constraint: Callable[[], Constraint], text: str):
    assert str(constraint()) == text
    with pytest.raises(ParameterError) as caught:
        check_parameter("size", "large", constraint())
    assert caught.value.hint.endswith(f"size must be {text}")


@pytest.mark.parametrize(
    ("constraint", "valid", "invalid"),
    [
        (number, [-1e300, 0, 1e300, np.float32(2)], [np.inf, -np.inf, np.nan, 10**400, True]),
        (lambda: number(0, 1), [0, 1, 0.5], [-1e-9, 1 + 1e-9]),
        (lambda: number(0, 1, exclusive=True), [1e-9, 1 - 1e-9], [0, 1, -1, 2]),
        (whole_number, [-(10**30), 0, np.int8(3)], [0.0, 1.5, False, np.bool_(True)]),
        (lambda: whole_number(2), [2, 3], [1, 2.0]),
        (fraction, [1e-9, 0.5, 1 - 1e-9], [0.0, 1.0, 0, 1, -0.5, True]),
        (
            lambda: array_like("an array"),
            [np.ones(2), [1.0], 3],
            [None, "unit", True, np.bool_(False)],
        ),
        (lambda: one_of("a", None) | whole_number(1), ["a", None, 1], ["b", ["a"], 0]),
        (lambda: FLAG, [True, np.bool_(False)], [1, None, "True"]),
    ],
)
def test_limits_are_valid_unless_they_are_excluded(constraint, valid, invalid):
    assert all(constraint().accepts(value) for value in valid)
    assert not any(constraint().accepts(value) for value in invalid)


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("n_components", [0, 1, 1e-9], [-1, 0.0, 1.0]),
        ("tol", [0, 1e-300, np.inf], [-1e-300, np.nan]),
        ("iterated_power", [0, 1], [-1, 1.5]),
        ("n_oversamples", [1, 11], [0, -1]),
        ("decay", [1e-300, 1, 1.0], [0, -0.5, 1 + 1e-9, np.nan]),
    ],
)
def test_limits_of_the_parameters_of_a_fit(name, valid, invalid):
    for value in valid:
        assert getattr(Request.of(PCAParameters(**{name: value})), name) == value
    for value in invalid:
        with pytest.raises(ParameterError) as caught:
            Request.of(PCAParameters(**{name: value}))
        assert caught.value.place == {"parameter": name}
