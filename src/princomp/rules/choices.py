"""Several rules applied to one fit, and a table of their decisions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from princomp.errors import MissingLibraryError, counted
from princomp.rules.decision import Decision, Known, Rule, apply_rule, component_count
from princomp.rules.text_tables import html_table, text_table

_HEADINGS = ("rule", "k", "measure", "at k", "limit at k", "at k + 1", "limit at k + 1", "reason")


@dataclass(frozen=True)
class Several:
    """A rule that applies others; its own k is the largest of theirs.

    Parameters
    ----------
    rules : tuple of Rule
    seed : int
    tell : callable, optional
        Reports progress, as ``Known.tell`` does; by default that of the fit.
    answers : list of Decision
        Filled by ``decide``.
    """

    rules: tuple[Rule, ...]
    seed: int = 0
    tell: Callable[[str, int, int], object] | None = None
    answers: list[Decision] = field(default_factory=list)
    name = "several"
    needs = "all"
    counts_rows = False

    def decide(self, known: Known) -> Decision | None:
        """Apply all rules."""
        known = replace(known, seed=self.seed, tell=self.tell or known.tell)
        self.answers[:] = [
            apply_rule(rule, known)
            or Decision.none(rule.name, "it needs more variances than there are")
            for rule in self.rules
        ]
        largest = max((decision.k or 0 for decision in self.answers), default=0)
        return Decision(self.name, largest, "the largest number that a rule keeps")


@dataclass(frozen=True)
class Choices(Mapping[str, Decision]):
    """The decisions of several rules: a mapping from the name of a rule to its Decision.

    Attributes
    ----------
    decisions : tuple of Decision
    n_samples : int or None
    n_features : int
    counted_as : str
        The sum of the weights, which rules use as the number of rows; empty if both are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import choose
    >>> X = np.array([[1.0, 2, 0], [2, 1, 1], [3, 4, 0], [4, 3, 1], [6, 5, 0]])
    >>> choose(X, ["kaiser", "broken-stick"]).k
    {'kaiser': 1, 'broken-stick': 1}
    """

    decisions: tuple[Decision, ...]
    n_samples: int | None
    n_features: int
    counted_as: str = ""

    def __getitem__(self, name: str) -> Decision:
        return {decision.rule: decision for decision in self.decisions}[name]

    def __iter__(self) -> Iterator[str]:
        return (decision.rule for decision in self.decisions)

    def __len__(self) -> int:
        return len(self.decisions)

    @property
    def k(self) -> dict[str, int | None]:
        """The number of components by rule; None if it does not apply."""
        return {decision.rule: decision.k for decision in self.decisions}

    @property
    def agreement(self) -> str:
        """Summary in words: which rules agree and which do not."""
        groups: dict[int, list[str]] = {}
        for decision in self.decisions:
            if decision.k is not None:
                groups.setdefault(decision.k, []).append(decision.rule)
        if not groups:
            return "No rule applies."
        n_applied = sum(map(len, groups.values()))
        if len(groups) == 1:
            (k, names), *_ = groups.items()
            if n_applied == 1:
                return f"One rule applies: {names[0]} keeps {component_count(k)}."
            return f"All {n_applied} rules that apply keep {component_count(k)}."
        ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
        parts = [f"{', '.join(names)}: {component_count(k)}" for k, names in ordered]
        low, high = min(groups), max(groups)
        return f"The rules disagree, from {low} to {high}. {'; '.join(parts)}."

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as one dict for each rule."""
        return [dict(zip(_HEADINGS, _row(decision), strict=True)) for decision in self.decisions]

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame.

        Raises
        ------
        MissingLibraryError
            If pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise MissingLibraryError(
                "a frame needs pandas", hint="pip install pandas, or use rows() or to_dict()"
            ) from None
        frame = pd.DataFrame(self.rows(), columns=list(_HEADINGS)).set_index("rule")
        return frame.astype({"k": "Int64"})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "rows": self.n_samples,
            "columns": self.n_features,
            "k": self.k,
            "agreement": self.agreement,
            "decisions": [decision.to_dict() for decision in self.decisions],
        }

    def to_json(self) -> str:
        """Return the values of :meth:`to_dict` as a JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        rows = "unknown rows" if self.n_samples is None else counted(self.n_samples, "row")
        rows += f" (counted as {self.counted_as})" if self.counted_as else ""
        table: list[tuple[str, ...]] = [("rule", "k", "at k", "limit", "at k+1", "limit", "why")]
        for decision in self.decisions:
            name, k, _, *numbers, why = _row(decision)
            table.append((str(name), *(_cell(value, 4) for value in (k, *numbers)), str(why)))
        lines = text_table(table, left=(0, len(table[0]) - 1))
        title = f"How many components of {rows} × {counted(self.n_features, 'column')}"
        return "\n".join([title, *lines, self.agreement])

    def __repr__(self) -> str:
        return f"<Choices {self.k}>"

    def _repr_html_(self) -> str:
        lines = (map(_cell, _row(decision)) for decision in self.decisions)
        return html_table(self.agreement, _HEADINGS, lines)


def _row(decision: Decision) -> tuple[str | float | None, ...]:
    k = decision.k
    if k is None:
        return (decision.rule, None, "", None, None, None, None, decision.reason)
    numbers: list[float | None] = []
    for i in (k, k + 1):
        statistic = decision.at(i)
        numbers += [statistic, None if statistic is None else decision.threshold_at(i)]
    return (decision.rule, k, decision.measure, *numbers, decision.reason)


def _cell(value: str | float | None, digits: int = 5) -> str:
    if value is None:
        return "–"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
