"""A service or container keeps ending and being restarted.

Confirms: systemd's restart counter rises between the looks, or the unit waits for its next restart after earlier
restarts; the only unit that could hide it replaces an agent's container between the looks; docker says that it restarts
a container after failed runs.
Supports: counter and journal compared with the unit's and the node's age; failed runs in the agent's own log; many
attempts of a container in the cluster's own pods, the newest of them minutes old.
Refutes: no unit waits for a restart, no counter rose, no container came and went. A unit that is restarted after
successful runs is a poller; a unit that runs for an hour each time is a schedule, or crashed once. A new start alone is
a person's or a deployment's.
Remedy: disable the unit, unless it is protected or needed here, or has looped only for minutes: it may recover; nor
while a fault of the node explains why its runs end.
"""

from __future__ import annotations

import re
from datetime import timedelta

from bot.causes import _churn, _loops, _recent
from bot.causes._churn import Churn
from bot.causes._essential import is_redundant_unit
from bot.causes._figures import span
from bot.causes._loops import Loop, LoopState
from bot.causes._unit_state import WHY_ENDS, UnitState, disabling_steps, unit_state_of
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, HalfRead, RuledOut, Status, Undecided
from bot.probes.containers import ContainersReading
from bot.probes.essential_units import EssentialUnitsReading
from bot.probes.units import UnitsReading

NAME = "crash-looping-unit"
_ATTEMPT = re.compile(r"attempt ([0-9]{1,7})")
# Namespaces of the pods that make a node's network, and of the other parts of a cluster.
_OF_THE_CLUSTER = (
    *("kube-system", "calico-system", "kube-flannel", "cilium", "openshift-ovn-kubernetes", "openshift-sdn"),
    "openshift-multus",
)


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell which service or container keeps restarting."""
    uptime = _recent.uptime(snapshot)
    looping = snapshot.once(_loops.loops, tuning["loop_many"])
    found = (
        []
        if isinstance(looping, Unread)
        else [_finding_of_loop(snapshot, o, uptime, tuning) for o in looping if _is_crash(o, uptime, tuning)]
    )
    named = {name for finding in found for name in finding.suspects}
    for churn in snapshot.once(_churn.churns, tuning["young_seconds"]):
        finding = _finding_of_churn(snapshot, churn, tuning)
        if finding is not None and not named & set(finding.suspects):
            found.append(finding)
    found += _findings_of_pods(snapshot, tuning)
    if found:
        return _merged_finding(found)
    return _ruled_out_or_undecided(snapshot, tuning)


def _is_crash(loop: Loop, uptime: timedelta | None, tuning: Tuning) -> bool:
    if not loop.goes_on or _loops.ends_well(loop.unit):
        return False
    # A loop that is seen now is judged by its last run, any other by their mean.
    run = _loops.last_run(loop.unit, uptime) if loop.state is LoopState.NOW else _loops.mean_run(loop, uptime)
    return run is None or run < timedelta(minutes=tuning["scheduled_minutes"])


def _finding_of_loop(snapshot: Snapshot, loop: Loop, uptime: timedelta | None, tuning: Tuning) -> Finding:
    state = unit_state_of(snapshot, loop.unit.name, loop.unit)
    if loop.state is LoopState.BY_HISTORY:
        confidence = Confidence.LIKELY
    elif loop.turns >= tuning["tries_few"]:
        confidence = Confidence.CONFIRMED
    else:
        # A single restart is not a loop; without counter and journal there may have been many.
        unseen = loop.unit.restarts is None and loop.unit.between_tries
        confidence = Confidence.LIKELY if unseen else Confidence.POSSIBLE
    seen = _loops.end_is_seen(loop.unit) or _loops.is_frantic(loop.unit, snapshot)
    if not seen and confidence is Confidence.CONFIRMED:
        confidence = Confidence.LIKELY
    doubt = "" if seen else _loops.END_UNSEEN
    if seen and not _loops.has_looped_for(loop, uptime, tuning["proven_few"], tuning["proven_minutes"]):
        least = f"{tuning['proven_minutes']:.0f} minutes"
        doubt = f"That it has looped for {least} was not seen: it may recover by itself."
    critical = _loops.is_essential(loop.unit) and confidence is not Confidence.POSSIBLE
    critical = critical and not is_redundant_unit(
        snapshot.get(EssentialUnitsReading), (loop.unit.name, *loop.unit.aliases)
    )
    return _finding(
        snapshot,
        state,
        loop.unit.name,
        confidence,
        _loops.loop_words(loop, uptime),
        Evidence("unit-restarts", "units", _loops.loop_words(loop, uptime), _loops.unit_lines(loop.unit)),
        Status.CRITICAL if critical else Status.DEGRADED,
        doubt,
    )


def _finding_of_churn(snapshot: Snapshot, churn: Churn, tuning: Tuning) -> Finding | None:
    often = churn.exits_per_minute >= tuning["exits_per_minute"]
    failed = churn.log_exits >= tuning["agent_log_exits"] and churn.goes_on
    state = unit_state_of(snapshot, churn.unit, agent=churn.agent)
    if state.active in ("failed", "inactive"):
        return None
    # Other containers end with their job or task: whether they fail is not seen, and a restart is not a crash. Docker
    # says so itself of those that it restarts.
    again = churn.is_failing and churn.exits >= tuning["tries_few"]
    if not again and (churn.agent is None or not (churn.replaced or often or failed)):
        return None
    confidence = Confidence.CONFIRMED if churn.replaced or again else Confidence.LIKELY
    says = _churn.churn_words(churn)
    probe = "containers" if churn.image and (churn.goes_on or churn.exits) else "agents"
    evidence = Evidence("container-restarts", probe, says, churn.source)
    return _finding(snapshot, state, churn.suspect, confidence, says, evidence, Status.DEGRADED)


def _findings_of_pods(snapshot: Snapshot, tuning: Tuning) -> list[Finding]:
    """The pods of the cluster itself, such as a node's network, that the kubelet has to start again and again."""
    containers = snapshot.get(ContainersReading)
    found = []
    for each in () if isinstance(containers, Unread) else containers.containers:
        space, _, name = each.name.partition("/")
        attempt = _ATTEMPT.search(each.status)
        if space not in _OF_THE_CLUSTER or attempt is None or int(attempt.group(1)) < tuning["loop_many"]:
            continue
        if each.age is None or each.age > timedelta(minutes=tuning["pod_backoff_minutes"]):
            continue  # it runs steadily now, or nobody starts it any more
        says = (
            f"the kubelet has started {each.name} again {int(attempt.group(1)):,} times, the last {span(each.age)} ago"
        )
        seen = Evidence("pod-restarts", "containers", says, (each.source,))
        found.append(_finding(snapshot, UnitState(""), name, Confidence.LIKELY, says, seen, Status.DEGRADED))
    return found


