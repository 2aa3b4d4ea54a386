"""A yes looks for a second; only what a second does not show is looked for longer, and only then refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

import pytest

from bot.actions import ACTIONS
from bot.domain.action import KEEPS, EndedItem, PlanImpact, Step
from bot.domain.batch import Batch
from bot.domain.command import Completed, Outputs
from bot.domain.errors import (
    AlreadyCured,
    CannotTell,
    MissingRight,
    PlanChanged,
    Refused,
    StateChanged,
    Unreachable,
    WouldStopProtected,
)
from bot.domain.events import PlanProposed
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.probe import Probe, Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Verdict
from bot.probes import unfinished
from bot.probes.containers import ContainersReading
from bot.probes.formats.container_lists import Container
from bot.response.decision.preflight import DriftDetected, Preflight
from bot.response.decision.recheck import Recheck, with_deciding_probes
from bot.response.diagnosis.plan_impact import READ_AGAIN, READ_FROM
from bot.response.diagnosis.triage import Triage
from bot.response.execution.node_access import NodeAccess, NodeStatus
from tests.directories import Always, OnePlaybook
from tests.record.incidents import BEGAN_AT, BOOT, NODE, OPENING, PLAN, TRIAGED, VERDICT, entries

HERE = Node(NODE, "10.0.0.7", 22)
BOUND = {"address": "10.0.0.7:22", "host_key": "SHA256:k", "boot_id": BOOT, "machine_id": "m1", "playbook": "p 3"}
INCIDENT = fold(entries((OPENING, TRIAGED, PlanProposed.of(PLAN, BOUND))))
LOOPING = "LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nUnitFileState=enabled\nNRestarts=7\n"
UNREAD = replace(VERDICT, status=Status.HEALTHY, cause=None, confidence=None, suspects=(), plan=None)
HEALTHY = replace(UNREAD, ruled_out=(RuledOut(VERDICT.cause or "", "19 dying cgroups"),))
UNSURE = replace(VERDICT, confidence=Confidence.LIKELY)


class Wire:
    """A transport that nobody may use: everything is asked in the triage's own batch."""

    def host_key(self, node: Node) -> str:
        return "SHA256:k"

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        if batch.questions:
            raise Unreachable(f"{node.name} was asked over a connection more")
        yield Completed("", "", 0, "")


@dataclass
class Asked:
    """A triage that says what it was told to say, and answers what is asked beside the probes."""

    verdict: Verdict
    boot: str = BOOT
    may: int = 0
    around: str = "Id=ecs.service\nNames=ecs.service\n\n-- all told --\n"
    times: int = 0
    probes: list[str] = field(default_factory=list)
    containers: tuple[Container, ...] = ()

    async def diagnose(self, node: Node, playbook: Playbook) -> Verdict:
        self.times += 1
        self.probes = [probe.name for probe in playbook.probes]
        said = {"identity": f"==> /proc/sys/kernel/random/boot_id <==\n{self.boot}\n\n==> /etc/machine-id <==\nm1\n"}
        said["dependents"] = self.around
        said |= {"look": unfinished.PROBE.example["look"], "starting": "-- end of units --\n"}
        readings: dict[str, Any] = {}
        for probe in playbook.probes:
            runs = [
                Completed(
                    probe.name,
                    one.name,
                    at,
                    said.get(one.name, LOOPING),
                    exit_status=self.may if one.name == "may" else 0,
                )
                for one in probe.commands
                for at in ((0, 1) if one.name == "starting" else (0,))
            ]
            readings[probe.name] = probe.parse(Outputs(*runs))
        return replace(self.verdict, snapshot=Snapshot(node.name, BEGAN_AT, timedelta(seconds=1), readings))

    async def snapshot(self, node: Node, playbook: Playbook) -> Snapshot:
        self.probes = [probe.name for probe in playbook.probes]
        readings = {"containers": ContainersReading(("docker",), self.containers)} if self.containers else {}
        return Snapshot(node.name, BEGAN_AT, timedelta(seconds=1), readings)


def looking(*triages: Asked, playbook: Playbook | None = None) -> Preflight:
    reach = NodeAccess(Wire(), ACTIONS)
    found = playbook or Playbook("p", "", 3, (), (), ())
    return Preflight(reach, Always(HERE), Recheck(reach, cast("list[Triage]", triages), OnePlaybook(found)))


