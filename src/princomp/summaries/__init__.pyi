from .blocks import (
    WEIGHTS as WEIGHTS,
    Block as Block,
    SampleWeight as SampleWeight,
    Weights as Weights,
    as_dense as as_dense,
    block_rows as block_rows,
    blocks_per_task as blocks_per_task,
    check_frequencies as check_frequencies,
    check_weights as check_weights,
    checked_block as checked_block,
    column_overflow as column_overflow,
    first_not_finite as first_not_finite,
    gives_variance as gives_variance,
    in_range as in_range,
    is_added_in_place as is_added_in_place,
    is_sparse as is_sparse,
    panel_rows as panel_rows,
    rows_without_nan as rows_without_nan,
    slice_weights as slice_weights,
    stored_bytes as stored_bytes,
    stored_values as stored_values,
)
from .centred import (
    Names as Names,
    as_kind as as_kind,
    check_range as check_range,
    column_name as column_name,
)
from .centred_rows import (
    CentredRows as CentredRows,
    centre_rows as centre_rows,
    safe_exponent as safe_exponent,
)
from .columns import Columns as Columns
from .dense_rows import DenseRows as DenseRows
from .device_faults import (
    counted_rows as counted_rows,
    fault_in as fault_in,
    first_fault as first_fault,
)
from .device_products import (
    WithExtremes as WithExtremes,
    columns_on as columns_on,
    images_on as images_on,
    sketch_on as sketch_on,
)
from .device_summaries import (
    DeviceMoments as DeviceMoments,
    DeviceTriangle as DeviceTriangle,
    moments_on as moments_on,
    summary_on as summary_on,
    triangle_on as triangle_on,
)
from .extremes import Extremes as Extremes
from .moments import Moments as Moments
from .packing import KINDS as KINDS, pack as pack, unpack as unpack
from .pair import Pair as Pair, PairOf as PairOf
from .scaling import (
    check_order_of_labels as check_order_of_labels,
    checked_divisors as checked_divisors,
    divisors as divisors,
    leave_out_hint as leave_out_hint,
)
from .sketch import Sketch as Sketch, SketchOf as SketchOf, wide_block_rows as wide_block_rows
from .space import DeviceBlock as DeviceBlock, DeviceTable as DeviceTable, Space as Space
from .sparse_rows import (
    columns_to_centre as columns_to_centre,
    with_centred_columns as with_centred_columns,
)
from .triangle import Triangle as Triangle
