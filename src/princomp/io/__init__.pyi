from . import model_arrays as model_arrays, values as values
from .atomic import (
    PathLike as PathLike,
    all_or_none as all_or_none,
    atomic_write as atomic_write,
    check_writable as check_writable,
    locked_for_update as locked_for_update,
)
from .checkpoint import (
    Checkpoint as Checkpoint,
    State as State,
)
from .model_file import read as read, write as write
from .model_schema import (
    Array as Array,
    Arrays as Arrays,
    Document as Document,
    Field as Field,
    Schema as Schema,
    json_value as json_value,
    sizes_from as sizes_from,
)
from .readers.cells import LARGEST_INTEGER as LARGEST_INTEGER
from .readers.columns import (
    Origin as Origin,
    RowPlace as RowPlace,
    listed as listed,
    refuse_duplicates as refuse_duplicates,
    text_of as text_of,
)
from .readers.covariance import (
    check_order_of_rows as check_order_of_rows,
    checked_covariance as checked_covariance,
    checked_mean as checked_mean,
)
from .readers.files import open_files as open_files
from .readers.formats import ending_of as ending_of, split_inside as split_inside
from .readers.frames import (
    as_frame as as_frame,
    frame_like as frame_like,
    frame_origin as frame_origin,
    from_frame as from_frame,
    index_label as index_label,
    is_frame as is_frame,
    notes_on_rows as notes_on_rows,
    select_usable_columns as select_usable_columns,
)
from .readers.left_out import (
    FRAME_HINT as FRAME_HINT,
    kind_name as kind_name,
    left_out_notes as left_out_notes,
    warning_text as warning_text,
)
from .readers.mapped import Mapped as Mapped, images_of as images_of
from .readers.materialize import (
    first_rows as first_rows,
    read_if_small as read_if_small,
    read_whole as read_whole,
)
from .readers.memory import (
    Rows as Rows,
    as_rows as as_rows,
    from_sparse as from_sparse,
    in_memory as in_memory,
    is_numeric_array as is_numeric_array,
    labels_of_float_frame as labels_of_float_frame,
)
from .readers.misread import is_symmetric as is_symmetric
from .readers.missing_codes import code_notes as code_notes
from .readers.not_finite import (
    DROP_HINT as DROP_HINT,
    FILL_HINT as FILL_HINT,
    few_rows_left_error as few_rows_left_error,
    hint_for_missing as hint_for_missing,
    not_finite_error as not_finite_error,
    not_finite_error_in_source as not_finite_error_in_source,
)
from .readers.read_options import ReadOptions as ReadOptions
from .readers.row_names import (
    are_dates as are_dates,
    counting_notes as counting_notes,
    drop_call as drop_call,
    has_index_name as has_index_name,
    identifier_notes as identifier_notes,
    row_numbers_note as row_numbers_note,
)
from .readers.source import (
    Chunk as Chunk,
    FileState as FileState,
    RowArray as RowArray,
    RowData as RowData,
    Source as Source,
    TableSource as TableSource,
    checksum as checksum,
    refuse_changed as refuse_changed,
    stored_arrays as stored_arrays,
)
from .readers.stdin import open_stdin as open_stdin
from .readers.table_input import (
    TableInput as TableInput,
    are_anndata_files as are_anndata_files,
    as_numbers as as_numbers,
    as_texts as as_texts,
    file_column as file_column,
    file_rows as file_rows,
    files_of as files_of,
    has_named_columns as has_named_columns,
    is_file as is_file,
    named_column as named_column,
    read_table as read_table,
    rows_of as rows_of,
    warn_of_named as warn_of_named,
    without_column as without_column,
)
from .readers.wildcards import expand_patterns as expand_patterns
from .table_writer import (
    csv_lines as csv_lines,
    escaped_formulas as escaped_formulas,
    need_pyarrow as need_pyarrow,
    open_table as open_table,
    table_format as table_format,
    write_table as write_table,
)
