"""The instance exceeds a network limit of its type, and AWS queues or drops its packets.

Confirms: an allowance counter of the ENA driver (bw_in, bw_out, pps, conntrack, linklocal) rises in the window.
Refutes: counters that do not rise: a limit exceeded long ago is not a present symptom. A few delayed packets of a
short burst, which TCP sends again, are only mentioned.
Remedy: none planned: the limit is the same after a reboot. Larger type, less traffic, fewer tracked connections.
"""

from __future__ import annotations

from bot.causes._figures import sentence
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.nic import ALLOWANCE_COUNTERS, NicReading

NAME = "instance-allowance-exceeded"
_MEANS = {
    "bw_in_allowance_exceeded": "more came in than the instance may receive",
    "bw_out_allowance_exceeded": "more went out than the instance may send",
    "pps_allowance_exceeded": "more packets per second than the instance may send or receive",
    "conntrack_allowance_exceeded": "more tracked connections than the instance may have",
    "linklocal_allowance_exceeded": "more questions to DNS, time and metadata services than they answer",
}


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether a limit of the instance is being exceeded now."""
    nic = snapshot.get(NicReading)
    if isinstance(nic, Unread):
        return Undecided(NAME, f"the network cards were not read ({nic.reason})")
    if not nic.ena:
        return RuledOut(NAME, "no ENA interface here, so there are no such limits to count")
    evidence, known, few = [], False, 0
    for card in nic.ena:
        for name in ALLOWANCE_COUNTERS:
            rise = card.rise(name)
            known = known or rise is not None
            few += rise or 0
            if rise is not None and rise >= tuning["allowance_rise"]:
                says = f"{card.name}: {name} rose by {rise:,} within the window: {_MEANS[name]}"
                source = (card.lines[name],) if name in card.lines else ()
                evidence.append(Evidence(name.replace("_", "-"), "nic", says, source))
    if evidence:
        says = sentence(*(seen.says for seen in evidence[:2]))
        return Finding(NAME, Status.DEGRADED, Confidence.CONFIRMED, says, tuple(evidence))
    if not known:
        return Undecided(NAME, "this ENA driver has no allowance counters, or they were read only once")
    if few:
        return RuledOut(NAME, f"the allowance counters rose by {few:,} within the window, as after a short burst")
    old = sum(card.total(name) or 0 for card in nic.ena for name in ALLOWANCE_COUNTERS)
    stood = f"; they stand at {old:,} since the driver was loaded" if old else ""
    return RuledOut(NAME, f"no allowance counter rose within the window{stood}")


CAUSE = Cause(
    NAME,
    "Instance allowance exceeded",
    ("nic",),
    ("allowance_rise",),
    weigh,
    worst=Status.DEGRADED,
)
