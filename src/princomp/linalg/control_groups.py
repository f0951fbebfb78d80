"""Limits of memory and processor time that Linux sets for containers and batch jobs.

They are those of the control groups (versions 2 and 1) of this process and of the groups around it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def memory_left(root: Path = _ROOT, own_groups: Path = _OWN_GROUPS) -> int:
    """Bytes that are left within all limits; ``sys.maxsize`` without a limit."""
    left = sys.maxsize
    for folder, is_version_2 in _group_folders("memory", root, own_groups):
        limit, used, cached = (
            ("memory.max", "memory.current", "inactive_file")
            if is_version_2
            else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        )
        try:
            available = int((folder / limit).read_text()) - int((folder / used).read_text())
        except (OSError, ValueError):
            continue
        # Files in the page cache count as used, but are released on demand.
        available += named_number(folder / "memory.stat", cached) or 0
        left = min(left, max(available, 0))
    return left


@cache
def processor_quota(root: Path = _ROOT, own_groups: Path = _OWN_GROUPS) -> int:
    """Processors that all quotas of processor time allow, rounded up; or ``sys.maxsize``."""
    processors = sys.maxsize
    for folder, is_version_2 in _group_folders("cpu", root, own_groups):
        names = ("cpu.max",) if is_version_2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        try:
            quota, period = map(int, " ".join((folder / n).read_text() for n in names).split())
        except (OSError, ValueError):
            continue
        if quota > 0 and period > 0:
            processors = min(processors, max(1, -(-quota // period)))
    return processors


def named_number(path: Path, name: str) -> int | None:
    """Return the number on the line of a file that begins with ``name``, or None."""
    try:
        for line in path.read_text().splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return None


def _group_folders(controller: str, root: Path, own_groups: Path) -> Iterator[tuple[Path, bool]]:
    """Folders of this process's groups and of those around them, each with whether it is version 2.

    Inside a container, the group of the container itself is at ``root``.
    """
    try:
        lines = own_groups.read_text().splitlines()
    except (OSError, ValueError):
        lines = []
    groups = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    for top, name in ((root, ""), (root / controller, controller)):
        folders = {top}
        for _, controllers, path in groups:
            if name in controllers.split(","):
                own = top / path.lstrip("/")
                folders |= {own, *(around for around in own.parents if top in around.parents)}
        for folder in folders:
            yield folder, not name
