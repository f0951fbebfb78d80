from .calls import check_libraries as check_libraries, report as report
from .documents import (
    column_names as column_names,
    columns_of as columns_of,
    component_names as component_names,
    document as document,
    has_kernel as has_kernel,
    of_fit as of_fit,
    of_model as of_model,
    of_rows as of_rows,
    rates_table as rates_table,
    scale_hint as scale_hint,
)
