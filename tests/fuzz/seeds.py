"""Write the first files of the corpus: small valid tables, models and command lines."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp
import zarr
from openpyxl import Workbook
from targets import CHECKPOINT_RUN

from princomp import PCA
from princomp.io import Checkpoint, State
from princomp.summaries import Moments, Triangle

CORPUS = Path(__file__).parent / "corpus"
ROWS = np.arange(12.0).reshape(4, 3) ** 2 % 7
TEXTS = (
    "name,a,b,c\nx,1,2,3\ny,4,5.5,6\nz,-1e3,0,NA\n",
    "a;b\n1,5;2\n2,5;7\n0,5;1\n",
    "# comment\n\n\ta\tb\n1\t2\t3\n2\t5\t1\n",
    '"a ""b""",c\n"1",2\n"3 kg",4 kg\n',
    "date,on,x\n2024-01-01,true,1_000\n2024-01-02,false,2.000\n",
    "\ufeffa,b\r\n1,2\r\n3,5\r\nTotal,4,7\r\n",
)


def seeds() -> dict[str, list[bytes]]:
    table = pa.table({"name": ["a", "b", "c", "d"], "x": ROWS[:, 0], "y": ROWS[:, 1]})
    found = {name: [] for name in ("arrow", "parquet", "npy", "npz", "mtx", "h5", "h5ad", "zarr")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"

        def add(name: str, content: bytes | None = None) -> None:
            found.setdefault(name, []).append(path.read_bytes() if content is None else content)

        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
        add("arrow")
        pq.write_table(table, path)
        add("parquet")
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, table.schema) as file:
            file.write_table(table)
        add("stdin", stream.getvalue())
        for dtype in ("<f8", ">f4", "<i2", "?"):
            stream = io.BytesIO()
            np.save(stream, ROWS.astype(dtype))
            add("npy", stream.getvalue())
        add("stdin", stream.getvalue())
        stream = io.BytesIO()
        np.savez(stream, ROWS)
        add("npz", stream.getvalue())
        stream = io.BytesIO()
        sp.save_npz(stream, sp.csr_array(ROWS), compressed=False)
        add("npz", stream.getvalue())
        for matrix in (ROWS, sp.csr_array(ROWS)):
            stream = io.BytesIO()
            scipy.io.mmwrite(stream, matrix)
            add("mtx", stream.getvalue())
        with h5py.File(path, "w", libver="earliest") as file:
            file["x"] = ROWS
        add("h5")
        with h5py.File(path, "w", libver="latest") as file:
            csr = sp.csr_array(ROWS)
            group = file.create_group("X")
            group.attrs.update({"encoding-type": "csr_matrix", "shape": ROWS.shape})
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(csr, name)
            file["obs/_index"] = ["a", "b", "c", "d"]
            file["var/_index"] = ["x", "y", "z"]
            for name in ("obs", "var"):
                file[name].attrs["_index"] = "_index"
        add("h5ad")
        with zipfile.ZipFile(path, "w") as archive:
            store = zarr.storage.MemoryStore()
            zarr.create_array(store, data=ROWS, compressors=None)
            for key, value in store._store_dict.items():
                archive.writestr(key, value.to_bytes())
        add("zarr")
        book = Workbook()
        for row in (["name", "a", "b"], ["x", 1, 2.5], ["y", 3, 4], ["z", 0, 1]):
            book.active.append(row)
        book.save(path)
        add("xlsx")
        for options in ({}, {"scale": "unit"}, {"svd_solver": "full", "n_components": 2}):
            PCA(**options).fit(ROWS).save(path, overwrite=True)
            add("model")
        path.unlink()
        for summary in (Moments.of(ROWS), Triangle.of(ROWS)):
            run = Checkpoint(path, CHECKPOINT_RUN, {"arguments": ["fit", "rows.csv"]}, 10**9)
            run.finish(State(4, summary, 0))
            run.close()
            add("checkpoint")
            Checkpoint.remove(path)
    texts = [text.encode() for text in TEXTS]
    encoded = [TEXTS[0].encode("utf-16"), TEXTS[3].encode("latin-1")]
    lines = (
        "fit\nrows.csv\n-k\n2",
        "plan\nrows.csv\n--scale\nunit",
        "fit\nrows.csv\n--kernel\nrbf\n-k\n1\n--gamma\n0.5",
        "transform\nmodel.pca\nrows.csv",
        "choose\nrows.csv\nkaiser\n--json",
        "bootstrap\nrows.csv\n-n\n2",
        "fit\nrows.csv\n--robust\n--columns\na,b",
        "fit\nrows.csv\n--sep\n;\n--decimal\n,\n--na\nx",
    )
    return found | {
        "csv": texts + encoded,
        "txt": texts + encoded,
        "stdin": found["stdin"] + texts,
        "arguments": [line.encode() for line in lines],
    }


if __name__ == "__main__":
    for target, contents in seeds().items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for i, content in enumerate(contents):
            (folder / f"seed-{i}").write_bytes(content)
