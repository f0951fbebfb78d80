"""Record the results of fits, to the bit, and compare them with those of an earlier version.

Run it before and after a change that should leave every number as it is::

    python tests/recorded/recorded_fits.py --write build/recorded.json
    python tests/recorded/recorded_fits.py --compare build/recorded.json

The fits use the public API and the command line only. Of each fit the file holds a SHA-256 of
all its fields, a short digest of each field, and a few readable numbers of it. Sentences, paths and
what depends on free memory are left out. Digests hold on one machine with one set of libraries.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "dask", "torch", "pyspark")
THREAD_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

# Sentences, paths, and fields that depend on free memory.
LEFT_OUT = {"reason", "reasons", "note", "notes", "files", "memory", "memory_limit"}

ATTRIBUTES = [
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "accumulated_rate_",
    "singular_values_",
    "loadings_",
    "mean_",
    "var_",
    "scale_",
    "total_variance_",
    "noise_variance_",
    "n_components_",
    "n_samples_",
    "n_dropped_",
    "n_features_in_",
    "n_samples_seen_",
    "batch_size_",
    "feature_names_in_",
    "decision_",
    "imputed_",
    "certificate_",
    "eigenvalues_",
    "eigenvectors_",
    "X_fit_",
    "landmarks_",
    "gamma_",
    "approximation_error_",
    "dual_coef_",
    "X_transformed_fit_",
    "score_distances_",
    "orthogonal_distances_",
    "score_cutoff_",
    "orthogonal_cutoff_",
    "outliers_",
    "n_support_",
    "id_column_",
]
PLAN = ("summary", "route", "solver", "passes", "gamma")


# ---- fields and digests -------------------------------------------------------------


def is_model(value):
    return hasattr(value, "get_params") and hasattr(value, "fit")


def attributes_of(model):
    """Fitted attributes by name; those that the model does not have are left out."""
    found = {}
    for name in ATTRIBUTES:
        try:
            found[name] = getattr(model, name)
        except (AttributeError, ValueError):
            continue
    plan = getattr(model, "plan_", None)
    if plan is not None:
        found["plan_"] = {name: getattr(plan, name) for name in PLAN if hasattr(plan, name)}
    return found


def to_plain(value):
    """Reduce a result to None, str, bool, int, float, bytes, arrays, lists and dicts."""
    import numpy as np
    import scipy.sparse as sp

    if value is None or isinstance(value, str | bool | int | float | bytes):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "OT" else value
    if isinstance(value, np.generic):
        return value.item()
    if sp.issparse(value):
        rows = sp.csr_array(value)
        places = [rows.indptr.astype(np.int64), rows.indices.astype(np.int64)]
        return [list(rows.shape), *places, rows.data]
    if is_model(value):
        return to_plain({"class": type(value).__name__, **attributes_of(value)})
    if hasattr(value, "items"):  # a mapping, or a frame of pandas
        return {str(name): to_plain(cell) for name, cell in value.items() if name not in LEFT_OUT}
    if hasattr(value, "to_numpy"):
        return to_plain(value.to_numpy())
    if hasattr(value, "to_dict"):
        return to_plain(value.to_dict())
    if hasattr(value, "__dataclass_fields__"):
        return to_plain({name: getattr(value, name) for name in value.__dataclass_fields__})
    if hasattr(value, "_asdict"):
        return to_plain(value._asdict())
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return to_plain(np.asarray(value))


def encode(value):
    """Bytes that differ where plain values differ in any bit, dtype or shape."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return b"array %s %r " % (value.dtype.str.encode(), value.shape) + value.tobytes()
    if isinstance(value, float):
        return np.float64(value).tobytes()
    if isinstance(value, bytes):
        return b"bytes " + value
    if isinstance(value, dict):
        pairs = [[name, value[name]] for name in sorted(value)]
        return b"dict " + encode(pairs)
    if isinstance(value, list):
        parts = [encode(item) for item in value]
        return b"list " + b"".join(b"%d:" % len(part) + part for part in parts)
    return f"{type(value).__name__} {value!r}".encode()


def readable(value):
    """A few numbers of a plain value as text, or None if there are none."""
    import numpy as np

    if isinstance(value, bool | int | float):
        return repr(value)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub" or not value.size:
        return value if isinstance(value, str) and len(value) < 40 else None
    first = ", ".join(repr(number) for number in value.ravel()[:3].tolist())
    total = float(np.abs(np.nan_to_num(value.astype(np.float64))).sum())
    return f"{value.dtype} {value.shape}: {first}, …; sum of sizes {total!r}"


