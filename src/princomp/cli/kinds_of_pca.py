"""Plain, robust and kernel PCAs that flags describe: options, which are refused, estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from princomp import core, errors, estimators
from princomp.cli.options import flag_of, read_options, robust_fit_options, with_options

if TYPE_CHECKING:
    from princomp.kernel_pca import KernelPCA

# A copy of KERNELS of kernel_pca, whose import would add half a second to --help; a test
# compares them.
KERNELS = (
    *("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "chi2", "additive_chi2"),
    "precomputed",
)
NO_LOADINGS = "a kernel PCA has no loadings: its axes lie in the feature space of the kernel"

# Number of rows from which computing the kernel of all pairs takes minutes.
_MANY_ROWS = 50_000
# Options that only a kernel PCA has, with the names of their parameters.
_PARAMETERS = {
    **{name: name for name in ("gamma", "degree", "coef0", "approximation", "pre_image", "alpha")},
    "landmarks": "n_landmarks",
    "landmark_rule": "landmarks",
    "seed": "random_state",
}
# Options that a kernel PCA or a robust fit would ignore: name, default, reason.
_REFUSED_WITH_KERNEL = (
    ("robust", False, "choose one of the two"),
    ("constant", "error", "leave constant columns out"),
    ("no_center", False, "rows are centred in the feature space"),
    ("solver", "auto", "the solver is chosen by the size of the kernel matrix"),
    ("checkpoint", None, "a kernel PCA cannot be resumed; leave it out"),
)
_REFUSED_WITH_ROBUST = (
    ("missing", "error", "a robust fit needs complete rows"),
    ("solver", "auto", "a robust fit has one solver"),
    ("constant", "error", "leave constant columns out"),
    ("no_center", False, "a robust fit estimates the centre"),
    ("memory", None, "a robust fit needs all rows in memory"),
    ("checkpoint", None, "a robust fit needs all rows in memory and cannot be resumed"),
)


def _number_or_word(kind: type[int] | type[float]) -> Callable[[str], int | float | str]:
    """Return a type of options; the estimator checks numbers and words before it reads rows."""

    def parse(value: str) -> int | float | str:
        try:
            return kind(value)
        except ValueError:
            return value

    return parse


# All options of ``fit`` about the PCA and its table.
kind_options = with_options(
    robust_fit_options,
    click.option(
        "--kernel",
        type=click.Choice(KERNELS),
        help="Fit a KernelPCA: components in the feature space of a kernel.",
    ),
    click.option(
        "--gamma",
        type=_number_or_word(float),
        metavar="NUMBER|median",
        help="Gamma of the kernel; median is computed from distances of rows. 1/p by default.",
    ),
    click.option(
        "--degree", type=click.FloatRange(min=0), help="Degree of --kernel poly, 3 by default."
    ),
    click.option(
        "--coef0", type=float, help="Constant of --kernel poly and sigmoid, 1 by default."
    ),
    click.option(
        "--approximation",
        type=click.Choice(["nystrom", "features"]),
        help="Approximate the kernel by landmarks or random features, for any number of rows.",
    ),
    click.option(
        "--landmarks",
        type=_number_or_word(int),
        metavar="N|auto",
        help="Number of landmarks or features; as many as needed by default.",
    ),
    click.option(
        "--landmark-rule",
        type=click.Choice(["uniform", "kmeans", "leverage"]),
        help="How landmarks are chosen; uniform by default.",
    ),
    click.option(
        "--pre-image",
        type=click.Choice(["ridge", "fixed_point", "distance"]),
        help="How 'princomp inverse' finds rows; none by default.",
    ),
    click.option(
        "--alpha", type=click.FloatRange(min=0), help="Penalty of --pre-image ridge, 1 by default."
    ),
    read_options,
)


def check_kind(options: dict[str, Any]) -> None:
    """Refuse options that contradict each other.

    Raises
    ------
    click.UsageError
    """
    if options["kernel"] is not None:
        _check_kernel(options)
    if options["robust"]:
        _refuse_ignored("--robust", options, "plain", _REFUSED_WITH_ROBUST)
        if options["scale"] not in (None, "mad"):
            raise click.UsageError(
                f"--scale {options['scale']} is not robust: outliers change it most; with --robust "
                "choose mad"
            )
    elif options["scale"] == "mad":
        raise click.UsageError(
            "--scale mad is an option of robust fits: add --robust, or choose unit"
        )


def drop_ineffective(options: dict[str, Any]) -> list[str]:
    """Set options that have no effect on this kind of PCA to None; return notes on them."""
    kernel, approximation, robust = options["kernel"], options["approximation"], options["robust"]
    gamma_kernels = ("poly", "rbf", "sigmoid", "laplacian", "chi2")
    uses_seed = (
        robust
        or (kernel is not None and approximation is not None)
        or options["solver"] == "randomized"
        or isinstance(options["k"], str)
    )
    conditions = {
        "gamma": (kernel in gamma_kernels, f"without --kernel {', '.join(gamma_kernels)}"),
        "degree": (kernel == "poly", "without --kernel poly"),
        "coef0": (kernel in ("poly", "sigmoid"), "without --kernel poly or sigmoid"),
        "approximation": (kernel is not None, "without --kernel"),
        "landmarks": (approximation is not None, "without --approximation nystrom or features"),
        "landmark_rule": (approximation == "nystrom", "without --approximation nystrom"),
        "pre_image": (kernel is not None, "without --kernel"),
        "alpha": (options["pre_image"] == "ridge", "without --pre-image ridge"),
        "support": (robust, "without --robust"),
        "seed": (
            uses_seed,
            "without --robust, --approximation, --solver randomized or a rule for -k",
        ),
    }
    if kernel == "linear":
        conditions["alpha"] = False, "with --kernel linear: its inverse is exact"
    notes = []
    for name, (has_effect, condition) in conditions.items():
        if options[name] is not None and not has_effect:
            notes.append(f"{flag_of(name)} has no effect {condition}")
            options[name] = None
    return notes


def _check_kernel(options: dict[str, Any]) -> None:
    _refuse_ignored("--kernel", options, "linear", _REFUSED_WITH_KERNEL)
    if options["approximation"] == "features" and options["pre_image"] is not None:
        raise click.UsageError(
            "--pre-image needs rows, which random features do not keep: choose --approximation "
            "nystrom"
        )


def _refuse_ignored(
    flag: str, options: dict[str, Any], kind: str, refused: Sequence[tuple[str, object, str]]
) -> None:
    """Refuse a rule for -k, which only a PCA of another kind takes, and ignored parameters."""
    if isinstance(options["k"], str):
        raise click.UsageError(
            f"-k {options['k']} is a rule for a {kind} PCA; with {flag} give a number or a fraction"
        )
    for name, default, reason in refused:
        if options[name] != default:
            raise click.UsageError(f"{flag_of(name)} cannot be used with {flag}: {reason}")


def pca_parameters(options: dict[str, Any]) -> core.PCAParameters:
    """The parameters of a PCA that the flags describe."""
    if options["k"] == 0:
        raise errors.ShapeError(
            "-k 0 keeps no component, so there are no results to write",
            place={"parameter": "k"},
            hint="use -k 1 or more",
        )
    seed = options.get("seed")
    if seed is None and options["solver"] == "randomized":
        seed = 0  # the same result in each run
    return core.PCAParameters(
        n_components=options["k"],
        svd_solver=options["solver"],
        scale=options["scale"],
        center=not options["no_center"],
        missing=options["missing"],
        memory_limit=options["memory"],
        random_state=seed,
        constant=options["constant"],
    )


def kernel_estimator(options: dict[str, Any]) -> KernelPCA:
    """Return the estimator that the options describe.

    Raises
    ------
    ParameterError
        Options do not fit together, such as a pre-image that the kernel does not allow. This
        is checked before any row is read.
    """
    from princomp.kernel_pca import KernelParameters, KernelPCA

    given = {_PARAMETERS[name]: options[name] for name in _PARAMETERS if options[name] is not None}
    model = KernelPCA(
        options["k"],
        kernel=options["kernel"],
        missing=options["missing"],
        memory_limit=options["memory"],
        scale=options["scale"],
        **given,
    )
    KernelParameters.of(model)
    return model


def cost_notes(options: dict[str, Any], rows: int | None) -> list[str]:
    """Return a note about the cost of an exact fit if there are many rows."""
    if not options["kernel"] or options["approximation"] or rows is None or rows <= _MANY_ROWS:
        return []
    return [
        f"an exact kernel PCA computes the kernel of each pair of {rows:,} rows many times; "
        "--approximation nystrom reads them once"
    ]


def robust_estimator(options: dict[str, Any]) -> estimators.RobustPCA:
    """Return the estimator that the options describe."""
    return estimators.RobustPCA(
        options["k"],
        support=0.75 if options["support"] is None else options["support"],
        scale=options["scale"],
        random_state=options["seed"] or 0,
    )
