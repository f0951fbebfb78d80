"""``choose`` compares how many components different rules would keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator

from princomp import core
from princomp.engines import ProgressCallback, RunContext
from princomp.errors import ParameterError, class_words
from princomp.estimators.estimator import PCA
from princomp.rules import RULES, Choices, Rule, Several, rule_of
from princomp.summaries import Columns, Moments, SampleWeight, Sketch, Triangle


@core.renamed_parameters(seed="random_state")
def choose(
    X: Any,
    rules: str | Rule | Iterable[str | Rule] | None = None,
    *,
    random_state: int = 0,
    progress: ProgressCallback | None = None,
    sample_weight: SampleWeight = None,
    **parameters: Any,
) -> Choices:
    """Compare how many components different rules would keep.

    Parameters
    ----------
    X : array, sparse array, frame, path, of shape (n, p); a fitted PCA; or its summary
        Rules that draw from the rows apply only if these are in memory. The others need only a
        summary, such as that of a stream or a large file.
    rules : str, rule, or several of them, optional
        All by default: ``"kaiser"``, ``"broken-stick"``, ``"elbow"``, ``"parallel"``,
        ``"mle"``, ``"gavish-donoho"``, ``"marchenko-pastur"``, ``"gcv"``, ``"bi-cv"``, ``"cv"``
        and ``"permutation"``.
    random_state : int, default=0
        For rules and solvers that draw random numbers.
    progress : callable, optional
        Called from time to time with a :class:`~princomp.Progress`, whose ``step`` is the rule.
    sample_weight : array of shape (n,), optional
        Frequencies, as for ``PCA.fit``.
    **parameters
        Parameters of :class:`~princomp.PCA`, such as ``scale`` and ``center``.

    Returns
    -------
    Choices
        A mapping from the name of a rule to its :class:`~princomp.rules.Decision`. It prints as
        a table, and has ``k``, ``agreement``, ``rows()``, ``to_frame()``, ``to_dict()`` and
        ``to_json()``.

    Raises
    ------
    ParameterError
        For an unknown rule, an estimator other than PCA, or parameters that a fitted model already
        has.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import choose
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 10))
    >>> X += 0.1 * rng.standard_normal((100, 10))
    >>> choose(X, ["gcv", "gavish-donoho"]).k
    {'gcv': 2, 'gavish-donoho': 2}
    """
    return choices_and_model(X, rules, random_state, progress, sample_weight, parameters)[0]


def choices_and_model(
    X: object,
    rules: str | Rule | Iterable[str | Rule] | None,
    random_state: int,
    progress: ProgressCallback | None,
    sample_weight: SampleWeight,
    parameters: dict[str, Any],
) -> tuple[Choices, Any]:
    """Return the decisions of the rules, and the model that was fitted for them."""
    if "n_components" in parameters:
        raise ParameterError(
            "choose() finds the number of components",
            place={"parameter": "n_components"},
            hint="leave n_components out",
        )
    missing = X.missing if isinstance(X, PCA) else parameters.get("missing")
    if missing in core.FILL_METHODS:
        raise ParameterError(
            f"missing={missing!r} needs the number of components, so it cannot help to find it",
            place={"parameter": "missing"},
            hint=f"use missing='drop', and fit with the number found and missing={missing!r}; or "
            "give rows whose cells are filled",
        )
    solver = X.svd_solver if isinstance(X, PCA) else parameters.get("svd_solver")
    if solver == "sketch":
        raise ParameterError(
            "rules do not apply to a sketch, which needs the number of components",
            place={"parameter": "svd_solver"},
            hint="use choose(X) with svd_solver='auto'",
        )
    core.check_parameter("random_state", random_state, core.whole_number(0))
    report = RunContext(progress=progress).report_draws if progress is not None else None
    several = Several(_checked_rules(rules), int(random_state), report)
    if isinstance(X, PCA):
        _refuse_parameters(parameters, sample_weight)
        # The summary of the model is solved again; this works for a stream, too.
        model: Any = X.truncated(several)
    elif isinstance(X, Moments | Triangle | Sketch | Columns):
        _refuse_parameters({}, sample_weight)
        model = PCA.from_summary(X, n_components=several, **parameters)
    elif isinstance(X, BaseEstimator):
        raise ParameterError(
            f"choose() compares rules for princomp.PCA, got {class_words(X)}",
            place={"parameter": "X"},
            hint="give rows, a fitted princomp.PCA or its summary; for a PCA of scikit-learn, "
            "PCA.from_sklearn(model)",
        )
    else:
        several = replace(several, tell=None)  # the fit reports rules as well as passes
        model = PCA(several, random_state=int(random_state), **parameters)
        model.fit(X, sample_weight=sample_weight, progress=progress)
    n, rows = model.n_samples_, core.fitted_model(model).result.summary.rows
    answers, counted_as = tuple(several.answers), core.row_total(rows, n)
    return Choices(answers, n, model.n_features_in_, counted_as), model


def _checked_rules(rules: str | Rule | Iterable[str | Rule] | None) -> tuple[Rule, ...]:
    if rules is None:
        return tuple(rule_of(name) for name in RULES)
    is_collection = isinstance(rules, Iterable) and not isinstance(rules, str)
    rule_list: Any = rules if is_collection else [rules]
    chosen = tuple(rule_of(rule, "rules") for rule in rule_list)
    names = [rule.name for rule in chosen]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates or not names:
        raise ParameterError(
            f"rules names {', '.join(duplicates)} twice" if duplicates else "rules names none",
            place={"parameter": "rules"},
            hint="give each rule once; rules with other options can have names of their own",
        )
    return chosen


def _refuse_parameters(parameters: dict[str, Any], sample_weight: SampleWeight) -> None:
    given = [*parameters, *([] if sample_weight is None else ["sample_weight"])]
    if given:
        raise ParameterError(
            f"{', '.join(given)} cannot be given with a model or a summary",
            place={"parameter": given[0]},
            hint="use model.rescaled(…), or choose() with the rows",
        )
