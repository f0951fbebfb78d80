"""Limits of containers and batch jobs, read from files as the kernel writes them."""

from __future__ import annotations

import sys

import pytest

from princomp.linalg.control_groups import memory_left, processor_quota

UNLIMITED = sys.maxsize
STAT = "anon 90\nfile 900\ninactive_file 800\nactive_file 100\n"


@pytest.fixture
def answer(tmp_path):
    """Write the files of control groups, and call a function with their folder."""

    def call(function, files, own_groups=""):
        for name, text in files.items():
            path = tmp_path / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "own").write_text(own_groups)
        return function(tmp_path / "groups", tmp_path / "own")

    return call


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"memory.max": "1000\n", "memory.current": "400\n"}, 600),
        ({"memory.max": "max\n", "memory.current": "400\n"}, UNLIMITED),
        ({"memory.max": "1000\n", "memory.current": "990\n", "memory.stat": STAT}, 810),
        ({"memory.max": "1000\n", "memory.current": "990\n", "memory.stat": "file 1"}, 10),
        (
            {
                "memory.max": "1000\n",
                "memory.current": "990\n",
                "memory.stat": "inactive_file what\n",
            },
            10,
        ),
        (
            {"memory/memory.limit_in_bytes": "900\n", "memory/memory.usage_in_bytes": "1000\n"},
            0,
        ),
        (
            {
                "memory/memory.limit_in_bytes": "1000\n",
                "memory/memory.usage_in_bytes": "990\n",
                "memory/memory.stat": "inactive_file 1\ntotal_inactive_file 700\n",
            },
            710,
        ),
        ({"memory.max": "1000\n"}, UNLIMITED),
        ({}, UNLIMITED),
    ],
)
def test_memory_limits_of_both_versions(files, left, answer):
    """Files in the page cache count as used, but fill the memory only until it is needed."""
    assert answer(memory_left, files) == left


@pytest.mark.parametrize(
    ("files", "processors"),
    [
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "5000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, UNLIMITED),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, UNLIMITED),
        ({"cpu/cpu.cfs_quota_us": "400000\n"}, UNLIMITED),
        ({"cpu.max": "what\n"}, UNLIMITED),
        ({}, UNLIMITED),
    ],
)
def test_processor_quotas_of_both_versions(files, processors, answer):
    assert answer(processor_quota, files) == processors


@pytest.mark.parametrize("own", ["0::/jobs/7/step\n", "1:name=systemd:/\n0::/jobs/7/step\n"])
def test_each_group_around_the_process_may_limit_it(own, answer):
    """The limit of a batch job is not at the root, and its steps need not have one."""
    files = {
        "jobs/memory.max": "5000\n",
        "jobs/memory.current": "1000\n",
        "jobs/7/memory.max": "3000\n",
        "jobs/7/memory.current": "1000\n",
        "jobs/7/step/memory.max": "max\n",
        "jobs/8/memory.max": "1\n",
        "jobs/8/memory.current": "1\n",
        "jobs/7/cpu.max": "300000 100000\n",
    }
    assert answer(memory_left, files, own) == 2000
    assert answer(processor_quota, files, own) == 3


def test_groups_of_version_1_are_those_of_the_controller(answer):
    own = "5:cpu,cpuacct:/a\n4:memory:/b\n0::/\n"
    files = {
        "memory/a/memory.limit_in_bytes": "1\n",
        "memory/a/memory.usage_in_bytes": "1\n",
        "memory/b/memory.limit_in_bytes": "900\n",
        "memory/b/memory.usage_in_bytes": "200\n",
        "cpu/a/cpu.cfs_quota_us": "250000\n",
        "cpu/a/cpu.cfs_period_us": "100000\n",
        "cpu/b/cpu.cfs_quota_us": "100000\n",
        "cpu/b/cpu.cfs_period_us": "100000\n",
    }
    assert answer(memory_left, files, own) == 700
    assert answer(processor_quota, files, own) == 3


def test_systems_without_control_groups(tmp_path):
    missing = tmp_path / "missing"
    assert memory_left(missing, missing) == processor_quota(missing, missing) == UNLIMITED
