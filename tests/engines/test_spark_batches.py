"""Batches of a Spark partition, without Spark."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from princomp.engines.spark import tasks as spark_tasks  # noqa: E402


def test_weights_can_be_added_while_earlier_ones_are_read(monkeypatch):
    weights = spark_tasks.PartitionWeights()
    for value in (1.0, 2.0):
        weights.add(pa.array([value, value]), 0)
    adding = threading.Thread(target=weights.add, args=(pa.array([3.0, 3.0]), 4))
    concatenate = np.concatenate

    def interrupted(parts):
        joined = concatenate(parts)
        adding.start()
        adding.join(0.2)  # it ends in this time, unless it has to wait
        return joined

    monkeypatch.setattr(spark_tasks.np, "concatenate", interrupted)
    assert weights[0:3].tolist() == [1, 1, 2]
    adding.join(20)
    monkeypatch.undo()
    assert len(weights) == 6
    assert weights[3:6].tolist() == [2, 3, 3]
