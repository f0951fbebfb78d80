"""Decorators: docstrings with shared entries, and old names of arguments."""

from __future__ import annotations

import subprocess
import sys

import pytest

from command_line import ENVIRONMENT
from princomp.core import fill_docstring, renamed_parameters
from princomp.errors import ParameterError

ENTRIES = {"model": "model : PCA\n    Fitted.\n\n    Twice."}


def test_an_entry_gets_the_indentation_of_its_placeholder():
    @fill_docstring(ENTRIES)
    def function():
        """Show 100%(or less)s of a model.

        Parameters
        ----------
        %(model)s
        """

    indent = " " * (function.__doc__.index("Parameters") - function.__doc__.index("\n\n") - 2)
    assert f"\n{indent}model : PCA\n{indent}    Fitted.\n\n{indent}    Twice.\n" in function.__doc__
    assert "100%(or less)s" in function.__doc__


def test_an_unknown_entry_raises_an_error():
    def function():
        """
        %(modle)s
        """

    with pytest.raises(KeyError, match="modle"):
        fill_docstring(ENTRIES)(function)


def test_other_decorators_copy_the_filled_docstring():
    @renamed_parameters(old="new")
    @fill_docstring(ENTRIES)
    def function(new=None):
        """
        %(model)s
        """

    assert "Fitted." in function.__doc__


def test_old_names_of_arguments_are_accepted_with_a_warning():
    @renamed_parameters(old="new", older="newer")
    def function(*values, **named):
        return values, named

    assert function(1, new=2, newer=3) == ((1,), {"new": 2, "newer": 3})
    with pytest.warns(FutureWarning, match="older= was renamed to newer=; .* in version 0.4"):
        assert function(1, new=2, older=3) == ((1,), {"new": 2, "newer": 3})
    with pytest.raises(ParameterError, match="old= and new= are the same argument") as caught:
        function(old=1, new=2)
    assert caught.value.hint == "give new only"


def test_python_without_docstrings_can_call_the_functions():
    # Without pandas, which scikit-learn would import, there is half as much to compile.
    code = "import sys; sys.modules['pandas'] = None; from princomp import diagnostics; "
    code += "assert 0, 'kept'; print(diagnostics.rows.__doc__)"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