async def test_second_that_shows_the_same_is_enough() -> None:
    short, whole = Asked(VERDICT), Asked(HEALTHY)
    seen = await looking(short, whole).check_unchanged(INCIDENT)
    assert (short.times, whole.times) == (1, 0)
    assert short.probes == ["identity", "first step", "also, step 1", "also, step 2", "right 0", "right 1"], (
        "all in one batch"
    )
    assert seen.boot_id == BOOT
    assert [one["ActiveState"] for one in seen.facts] == ["activating"], "the first step's alone"


@pytest.mark.parametrize("short", [HEALTHY, UNSURE, replace(VERDICT, suspects=()), replace(VERDICT, plan=None)])
async def test_what_a_second_does_not_show_is_looked_for_over_the_whole_window(short: Verdict) -> None:
    whole = Asked(VERDICT)
    await looking(Asked(short), whole).check_unchanged(INCIDENT)
    assert whole.times == 1


@pytest.mark.parametrize(("whole", "kind"), [(HEALTHY, AlreadyCured), (UNREAD, StateChanged), (UNSURE, StateChanged)])
async def test_only_the_whole_window_says_that_it_is_another(whole: Verdict, kind: type[Refused]) -> None:
    with pytest.raises(DriftDetected) as found:
        await looking(Asked(HEALTHY), Asked(whole)).check_unchanged(INCIDENT)
    assert found.value.kind is kind


async def test_another_boot_needs_no_second_opinion() -> None:
    whole = Asked(VERDICT)
    with pytest.raises(DriftDetected, match="boot_id: ") as found:
        await looking(Asked(HEALTHY, boot="0" * 8 + BOOT[8:]), whole).check_unchanged(INCIDENT)
    assert (found.value.kind, whole.times) == (StateChanged, 0)


def ending(*rows: EndedItem, unread: tuple[Unread, ...] = (), unseen: tuple[Unread, ...] = ()) -> Verdict:
    """The verdict with a plan that ends these."""
    return replace(VERDICT, plan=replace(PLAN, ends=PlanImpact(rows, 0, unread, unseen)))


def proposed(verdict: Verdict) -> Incident:
    assert verdict.plan is not None
    told = TRIAGED.__class__(verdict)
    return fold(entries((OPENING, told, PlanProposed.of(verdict.plan, BOUND))))


TRAINS, ETCD = EndedItem("python3", "gpu", 8, 8), EndedItem("etcd.service", KEEPS)
POSTGRES, HIDDEN = EndedItem("postgres", KEEPS), EndedItem("[redacted]", KEEPS)  # whose name is not shown
LOST, NEVER_ASKED = Unread("units", "sudo refused"), Unread("gpu", "not asked")
ZFS, DPKG = (Unread(f"unfinished: {what}", "") for what in ("what ZFS is rebuilding", "the state of packages"))
SILENT = Unread("unfinished", "the answer never came")


@pytest.mark.parametrize(
    ("shown", "now", "says"),
    [
        (ending(ETCD, TRAINS), ending(ETCD, POSTGRES, TRAINS), "postgres runs here now"),
        (
            ending(ETCD, TRAINS),
            ending(ETCD, EndedItem("postgres", "process", 9), replace(TRAINS, count=16)),
            "",
        ),  # jobs
        (ending(ETCD, TRAINS), ending(TRAINS), ""),
        (ending(POSTGRES), ending(replace(POSTGRES, count=2)), "one more postgres runs here now"),
        (ending(POSTGRES), ending(replace(POSTGRES, count=4)), "3 more postgres run here now"),
        (ending(replace(POSTGRES, count=4)), ending(POSTGRES), ""),
        (ending(HIDDEN, HIDDEN), ending(HIDDEN, HIDDEN, HIDDEN), r"one more \[redacted\] runs here now"),
        (ending(HIDDEN, HIDDEN, HIDDEN), ending(HIDDEN, HIDDEN), ""),
        (ending(ETCD), ending(ETCD, unread=(LOST,)), "units could not be read: sudo refused"),
        (ending(ETCD, unread=(LOST,)), ending(ETCD, unread=(LOST,)), ""),
        (ending(ETCD), ending(ETCD, unread=(NEVER_ASKED,)), ""),  # it tells of no database
        (ending(unseen=(DPKG,)), ending(unseen=(DPKG, ZFS)), "not read before the reboot: what ZFS is rebuilding"),
        (ending(unseen=(DPKG, ZFS)), ending(unseen=(DPKG, ZFS)), ""),
        (ending(unseen=(DPKG, ZFS)), ending(), ""),
        (ending(unseen=(SILENT,)), ending(unseen=(DPKG, ZFS)), ""),
        (ending(unseen=(DPKG, ZFS)), ending(unseen=(SILENT,)), "not read before the reboot: rebuilds, firmware, packa"),
    ],
)
async def test_what_a_reboot_would_end_and_the_card_did_not_show_or_call_unread_is_a_difference(
    shown: Verdict, now: Verdict, says: str
) -> None:
    """Databases and unfinished work, that is; jobs that came are none, nor is what has left."""
    whole = Asked(now if says else HEALTHY)
    looks = looking(Asked(now), whole).check_unchanged(proposed(shown))
    if not says:
        await looks
        return
    with pytest.raises(DriftDetected, match=says) as found:
        await looks
    assert (found.value.kind, whole.times) == (StateChanged, 1), "only the whole window refuses"


