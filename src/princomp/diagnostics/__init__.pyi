from .adequacy import Bartlett as Bartlett, Kmo as Kmo, bartlett as bartlett, kmo as kmo
from .arguments import (
    Components as Components,
    Names as Names,
    Selection as Selection,
    check_count as check_count,
    check_repeatable as check_repeatable,
    fitted_of as fitted_of,
    select_components as select_components,
    variable_names as variable_names,
)
from .associations import metadata as metadata
from .barycentres import categories as categories
from .beyond_limits import outliers as outliers
from .bootstrap_call import bootstrap as bootstrap
from .bootstrap_result import Bootstrap as Bootstrap
from .control_limits import Limits as Limits, checked_level as checked_level, limits as limits
from .ignored_rows import ignoring_rows as ignoring_rows
from .metadata_columns import (
    extra_columns as extra_columns,
    take_named_columns as take_named_columns,
)
from .other_models import convert_model as convert_model
from .reconstruction import reconstruction_error as reconstruction_error
from .resampling import (
    bootstrap_rows as bootstrap_rows,
    quick_bootstrap as quick_bootstrap,
)
from .rotation import (
    Rotation as Rotation,
    rotate as rotate,
    rotated_scores as rotated_scores,
)
from .row_reader import RowReader as RowReader, split_ids as split_ids
from .row_table import rows as rows
from .shared_docs import DOCSTRING_ENTRIES as DOCSTRING_ENTRIES
from .supplementary import supplementary_columns as supplementary_columns
from .t2_and_q import contributions as contributions, distances as distances
from .tables import Listing as Listing, frame_of as frame_of
from .variable_table import variable_measures as variable_measures, variables as variables
