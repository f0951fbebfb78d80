from .adequacy import Bartlett as Bartlett, Kmo as Kmo, bartlett as bartlett, kmo as kmo
from .arguments import (
    Components as Components,
    Selection as Selection,
    check_count as check_count,
    check_repeatable as check_repeatable,
    checked_level as checked_level,
    ignoring_rows as ignoring_rows,
    select_components as select_components,
    shared_docs as shared_docs,
)
from .associations import metadata as metadata
from .bootstrap_call import bootstrap as bootstrap
from .bootstrap_result import Bootstrap as Bootstrap
from .control_limits import Limits as Limits, limits as limits
from .metadata_columns import (
    extra_columns as extra_columns,
    take_named_columns as take_named_columns,
)
from .models import (
    convert_model as convert_model,
    fitted_of as fitted_of,
    variable_names as variable_names,
)
from .reconstruction import reconstruction_error as reconstruction_error
from .resampling import bootstrap_rows as bootstrap_rows, quick_bootstrap as quick_bootstrap
from .rotation import Rotation as Rotation, rotate as rotate, rotated_scores as rotated_scores
from .row_distances import (
    contributions as contributions,
    distances as distances,
    outliers as outliers,
)
from .row_reader import RowReader as RowReader, split_ids as split_ids
from .supplementary import (
    categories as categories,
    supplementary_columns as supplementary_columns,
)
from .tables import Listing as Listing, Names as Names, frame_of as frame_of
from .variables_and_rows import (
    rows as rows,
    variable_measures as variable_measures,
    variables as variables,
)
