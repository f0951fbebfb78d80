"""Fitted models as figures use them: PCA and kernel PCA of any library, and their components."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from princomp.core import Fitted, Verdict, fitted_model, verdicts
from princomp.diagnostics import (
    Bootstrap,
    Components,
    Selection,
    convert_model,
    fitted_of,
    ignoring_rows,
    select_components,
)
from princomp.errors import ParameterError, ShapeError, invalid_value
from princomp.estimators import PCA
from princomp.kernel_pca import KernelPCA
from princomp.solvers import Spectrum

# If rates sum to 1 within this tolerance, further components have no variance.
_RATE_TOLERANCE = 1e-9

P = ParamSpec("P")
T = TypeVar("T")


def accept_any_model(figure: Callable[P, T]) -> Callable[P, T]:
    """Let a figure also take a PCA of scikit-learn, or a pipeline that ends in a PCA.

    For a pipeline, the figure takes the rows that go into the pipeline. A figure that needs no rows
    ignores them with a warning.
    """
    draw_figure = cast("Callable[..., T]", figure)
    takes_rows = "X" in signature(figure).parameters

    @wraps(figure)
    def draw(model: object, *args: Any, **options: Any) -> T:
        if not takes_rows:
            return draw_figure(convert_model(model)[0], *args, **options)
        X, *rest = args or (options.pop("X", None),)
        if X is None:
            raise ParameterError(
                f"{figure.__name__} needs rows, but X was not given",
                place={"parameter": "X"},
                hint=f"use plots.{figure.__name__}(model, X), or model.plot.{figure.__name__}(X)",
            )
        return draw_figure(*convert_model(model, X), *rest, **options)

    return cast("Callable[P, T]", draw if takes_rows else ignoring_rows(draw))


class DrawnModel(NamedTuple):
    """The parts of a fitted PCA or kernel PCA that figures use.

    ``rank`` is the number of components with variance, or None if not all were computed. A kernel
    PCA has neither a result (``fitted``) nor verdicts.
    """

    spectrum: Spectrum
    k: int
    rank: int | None
    fitted: Fitted | None = None
    verdicts: tuple[Verdict, ...] = ()

    @classmethod
    def of(cls, model: PCA | KernelPCA, bootstrap: Bootstrap | None = None) -> DrawnModel:
        """Read a fitted model.

        Raises
        ------
        ParameterError
            For any other object, a bootstrap of another model, or any bootstrap of a kernel PCA.
        """
        if not isinstance(model, KernelPCA):
            fitted = fitted_of(model)
            rank, found = min(fitted.p, fitted.analysed.rank_limit), _verdicts(fitted, bootstrap)
            return cls(fitted.spectrum, fitted.k, int(rank), fitted, found)
        if bootstrap is not None:
            raise ParameterError(
                "a kernel PCA has no bootstrap",
                place={"parameter": "bootstrap"},
                hint="leave out bootstrap",
            )
        spectrum, k = fitted_model(model).result.spectrum, model.n_components_
        known_rank = None
        if len(spectrum.variances) > k or float(spectrum.rates.sum()) > 1.0 - _RATE_TOLERANCE:
            known_rank = int((spectrum.variances > 0).sum())
        return cls(spectrum, k, known_rank)

    def axis_names(self, selected: Selection) -> list[str]:
        """Names of components with their share of the *total* variance: ``PC1 (62.0%)``.

        The name of a component that should not be interpreted says why: ``PC3 (8.9%, unstable)``.
        """
        remarks = {
            verdict.component: f", {verdict.kind}"
            for verdict in self.verdicts
            if not verdict.interpretable
        }
        return [
            f"{name} ({self.spectrum.rates[i]:.1%}{remarks.get(name, '')})"
            for i, name in zip(selected.indices, selected.names, strict=True)
        ]


def _verdicts(fitted: Fitted, bootstrap: Bootstrap | None) -> tuple[Verdict, ...]:
    """Verdicts of the components, by the angles of a bootstrap if there is one.

    Raises
    ------
    ParameterError
        For a bootstrap of another model, or another object as ``bootstrap``.
    """
    if bootstrap is None:
        return verdicts(fitted)
    hint = "use bootstrap=princomp.bootstrap(model, X)"
    if not isinstance(bootstrap, Bootstrap):
        raise invalid_value("bootstrap", bootstrap, "a result of princomp.bootstrap", hint)
    unit = np.abs(fitted.loadings).max(initial=0.0)
    if bootstrap.loadings.shape != fitted.loadings.shape or not np.allclose(
        bootstrap.loadings, fitted.loadings, rtol=1e-6, atol=1e-9 * unit
    ):
        problem = "the bootstrap is of another model: its loadings differ"
        raise ParameterError(problem, place={"parameter": "bootstrap"}, hint=hint)
    return verdicts(fitted, bootstrap.angle_quantiles((0.95,))[0])


# ---- components -----------------------------------------------------------------------


def select_few(k: int, components: Components, default: int, most: int) -> Selection:
    """Select at most ``most`` of k components; by default the first ``default``.

    Raises
    ------
    ParameterError
        For more components, unknown ones, or the same one twice.
    """
    selected = select_components(k, components, default)
    count = len(selected.indices)
    if count > most:
        raise ParameterError(
            f"at most {most} components can be drawn, got {count}",
            place={"parameter": "components"},
            hint="select fewer components",
        )
    return selected


def select_plane(k: int, x: int | str, y: int | str) -> Selection:
    """Select the two components of a plane, for a model with k components.

    Raises
    ------
    ShapeError
        For a model of one component.
    ParameterError
        For an unknown component, or the same component twice.
    """
    if k == 1:
        raise ShapeError(
            "a plane needs two components, but the model keeps 1",
            place={"parameter": "y"},
            hint="keep two or more (n_components=2), or use pairs(), which draws one component as "
            "a histogram",
        )
    i, j = (select_components(k, one).indices[0] for one in (x, y))
    if i == j:
        raise ParameterError(
            f"x={x!r} and y={y!r} are the same component",
            place={"parameter": "y"},
            hint=f"give another, such as y={2 if i == 0 else 1}",
        )
    return select_components(k, [x, y])
