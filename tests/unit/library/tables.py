"""Small tables of probes and causes, and snapshots, for tests of the library."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.command import Command
from bot.domain.errors import PlaybookError
from bot.domain.probe import Probe, Snapshot
from bot.domain.verdict import RuledOut
from bot.library import Library
from bot.probes import PROBES as HOUSE_PROBES


def _probe(name: str) -> Probe:
    return Probe(
        name, f"what {name} says", (Command(name, ("true",)),), lambda outputs: outputs, HOUSE_PROBES[name].reading
    )


def _never(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    return RuledOut("anything", "it is a test")


PROBES = {name: _probe(name) for name in ("host", "cpu", "cgroups", "kernel_log", "reclaim", "units")}
_MANY = {"many": Threshold(500, "ours"), "held": Threshold(9, "ours")}
_RESTARTS = {"restarts": Threshold(20, "ours")}
CAUSES = {
    "leaked-memory-cgroups": Cause("leaked-memory-cgroups", "a leak", ("cgroups", "cpu"), _MANY, _never),
    "lockup": Cause("lockup", "a lockup", ("kernel_log",), {}, _never, cured_alone_by=("reboot",)),
    "crash-looping-unit": Cause("crash-looping-unit", "a loop", ("units",), _RESTARTS, _never),
}

WHOLE = """\
name: node-health
title: Everything there is
version: 3
description: For any node.
probes: [host, cpu, cgroups, kernel_log, reclaim]
must_read: [cpu, cgroups]
causes:
  leaked-memory-cgroups:
    remedy: [disable_unit, reboot]
    lasting_fix: Take the agent out of the image.
    thresholds:
      many: {value: 1000, reason: a fresh boot has about 17}
      held: {value: 92.5, reason: nothing normal holds a core so long}
  lockup:
    remedy: [reboot]
conditions:
  - name: memory-short
    when: reclaim.memory_full_avg10 > 10 and cpu.iowait_percent < 50
    says: Memory is short.
    status: degraded
"""

EXTENDING = "name: book\ntitle: Mine\nversion: 1\nextends: node-health\n"
OWN = """\
define_probes:
  - name: disk
    command: [df, -P, /]
    fields:
      used_percent: {regex: '(\\d+)% /$', type: number}
"""


def load(folder: Path, **files: str) -> Library:
    """Load a library of these files, `name` becoming `name.yaml`."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')}.yaml").write_text(text)
    return Library.load([folder], PROBES, CAUSES, ACTIONS)


def snapshot(readings: Mapping[str, Any]) -> Snapshot:
    """A snapshot of these readings."""
    return Snapshot("node-1", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), readings)


def refusal(folder: Path, text: str, **others: str) -> str:
    """What is said of the playbook `book.yaml`, without the folder."""
    with pytest.raises(PlaybookError) as refused:
        load(folder, book=text, **others)
    return str(refused.value).replace(f"{folder}/", "")


def written(site: Path, cause: str = "", **tables: str) -> Path:
    """Put a cause called worn, and tables by their names, into a site's own folder, and return that."""
    if cause:
        (site / "causes" / "worn.yaml").write_text(cause)
    for name, text in tables.items():
        (site / "tables" / f"{name.replace('_', '-')}.toml").write_text(text)
    return site