def _finding(
    snapshot: Snapshot,
    state: UnitState,
    suspect: str,
    confidence: Confidence,
    says: str,
    evidence: Evidence,
    status: Status,
    doubt: str = "",
) -> Finding:
    steps, no_step_because = disabling_steps(state, snapshot)
    if steps and doubt:
        steps, no_step_because = (), doubt
    surely = confidence is not Confidence.POSSIBLE
    return Finding(
        cause=NAME,
        status=status,
        confidence=confidence,
        summary=says if steps or not surely else f"{says}. {no_step_because}",
        evidence=(evidence,),
        suspects=(suspect,),
        remedy=steps if surely else (),
    )


def _merged_finding(found: list[Finding]) -> Finding:
    """Merge the findings: the gravest and surest names the result, the rest add evidence and suspects."""
    found.sort(key=lambda f: (-f.status.rank, -(f.confidence or Confidence.POSSIBLE).rank))
    first = found[0]
    return Finding(
        cause=NAME,
        status=first.status,
        confidence=first.confidence,
        summary=first.summary + ("" if len(found) == 1 else f" (and {len(found) - 1} more that keep restarting)"),
        evidence=tuple(evidence for finding in found[:6] for evidence in finding.evidence),
        suspects=tuple(dict.fromkeys(name for finding in found for name in finding.suspects)),
        remedy=first.remedy,
    )


def _ruled_out_or_undecided(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    units, containers = snapshot.get(UnitsReading), snapshot.get(ContainersReading)
    for reading in (units, containers):
        if isinstance(reading, Unread):  # a restarting container is at most degraded
            worst = Status.CRITICAL if reading is units else Status.DEGRADED
            return Undecided(NAME, f"the {reading.probe} were not read ({reading.reason})", worst=worst)
    if not isinstance(containers, Unread) and containers.refused:
        because = "containers were not read: " + "; ".join(containers.refused.values())
        return Undecided(NAME, because, worst=Status.DEGRADED)
    # Between two failures a service or container runs like any other: only a second look tells.
    if not isinstance(units, Unread) and not units.looked_twice:
        return HalfRead(NAME, "not every service was looked at twice")
    if not isinstance(containers, Unread) and containers.containers and containers.containers_later is None:
        return HalfRead(NAME, "the containers were looked at only once")
    if not isinstance(units, Unread) and not units.systemd:
        return RuledOut(NAME, "no systemd runs here, and no container came and went")
    if not isinstance(units, Unread) and not units.journal_read and any(u.restarts is None for u in units.services):
        return Undecided(NAME, "this systemd does not count restarts, and the journal was not read")
    return RuledOut(NAME, "no service waits for a restart, no restart counter rose, no container came and went")


CAUSE = Cause(
    name=NAME,
    title="Crash-looping unit",
    probes=("units", "containers", "agents", "host"),
    settled_by="how its next run ends (`journalctl -u UNIT`), and whether its restarts go on",
    thresholds={
        "loop_many": Threshold(20, "As in leaked-memory-cgroups."),
        "tries_few": Threshold(3, "Ours. A service may fail once or twice while its dependencies start."),
        "scheduled_minutes": Threshold(
            60, "Ours. A unit that runs for an hour and is restarted is a schedule; a harmful loop has runs of minutes."
        ),
        "proven_few": Threshold(
            10,
            "Restarts that are counted before anybody disables a unit (ours). Its own dependencies may be away for a "
            "few.",
        ),
        "proven_minutes": Threshold(
            10,
            "A service that waits for another, at a boot or while a database fails over, loops for minutes and "
            "recovers by itself (ours). A counter tells of a longer loop only if its restarts came this often.",
        ),
        "young_seconds": Threshold(
            60,
            "A restarting agent's container is never older than its run, and failing runs are short. A minute is ours.",
        ),
        "exits_per_minute": Threshold(
            2, "Ours. Jobs come and go; an image that ends every half minute, and is replaced while we look, is a loop."
        ),
        "agent_log_exits": Threshold(10, "As in leaked-memory-cgroups."),
        "pod_backoff_minutes": Threshold(
            10,
            "The kubelet waits up to 5 minutes before it starts a failed container again (MaxContainerBackOff); an "
            "attempt that is older did not end as the ones before it. Twice that is ours.",
        ),
    },
    evaluate=evaluate,
    beside=("kernel_log", *WHY_ENDS),
    of_one=True,
    remedy=("disable_unit", "mask_unit"),
    lasting_fix="Mend what the unit needs to start, or take it out of the image or launch template.",
)
