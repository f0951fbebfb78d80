"""Encoder of .npy files."""

from __future__ import annotations

import numpy as np

from princomp.io.writers.encoder import GROUP_NUMBERS, Ids, Layout, Numbers, Sink


class NpyEncoder:
    """Encoder of .npy files, which hold neither names nor ids."""

    def __init__(self, sink: Sink, layout: Layout) -> None:
        self._sink, self._layout = sink, layout
        self._written_rows = 0
        self._start = 0 if layout.rows is not None else sink.file.tell()
        self._write_header(layout.rows or 0)

    def _write_header(self, rows: int) -> None:
        # NumPy pads the header with room for more digits of the number of rows, so it can be
        # overwritten in place.
        header = {
            "descr": np.lib.format.dtype_to_descr(self._layout.dtype),
            "fortran_order": False,
            "shape": (rows, self._layout.p),
        }
        np.lib.format.write_array_header_1_0(self._sink, header)

    def write(self, data: Numbers, ids: Ids) -> None:
        """Add an (m, p) block."""
        step = max(1, GROUP_NUMBERS // self._layout.p)
        for start in range(0, len(data), step):
            self._sink.write(np.ascontiguousarray(data[start : start + step]).data)
        self._written_rows += len(data)

    def close(self) -> None:
        """Write what is still missing of the file."""
        if self._layout.rows is None and not self._sink.discards:
            file = self._sink.file
            end = file.tell()
            file.seek(self._start)
            self._write_header(self._written_rows)
            file.seek(end)
