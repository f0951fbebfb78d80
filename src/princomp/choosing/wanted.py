"""What ``n_components`` asks for, and what that comes to once the variances are known."""

from __future__ import annotations

import math
from typing import Any

from princomp.choosing.fraction import for_fraction
from princomp.choosing.names import RULES, name_of
from princomp.choosing.rule import Rule, is_rule
from princomp.errors import ParameterError, ShapeError
from princomp.spectrum import Spectrum

__all__ = ["check_wanted", "most_components", "resolve"]


def most_components(summary: Any) -> int:
    """Most components that may be asked for: min(⌊Σw⌋, p), which is min(n, p) without weights."""
    return min(math.floor(summary.rows + 1e-9), summary.p)


def check_wanted(
    wanted: int | float | str | Rule | None, summary: Any, solver: str
) -> int | float | str | Rule:
    """The number of components asked for, or the rule that will tell it.

    The name of a rule comes back as the rule, a name of somebody's own rule as it is.

    Raises
    ------
    ShapeError
        With the lawful range.
    """
    most = most_components(summary)
    truncated = solver in ("arpack", "lanczos", "randomized")
    if isinstance(wanted, str) or is_rule(wanted):
        name = name_of(wanted)
        if name == "mle":
            _check_mle(summary, solver, truncated)
        rule: Any = RULES[name]() if wanted is name and name in RULES else wanted
        return rule
    if wanted is None:
        return most - 1 if solver == "arpack" else most
    if not isinstance(wanted, int):
        return wanted
    lowest = 1 if truncated else 0
    if solver == "arpack" and wanted == most:
        raise ShapeError(
            f"n_components={wanted} must be strictly less than min(n_samples, n_features)={most} "
            "with svd_solver='arpack'",
            place={"parameter": "n_components"},
            hint="svd_solver='full' finds all",
        )
    if not lowest <= wanted <= most:
        route = "full" if solver == "auto" else solver
        raise ShapeError(
            f"n_components={wanted} must be between {lowest} and "
            f"min(n_samples, n_features)={most} with svd_solver={route!r}",
            place={"parameter": "n_components"},
            hint=f"ask for {lowest} to {most} components",
        )
    return wanted


def _check_mle(summary: Any, solver: str, truncated: bool) -> None:
    if truncated:
        raise ParameterError(
            f"n_components='mle' cannot be a string with svd_solver={solver!r}",
            place={"parameter": "n_components"},
            hint="Minka's rule needs all variances: svd_solver='auto' or 'full'",
        )
    if summary.rows < summary.p:
        raise ShapeError(
            "n_components='mle' is only supported if n_samples >= n_features, "
            f"got {summary.rows:g} rows of {summary.p} columns",
            hint="ask for a fraction of the variance, or for another rule, such as 'parallel'",
        )


def resolve(
    wanted: int | float, spectrum: Spectrum, most: int, *, complete: bool = True
) -> int | None:
    """Number of components of a fraction, or None when more variances are needed to tell."""
    if isinstance(wanted, int):
        return wanted
    needed = for_fraction(spectrum.rates, wanted)
    if needed is None and complete:
        return min(len(spectrum.variances), most)
    return needed if needed is None else min(needed, most)
