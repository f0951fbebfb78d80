from .api import check_libraries as check_libraries, report as report
from .documents import (
    column_labels as column_labels,
    column_names as column_names,
    component_names as component_names,
    is_kernel_pca as is_kernel_pca,
    model_contents as model_contents,
    rates_table as rates_table,
    scale_hint as scale_hint,
)
