from .axis_verdicts import (
    Verdict as Verdict,
    component_ranges as component_ranges,
    has_constant_columns as has_constant_columns,
    shown_certificate as shown_certificate,
    sketch_note as sketch_note,
    stable_spaces as stable_spaces,
    unequal_columns as unequal_columns,
    unequal_variances as unequal_variances,
    unit_scale as unit_scale,
    verdict_lines as verdict_lines,
    verdicts as verdicts,
)
from .certificate import (
    DECAY_HINT as DECAY_HINT,
    Certificate as Certificate,
    certify as certify,
    verify_table as verify_table,
)
from .constraints import (
    FLAG as FLAG,
    Constraint as Constraint,
    array_like as array_like,
    check_parameter as check_parameter,
    check_parameters as check_parameters,
    fraction as fraction,
    is_number as is_number,
    number as number,
    one_of as one_of,
    whole_number as whole_number,
)
from .context import check_rows as check_rows
from .decorators import (
    fill_docstring as fill_docstring,
    renamed_parameters as renamed_parameters,
)
from .fit import (
    fit_summary as fit_summary,
    fit_table as fit_table,
)
from .fitted import Fitted as Fitted
from .fitted_model import (
    FittedModel as FittedModel,
    HasModel as HasModel,
    PCAModel as PCAModel,
    fitted_model as fitted_model,
)
from .lazy_fit import LazyFit as LazyFit
from .mergeable_summary import rows_key as rows_key, scatter_fits as scatter_fits
from .missing.filled import FILL_METHODS as FILL_METHODS, Filled as Filled
from .model_contents import (
    model_from_contents as model_from_contents,
    model_to_contents as model_to_contents,
    save_model as save_model,
)
from .plan import Plan as Plan, plan_table as plan_table
from .problem import SOLVERS as SOLVERS, Problem as Problem, RouteChoice as RouteChoice
from .request import (
    PCAParameters as PCAParameters,
    RandomState as RandomState,
    Request as Request,
    checked_components as checked_components,
)
from .routes.triangle import SMALL_TABLE_SIZE as SMALL_TABLE_SIZE
from .runs import ADDRESS as ADDRESS
from .schema import (
    TableSchema as TableSchema,
    blocks_of as blocks_of,
    map_blocks as map_blocks,
    open_rows as open_rows,
    open_scores as open_scores,
    refuse_iterator as refuse_iterator,
)
from .stream import Stream as Stream
from .weights import (
    are_frequencies as are_frequencies,
    attach_weights as attach_weights,
    check_index as check_index,
    check_total_weight as check_total_weight,
    checked_weights as checked_weights,
    row_total as row_total,
    total_in_words as total_in_words,
    warn_of_fractional_weights as warn_of_fractional_weights,
    warn_of_small_weights as warn_of_small_weights,
    warn_of_sum_of_weights as warn_of_sum_of_weights,
)
