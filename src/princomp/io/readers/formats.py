"""The formats of files, chosen by the ending of the name, and hints for other files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from princomp.errors import InputNotFoundError, ParameterError
from princomp.io.readers.columns import Selection
from princomp.io.readers.reader_errors import file_error, folder_hint, import_optional, reading
from princomp.io.readers.source import Source


class Format(NamedTuple):
    """How files of one format are read.

    Parameters
    ----------
    opener : str
        Module of this package and its function that makes a Source:
        ``opener(path, selection, **options)``. The options include ``inside`` if files of the
        format have parts.
    libraries : tuple of str
        Optional libraries that this module imports at its top. They are imported before it, so
        that an error says how to install a missing one.
    options : mapping
    table_reader : str, optional
        Module and function that reads a small file into memory. Given for formats in which
        text decides whether a column holds numbers, so that the decision considers all cells,
        not only the first ones. It returns None if the table turns out to be large.
    has_parts : bool
        A file may hold several arrays; the name of one follows "::".
    """

    opener: str
    libraries: tuple[str, ...] = ()
    options: Mapping[str, str | None] = MappingProxyType({})
    table_reader: str | None = None
    has_parts: bool = False

    def open(self, path: Path, selection: Selection, inside: str | None, small: bool) -> Source:
        """Open a file for reading in chunks, or read it whole if it is small and may be."""
        options = {**self.options, "inside": inside} if self.has_parts else self.options
        for library in self.libraries:
            import_optional(library, path)
        source: Source | None = None
        if small and self.table_reader:
            source = _function(self.table_reader)(path, selection, **options)
        if source is None:
            source = _function(self.opener)(path, selection, **options)
        return source


def _function(name: str) -> Callable[..., Any]:
    """Import a function of this package, given as ``module.function``."""
    module, function = name.split(".")
    return getattr(import_module(f"princomp.io.readers.{module}"), function)


# To add a format, write its reader as a module of this package and add an entry here.
_ARROW = Format(
    "columnar_files.ArrowSource", ("pyarrow",), table_reader="columnar_files.read_arrow"
)
_PARQUET = Format(
    "columnar_files.ParquetSource",
    ("pyarrow.parquet",),
    table_reader="columnar_files.read_parquet",
)
_HDF5 = Format("hdf5.open_hdf5", ("h5py",), has_parts=True)
_FORMATS = {
    **{
        f".{name}{packed}": Format(
            "delimited_stream.open_delimited",
            ("pyarrow.csv",),
            {"delimiter": delimiter, "compression": compression},
            table_reader="delimited.read_delimited",
        )
        for name, delimiter in (("csv", ","), ("tsv", "\t"), ("txt", None))
        for packed, compression in (("", None), (".gz", "gzip"), (".zst", "zstd"))
    },
    ".xlsx": Format("workbook.open_workbook", ("openpyxl", "pyarrow.csv")),
    **dict.fromkeys((".parquet", ".pq"), _PARQUET),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), _ARROW),
    ".npy": Format("numpy_file.open_npy"),
    ".npz": Format("npz_file.open_npz", has_parts=True),
    ".mtx": Format("matrix_market.open_matrix_market", ("pyarrow.csv",)),
    ".mtx.gz": Format("matrix_market.open_matrix_market", ("pyarrow.csv",)),
    ".h5ad": Format("h5ad.open_h5ad", ("h5py",), has_parts=True),
    **dict.fromkeys((".h5", ".hdf5", ".nc", ".nc4"), _HDF5),
    ".zarr": Format("zarr_store.open_zarr", ("zarr",), has_parts=True),
    ".zarr.zip": Format("zarr_store.open_zarr", ("zarr",), has_parts=True),
}

ENDINGS = tuple(_FORMATS)

# Hints for the endings of tables that other programs read.
_HINTS = {
    **dict.fromkeys(
        (".rds", ".rdata", ".rda"),
        "In R, write.csv(x, 'x.csv') saves the table x as CSV, which can be read.",
    ),
    ".mat": "A file of save -v7.3 is HDF5: give it the ending .h5, and name a matrix X as in "
    "x.h5::X. For others, give scipy.io.loadmat(path)['X'] in Python, or in MATLAB "
    "writematrix(X, 'x.csv').",
    **dict.fromkeys(
        (".db", ".db3", ".duckdb", ".sqlite", ".sqlite3"),
        "Save the table of the database as CSV or Parquet; or give a function in Python that reads "
        "it in batches: lambda: pandas.read_sql(query, connection, chunksize=10_000).",
    ),
    **dict.fromkeys(
        (".svm", ".libsvm", ".svmlight"),
        "Give sklearn.datasets.load_svmlight_file(path)[0], a sparse matrix.",
    ),
    **{
        ending: "Save the table as CSV or Parquet; or read it with "
        f"pandas.{reader} in Python, and give the frame."
        for ending, reader in (
            (".dta", "read_stata"),
            (".sas7bdat", "read_sas"),
            (".sav", "read_spss"),
            (".xls", "read_excel"),
            (".xlsb", "read_excel"),
            (".xpt", "read_sas"),
            (".zsav", "read_spss"),
        )
    },
}
# Commands that unpack files that are not read packed.
_UNPACKERS = {".bz2": "bzip2 -dk", ".xz": "xz -dk", ".zip": "unzip"}


def ending_of(path: str | os.PathLike[str]) -> str | None:
    """Return the known ending of a file's name, in lower case; None if it has none."""
    name = Path(path).name.lower()
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def split_inside(name: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Split a name such as "store.h5::/group/x" into the file and the part inside it."""
    text = os.fspath(name)
    file, separator, inside = text.partition("::")
    ending = ending_of(file)
    if separator and ending is not None and _FORMATS[ending].has_parts:
        return Path(file), inside
    return Path(text), None


def format_of(path: Path) -> tuple[str, Format]:
    """The ending of an existing file, and its format."""
    ending = ending_of(path)
    outside, _, inside = str(path).partition("::")
    if inside and not path.exists() and os.path.isfile(outside):
        path, ending = Path(outside), ending_of(outside)
        if ending is not None:
            problem = f"a {ending} file has no parts, and '::{inside}' names one"
            raise file_error(ParameterError, path, problem, f"Give {outside} alone.")
    may_be_folder = ending is not None and ending.startswith(".zarr")
    if not (may_be_folder and os.path.isdir(path)):
        _refuse_absent(path)
    if path.suffix == ".pca":
        hint = "Give the file of the rows; princomp.load(path) opens models in Python."
        raise file_error(ParameterError, path, "it is a model, and a table is needed", hint)
    if ending is None:
        problem = "its name does not say what kind of table it is"
        suffix = path.suffix.lower()
        text = "If it is text, rename it to end in .txt, or read it from standard input"
        text = f"{text}: princomp fit - < {shlex.quote(str(path))}"
        hint = _HINTS.get(suffix, f"Known endings are {', '.join(ENDINGS)}. {text}")
        if suffix in _UNPACKERS:
            hint = f"Unpack it first: {_UNPACKERS[suffix]} {shlex.quote(str(path))}"
        raise file_error(ParameterError, path, problem, hint)
    return ending, _FORMATS[ending]


def _refuse_absent(path: Path) -> None:
    with reading(path, "a table"):  # the folder may not be readable
        if path.is_file():
            return
        if path.exists():
            why = "is not a regular file"
            hint = "Give a pipe as standard input (-), or save the table first."
        else:
            why, hint = "no such file", folder_hint()
        raise file_error(InputNotFoundError, path, why, hint)