def test_short_look_reads_what_tells_of_databases_and_of_what_a_reboot_would_cut_off() -> None:
    probes = tuple(Probe(name, "", (), lambda outputs: outputs) for name in (*READ_AGAIN, "gpu", "dns"))
    playbook = Playbook("p", "", 3, probes, (), ())
    verdict = replace(ending(ETCD), evidence=())
    assert {probe.name for probe in with_deciding_probes(playbook, verdict).probes} == {*READ_FROM, "unfinished"}
    assert with_deciding_probes(playbook, replace(verdict, plan=PLAN)).probes == ()


async def test_look_before_a_reboot_that_waited_reads_only_what_tells_of_databases() -> None:
    probes = tuple(Probe(name, "", (), lambda outputs: outputs) for name in (*READ_AGAIN, "gpu", "dns"))
    short = Asked(VERDICT, containers=(Container("1", "site/store", "postgres-Fa0ke1Fa2ke3Fa4ke5Fa6ke7"),))
    playbooks = OnePlaybook(Playbook("p", "", 3, probes, (), ()))
    recheck = Recheck(NodeAccess(Wire(), ACTIONS), cast("list[Triage]", [short]), playbooks)
    ends = await recheck.read_reboot_impact(INCIDENT, HERE)
    assert sorted(short.probes) == sorted((*READ_FROM, "unfinished"))
    assert {unread.probe for unread in ends.unread} >= {"units", "processes"}, "what did not answer is unread, not none"
    assert [end.what for end in ends.rows if end.kind == KEEPS] == ["[redacted]"], "named as it is in the record"
    assert [unseen.probe for unseen in ends.unseen] == ["unfinished"]


STANDS_ON_IT = "Id=ecs.service\nNames=ecs.service\nRequiredBy={0}\n\nId={0}\nNames={0}\n\n-- all told --\n"


@pytest.mark.parametrize(("name", "kind"), [("b.service", StateChanged), ("ssh.service", WouldStopProtected)])
async def test_what_stops_with_the_unit_by_now_and_was_not_shown_is_not_approved(
    name: str, kind: type[Refused]
) -> None:
    with pytest.raises(DriftDetected, match=name) as found:
        await looking(Asked(VERDICT, around=STANDS_ON_IT.format(name)), Asked(VERDICT)).check_unchanged(INCIDENT)
    assert found.value.kind is kind


async def test_what_was_shown_to_stop_with_the_unit_is_approved_with_it() -> None:
    bound = BOUND | {"also, step 1": "with ecs.service stops b.service"}
    incident = fold(entries((OPENING, TRIAGED, PlanProposed.of(PLAN, bound))))
    seen = await looking(Asked(VERDICT, around=STANDS_ON_IT.format("b.service"))).check_unchanged(incident)
    assert seen.also == {"also, step 1": "with ecs.service stops b.service"}
    with pytest.raises(DriftDetected, match=r"also, step 1: with ecs\.service stops b.service → nothing"):
        await looking(Asked(VERDICT)).check_unchanged(incident)


