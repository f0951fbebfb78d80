"""What a report is about: the model, the rows and the options."""

from __future__ import annotations

from dataclasses import dataclass, field

from princomp.core import Fitted, Verdict, verdicts
from princomp.diagnostics import Bootstrap, fitted_of
from princomp.estimators import PCA
from princomp.linalg import cached_property
from princomp.plots import Ids
from princomp.reports.rows import ReportedRows
from princomp.reports.svg import Styles
from princomp.reports.text import Texts
from princomp.summaries import SampleWeight


@dataclass(frozen=True, eq=False)
class Request:
    """Model, rows and options of a report; ``why_no_bootstrap`` is the reason if there is none."""

    model: PCA
    X: object = None
    rows: ReportedRows | None = None
    title: str | None = None
    data: str | None = None
    groups: object = None
    metadata: object = None
    ids: Ids = None
    sample_weight: SampleWeight = None
    bootstrap: Bootstrap | None = None
    why_no_bootstrap: str = "no rows"
    level: float = 0.95
    texts: Texts = field(default_factory=Texts)
    styles: Styles = field(default_factory=Styles)

    @property
    def fitted(self) -> Fitted:
        """The record of the fit."""
        return fitted_of(self.model)

    @property
    def training(self) -> bool:
        """Whether the rows are those of the fit."""
        return self.rows is not None and self.rows.training

    @property
    def max_components(self) -> int:
        """The largest number of components that the fit could keep."""
        return int(min(self.fitted.p, self.fitted.analysed.rank_limit))

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts of the components: by the bootstrap if there is one."""
        angles = None if self.bootstrap is None else self.bootstrap.angle_quantiles((0.95,))[0]
        return verdicts(self.fitted, angles)
