"""``fit --kernel``: its flags, and what is refused since a kernel PCA would ignore it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.calls import refuse_no_components
from princomp.cli.options import flag_of, refuse_beside

if TYPE_CHECKING:
    from princomp.kernel_pca import KernelPCA

__all__ = [
    "NO_LOADINGS",
    "check_kernel",
    "cost_notes",
    "kernel_estimator",
    "kernel_options",
]

# kernel_functions.KERNELS has them; loading it would cost --help half a second. A test compares.
KERNELS = (
    *("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "chi2", "additive_chi2"),
    "precomputed",
)
NO_LOADINGS = "a kernel PCA has no loadings: its axes lie in the feature space of the kernel"

# From so many rows on the pairs of them take minutes.
_MANY = 50_000
_WITH_GAMMA = ("poly", "rbf", "sigmoid", "laplacian", "chi2")
# Flags that only a kernel PCA takes.
_OWN = (
    *("gamma", "degree", "coef0", "approximation", "landmarks", "landmark_rule"),
    *("pre_image", "alpha"),
)


def _number_or(word: str, kind: type[int] | type[float]) -> Callable[..., Any]:
    """What reads a number of at least 1 (whole) or 0, or a word."""
    lawful = "a whole number of at least 1" if kind is int else "a number of at least 0"

    def read(_: Any, __: Any, value: str | None) -> Any:
        if value is None or value == word:
            return value
        try:
            number = kind(value)
        except ValueError:
            number = kind(-1)
        if number < (1 if kind is int else 0):
            raise click.BadParameter(f"{value!r} is neither {lawful} nor {word!r}")
        return number

    return read


def kernel_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What ``fit`` takes of a kernel."""
    for option in reversed(
        (
            click.option(
                "--kernel",
                type=click.Choice(KERNELS),
                help="Components of the rows in the feature space of a kernel (KernelPCA).",
            ),
            click.option(
                "--gamma",
                callback=_number_or("median", float),
                metavar="NUMBER|median",
                help="Of the kernel; median goes by the distances of rows. 1/p by default.",
            ),
            click.option("--degree", type=click.FloatRange(min=0), help="Of --kernel poly; 3."),
            click.option("--coef0", type=float, help="Of --kernel poly and sigmoid; 1."),
            click.option(
                "--approximation",
                type=click.Choice(["nystrom", "features"]),
                help="Images of rows by landmarks or random features, for any number of rows.",
            ),
            click.option(
                "--landmarks",
                callback=_number_or("auto", int),
                metavar="N|auto",
                help="How many landmarks or features; as many as it takes by default.",
            ),
            click.option(
                "--landmark-rule",
                type=click.Choice(["uniform", "kmeans", "leverage"]),
                help="How landmarks are chosen; uniform.",
            ),
            click.option(
                "--pre-image",
                type=click.Choice(["ridge", "fixed_point", "distance"]),
                help="How 'princomp inverse' finds rows; none by default.",
            ),
            click.option(
                "--alpha", type=click.FloatRange(min=0), help="Of --pre-image ridge: its ridge; 1."
            ),
        )
    ):
        command = option(command)
    return command


def check_kernel(options: dict[str, Any]) -> None:
    """Refuse options that do not go together.

    Raises
    ------
    click.UsageError
    """
    kernel = options["kernel"]
    if kernel is None:
        for name in _OWN:
            if options[name] is not None:
                raise click.UsageError(f"{flag_of(name)} is of a kernel PCA: add --kernel rbf")
        return
    if isinstance(options["k"], str):
        raise click.UsageError(
            f"-k {options['k']} is a rule for a linear PCA; with --kernel give a number or a share"
        )
    if kernel == "precomputed" and options["scale"] != "none":
        raise click.UsageError("--scale divides columns of rows, and --kernel precomputed has none")
    others = (
        ("robust", False, "choose one of the two"),
        ("support", None, "it is of a robust fit"),
        ("no_center", False, "rows are centred in the feature space"),
        ("solver", "auto", "its matrix is solved by its size"),
        ("checkpoint", None, "a kernel PCA is not resumed; leave it out"),
    )
    refuse_beside("--kernel", options, others)
    _check_own(kernel, options)


def _check_own(kernel: str, options: dict[str, Any]) -> None:
    """Refuse flags that say nothing to this kernel, or without another one."""
    kernels = {"gamma": _WITH_GAMMA, "degree": ("poly",), "coef0": ("poly", "sigmoid")}
    for name, taken in kernels.items():
        if options[name] is not None and kernel not in taken:
            raise click.UsageError(
                f"{flag_of(name)} says nothing to the kernel {kernel}: it is of {', '.join(taken)}"
            )
    approximation, pre_image = options["approximation"], options["pre_image"]
    for name, goes, needed in (
        ("landmarks", approximation is not None, "--approximation nystrom or features"),
        ("seed", approximation is not None, "--approximation nystrom or features"),
        ("landmark_rule", approximation == "nystrom", "--approximation nystrom"),
        ("alpha", pre_image == "ridge", "--pre-image ridge"),
    ):
        if options[name] is not None and not goes:
            raise click.UsageError(f"{flag_of(name)} says nothing without {needed}")
    if options["alpha"] is not None and kernel == "linear":
        raise click.UsageError("--alpha says nothing to the kernel linear: its inverse is exact")
    if approximation == "features" and pre_image is not None:
        raise click.UsageError(
            "--pre-image is made of rows, and random features keep none: choose --approximation "
            "nystrom"
        )


def kernel_estimator(options: dict[str, Any]) -> KernelPCA:
    """The estimator that the flags describe.

    Raises
    ------
    ParameterError
        For a pre-image that the kernel does not allow, and the like, before any row is read.
    """
    from princomp.kernel_pca import KernelPCA
    from princomp.kernel_pca.asked import Asked

    refuse_no_components(options)
    names = {"landmarks": "n_landmarks", "landmark_rule": "landmarks", "seed": "random_state"}
    given = {
        names.get(name, name): options[name]
        for name in (*_OWN, "seed")
        if options[name] is not None
    }
    model = KernelPCA(
        options["k"],
        kernel=options["kernel"],
        missing=options["missing"],
        memory_limit=options["memory"],
        scale=None if options["scale"] == "none" else options["scale"],
        **given,
    )
    Asked.of(model)
    return model


def cost_notes(options: dict[str, Any], rows: int | None) -> list[str]:
    """A word before an exact fit of many rows."""
    if not options["kernel"] or options["approximation"] or rows is None or rows <= _MANY:
        return []
    return [
        f"an exact kernel PCA computes the kernel of each pair of {rows:,} rows again and again; "
        "--approximation nystrom reads them once"
    ]
