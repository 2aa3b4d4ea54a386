"""Whole nodes under the playbooks as they are shipped: which cause names the verdict, and what is planned."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.domain.cause import Cause
from bot.domain.evaluation import evaluate_playbook
from bot.domain.verdict import Status, Verdict
from bot.library.library import Library
from bot.probes import PROBES
from bot.probes.conntrack import ConntrackReading
from bot.probes.filesystems import FilesystemsReading, Mount
from bot.probes.formats.systemctl import FailedUnit
from bot.probes.gpu import Gpu, GpuReading
from bot.probes.kernel_log import KernelLogReading
from tests.unit.causes import builders as b

ROOT = Path(__file__).parents[3]
LIBRARY = Library.load([b.PLAYBOOKS], PROBES, CAUSES, ACTIONS)
GATE_ONLY = {"unused-agent-enabled", "boot_units"}  # an image is asked, not a node that runs
ASKED_ONLY = {"softirq_waits"}  # it costs a node more than a check of everything may
TABLE = ConntrackReading(True, 900, 262_144)

DYING = b.cgroups(68_440)
HIDDEN = (DYING, b.units(b.unit()), b.churning(), b.agents(b.agent()))
WALKED = (b.held(), b.processes(b.process()))
RESETS = b.log(*b.starved())
NEW = b.host("6.1.0-18-cloud-amd64")
BACKUP = b.units(b.stopped("backup.service"), failed_units=(FailedUnit("backup.service", "", "backup.service failed"),))
DROWNING = {"usr": 2.0, "sys": 3.0, "irq": 5.0, "soft": 88.0}
ONE_CORE = b.interrupts({queue: {3: 900} for queue in range(8)})
GPU = (
    b.cgroups(46),
    b.cpu({core: {"usr": 93.0, "sys": 6.0, "soft": 0.5} for core in range(96)}, cores=96),
    b.memory(1152 * b.GIB, available=92 * b.GIB, slab=20 * b.GIB, rises={"allocstall_normal": 2}),
    b.log(*b.starved(timedelta(days=6)), b.event("soft-lockup", ago=timedelta(days=5))),
    b.processes(b.process("python", sys=9.0, usr=400.0, on=range(96)), waiting=("python",)),
)


def verdict(*readings: Any, playbook: str = "node-health") -> Verdict:
    return evaluate_playbook(b.node(TABLE, *readings), LIBRARY.get(playbook))


@pytest.mark.parametrize(
    ("readings", "told"),
    [
        ((), "healthy - -"),
        (GPU, "healthy - -"),
        ((*HIDDEN, *WALKED, RESETS), "critical leaked-memory-cgroups confirmed disable_unit reboot"),
        ((*HIDDEN, *WALKED), "critical leaked-memory-cgroups likely disable_unit reboot"),
        ((*HIDDEN, *WALKED, NEW), "degraded leaked-memory-cgroups confirmed disable_unit"),
        (HIDDEN, "degraded leaked-memory-cgroups confirmed disable_unit"),
        ((DYING,), "degraded leaked-memory-cgroups possible"),
        ((DYING, *WALKED), "critical leaked-memory-cgroups likely"),
        # the loop feeds the leak, and the failed unit has nothing to do with it
        (
            (DYING, b.units(b.between_tries(), *BACKUP.services, failed_units=BACKUP.failed_units)),
            "degraded leaked-memory-cgroups confirmed disable_unit",
        ),
        # the mechanism before a symptom, however sure
        ((DYING, BACKUP), "degraded leaked-memory-cgroups possible"),
        ((BACKUP,), "degraded failed-units confirmed"),
        ((b.units(b.between_tries()),), "degraded crash-looping-unit confirmed disable_unit"),
        ((b.cpu({3: DROWNING}), ONE_CORE, b.softirq(dropped=400, core=3)), "critical irq-affinity confirmed"),
        ((b.cpu(dict.fromkeys(range(6), DROWNING)), b.softirq(dropped=400)), "critical softirq-storm confirmed"),
        ((b.nic(later={"bw_in_allowance_exceeded": 9300}),), "degraded instance-allowance-exceeded confirmed"),
        # what made the resets comes before them
        ((b.log(b.event("soft-lockup", ago=timedelta(hours=1)), *b.starved()),), "degraded lockup confirmed"),
        (
            (RESETS, b.memory(available=15 * b.GIB, rises={"allocstall_normal": 40})),
            "degraded memory-reclaim confirmed",
        ),
        ((b.log(b.event("hung-task", ago=timedelta(minutes=9)), *b.starved()),), "degraded io-stall confirmed"),
        # resets that nothing explains are a symptom without a cause
        ((RESETS,), "degraded - likely"),
        ((b.log(*b.starved(None)),), "degraded - likely"),
        ((b.log(b.event("kernel-bug")),), "degraded - possible"),
        ((b.log(b.event("kernel-bug", ago=None)),), "degraded - possible"),
        ((b.log(b.event("kernel-bug", ago=timedelta(days=2))),), "healthy - -"),
        ((b.log(b.event("workqueue-stall")),), "degraded - possible"),
        ((b.log(b.event("workqueue-stall", ago=timedelta(hours=2))),), "healthy - -"),
        ((b.nic(later={"total_resets": 3}),), "degraded - likely"),
        ((b.log(b.event("nic-keepalive")),), "degraded nic-device-fault confirmed"),
        (
            (b.log(b.event("nic-stalled"), b.event("nic-reset")),),  # an old driver, which tells no reason
            "degraded nic-device-fault possible",
        ),
        (
            (b.log(b.event("soft-lockup", ago=timedelta(minutes=8)), b.event("soft-lockup")),),
            "critical lockup confirmed reboot",
        ),
        ((b.unread("cgroups"),), "unknown - -"),
        ((b.unread("cpu"),), "unknown - -"),
        ((b.unread("nic"), b.unread("containers")), "healthy - -"),
        ((b.unread("kernel_log"),), "unknown - -"),
        ((b.unread("units"),), "unknown - -"),
        # a failed unit is less grave than what the unread cgroups decide
        ((b.unread("cgroups"), *WALKED, BACKUP), "unknown - -"),
        ((b.unread("cgroups"), *WALKED), "unknown - -"),
        ((b.unread("cpu"), *HIDDEN), "unknown - -"),
        ((b.unread("cpu"), *HIDDEN, b.memory_gone()), "critical leaked-memory-cgroups confirmed disable_unit reboot"),
        ((b.unread("interrupts"), b.cpu({3: DROWNING})), "unknown - -"),
    ],
)
def test_node_health(readings: tuple[Any, ...], told: str) -> None:
    said = verdict(*readings)
    steps = (step.action for step in said.remedy)
    assert " ".join([said.status, said.cause or "-", said.confidence or "-", *steps]) == told
    assert said.summary


def test_unread_cgroups_say_what_would_decide() -> None:
    said = verdict(b.unread("cgroups"), *WALKED)
    assert "cgroups was not read" in said.summary
    assert "kubelet" in said.summary


def test_what_was_neither_ruled_in_nor_out_is_listed_with_what_would_decide_it() -> None:
    healthy = verdict(b.unread("throttling"))
    assert healthy.status is Status.HEALTHY
    assert [(open_.cause, open_.would_decide) for open_ in healthy.undecided] == [
        ("cfs-throttling", "reading throttling")
    ]
    assert "cfs-throttling" not in {ruled_out.cause for ruled_out in healthy.ruled_out}
    assert verdict(*HIDDEN, *WALKED, RESETS).undecided == ()
    blind = verdict(*(b.unread(probe) for probe in ("kernel_log", "cpu")))
    told = {open_.cause: open_.would_decide for open_ in blind.undecided}
    assert told["io-stall"] == "reading kernel_log and cpu"
    assert all("reading" in decides for decides in told.values())


@pytest.mark.parametrize(
    ("reach", "errors_reach", "open_"),
    [
        (0.2, 0.2, {"lockup", "oom-kills", "io-stall", "nic-device-fault", "queue-starved", "page-allocation-failing"}),
        (0.2, 20, {"lockup", "io-stall", "nic-device-fault", "queue-starved", "page-allocation-failing"}),
        (0.2, 30, {"io-stall", "nic-device-fault", "queue-starved", "page-allocation-failing"}),
        (30, 30, set()),
    ],
)
def test_log_that_begins_minutes_ago_clears_nothing_older(reach: float, errors_reach: float, open_: set[str]) -> None:
    begins = [timedelta(days=b.DAYS, hours=-hours) for hours in (reach, errors_reach)]
    said = verdict(replace(b.log(), begins=begins[0], errors_begin=begins[1]))
    assert said.status is Status.HEALTHY
    assert {each.cause for each in said.undecided} & {"lockup", "oom-kills", *open_} == open_
    assert ("the kernel log reaches back only 12 minutes" in said.summary) == bool(open_)
    # What it shows counts as ever, and each remedy is offered; the plan's notes say what is not known.
    lockups = b.log(b.event("soft-lockup", ago=timedelta(minutes=8)), b.event("soft-lockup"))
    said = verdict(replace(lockups, begins=begins[0], errors_begin=begins[1]))
    assert ([step.action for step in said.remedy], said.cause) == (["reboot"], "lockup")


def test_ring_of_the_log_that_lost_lines_clears_no_fault_of_its_kinds() -> None:
    late = timedelta(days=b.DAYS, minutes=-9)
    said = verdict(replace(b.log(), rings_begin={"killed": late, "hung-task": late}))
    assert {"io-stall", "oom-kills"} <= {each.cause for each in said.undecided}
    assert "lockup" in {each.cause for each in said.ruled_out}
    assert said.summary.endswith(
        "the kernel log has too many lines of that sort: read were those of the last 9 minutes"
    )


LATE = timedelta(days=b.DAYS, minutes=-9)
ASKS = "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
SILENT = GpuReading((Gpu("0000:3b:00.0", "nvidia", False), Gpu("0000:5e:00.0", "nvidia", True)), "answered")
XFS = FilesystemsReading((Mount("/", "sda1", "ext4", ("rw",), "rw"), Mount("/data", "sdb", "xfs", ("rw",))))
SHUT_XFS = b.event("disk-error", "XFS (sdb): Filesystem has been shut down", ago=timedelta(hours=30), device="sdb")


@pytest.mark.parametrize(
    ("ring", "log", "reading", "whole", "thinned"),
    [
        # Another GPU, or this one, may have asked for a drain first.
        ("gpu-error", b.log(b.event("gpu-error", ASKS)), SILENT, ("critical", ["reboot"]), ("critical", ["cordon"])),
        # A file system may be shut, and the boot stop at its check.
        (
            "shut",
            b.log(b.event("soft-lockup", ago=timedelta(minutes=8)), b.event("soft-lockup")),
            b.host(),
            ("critical", ["reboot"]),
            ("critical", []),
        ),
        # It may have been mounted anew.
        ("mounted", b.log(SHUT_XFS), XFS, ("critical", []), ("healthy", [])),
    ],
)
def test_what_may_have_been_left_out_neither_earns_a_reboot_nor_ends_unseen(
    ring: str, log: KernelLogReading, reading: Any, whole: tuple[str, list[str]], thinned: tuple[str, list[str]]
) -> None:
    for rings_begin, shows in (({}, whole), ({ring: LATE}, thinned)):
        said = verdict(replace(log, rings_begin=rings_begin), reading)
        assert (said.status, [step.action for step in said.remedy]) == shows, said.summary
        unread = ("was not read", "one not read", "too many errors")
        assert any(words in said.summary for words in unread) == bool(rings_begin)


@pytest.mark.parametrize("ring", ["frame", "head", "lockup"])
@pytest.mark.parametrize(("minutes", "steps"), [(25 * 60, ["reboot"]), (10, []), (2, [])])
def test_reboot_for_a_lockup_asks_whether_all_of_a_day_was_read(ring: str, minutes: int, steps: list[str]) -> None:
    lockups = b.log(*(b.event("soft-lockup", ago=timedelta(minutes=ago)) for ago in (9, 4)))
    said = verdict(replace(lockups, rings_begin={ring: timedelta(days=b.DAYS, minutes=-minutes)}))
    assert ([step.action for step in said.remedy], said.cause) == (steps, "lockup")


@pytest.mark.parametrize("probe", sorted(PROBES))
def test_no_cause_is_lost_between_found_ruled_out_and_undecided(probe: str) -> None:
    said = verdict(b.unread(probe))
    told = [*(out.cause for out in said.ruled_out), *(open_.cause for open_ in said.undecided)]
    assert len(told) == len(set(told))
    assert set(CAUSES) - GATE_ONLY <= set(told) | {said.cause}


def test_lasting_fix_stands_with_every_cause_that_may_have_a_plan() -> None:
    assert "image or launch template" in verdict(*HIDDEN).lasting_fix
    assert all(used.lasting_fix for used in LIBRARY.get("node-health").causes)


@pytest.mark.parametrize("playbook", LIBRARY.names)
def test_every_playbook_knows_the_founding_case_and_a_healthy_node(playbook: str) -> None:
    said = verdict(*HIDDEN, *WALKED, RESETS, playbook=playbook)
    assert (said.status, said.cause) == (Status.CRITICAL, "leaked-memory-cgroups")
    assert [step.action for step in said.remedy] == ["disable_unit", "reboot"]
    assert verdict(*GPU, playbook=playbook).status is Status.HEALTHY


def test_playbooks_select_and_node_health_has_everything() -> None:
    whole = LIBRARY.get("node-health")
    assert {used.cause.name for used in whole.causes} == set(CAUSES) - GATE_ONLY
    assert {probe.name for probe in whole.probes} == set(PROBES) - GATE_ONLY - ASKED_ONLY
    thresholds = {used.cause.name: used.thresholds for used in whole.causes}
    for playbook in (one for one in LIBRARY.playbooks if one.name != "image-gate"):  # it has figures of its own
        order = [used.cause.name for used in playbook.causes]
        assert order == [name for name in thresholds if name in order]
        assert all(used.thresholds == thresholds[used.cause.name] for used in playbook.causes)


def test_few_causes_may_plan_and_a_reboot_never_comes_first_for_a_leak() -> None:
    remedies = {used.cause.name: used.remedy for used in LIBRARY.get("node-health").causes if used.remedy}
    assert remedies == {
        "leaked-memory-cgroups": ("disable_unit", "mask_unit", "reboot"),
        "too-many-live-cgroups": ("reboot",),
        "lockup": ("reboot",),
        "filesystem-read-only": ("cordon",),
        "gpu-fault": ("cordon", "reboot"),
        "essential-unit-stopped": ("start_unit",),
        "crash-looping-unit": ("disable_unit", "mask_unit"),
    }, "what may be offered is decided here, too: a new remedy of a cause is written into this list"


BUG = b.event("kernel-bug", "[  904.1] kernel BUG at mm/slub.c:4166!")
RESET_NOW = b.nic({"total_resets": 4}, {"total_resets": 5})


@pytest.mark.parametrize(
    ("reading", "condition", "shown"),
    [
        (b.log(BUG), "kernel-bug", (BUG.text, "host.uptime_seconds = 972000", "kernel_log.last_kernel_bug_seconds = ")),
        (b.host(clocksource="hpet"), "slow-clocksource", ("host.clocksource = hpet",)),
        (RESET_NOW, "nic-resets-now", ("eth0 total_resets: 5", "nic.resets_rise = 1")),
    ],
)
def test_condition_shows_the_nodes_own_line_and_the_value(reading: Any, condition: str, shown: tuple[str, ...]) -> None:
    (seen,) = [item for item in verdict(reading).evidence if item.finding == condition]
    assert len(seen.source) == len(shown)
    assert all(line.startswith(start) for line, start in zip(seen.source, shown, strict=True)), seen.source


def test_no_evidence_is_a_conditions_own_rule() -> None:
    sick = verdict(b.log(BUG, *b.starved()), b.host(clocksource="hpet"), RESET_NOW)
    rules = {condition.when for condition in LIBRARY.get("node-health").conditions}
    assert len(sick.evidence) > 3
    assert not rules & {line for item in sick.evidence for line in item.source}


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES)
def test_cause_that_may_be_found_and_not_confirmed_says_what_would_settle_it(cause: Cause) -> None:
    module = ROOT / f"bot/causes/{cause.name.replace('-', '_')}.py"
    written = module if module.exists() else ROOT / f"playbooks/causes/{cause.name}.yaml"
    may_be_unsure = re.search(r"Confidence\.(LIKELY|POSSIBLE)|confidence: (likely|possible)", written.read_text())
    assert bool(cause.settled_by) is bool(may_be_unsure)
