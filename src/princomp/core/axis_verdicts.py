"""Verdicts: whether the axis of each component can be interpreted.

Commands and reports that have the rows of the fit use the same bootstrap, if it is quick, and so
give the same verdicts. Without the rows, angles are approximated for normally distributed rows.
Both hold for rows that are independent of each other, unlike those of a time series.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from princomp.core.axis_angles import KnownSpectrum, axis_angles, known_spectrum
from princomp.core.certificate import Certificate, inseparable_pairs
from princomp.core.fitted import Fitted
from princomp.core.request import constant_columns
from princomp.linalg import FloatArray
from princomp.solvers import Spectrum
from princomp.summaries import Sketch

# Each kind of verdict, from the best to the worst, and what it says about an axis.
_MEANINGS = {
    "solid": "another sample would give a similar axis",
    "untested": "It is not known how far the axis would turn in another sample",
    "unstable": "Do not interpret such an axis on its own",
    "inseparable": "Variances are too close for the accuracy of the fit: interpret their space, "
    "not the axes",
    "inaccurate": "The error of the fit may exceed a tenth of the variance, or of the gap to an "
    "inaccurate neighbour: do not interpret it",
    "below resolution": "The variance is rounding error: do not interpret it",
}
# With fewer correct digits, rounding may turn an axis by more than half a degree. Sampling nearly
# always turns it by more, so two digits are enough here; a certificate requires more.
_MIN_DIGITS = 2
# Axes whose residual is a larger share of their own variance are inaccurate: the variance may be
# off by as much, so the space that the axis spans with its neighbours is not determined, either.
_MAX_RESIDUAL = 0.1
# Axes that differ by more than this between samples, in degrees, should not be interpreted.
_MAX_STABLE_ANGLE = 45.0
# Most axes of a stable space: of more, no figure shows the space.
_MAX_SPACE_AXES = 5
# If variances of columns differ by more than this factor, and the largest of them (two, or this
# share of the columns) have more than half of the total, few columns decide an unscaled PCA. Pixels
# near the border of images have small variances, too, but no few of the others decide.
_MAX_VARIANCE_RATIO, _FEW_COLUMNS = 1000.0, 0.1
# So does one of three or more columns with more than this share of the total.
_DOMINANT_SHARE = 0.95


class Verdict(NamedTuple):
    """Whether the axis of a component can be interpreted.

    Attributes
    ----------
    component : str
        "PC1", "PC2", …
    kind : str
        "solid": another sample of rows would give a similar axis. "unstable": it would give
        another one. "inseparable": the variance of a neighbour is so close that rounding may turn
        the axis, so only the space that they span is determined. "inaccurate": the residual exceeds
        a tenth of the variance, as for a sketch of rows with many similar variances, or of the gap
        to an inaccurate neighbour. "below resolution": the variance is rounding error. "untested":
        it is not known how far the axis would turn, also if filling the missing cells did not
        converge.
    angle : float
        In 95% of samples, the axis is at most this many degrees from that of the population; NaN if
        unknown, 90 if its variance is zero or may be equal to that of another component.
    partners : tuple of str
        Neighbours that the component cannot be separated from.
    bootstrapped : bool
        Whether the angle is from a bootstrap; otherwise it is an approximation for normal rows.
        So are those of 90 that override a bootstrap.
    space : tuple of str
        Of an unstable axis: neighbouring unstable components, itself included, whose axes together
        span a space that is similar in another sample. Empty if there is none. Spaces that contain
        the direction of the smallest variance are not considered.
    space_angle : float
        In 95% of samples of normal rows, the space is at most this many degrees from that of the
        population.
    """

    component: str
    kind: str
    angle: float
    partners: tuple[str, ...] = ()
    bootstrapped: bool = False
    space: tuple[str, ...] = ()
    space_angle: float = np.nan

    @property
    def interpretable(self) -> bool:
        """Whether there is no known reason not to interpret the axis on its own."""
        return self.kind in ("solid", "untested")

    @property
    def may_be_equal(self) -> bool:
        """Whether the angle is 90 because equal variances cannot be excluded."""
        is_noise = self.kind == "below resolution"
        return not (is_noise or self.bootstrapped) and self.angle >= 90.0


def verdicts(fitted: Fitted, angles: ArrayLike | None = None) -> tuple[Verdict, ...]:
    """Judge the components that a fit kept.

    Parameters
    ----------
    fitted : Fitted
    angles : array of shape (k,), optional
        Angles in degrees that the axes exceed in 5% of bootstrap resamples. By default they
        are approximated for normal rows. A bootstrap cannot tell a real gap between two
        variances from one that sampling has made, so an approximation of 90 overrides it.

    Returns
    -------
    tuple of Verdict
        One for each of the k components.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> from princomp.core import fitted_model, verdicts
    >>> X = np.random.default_rng(0).standard_normal((200, 3)) * [5, 1, 1]
    >>> [one.kind for one in verdicts(fitted_model(PCA().fit(X)).result)]
    ['solid', 'unstable', 'unstable']
    """
    degrees = approximate = axis_angles(fitted)
    bootstrapped = np.full(fitted.k, angles is not None) & ~(degrees >= 90.0)
    if angles is not None:
        degrees = np.where(bootstrapped, np.asarray(angles, dtype=np.float64), 90.0)
    certificate = shown_certificate(fitted.certificate, fitted.spectrum, fitted.k)
    noise, pairs = certificate.below_resolution, certificate.inseparable
    inaccurate = _inaccurate(fitted)
    converged, judged = fitted.filled is None or fitted.filled.converged, []
    for i in range(fitted.k):
        before = (i - 1, i) in pairs and not inaccurate[i - 1]
        after = (i, i + 1) in pairs and not inaccurate[i + 1 : i + 2].any()
        names = tuple([f"PC{i}"] * before + [f"PC{i + 2}"] * after)
        if noise[i]:
            kind = "below resolution"
        elif inaccurate[i]:
            kind, names, bootstrapped[i] = "inaccurate", (), False
        elif names:
            kind = "inseparable"
        elif degrees[i] > _MAX_STABLE_ANGLE:
            kind = "unstable"
        else:
            kind = "untested" if np.isnan(degrees[i]) or not converged else "solid"
        angle = np.nan if kind in ("untested", "inaccurate") else float(degrees[i])
        judged.append(Verdict(f"PC{i + 1}", kind, angle, names, bool(bootstrapped[i])))
    unstable = [one.kind == "unstable" for one in judged]
    spectrum = known_spectrum(fitted)
    # If a bootstrap calls an axis unstable that is stable for normal rows (outliers, for example),
    # the approximation for normal rows does not hold for spaces either.
    only_bootstrapped = (degrees > _MAX_STABLE_ANGLE) & (approximate <= _MAX_STABLE_ANGLE)
    normal = not only_bootstrapped[~noise].any()
    spaces = _stable_spaces(spectrum, unstable) if normal and spectrum is not None else ()
    for first, stop, angle in spaces:
        space = tuple(one.component for one in judged[first:stop])
        for i in range(first, stop):
            judged[i] = judged[i]._replace(space=space, space_angle=angle)
    return tuple(judged)


def _inaccurate(fitted: Fitted) -> NDArray[np.bool_]:
    """Which axes (k,) have large residuals, or too small a gap to one that has."""
    inaccurate: NDArray[np.bool_] = _relative_residuals(fitted) > _MAX_RESIDUAL
    residuals = fitted.certificate.residuals
    pairs = inseparable_pairs(fitted.spectrum, fitted.k, residuals, -int(np.log10(_MAX_RESIDUAL)))
    for first, second in [*pairs, *reversed(pairs)]:
        if inaccurate[[first, min(second, fitted.k - 1)]].any():
            inaccurate[[first, min(second, fitted.k - 1)]] = True
    return inaccurate


def _relative_residuals(fitted: Fitted) -> FloatArray:
    """Residuals (k,) relative to the variance of each axis; NaN if unknown or below resolution."""
    noise = fitted.certificate.below_resolution
    variances = np.where(noise, np.nan, fitted.variances)
    with np.errstate(over="ignore", invalid="ignore"):
        return fitted.certificate.residuals * (fitted.spectrum.largest / variances)


def sketch_note(fitted: Fitted) -> str:
    """Say that a fit is approximate if it is a sketch; otherwise, an empty text."""
    known = _relative_residuals(fitted)
    known = known[~np.isnan(known)]
    if not isinstance(fitted.summary, Sketch) or not known.size:
        return ""
    return (
        "approximate: a sketch, whose variances are lower bounds; estimated residuals are up to "
        f"{known.max():.1g} times the variance of their component"
    )


def shown_certificate(certificate: Certificate, spectrum: Spectrum, k: int) -> Certificate:
    """Return a certificate as commands and reports show it.

    It calls only those axes inseparable that verdicts call so; by itself it requires more digits.
    """
    pairs = inseparable_pairs(spectrum, k, certificate.residuals, _MIN_DIGITS)
    return replace(certificate, inseparable=pairs)


def _stable_spaces(
    spectrum: KnownSpectrum, unstable: list[bool]
) -> Iterator[tuple[int, int, float]]:
    """Yield the first index, the end and the angle of stable spaces of neighbouring unstable axes.

    Each space is the smallest that begins at its first axis. Spaces that contain the last direction
    are skipped: they are what the axes before them leave. The angle is a bound for the largest one:
    its squared tangent is that of all angles in sum.
    """
    first, end = 0, min(len(unstable), len(spectrum.others) - 1, spectrum.separated)
    while first < end:
        following = first + 1
        for stop in range(first + 2, min(first + _MAX_SPACE_AXES, end) + 1):
            if not all(unstable[first:stop]):
                break
            angle = spectrum.angle(first, stop)
            if angle <= _MAX_STABLE_ANGLE:
                yield first, stop, angle
                following = stop
                break
        first = following


def stable_spaces(judged: Sequence[Verdict]) -> dict[str, float]:
    """Return the components of each stable space of unstable axes, with its angle in degrees."""
    return {component_ranges(one.space): one.space_angle for one in judged if one.space}


def verdict_lines(judged: Sequence[Verdict]) -> list[str]:
    r"""Return a line for each kind of verdict, at most five, from the best to the worst.

    Examples
    --------
    >>> from princomp.core import Verdict, verdict_lines
    >>> first = Verdict("PC1", "solid", 9.6, bootstrapped=True)
    >>> print("\n".join(verdict_lines([first, Verdict("PC2", "below resolution", 90.0)])))
    solid: PC1 (axis within 10° of that of the population, if rows are independent)
    below resolution: PC2. The variance is rounding error: do not interpret it
    """
    lines = []
    for kind, meaning in _MEANINGS.items():
        of_kind = [one for one in judged if one.kind == kind]
        if not of_kind:
            continue
        turns = f" ({_turns(of_kind)})" if kind in ("solid", "unstable") else ""
        names = component_ranges([one.component for one in of_kind])
        line = f"{kind}: {names}{turns}" + ("" if kind == "solid" else f". {meaning}")
        for space, angle in stable_spaces(of_kind).items():
            line += f"; the space of {space} is stable (within {angle:.0f}°)"
        lines.append(line)
    return lines


def _turns(judged: Sequence[Verdict]) -> str:
    """Say how far axes turn, and which of them may have any direction."""
    parts, plural = [], len(judged) > 1
    turning = [one for one in judged if not one.may_be_equal]
    if turning:
        bootstrapped = all(one.bootstrapped for one in turning)
        axes, largest = "axes" if plural else "axis", max(one.angle for one in turning)
        if _is_any_direction(largest):
            rows = f"independent {'' if bootstrapped else 'normal '}rows"
            parts.append(f"{axes} may have any direction in another sample of {rows}")
        else:
            rows = f"independent{'' if bootstrapped else ' and normal'}"
            those = f"{'those' if plural else 'that'} of the population"
            parts.append(f"{axes} within {largest:.0f}° of {those}, if rows are {rows}")
    free = [one.component for one in judged if one.may_be_equal]
    if free:
        axes = f"those of {component_ranges(free)}" if turning else "axes" if plural else "axis"
        why = "their variances may be equal to others"
        why = why if len(free) > 1 else "its variance may be equal to another"
        parts.append(f"{axes} may have any direction, because {why}")
    return "; ".join(parts)


def _is_any_direction(angle: float) -> bool:
    """Whether an angle is shown as 90°, the largest between two axes; NaN is not."""
    return angle >= 89.5


def component_ranges(names: Sequence[str]) -> str:
    """Join names of components, in order: ``PC1, PC3 to PC7 and PC9``."""
    numbers = np.array([name.removeprefix("PC") for name in names], dtype=int)
    texts = []
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1):
        each = [f"PC{number}" for number in run]
        texts += [f"{each[0]} to {each[-1]}"] if len(each) > 2 else each
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def unequal_columns(fitted: Fitted, names: list[str] | None) -> str | None:
    """Describe the columns of a fit as :func:`unequal_variances` does, if scaling would help.

    None if the columns are scaled already, or not centred: then ``scale="unit"`` does not give each
    of them the same weight.
    """
    if fitted.scale is not None or not fitted.centred:
        return None
    return unequal_variances(fitted.column_variances, names)


def has_constant_columns(fitted: Fitted) -> bool:
    """Whether some columns of the fit are constant, which is an error for unit scale."""
    return constant_columns(fitted.summary).size > 0


def unit_scale(fitted: Fitted) -> str:
    """Say how to ask for unit scale."""
    return "scale='unit'" + (" with constant='drop'" if has_constant_columns(fitted) else "")


def unequal_variances(variances: FloatArray, names: list[str] | None) -> str | None:
    """Describe variances of columns (p,) that differ so much that few of them decide a PCA.

    Returns
    -------
    str or None
        Such as "variances of the columns differ 36,610-fold and 'Assault' has the largest", or, of
        columns with names, "variance of 'Assault' is 96% of the total"; None if they do not differ
        so much.
    """
    positive: NDArray[np.float64] = variances[variances > 0]
    if not positive.size:
        return None
    ratio = float(positive.max()) / float(positive.min())  # infinite if it overflows
    largest = int(np.argmax(variances))
    shares = np.sort(positive / float(positive.max()))[::-1]  # their sum cannot overflow
    few = max(2, int(_FEW_COLUMNS * len(variances)))
    name = f"column {largest}" if names is None else repr(names[largest])
    if ratio <= _MAX_VARIANCE_RATIO or shares[:few].sum() <= 0.5 * shares.sum():
        if names is None or len(positive) < 3 or shares.sum() * _DOMINANT_SHARE >= 1.0:
            return None
        share = f"{1.0 / shares.sum():.0%}".replace("100%", "more than 99%")
        return f"variance of {name} is {share} of the total"
    times = f"{ratio:,.0f}" if ratio < 1e9 else f"{ratio:.0e}".replace("inf", "more than 1e+308")
    return f"variances of the columns differ {times}-fold and {name} has the largest"
