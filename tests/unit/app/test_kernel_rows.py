"""A site's own rows of the kernel log: beside ours on the node and in the reading, never in place of ours."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.app.factories import library
from bot.domain.errors import PlaybookError
from bot.probes.formats import kernel_table
from bot.probes.kernel_log import KernelLogReading, parse
from tests.readings.recorded import once

ROW = """[acme.engine]
lines = ['acme_card (?P<device>[0-9a-f:.]+): engine (?:is )?gone']
has = ["engine is gone", "engine gone"]
from = "our own driver"
seen = ["acme_card «device=0000:3b:00.0»: engine gone"]
never = ["acme_card 0000:3b:00.0: engine ready"]
"""
LOG = ["acme_card 0000:3b:00.0: engine gone", "nf_conntrack: table full, dropping packet", "acme: ready"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "tables").mkdir()
    yield tmp_path
    kernel_table.ROWS_OF_SITES.clear()


def written(folder: Path, text: str) -> Path:
    (folder / "tables" / "kernel-log.toml").write_text(text)
    return folder


def reading(*folders: Path, log: list[str]) -> KernelLogReading:
    """What a node with this log answers to the probe of these folders' playbooks."""
    probe = next(probe for probe in library(folders).get("node-health").probes if probe.name == "kernel_log")
    program = probe.commands[0].argv[-1]
    text = "".join(f"[{at:12.6f}] node kernel: {says}\n" for at, says in enumerate(log, start=1000))
    argv = ["awk", "-v", "o=journal", program]
    done = subprocess.run(argv, input=f"{text}-- whole --\n", capture_output=True, text=True, timeout=30, check=True)
    return parse(once("log", done.stdout))


def test_site_adds_a_kind_and_ours_stay(folder: Path) -> None:
    assert reading(log=LOG).kinds == ("conntrack-full",)
    ours, ended = reading(written(folder, ROW), log=LOG), reading(folder, log=LOG)  # twice is once
    assert [(event.kind, event.device) for event in ours.events] == [("acme", "0000:3b:00.0"), ("conntrack-full", "")]
    assert ours.events == ended.events
    assert ours.of("acme")[0].text.endswith("engine gone")


def test_line_that_ours_know_is_told_by_both(folder: Path) -> None:
    row = """[acme.full]
lines = ['nf_conntrack: table']
has = ["nf_conntrack"]
seen = ["nf_conntrack: table full"]
"""
    told = reading(written(folder, row), log=LOG)
    assert {event.kind for event in told.events if "table full" in event.text} == {"conntrack-full", "acme"}


def test_storm_of_a_sites_lines_pushes_none_of_ours_out(folder: Path) -> None:
    storm = [LOG[1], *[LOG[0]] * 500]
    assert "conntrack-full" in reading(written(folder, ROW), log=storm).kinds


def test_sites_line_explains_no_error_of_ours(folder: Path) -> None:
    """An error beside a known fault belongs to it; beside a site's line it stays an error."""
    library([written(folder, ROW)])
    lines = [f"<3>[{1000 + n:12.6f}] node kernel: {says}" for n, says in enumerate([LOG[0], "zyx: not served"])]
    events = parse(once("log", "\n".join([*lines, "-- journal: 2 lines, 0 left out --"]))).events
    assert [event.kind for event in events] == ["error", "acme", "error"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[acme.engine]", "[disk.engine]"), 'kernel-log.toml:1: the ring "disk" is ours'),
        (("from = ", "form = "), 'kernel-log.toml:4: unknown column "form"'),
        (("lines = ['acme", "lines = ['(?<=a)acme"), "kernel-log.toml:2: lines is not an RE2 expression"),
        (("(?P<device>", "(?P<core>"), "another group than device or process"),
        (("has = [", 'has = ["e*o", '), 'kernel-log.toml:3: "e*o" is no literal'),
        (
            ('"our own driver"\n', '"our own driver"\nkind = "mounted"\n'),
            'kernel-log.toml:5: no row of a site tells "mounted"',
        ),
        (("«device=0000:3b:00.0»", "0000:3b:00.0"), "kernel-log.toml:5: lines and has do not find"),
        (("engine ready", "engine gone"), "kernel-log.toml:6: lines find"),
        (('has = ["', 'has = ["' + "x" * 8000 + '", "'), "kernel-log.toml: has more than 8,000 characters of literals"),
    ],
)
def test_fault_is_told_with_its_line(folder: Path, change: tuple[str, str], says: str) -> None:
    with pytest.raises(PlaybookError) as refused:
        library([written(folder, ROW.replace(*change))], strict=True)
    assert any(says in line for line in str(refused.value).splitlines()), str(refused.value)
    assert kernel_table.table() == kernel_table.own_table()
