"""essential_units: what the kubelet says while its runtime is silent, and what only holds such words."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.command import Outputs
from bot.probes.essential_units import PROBE, EssentialUnitsReading, parse
from tests.readings.node_tools import printed, tool
from tests.readings.recorded import run

SHOWN = (
    "Id=kubelet.service\nLoadState=loaded\nActiveState=active\nSubState=running\n\n"
    "Id=-- health --\nAnswer=200 0\n-- end --\n"
)
HEAD = "[  812.004411] node-7 kubelet[2114]: E1122 12:13:55.123456    2114 kubelet.go:2337] "
PLEG = "PLEG is not healthy: pleg was last seen active 3m12.804511s ago; threshold is 3m0s"


def read(said: str) -> EssentialUnitsReading:
    return parse(Outputs(run("look", SHOWN), run("look", SHOWN, 1), run("complaints", f"{said}\n-- end --\n")))


@pytest.mark.parametrize(
    "says",
    [
        f'"Skipping pod synchronization" err="{PLEG}"',
        f'"Skipping pod synchronization" err="[container runtime is down, {PLEG}]"',
        '"Skipping pod synchronization" err="container runtime is down"',
        f"skipping pod synchronization - {PLEG}",  # before Kubernetes 1.20
        f"skipping pod synchronization - [container runtime is down {PLEG}]",
    ],
)
def test_kubelet_that_leaves_its_pods_alone_says_since_when(says: str) -> None:
    (complaint,) = read(HEAD + says).complaints
    assert complaint.since_boot == timedelta(seconds=812.004411)
    assert complaint.text.endswith(says)


@pytest.mark.parametrize(
    "says",
    [
        '"Skipping pod synchronization" err="PLEG is not healthy: pleg has yet to be successful"',  # as at every start
        '"Skipping pod synchronization" err="container runtime status check may not have completed yet"',
        f'"Probe failed" probeType="Liveness" pod="a/b" output="{PLEG}"',  # a pod may print what it likes
        f'"Probe failed" output="kubelet.go:1] skipping pod synchronization - {PLEG}"',
        "",
    ],
)
def test_start_of_a_kubelet_and_words_of_a_pod_are_no_complaint(says: str) -> None:
    assert read(HEAD + says).complaints == ()


def test_words_are_made_safe_and_short() -> None:
    said = f'"Skipping pod synchronization" err="\x1b[31m\u202e<!channel> {PLEG}" {"x" * 4000}'
    (complaint,) = read(HEAD + said).complaints
    assert "\x1b" not in complaint.text
    assert "\u202e" not in complaint.text
    assert len(complaint.text) <= 300


def test_unread_journal_takes_nothing_from_the_rest() -> None:
    assert parse(Outputs(run("look", SHOWN), run("look", SHOWN, 1))).health == ("ok", "ok")


@pytest.mark.parametrize("readable", [True, False])
def test_journal_is_asked_only_where_it_may_be_read(tmp_path: Path, readable: bool) -> None:
    command = next(command for command in PROBE.commands if command.name == "complaints")
    journal = tmp_path / "journal" / "0123" / "system.journal"
    if readable:
        journal.parent.mkdir(parents=True)
        journal.write_text("")
    said = f'{HEAD}"Skipping pod synchronization" err="{PLEG}"'
    (tmp_path / "bin").mkdir()
    tool(tmp_path / "bin" / "journalctl", f"echo '[1.0] node-7 kubelet[2]: I1122 other'\ncat <<'X'\n{said}\nX")
    script = command.argv[2].replace("/run/log/journal", str(tmp_path / "journal"))
    script = script.replace("/var/log/journal", str(tmp_path / "none")).replace("/var/lib/kubelet", str(tmp_path))
    complaints = read(printed(script, tools=tmp_path / "bin").removesuffix("-- end --\n")).complaints
    assert [complaint.text.partition("] ")[2] for complaint in complaints] == (
        [said.partition("2337] ")[2]] if readable else []
    )
