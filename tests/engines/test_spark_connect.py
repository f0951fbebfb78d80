"""Spark Connect: the same frames through a server, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import on_spark
import pytest

from command_line import ENVIRONMENT

pytest.importorskip("grpc", reason="Spark Connect needs grpcio: pip install 'princomp[spark]'")
if on_spark.missing():
    pytest.skip(on_spark.missing(), allow_module_level=True)


def test_a_connect_session_gives_the_same_results():
    script = Path(__file__).with_name("spark_connect.py")
    done = subprocess.run(
        [sys.executable, script], env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["kind"] == "pyspark.sql.connect.dataframe"
    assert found["axes"] < 1e-12
    assert found["scores"] < 1e-11
    assert found["arrays"] < 1e-11
    assert found["rows"] == 60
    assert found["columns"] == ["a", "b", "c", "PC1", "PC2"]
    assert found["place"] == {"row": 41, "column": "b"}
