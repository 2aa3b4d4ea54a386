"""The node's name servers do not answer, so that programs that look up names wait or fail.

Confirms: two of three questions to every server, or to the server that is asked first, got no usable answer.
Refutes: answers of any kind: "no such name" and "refused" are answers, as private servers know few names. A silent
server further down the list does no harm while those before it answer.
Remedy: none planned: the servers are elsewhere, or a resolver on the node needs repair.
"""

from __future__ import annotations

from bot.causes._figures import count, sentence
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.dns import QUESTIONS, DnsReading, NameServer

NAME = "dns-failing"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether names can be looked up."""
    reading = snapshot.get(DnsReading)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"the name servers were not asked ({reading.reason})")
    if not reading.servers:
        return Undecided(NAME, "/etc/resolv.conf names no server", would_decide="a name server to ask")
    failing = [server for server in reading.servers if server.failed >= tuning["failed_few"]]
    if reading.servers[0] in failing:
        every = len(failing) == len(reading.servers)
        says = [f"name server {server.address} {_said(server)}" for server in failing]
        evidence = [
            Evidence("name-server-failing", "dns", says_it, (server.line,))
            for says_it, server in zip(says, failing, strict=True)
        ]
        rest = "" if every else "it is asked first, so that each lookup waits for it"
        return Finding(
            cause=NAME,
            status=Status.DEGRADED,
            confidence=Confidence.CONFIRMED,
            summary=sentence(*says, rest),
            evidence=tuple(evidence),
        )
    if failing:
        others = ", ".join(server.address for server in failing)
        return RuledOut(NAME, f"{reading.servers[0].address} answers; {others} does not, and is asked only after it")
    return RuledOut(NAME, f"{count(len(reading.servers), 'name server')} answered")


def _said(server: NameServer) -> str:
    if server.failed == QUESTIONS and not server.codes:
        return f"answered none of {QUESTIONS} questions"
    return f"failed {server.failed} of {QUESTIONS} questions"


CAUSE = Cause(
    name=NAME,
    title="Name servers do not answer",
    probes=("dns",),
    thresholds=("failed_few",),
    signature=("dns",),
    weigh=weigh,
    worst=Status.DEGRADED,
)