def fields_of(result):
    """The fields of a result by name; a model has one field for each attribute."""
    fields = {}
    for name, value in result.items():
        if is_model(value):
            fields |= {f"{name}.{inner}": cell for inner, cell in to_plain(value).items()}
        else:
            fields[name] = to_plain(value)
    return fields


def record_of(fields):
    digests = {name: hashlib.sha256(encode(value)).hexdigest() for name, value in fields.items()}
    whole = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
    numbers = {name: text for name, value in fields.items() if (text := readable(value))}
    short = {name: digest[:12] for name, digest in digests.items()}
    return {"sha256": whole, "fields": short, "numbers": numbers}


# ---- running and comparing ----------------------------------------------------------


def run_fits(pattern, folder, times):
    """Run the fits whose names match; return their records, and why others were skipped."""
    import fits_of_files  # noqa: F401  (modules of fits register their cases)
    import fits_of_others  # noqa: F401
    import fits_of_pca  # noqa: F401
    import fits_on_engines
    from recorded_rows import CASES

    selected = [name for name in CASES if pattern is None or matches(name, pattern)]
    records, skipped = {}, {}
    for name in selected:
        case = CASES[name]
        if missing := [library for library in case.needs if not is_available(library)]:
            skipped[name] = f"needs {', '.join(missing)}"
            continue
        place = folder / f"{len(records):03d}"
        place.mkdir()
        begin = time.perf_counter()
        try:
            records[name] = record_of(fields_of(case.run(place)))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            records[name] = {"sha256": f"failed: {type(error).__name__}", "fields": {}}
            records[name]["numbers"] = {"error": text}
            print(f"{name}: {text}", file=sys.stderr)
        if times:
            print(f"{time.perf_counter() - begin:7.2f} s  {name}", file=sys.stderr)
    fits_on_engines.stop()
    return records, skipped


def matches(name, pattern):
    return pattern in name or fnmatchcase(name, pattern)


def is_available(library):
    if library in ("java", "mpiexec"):
        import fits_on_engines

        return fits_on_engines.program(library) is not None
    return find_spec(library) is not None


def compare(before, now, pattern):
    """Lines that say what differs, and lines about fits that are new."""
    lines = []
    for name, record in before["fits"].items():
        if pattern is not None and not matches(name, pattern):
            continue
        if name in now["skipped"]:
            lines.append(f"missing: {name}: {now['skipped'][name]}")
        elif name not in now["fits"]:
            lines.append(f"missing: {name}")
        elif record["sha256"] != now["fits"][name]["sha256"]:
            lines += [f"differs: {name}", *differences(record, now["fits"][name])]
    new = [name for name in now["fits"] if name not in before["fits"]]
    return lines, [f"new, nothing to compare with: {name}" for name in new]


def differences(before, now):
    names = sorted({*before["fields"], *now["fields"]} | {"error"})
    lines = []
    for name in names:
        if before["fields"].get(name) == now["fields"].get(name) and name != "error":
            continue
        earlier, current = before["numbers"].get(name), now["numbers"].get(name)
        if name != "error" or earlier != current:
            lines += [f"    {name}", f"        recorded {earlier}", f"        now      {current}"]
    return lines


def environment():
    found = {"python": platform.python_version(), "processor": platform.processor()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", metavar="FILE", help="write digests into FILE")
    what.add_argument("--compare", metavar="FILE", help="compare with the digests in FILE")
    parser.add_argument("--only", metavar="PATTERN", help="fits whose name contains or matches it")
    parser.add_argument("--threads", type=int, default=1, help="threads of BLAS; 1 by default")
    parser.add_argument("--times", action="store_true", help="say how long each fit takes")
    options = parser.parse_args(arguments)
    for name in THREAD_SETTINGS:  # read when NumPy is imported, which nothing has done yet
        os.environ[name] = str(options.threads)
    warnings.simplefilter("ignore")

    before = json.loads(Path(options.compare).read_text()) if options.compare else None
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
        records, skipped = run_fits(options.only, Path(folder), options.times)
    import princomp

    seconds = time.perf_counter() - begin
    print(f"{len(records)} fits of {princomp.__file__}, {len(skipped)} skipped, {seconds:.0f} s")
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")
    now = {"environment": environment(), "skipped": skipped, "fits": records}
    if before is None:
        text = json.dumps(now, indent=1, ensure_ascii=False, sort_keys=True)
        Path(options.write).parent.mkdir(parents=True, exist_ok=True)
        Path(options.write).write_text(text + "\n")
        return int(any(record["sha256"].startswith("failed") for record in records.values()))
    if before["environment"] != now["environment"]:
        print("recorded with other libraries:", before["environment"], "now:", now["environment"])
    lines, new = compare(before, now, options.only)
    print("\n".join([*lines, *new, f"{sum(x[0] != ' ' for x in lines)} differ or are missing"]))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
