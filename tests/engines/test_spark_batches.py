"""Batches of a Spark partition, without Spark."""

from __future__ import annotations

import threading

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from princomp.engines.spark import tasks as spark_tasks  # noqa: E402


def test_weights_can_be_added_while_earlier_ones_are_read():
    weights = spark_tasks.PartitionWeights()
    weights.add(pa.array([0.0, 1.0]), 0)

    def add():
        for row in range(2, 20_000, 2):
            weights.add(pa.array([row, row + 1.0]), row)

    adding = threading.Thread(target=add)
    adding.start()
    found, start = [], 0
    while start < 20_000:
        stop = min(start + 3, len(weights))
        found += weights[start:stop].tolist()
        start = stop
    adding.join(20)
    assert len(weights) == 20_000
    assert found == list(range(20_000))
