"""Combines findings into a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.domain.cause import CauseResult, left_out
from bot.domain.mute import Mute
from bot.domain.playbook import Condition, ConfiguredCause, Playbook
from bot.domain.probe import RememberingSnapshot, Snapshot, Unread
from bot.domain.three_valued_logic import Unknown
from bot.domain.verdict import (
    HEALTHY,
    Confidence,
    Evidence,
    Finding,
    HalfRead,
    LeftOut,
    RuledOut,
    Status,
    Undecided,
    Verdict,
)


def evaluate_playbook(snapshot: Snapshot, playbook: Playbook, mutes: Sequence[Mute] = ()) -> Verdict:
    """Evaluate every cause and condition of the playbook and return the verdict (without a plan, which needs actions).

    Shape: `mutes` are those of this node. A muted cause comes after every other finding that is at least as grave, does
    not make up for missing readings, and has no remedy.
    """
    return combine_results(snapshot, playbook, cause_results(RememberingSnapshot.of(snapshot), playbook), mutes)


def cause_results(snapshot: Snapshot, playbook: Playbook) -> list[CauseResult | None]:
    """Evaluate each cause and each condition, in the playbook's order; None for a condition without a result."""
    causes = [evaluate_cause(used, snapshot) for used in playbook.causes]
    return [*causes, *(evaluate_condition(condition, snapshot) for condition in playbook.conditions)]


def combine_results(
    snapshot: Snapshot, playbook: Playbook, found: Sequence[CauseResult | None], mutes: Sequence[Mute] = ()
) -> Verdict:
    """Combine a snapshot's results into its verdict, without a plan."""
    muted = {mute.cause: mute for mute in mutes}
    return _combined_verdict(snapshot, playbook, [result for result in found if result is not None], muted)


def evaluate_cause(used: ConfiguredCause, snapshot: Snapshot) -> CauseResult:
    """Evaluate a cause as its playbook uses it; a mistake of a site's own takes no verdict down."""
    try:
        result = used.cause.evaluate(snapshot, used.tuning)
    except Exception as error:
        if not used.cause.definition:
            raise
        from bot.domain.problems import python_fault_words

        result = left_out(used.cause.name, python_fault_words(error)).evaluate(snapshot, used.tuning)
    if not isinstance(result, Finding):
        return result
    settled_by = (result.settled_by or used.cause.settled_by) if result.confidence is not Confidence.CONFIRMED else ""
    return replace(
        result,
        lasting_fix=result.lasting_fix or used.lasting_fix,
        settled_by=settled_by,
        profile_settles=bool(settled_by) and used.cause.profile_settles,
    )


def evaluate_condition(condition: Condition, snapshot: Snapshot) -> CauseResult | None:
    """Evaluate a playbook's own condition; None if it is false, or has no status and is only a remark."""
    holds = condition.holds(snapshot)
    if isinstance(holds, Unknown):
        return Undecided(condition.cause or condition.name, holds.because or "something was not read")
    if not holds or condition.status is None:
        return None
    seen = Evidence(condition.name, ", ".join(condition.probes), condition.says, condition.shows(snapshot))
    return Finding(condition.cause, condition.status, condition.confidence, condition.says, (seen,))


def _gravest_first(findings: Sequence[Finding], playbook: Playbook, muted: Mapping[str, Mute]) -> tuple[Finding, ...]:
    """Order by gravity, then by the playbook's order of explanation: mechanism before symptom.

    Among equally grave findings the muted come last, and what is only possible explains none of the node's proven
    faults: those come before it. A fault of one unit or workload does not.
    """

    def key(finding: Finding) -> tuple[int, bool, int]:
        return (-_capped_status(finding).rank, finding.cause in muted, _explanation_rank(finding.cause, playbook))

    ordered = sorted(findings, key=key)
    weak = [(key(finding)[:2], finding) for finding in ordered if finding.confidence is Confidence.POSSIBLE]
    for place, finding in reversed(weak):
        at = ordered.index(finding)
        after = [
            other for other in ordered[at + 1 :] if key(other)[:2] == place and _is_sure_node_fault(other, playbook)
        ]
        ordered = [*ordered[:at], *after, *(other for other in ordered[at:] if other not in after)]
    return tuple(ordered)


def _is_sure_node_fault(finding: Finding, playbook: Playbook) -> bool:
    """True for a sure finding of a cause that concerns the node."""
    at = playbook.places.get(finding.cause or "")
    return _is_sure(finding) and at is not None and not playbook.causes[at].cause.of_one


def _explanation_rank(cause: str | None, playbook: Playbook) -> int:
    """A cause's position in the playbook's order of explanation; causes it does not name come last."""
    return playbook.places.get(cause or "", len(playbook.causes))


