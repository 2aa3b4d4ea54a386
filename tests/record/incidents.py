"""Events, entries and incidents for tests: one example of every event, and a way into every state."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.domain.action import Plan, Step
from bot.domain.alert import BOT, Alert
from bot.domain.entry import Entry, Event, OwnEvent, body_of, canonical_body, kind_of
from bot.domain.events import (
    AlertCleared,
    AlertJoined,
    AlertReceived,
    Approved,
    Cancelled,
    Compared,
    Declined,
    Endorsed,
    Escalated,
    Expired,
    IncidentEvent,
    NodePicked,
    PlanProposed,
    PlanWithheld,
    ProfileTaken,
    QuestionAnswered,
    QuestionAsked,
    Resolved,
    SampleTaken,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    Triaged,
    ValidationStarted,
)
from bot.domain.growth import CountSample, Growth
from bot.domain.house_events import (
    BrakePulled,
    BrakeReleased,
    CauseMuted,
    CauseUnmuted,
    EntryAnchored,
    HouseEvent,
    IncidentEnded,
    IncidentsPruned,
    NodeReleased,
    OlderNoted,
    PolicyChanged,
    WishRefused,
)
from bot.domain.probe import Unread
from bot.domain.relapse import Relapse
from bot.domain.transitions import State
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Verdict
from bot.extras.captures.events import (
    CaptureApproved,
    CaptureAsked,
    CaptureBegan,
    CaptureEnded,
    CaptureStarting,
    CaptureStopping,
    SymptomCaught,
)
from bot.extras.marks.marks import CauseDoubted, CauseLookedAt, VerdictMarked
from bot.extras.waves.events import (
    TurnEnded,
    TurnGiven,
    TurnOutcome,
    WaveApproved,
    WaveDeclined,
    WaveEnded,
    WaveEnding,
    WaveEndorsed,
    WaveEvent,
    WaveMember,
    WaveProposed,
    WaveResumed,
    WaveStopped,
)
from bot.extras.waves.wave import stages_of

NODE = "node-gpu-01"
ASKER = "slack:T024BE7LD/U012ASKER"
APPROVER = "slack:T024BE7LD/U012APPRO"
BEGAN_AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
BOOT = "3b1cd2f4-71f5-4b0e-9c0c-0f7b6e1a2b3c"

EVIDENCE = Evidence("dying", "cgroups", "68,700 memory cgroups, 240 alive", ("memory\t4\t68700\t1",))
STEPS = (
    Step("disable_unit", {"unit": "ecs.service"}, ("sudo -n systemctl disable --now -- ecs.service",)),
    Step("reboot", {}, (f'test "$(cat /proc/sys/kernel/random/boot_id)" = {BOOT} && exec sudo -n systemctl reboot',)),
)
PLAN = Plan(NODE, STEPS, "Take the agent out of the image.")
HEALTHY = Verdict(NODE, Status.HEALTHY, None, None, "Healthy", unread=(Unread("perf", "not installed"),))
VERDICT = Verdict(
    node=NODE,
    status=Status.CRITICAL,
    cause="leaked-memory-cgroups",
    confidence=Confidence.CONFIRMED,
    summary="ecs.service leaks memory cgroups, and kubelet pays for it.",
    evidence=(EVIDENCE, Evidence("harm", "cpu", "core 17 spent 4 s of 5 in the kernel")),
    ruled_out=(RuledOut("cpu-steal", "0.0 % is stolen"),),
    unread=(Unread("perf", "not installed"),),
    suspects=("ecs.service",),
    remedy=STEPS,
    lasting_fix=PLAN.lasting_fix,
    plan=PLAN,
    took=timedelta(seconds=5, microseconds=412_345),
    try_next="Look at the agent's log.",
)
ALERT = Alert("slack", "1700000000.000100", ASKER, "check node-gpu-01")
PROPOSED = PlanProposed.of(
    PLAN,
    {"address": "10.0.0.7", "boot_id": BOOT, "playbook": "node-health 3"},
    1,
    {"dying memory cgroups": "68,440"},
    ("ray/worker-0: Ray cluster train-7 (worker)",),
)
TRIAGED = Triaged(
    VERDICT, "node-health", 3, BEGAN_AT - timedelta(seconds=6), "kernel 5.15 · up 11 d", "m1", case="cd" * 32
)
GROWTH = Growth("leaked-memory-cgroups", "dying memory cgroups", (CountSample(BEGAN_AT, 68_440.0, BOOT),), 1, 214.0)

OPENING = AlertReceived(ALERT, NODE, "g7k3m9x2qp", "node-health")
WITHOUT_NODE = AlertReceived(Alert("pagerduty", "Q1", text="a node is slow"), "")
QUESTION = QuestionAsked("Is the node back?", ("yes", "no"))
APPROVED = Approved(PROPOSED.digest, "it is drained", "ann")
STARTED = StepStarted(1, 1, BOOT, (EVIDENCE,), "host-4242", 950_415)
VERIFIED = StepVerified(1, (Evidence("off", "units", "ecs.service is off"),), timedelta(seconds=2))
SECOND = StepSkipped(2, "somebody else rebooted the node")
VALIDATING = ValidationStarted(timedelta(minutes=10), "two of two steps are through")
HOLDS = SampleTaken(True, (Evidence("flat", "cgroups", "260 memory cgroups"),))
RESOLVED = Resolved("The leak is gone.", (Compared("memory cgroups", "68,700", "260"),))

# One of each, every field filled in.
INCIDENT_EVENTS: tuple[IncidentEvent, ...] = (
    AlertReceived(
        ALERT,
        NODE,
        "g7k3m9x2qp",
        "node-health",
        "old0000000",
        "old1111111",
        "C024ALERTS",
        "It is stale.",
        "storm-1",
        ("terminal:eve",),
        "wave-7k3m9x2qpv",
    ),
    AlertJoined(Alert("alertmanager", "a1b2", text="NodeSlow")),
    AlertCleared("alertmanager", "a1b2"),
    ProfileTaken(
        "Core 39 ran kubelet (2114) in f.",
        "cycles at 49 Hz for 10 s.",
        "The names are hidden.",
        '{"core": 39}',
        "ab" * 32,
    ),
    NodePicked(NODE),
    replace(
        TRIAGED,
        relapse=Relapse(3, timedelta(days=30), timedelta(days=9), True, True, ("old0000000", "old1111111")),
        growth=GROWTH,
    ),
    PlanWithheld("Acting is off.", ("zombie ALL=(root) NOPASSWD: /usr/bin/systemctl reboot",)),
    PROPOSED,
    Endorsed(PROPOSED.digest, "fine by me", "bob", 3, ("terminal:eve",)),
    replace(APPROVED, needed=1, lapsed=("terminal:eve",)),
    Declined("the job has to finish", PROPOSED.digest, "ann"),
    Expired("Nobody decided within 15 minutes."),
    Cancelled("The node changed.", ("boot_id: another",)),
    replace(STARTED, kept="ef" * 32, kept_says="kernel log, 4 kB in 0.3 s"),
    replace(VERIFIED, otherwise="it was booted otherwise"),
    SECOND,
    StepFailed(1, "The unit is still active.", (EVIDENCE,), never_ran=True),
    replace(VALIDATING, waiting=1),
    HOLDS,
    RESOLVED,
    Escalated("The node did not come back.", "Look at its console."),
    QUESTION,
    QuestionAnswered("yes", "seen on the console"),
)
HOUSE_EVENTS: tuple[HouseEvent, ...] = (
    IncidentEnded("7k3m9x2qpv", "resolved", 9, "ab" * 32),
    NodeReleased("node-7", "7k3m9x2qpv", "it waits for an answer", "the node is needed", "carol"),
    WishRefused("SelfApproval", "Who asks does not approve.", "approve", "7k3m9x2qpv", 3),
    EntryAnchored("7k3m9x2qpv", "Approved", 4, "ef" * 32),
    OlderNoted({"7k3m9x2qpv": f"9:{'ab' * 32}"}),
    BrakePulled("rollout", "sent-V1-2.3"),
    BrakeReleased("rollout is over", 3),
    PolicyChanged("cd" * 32, 'approvers = ["U012APPRO"]'),
    IncidentsPruned({"7k3m9x2qpv": f"9:{'ab' * 32}"}, BEGAN_AT),
    CauseMuted("io-stall", "kafka-*", BEGAN_AT + timedelta(days=7), "the old disks go in May", "ann"),
    CauseUnmuted("io-stall", "kafka-*", "they are gone", "ann"),
)
CAPTURE_EVENTS: tuple[OwnEvent, ...] = (
    CaptureAsked("c4p7t0re00", "node-7", 12, 2, ("nic-reset",), True, "ann"),
    CaptureApproved("c4p7t0re00", "bob", "it resets at night"),
    CaptureStarting("c4p7t0re00", "b" * 32, "m" * 32, "SHA256:key", 4321.5, "cycles"),
    CaptureBegan("c4p7t0re00", 4_322_000_000),
    SymptomCaught(
        "c4p7t0re00",
        "nic-reset",
        BEGAN_AT,
        4400.25,
        "core 39 ran kubelet in f",
        "its names are hidden",
        0.25,
        "ab" * 32,
        39,
        4406.75,
        True,
    ),
    CaptureStopping("c4p7t0re00", "ann", 12.5, 3600.0),
    CaptureEnded("c4p7t0re00", "ann stopped it", "its ring", ("its last segment",)),
)

MARK_EVENTS: tuple[OwnEvent, ...] = (
    VerdictMarked(
        "7k3m9x2qpv",
        "leaked-memory-cgroups",
        False,
        NODE,
        "ef" * 32,
        "click-1-2",
        "ann",
        ("slack:S012ONCALL",),
        was="the disk was full",
        taken_back=True,
        approvers=2,
    ),
    CauseDoubted("leaked-memory-cgroups", 3, 4),
    CauseLookedAt("leaked-memory-cgroups", "the threshold was too low; it is 5,000 now", "ann"),
)

WAVE_PROPOSED = WaveProposed(
    ("role=gpu",),
    ("leaked-memory-cgroups",),
    tuple(WaveMember(f"node-{number}", f"incident{number}", f"{number:02d}" * 32) for number in range(1, 9)),
    (WaveMember("node-9", "incident9", "99" * 32),),
    stages_of(8),
    timedelta(hours=8),
    "ab" * 32,
    "",
    "node-health",
    2,
    "ann",
    "C012",
).sealed()
WAVE_EVENTS: tuple[WaveEvent, ...] = (
    WAVE_PROPOSED,
    WaveEndorsed(WAVE_PROPOSED.digest, "it leaks", "bob", 3, ("terminal:dan",)),
    WaveApproved(WAVE_PROPOSED.digest, "it leaks", "cleo", 2, ("terminal:dan",)),
    WaveDeclined("not today", "bob"),
    TurnGiven("incident1", "node-1"),
    TurnEnded("incident1", "node-1", TurnOutcome.FAILED, "escalated: no proof", BEGAN_AT),
    WaveStopped("node-1 is not fixed", "bob"),
    WaveResumed("a broken disk", "bob", BEGAN_AT),
    WaveEnded(WaveEnding.EXPIRED, "too late"),
)

_TO_PROPOSED: tuple[IncidentEvent, ...] = (OPENING, TRIAGED, PROPOSED)
_TO_VERIFYING: tuple[IncidentEvent, ...] = (*_TO_PROPOSED, APPROVED, STARTED, VERIFIED, SECOND, VALIDATING)
WAYS: dict[State, tuple[IncidentEvent, ...]] = {
    State.OPENED: (OPENING,),
    State.TRIAGED: (OPENING, TRIAGED),
    State.PROPOSED: _TO_PROPOSED,
    State.APPROVED: (*_TO_PROPOSED, APPROVED),
    State.ACTING: (*_TO_PROPOSED, APPROVED, STARTED),
    State.VERIFYING: (*_TO_VERIFYING, HOLDS),
    State.RESOLVED: (*_TO_VERIFYING, HOLDS, RESOLVED),
    State.DECLINED: (*_TO_PROPOSED, Declined("no")),
    State.EXPIRED: (*_TO_PROPOSED, Expired("too late")),
    State.CANCELLED: (OPENING, Cancelled("asked twice")),
    State.ESCALATED: (*_TO_PROPOSED, APPROVED, STARTED, Escalated("no proof")),
    State.UNKNOWN: (OPENING, QUESTION),
}


def by_whom(event: Event) -> str:
    """Who makes such an entry."""
    if isinstance(event, Approved | Endorsed | Declined):
        return APPROVER
    return ASKER if isinstance(event, AlertReceived) else BOT


def entry(event: Event, seq: int, stream: str = "7k3m9x2qpv", by: str = "") -> Entry:
    """An entry as it is read back; its hash is a stand-in."""
    at = BEGAN_AT + timedelta(seconds=seq)
    body = json.loads(canonical_body(body_of(event)))
    return Entry(stream, seq, at, by or by_whom(event), kind_of(event), body, f"{seq:064x}")


def entries(events: Iterable[Event], stream: str = "7k3m9x2qpv") -> tuple[Entry, ...]:
    """The entries of one stream."""
    return tuple(entry(event, seq, stream) for seq, event in enumerate(events, 1))
