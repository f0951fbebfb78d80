"""Several rules asked of one fit, and their answers side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, ClassVar

from princomp.choosing.decision import Decision, Known
from princomp.choosing.rule import Rule, components, decided
from princomp.errors import MissingLibraryError

__all__ = ["Choices", "Several"]

_HEADINGS = ("rule", "k", "measure", "at k", "limit at k", "at k + 1", "limit at k + 1", "reason")


@dataclass(frozen=True)
class Several:
    """A rule that asks others; its own k is the largest of theirs.

    Parameters
    ----------
    rules : tuple of Rule
    seed : int
    tell : callable, optional
        Hears how far a rule is, as ``Known.tell``; what the fit brings by default.
    answers : list of Decision
        Filled by ``decide``.
    """

    rules: tuple[Rule, ...]
    seed: int = 0
    tell: Callable[[str, int, int], object] | None = None
    answers: list[Decision] = field(default_factory=list)
    name: ClassVar[str] = "several"
    needs: ClassVar[str] = "all"
    counts_rows: ClassVar[bool] = False

    def decide(self, known: Known) -> Decision | None:
        """Ask them all."""
        known = replace(known, seed=self.seed, tell=self.tell or known.tell)
        found = [decided(rule, known) for rule in self.rules]
        self.answers[:] = [
            Decision.none(rule.name, "it asked for more variances than there are")
            if answer is None
            else answer
            for rule, answer in zip(self.rules, found, strict=True)
        ]
        most = max((answer.k or 0 for answer in self.answers), default=0)
        return Decision(self.name, most, "the most that a rule keeps")


@dataclass(frozen=True)
class Choices(Mapping[str, Decision]):
    """What several rules say of the number of components: a mapping from name to Decision.

    Attributes
    ----------
    decisions : tuple of Decision
    n_samples : int or None
    n_features : int
    """

    decisions: tuple[Decision, ...]
    n_samples: int | None
    n_features: int

    def __getitem__(self, name: str) -> Decision:
        for decision in self.decisions:
            if decision.rule == name:
                return decision
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (decision.rule for decision in self.decisions)

    def __len__(self) -> int:
        return len(self.decisions)

    @property
    def k(self) -> dict[str, int | None]:
        """The number of components by rule; None where it does not apply."""
        return {decision.rule: decision.k for decision in self.decisions}

    @property
    def agreement(self) -> str:
        """In words: who agrees, and who does not."""
        groups: dict[int, list[str]] = {}
        for decision in self.decisions:
            if decision.k is not None:
                groups.setdefault(decision.k, []).append(decision.rule)
        if not groups:
            return "No rule applies."
        told = sum(map(len, groups.values()))
        if len(groups) == 1:
            (k, names), *_ = groups.items()
            if told == 1:
                return f"One rule applies: {names[0]} keeps {components(k)}."
            return f"All {told} rules that apply keep {components(k)}."
        ordered = sorted(groups.items(), key=lambda one: (-len(one[1]), one[0]))
        parts = [f"{', '.join(names)}: {components(k)}" for k, names in ordered]
        low, high = min(groups), max(groups)
        return f"The rules disagree, from {low} to {high}. {'; '.join(parts)}."

    def rows(self) -> list[dict[str, Any]]:
        """The table, one row a rule."""
        return [dict(zip(_HEADINGS, _row(decision), strict=True)) for decision in self.decisions]

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame.

        Raises
        ------
        MissingLibraryError
            Where there is no pandas.
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
        """Plain values, ready for JSON."""
        return {
            "rows": self.n_samples,
            "columns": self.n_features,
            "k": self.k,
            "agreement": self.agreement,
            "decisions": [decision.to_dict() for decision in self.decisions],
        }

    def to_json(self) -> str:
        """The same as a JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        rows = "unknown" if self.n_samples is None else f"{self.n_samples:,}"
        table = [("rule", "k", "at k", "limit", "at k+1", "limit", "why")]
        for decision in self.decisions:
            name, k, _, *numbers, why = _row(decision)
            table.append((name, *(_cell(value, 4) for value in (k, *numbers)), why))
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                [
                    row[0].ljust(wide[0]),
                    *(cell.rjust(size) for cell, size in zip(row[1:-1], wide[1:-1], strict=True)),
                    row[-1],
                ]
            )
            for row in table
        ]
        title = f"How many components of {rows} rows × {self.n_features:,} columns"
        return "\n".join([title, *lines, self.agreement])

    def __repr__(self) -> str:
        return f"<Choices {self.k}>"

    def _repr_html_(self) -> str:
        heads = "".join(f"<th scope='col'>{escape(name)}</th>" for name in _HEADINGS)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(_cell(value))}</td>" for value in _row(decision))
            + "</tr>"
            for decision in self.decisions
        )
        caption = escape(self.agreement)
        return (
            f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )


def _row(decision: Decision) -> tuple[Any, ...]:
    k = decision.k
    if k is None:
        return (decision.rule, None, "", None, None, None, None, decision.reason)
    numbers = [at(i) for i in (k, k + 1) for at in (decision.at, decision.threshold_at)]
    # A limit stands beside a number only.
    for i in (0, 2):
        if numbers[i] is None:
            numbers[i + 1] = None
    return (decision.rule, k, decision.measure, *numbers, decision.reason)


def _cell(value: Any, digits: int = 5) -> str:
    if value is None:
        return "–"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
