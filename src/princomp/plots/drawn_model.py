"""Fitted models as figures use them: PCA and kernel PCA, of princomp or of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from princomp.core import Fitted, Verdict, verdicts
from princomp.diagnostics import Bootstrap, convert_model, fitted_of, ignoring_rows, spectrum_of
from princomp.estimators import PCA
from princomp.kernel_pca import KernelPCA
from princomp.linalg import FloatArray
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
    takes_rows = "X" in signature(figure).parameters
    figure = figure if takes_rows else ignoring_rows(figure)

    @wraps(figure)
    def wrapper(model: Any, *args: Any, **options: Any) -> T:
        draw_figure = cast("Callable[..., T]", figure)
        if not takes_rows:
            return draw_figure(convert_model(model).model, *args, **options)
        X, *rest = args or (options.pop("X", None),)
        return draw_figure(*convert_model(model, X), *rest, **options)

    return cast("Callable[P, T]", wrapper)


class DrawnModel(NamedTuple):
    """The parts of a fitted PCA or kernel PCA that figures use.

    ``rank`` is the number of components with variance, or None if not all were computed.
    ``fitted`` and ``verdicts`` are the result of a PCA and the verdicts on its components; a kernel
    PCA has none.
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
            For any other object.
        """
        if not isinstance(model, KernelPCA):
            fitted = fitted_of(model)
            rank = int(min(fitted.p, fitted.analysed.rank_limit))
            return cls(fitted.spectrum, fitted.k, rank, fitted, verdicts_of(fitted, bootstrap))
        spectrum, k = spectrum_of(model), model.n_components_
        complete = (
            len(spectrum.variances) > k or float(spectrum.rates.sum()) > 1.0 - _RATE_TOLERANCE
        )
        return cls(spectrum, k, int((spectrum.variances > 0).sum()) if complete else None)

    @property
    def p(self) -> int | None:
        """Number of columns of a PCA, or of components with variance of a kernel PCA."""
        return self.fitted.p if self.fitted else self.rank

    @property
    def rates(self) -> FloatArray:
        """Contribution rates (k,)."""
        return self.fitted.rates if self.fitted else self.spectrum.rates[: self.k]


def verdicts_of(fitted: Fitted, bootstrap: Bootstrap | None) -> tuple[Verdict, ...]:
    """Verdicts of the components, by the angles of a bootstrap if there is one."""
    return verdicts(fitted, None if bootstrap is None else bootstrap.angle_quantiles((0.95,))[0])
