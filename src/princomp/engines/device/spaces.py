"""Devices of torch and CuPy, each as a Space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from princomp.errors import MissingLibraryError, NotAvailableError, ParameterError
from princomp.summaries import Space

# Numbers in a block on a GPU: enough to make the launch of its kernels negligible.
_GPU_NUMBERS = 2**25

# Number of fits that currently need exact products in torch, and torch's previous settings.
_lock = Lock()
_exact_users = 0
_saved_settings: list[tuple[Any, str, Any]] = []


def is_device_array(X: object) -> bool:
    """Whether X is an array of torch or CuPy."""
    return type(X).__module__.partition(".")[0] in SPACES


def space_of(X: Any) -> Space:
    """Return the device of an array.

    Raises
    ------
    NotAvailableError
    """
    library = type(X).__module__.partition(".")[0]
    # Anything else is a subclass of torch's tensors in another package.
    return SPACES[library if library in SPACES else "torch"](X.device)


def space_named(device: object) -> Space:
    """Return the Space of a torch device, or its name, or of a device object of another library.

    Raises
    ------
    MissingLibraryError, ParameterError
    """
    library = type(device).__module__.partition(".")[0]
    if library in SPACES and library != "torch":
        return SPACES[library](device)
    try:
        import torch
    except ImportError:
        raise MissingLibraryError(
            "streaming rows to a device needs torch", hint="pip install 'princomp[torch]'"
        ) from None
    try:
        return _torch(torch.empty(0, device=device).device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ParameterError(
            f"device={device!r} is not available: {reason}",
            place={"parameter": "device"},
            hint="'cpu', or 'cuda:0' where torch sees a GPU",
        ) from None


@lru_cache(maxsize=32)
def _torch(device: Any) -> Space:
    import array_api_compat.torch as xp
    import torch

    if device.type == "meta":
        raise NotAvailableError(
            "tensors on the device 'meta' hold no numbers", hint="use the device 'cpu' or 'cuda'"
        )
    if device.type == "mps":
        raise NotAvailableError(
            f"{device} has no float64, which sums need",
            hint="fit X.cpu(), with torch on the processor",
        )
    gpu = device.type == "cuda"
    return Space(
        xp=xp,
        device=device,
        name=str(device) if device.type != "cpu" else "torch (cpu)",
        to_host=lambda array: array.detach().cpu().numpy(),
        block_size=_GPU_NUMBERS if gpu else 2**20,
        full_precision=_exact_torch,
        qr_r=lambda matrix: torch.linalg.qr(matrix, mode="r").R,
        free_memory=(lambda: int(torch.cuda.mem_get_info(device)[0])) if gpu else (lambda: None),
    )


@contextmanager
def _exact_torch() -> Iterator[None]:
    """Multiply float32 with all bits: without TF32 on GPUs and bfloat16 on processors.

    The setting is global: fits that overlap share it, and the last one restores it.
    """
    global _exact_users, _saved_settings
    import torch

    with _lock:
        if not _exact_users:
            exact: list[Any] = [(torch.backends.cuda.matmul, "allow_tf32", False)]
            if hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # from torch 2.9 on
                backends = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
                exact = [(backend, "fp32_precision", "ieee") for backend in backends]
            _saved_settings = [
                (backend, name, getattr(backend, name)) for backend, name, _ in exact
            ]
            for setting in exact:
                setattr(*setting)
        _exact_users += 1
    try:
        yield
    finally:
        with _lock:
            _exact_users -= 1
            if not _exact_users:
                for setting in _saved_settings:
                    setattr(*setting)


@lru_cache(maxsize=32)
def _cupy(number: int) -> Space:
    import array_api_compat.cupy as xp
    import cupy

    device = cupy.cuda.Device(number)

    # TF32 is off in CuPy unless CUPY_TF32 asks for it.
    return Space(
        xp=xp,
        device=device,
        name=f"cupy (cuda:{number})",
        to_host=cupy.asnumpy,
        block_size=_GPU_NUMBERS,
        qr_r=lambda matrix: cupy.linalg.qr(matrix, mode="r"),
        free_memory=lambda: int(device.mem_info[0]),
    )


# For each library, by the name of its module, a function that describes one of its devices. Tests
# enter array_api_strict here, which has devices whose arrays NumPy cannot read.
SPACES: dict[str, Callable[[Any], Space]] = {
    "torch": _torch,
    "cupy": lambda device: _cupy(device.id),  # CuPy's devices cannot be hashed
}