@pytest.mark.parametrize("said", ["", "Id=ecs.service\n", "Failed to connect to bus\n-- all told --\n"])
async def test_where_what_stops_with_the_unit_is_not_told_nothing_is_approved(said: str) -> None:
    with pytest.raises(CannotTell, match=r"ecs\.service|dependents: "):
        await looking(Asked(VERDICT, around=said)).check_unchanged(INCIDENT)


async def test_what_stops_with_the_unit_is_compared_as_it_is_recorded() -> None:
    bound = BOUND | {"also, step 1": "with ecs.service stops [redacted: GitHub token].service"}
    incident = fold(entries((OPENING, TRIAGED, PlanProposed.of(PLAN, bound))))
    look = Asked(VERDICT, around=STANDS_ON_IT.format(f"ghp_{'Fake0123' * 5}.service"))
    await looking(look).check_unchanged(incident)


async def test_right_that_was_taken_away_is_named() -> None:
    with pytest.raises(MissingRight, match="may not run") as refused:
        await looking(Asked(VERDICT, may=1)).check_unchanged(INCIDENT)
    assert "systemctl disable --now -- ecs.service" in refused.value.try_next


async def test_node_that_is_not_reached_is_not_another() -> None:
    with pytest.raises(CannotTell, match="cannot be read again"):
        await looking(Asked(replace(HEALTHY, status=Status.UNREACHABLE))).check_unchanged(INCIDENT)


async def test_other_playbook_than_was_proposed_is_refused() -> None:
    with pytest.raises(PlanChanged, match="p 3 → p 4"):
        await looking(Asked(VERDICT), playbook=Playbook("p", "", 4, (), (), ())).check_unchanged(INCIDENT)


def test_deciding_probes_are_those_of_the_evidence_the_cause_and_the_playbook() -> None:
    names = ("host", "cpu", "cgroups", "units", "nic", "conntrack", "storage")
    probes = tuple(Probe(name, name, (), lambda outputs: outputs) for name in names)
    cause = ConfiguredCause(replace(_cause(), probes=("units",), beside=("storage", "profile")), {})
    playbook = Playbook("p", "", 3, probes, ("cgroups",), (cause,))
    told = replace(VERDICT, evidence=(Evidence("harm", "cpu, nic", "held"),))
    asked = [probe.name for probe in with_deciding_probes(playbook, told).probes]
    assert asked == ["host", "cpu", "cgroups", "units", "nic", "storage"]


async def test_whole_window_asks_everything_the_short_look_what_decides() -> None:
    probes = tuple(Probe(name, name, (), lambda outputs: outputs) for name in ("host", "cpu", "conntrack"))
    short, whole = Asked(HEALTHY), Asked(VERDICT)
    told = replace(VERDICT, evidence=(Evidence("harm", "cpu", "held"),))
    playbook = Playbook("p", "", 3, probes, (), ())
    incident = replace(INCIDENT, triage=replace(TRIAGED, verdict=told))
    await looking(short, whole, playbook=playbook).check_unchanged(incident)
    assert [name for name in short.probes if name in ("host", "cpu", "conntrack")] == ["host", "cpu"]
    assert "conntrack" in whole.probes


def _cause() -> Any:
    from bot.causes import CAUSES

    return CAUSES["leaked-memory-cgroups"]


async def test_what_was_seen_a_moment_ago_is_begun_from_once() -> None:
    reach = NodeAccess(Wire(), ACTIONS)
    seen = NodeStatus(BOOT, "m1", "SHA256:k", ({},))
    reach.remember("one", seen)
    assert reach.recall("two") is None
    assert reach.recall("one") is seen
    assert reach.recall("one") is None, "a second attempt looks for itself"


async def test_what_was_seen_too_long_ago_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reach, loop = NodeAccess(Wire(), ACTIONS), asyncio.get_running_loop()
    reach.remember("one", NodeStatus(BOOT, "m1", "SHA256:k", ({},)))
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now + 3.1)
    assert reach.recall("one") is None


async def test_first_step_that_is_no_command_is_not_asked_on_the_node() -> None:
    plan = replace(PLAN, steps=(Step("drain", {"node": "n", "of_cluster": "c", "within": "10m"}), *PLAN.steps))
    assert ACTIONS["drain"].by_calls is not None
    reach = NodeAccess(Wire(), ACTIONS)
    assert [reach.by_calls(step) for step in plan.steps] == [True, False, False]
