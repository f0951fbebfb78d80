from .axis_verdicts import (
    Verdict as Verdict,
    component_ranges as component_ranges,
    unequal_columns as unequal_columns,
    verdict_lines as verdict_lines,
    verdicts as verdicts,
)
from .certificate import Certificate as Certificate, certify as certify
from .constraints import (
    FLAG as FLAG,
    Constraint as Constraint,
    array as array,
    check_parameter as check_parameter,
    check_parameters as check_parameters,
    fraction as fraction,
    is_a as is_a,
    number as number,
    one_of as one_of,
    renamed as renamed,
    whole_number as whole_number,
)
from .context import check_rows as check_rows
from .fit import fit_table as fit_table
from .fit_summary import (
    fit_of_components as fit_of_components,
    fit_summary as fit_summary,
    truncated_to as truncated_to,
)
from .fitted import Fitted as Fitted
from .fitted_model import (
    FittedModel as FittedModel,
    HasModel as HasModel,
    PCAModel as PCAModel,
    fitted_model as fitted_model,
)
from .inputs import (
    blocks_of as blocks_of,
    checked_weights as checked_weights,
    opened as opened,
    refuse_iterator as refuse_iterator,
    with_weights as with_weights,
)
from .lazy_fit import LazyFit as LazyFit
from .missing.filled import Filled as Filled
from .missing.table import METHODS as METHODS
from .model_contents import (
    described as described,
    restored as restored,
    save_model as save_model,
)
from .plan import Plan as Plan
from .plan_table import plan_table as plan_table
from .request import (
    PCAParameters as PCAParameters,
    RandomState as RandomState,
    Request as Request,
    checked_components as checked_components,
)
from .routes.triangle import SMALL as SMALL
from .schema import TableSchema as TableSchema
from .stream import Stream as Stream
from .verify import verify_table as verify_table
