"""Recordings of real machines are read right or refused with a reason, never mis-read.

They lie in a folder of their own (environment ZOMBIE_CORPUS, else `../shared/corpus`), for not all may be copied.
The rows stand in `corpus_*.py` beside this file.
"""

import pytest

from bot.domain.probe import Unread
from bot.probes import PROBES
from tests.contract import corpus_counters, corpus_cpu, corpus_nodes
from tests.contract.corpus import CORPUS, Refused, Row, text_of

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here (set ZOMBIE_CORPUS)")

ROWS = [*corpus_cpu.ROWS, *corpus_counters.ROWS, *corpus_nodes.ROWS]

# Folders of which every recording must have a row, and the files in them that no probe asks for.
WHOLE = ("cgroup", "dmesg", "ena", "ethtool", "mpstat", "proc", "psi", "softnet", "systemctl", "vmstat")
NOT_ASKED = (
    *("buddyinfo", "cpuinfo", "loadavg", "schedstat", "slabinfo", "swaps", "uptime", "version"),
    *("memory.stat", "memory.numa_stat", "memory.stat-6.18.txt", "memory.numa_stat-6.18.txt", "cpu.pressure"),
    *("pids.current", "pids.max", ".service"),
)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.probe}:{row.path}" for row in ROWS])
def test_recording_is_read_right_or_refused(row: Row) -> None:
    reading = PROBES[row.probe].read(row.outputs(text_of(row.path)))
    if isinstance(row.expected, Refused):
        assert isinstance(reading, Unread), reading
        assert row.expected.because in reading.reason
    else:
        assert not isinstance(reading, Unread), reading.reason
        assert row.figures(reading) == row.expected


def test_no_recording_is_left_out() -> None:
    present = {f"{folder}/{path.name}" for folder in WHOLE for path in (CORPUS / folder).iterdir()}
    asked = {path for path in present if not path.endswith(NOT_ASKED)}
    assert asked - {row.path for row in ROWS} == set()


def test_every_row_has_its_recording() -> None:
    assert [row.path for row in ROWS if not (CORPUS / row.path).is_file()] == []