def _capped_status(finding: Finding) -> Status:
    # A finding that is only possible is never critical.
    if finding.confidence is Confidence.POSSIBLE and finding.status is Status.CRITICAL:
        return Status.DEGRADED
    return finding.status


def _combined_verdict(
    snapshot: Snapshot, playbook: Playbook, results: Sequence[CauseResult], muted: Mapping[str, Mute]
) -> Verdict:
    findings = _gravest_first([r for r in results if isinstance(r, Finding)], playbook, muted)
    ruled_out = tuple(r for r in results if isinstance(r, RuledOut))
    undecided = [r for r in results if isinstance(r, Undecided)]
    named = {found.cause for found in findings} | {out.cause for out in ruled_out}
    unread = snapshot.unread
    verdict = Verdict(
        node=snapshot.node,
        status=Status.HEALTHY,
        cause=None,
        confidence=None,
        summary="",
        evidence=_evidence(findings),
        ruled_out=ruled_out,
        unread=unread,
        snapshot=snapshot,
        undecided=_unique_undecided([result for result in undecided if result.cause not in named], unread, playbook),
        muted=tuple(muted[cause] for cause in dict.fromkeys(found.cause or "" for found in findings) if cause in muted),
    )
    # A missing reading outranks every finding less grave than what it would decide, and every muted finding.
    news = [finding for finding in findings if finding.cause not in muted]
    found = max((_capped_status(finding).rank for finding in news if _is_sure(finding)), default=0)
    missing = [
        reading
        for reading in unread
        if reading.probe in playbook.must_read and _worst_undecided(reading.probe, playbook, undecided) > found
    ]
    suspected = [open_ for open_ in undecided if open_.suspected and _worst_status(open_, playbook) > found]
    # A site's own that is left out takes none of ours away. Where ours find nothing, it might have.
    suspected += [open_ for open_ in undecided if not found and isinstance(open_, LeftOut)]
    if missing or suspected:
        decisive = [f"{reading.probe} was not read ({reading.reason})" for reading in missing]
        decisive += [f"{result.cause} cannot be judged: {result.because}" for result in suspected]
        return replace(
            verdict,
            status=Status.UNKNOWN,
            summary="Cannot tell: " + "; ".join(decisive),
            suspects=_suspects(findings),
            try_next=_would_decide_words(missing, suspected),
        )
    if not findings:
        # What decides nothing critical stands below, among what is undecided: a tool that an image lacks is no news.
        names = ", ".join(reading.probe for reading in unread if reading.probe in playbook.must_read)
        but = "; ".join([*([f"unread: {names}"] if names else []), *verdict.half_read])
        return replace(verdict, summary=f"{HEALTHY} as far as read; {but}" if but else HEALTHY)
    first = findings[0]
    half_read = _found_but_not_all_read(findings, unread, playbook)
    open_before = _undecided_before(first, playbook, [*undecided, *half_read]) if first.remedy else ()
    accepted = _muted_before(first, findings, playbook, muted) if first.remedy else ()
    proven = _is_sure(first) and not (open_before or accepted) and first.cause not in muted
    return replace(
        verdict,
        status=max((_capped_status(finding) for finding in findings), key=lambda status: status.rank),
        cause=first.cause,
        confidence=first.confidence,
        summary=first.summary,
        suspects=first.suspects,
        remedy=first.remedy if proven else (),
        lasting_fix=first.lasting_fix if _is_sure(first) else "",
        settled_by=first.settled_by,
        profile_settles=first.profile_settles,
        harm=first.harm,
        found=first.found,
        try_next=_decide_first_words(open_before) or _unmute_first_words(accepted),
    )


def _unique_undecided(
    undecided: Sequence[Undecided], unread: Sequence[Unread], playbook: Playbook
) -> tuple[Undecided, ...]:
    """Each open cause once; if it does not say what would decide it, its unread probes are named.

    Shape: conditions that name no cause are symptoms and are left out.
    """
    if not undecided:
        return ()
    looks_at = {condition.cause: condition.probes for condition in playbook.conditions if condition.cause}
    looks_at |= {used.cause.name: used.cause.probes for used in playbook.causes}
    missing = {reading.probe for reading in unread}
    by_cause: dict[str, Undecided] = {}
    for result in undecided:
        if result.cause not in looks_at or result.cause in by_cause:
            continue
        lacking = [probe for probe in looks_at[result.cause] if probe in missing]
        if lacking and not result.would_decide:
            result = replace(result, would_decide=f"reading {' and '.join(lacking)}")
        by_cause[result.cause] = result
    return tuple(by_cause.values())


