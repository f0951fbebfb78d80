from .device.rows import AbstractDeviceRows as AbstractDeviceRows, DeviceRows as DeviceRows
from .device.stream import on_device as on_device
from .distributed import (
    DistributedRows as DistributedRows,
    PartialResult as PartialResult,
    SummaryKind as SummaryKind,
    as_distributed as as_distributed,
)
from .local import (
    drop_incomplete as drop_incomplete,
    first_counted_fault as first_counted_fault,
    fold as fold,
)
from .mpi.agreement import Agreement as Agreement, RankInput as RankInput
from .mpi.rows import (
    RankRows as RankRows,
    empty_input as empty_input,
    spmd_fit as spmd_fit,
    spmd_merge as spmd_merge,
)
from .run_context import (
    Progress as Progress,
    ProgressCallback as ProgressCallback,
    ProgressReporter as ProgressReporter,
    RunContext as RunContext,
)