def _undecided_before(first: Finding, playbook: Playbook, undecided: Sequence[Undecided]) -> tuple[Undecided, ...]:
    """Return the open causes that might explain a critical finding: as grave, and earlier in the order.

    Otherwise a reboot might be offered for a symptom of something unread, which would be back after the reboot.
    What was half read is told with the plan: a firewall that fills the log for ever must not take each remedy away.
    """
    if _capped_status(first) is not Status.CRITICAL:
        return ()
    place = _explanation_rank(first.cause, playbook)
    return tuple(
        result
        for result in undecided
        if not isinstance(result, HalfRead)
        and _explanation_rank(result.cause, playbook) < place
        and _worst_status(result, playbook) >= Status.CRITICAL.rank
    )


def _found_but_not_all_read(
    findings: Sequence[Finding], unread: Sequence[Unread], playbook: Playbook
) -> list[Undecided]:
    """Return the causes that were found, and that a probe of theirs, not read, might show to be critical."""
    if not unread:
        return []
    probes = {used.cause.name: used.cause.probes for used in playbook.causes}
    return [
        Undecided(finding.cause, f"it is found, and how grave it is hangs on {', '.join(missing)}, not read")
        for finding in findings
        if finding.cause in probes and _is_sure(finding) and _capped_status(finding) is not Status.CRITICAL
        if (missing := [reading.probe for reading in unread if reading.probe in probes[finding.cause]])
    ]


def _muted_before(
    first: Finding, findings: Sequence[Finding], playbook: Playbook, muted: Mapping[str, Mute]
) -> tuple[str, ...]:
    """Return the muted causes that may explain a finding: as grave, and earlier in the order of explanation."""
    place = _explanation_rank(first.cause, playbook)
    return tuple(
        found.cause
        for found in findings
        if found.cause is not None
        and found.cause in muted
        and found is not first
        and _capped_status(found).rank >= _capped_status(first).rank
        and _explanation_rank(found.cause, playbook) < place
    )


def _unmute_first_words(accepted: Sequence[str]) -> str:
    if not accepted:
        return ""
    return f"No plan is offered: {', '.join(accepted[:3])} may explain this, and is muted."


def _decide_first_words(open_before: Sequence[Undecided]) -> str:
    if not open_before:
        return ""
    open_causes = "; ".join(f"{result.cause} is open: {result.because}" for result in open_before[:3])
    return f"No plan is offered before this is decided: {open_causes}."


def _is_sure(finding: Finding) -> bool:
    return finding.confidence in (Confidence.CONFIRMED, Confidence.LIKELY)


def _worst_status(result: Undecided, playbook: Playbook) -> int:
    """The gravest status that an open cause may still have."""
    at = playbook.places.get(result.cause)
    worst = playbook.causes[at].cause.worst if at is not None else Status.CRITICAL
    return min(worst.rank, result.worst.rank)


def _worst_undecided(probe: str, playbook: Playbook, undecided: Sequence[Undecided]) -> int:
    """The gravest status that an unread probe leaves open; any, if no cause of the playbook uses the probe."""
    using = {used.cause.name for used in playbook.causes if probe in used.cause.probes}
    left_open = [_worst_status(result, playbook) for result in undecided if result.cause in using]
    open_ = {result.cause for result in undecided}
    symptoms = [each for each in playbook.conditions if probe in each.probes and (each.cause or each.name) in open_]
    left_open += [each.status.rank for each in symptoms if each.status is not None]
    return max(left_open, default=0 if using else Status.CRITICAL.rank)


def _evidence(findings: Sequence[Finding]) -> tuple[Evidence, ...]:
    """All findings' evidence, without repeated lines and without symptoms that a cause has shown already."""
    kept: list[Evidence] = []
    shown: set[str] = set()
    probes = {evidence.probe for finding in findings if finding.cause is not None for evidence in finding.evidence}
    for finding in findings:
        for evidence in finding.evidence:
            if finding.cause is None and probes.issuperset(evidence.probe.split(", ")):
                continue
            if evidence.source and shown.issuperset(evidence.source):
                continue
            shown.update(evidence.source)
            kept.append(evidence)
    return tuple(kept)


def _would_decide_words(missing: Sequence[Unread], suspected: Sequence[Undecided]) -> str:
    """What would decide the verdict: the probes that were not read, and what an open cause says itself."""
    probes = [reading.probe for reading in missing]
    probes += [f"the missing probes of {result.cause}" for result in suspected if not result.would_decide]
    ways = ["reading " + ", ".join(dict.fromkeys(probes))] if probes else []
    says = ", and ".join([*ways, *dict.fromkeys(result.would_decide for result in suspected if result.would_decide)])
    return f"{says[:1].upper()}{says[1:]} would decide it."


def _suspects(findings: Sequence[Finding]) -> tuple[str, ...]:
    return findings[0].suspects if findings else ()
