"""Cases of TCP's memory and of connections that nobody holds any more."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, azure, database, google, metal, nano, rhel7, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_TCP = "tcp-memory-exhausted"
_CUT = "TCP: out of memory -- consider tuning tcp_mem"
_ORPHANS = "TCP: too many orphaned sockets"

TCP: list[Label] = [
    sick(_TCP, "all of it is held, and connections are cut", Machine().tcp(768_400).log_every(2, 5, 30, _CUT)),
    sick(
        _TCP, "a reader that stopped reading, on a small machine", small().tcp(47_000, 47_100).log_every(9, 20, 4, _CUT)
    ),
    sick(_TCP, "above the kernel's mark of pressure, nothing cut yet", database().tcp(600_000)),
    sick(_TCP, "at the limit, and the log is silent", metal().tcp(3_100_000, 3_000_000)),
    sick(_TCP, "connections were cut five minutes ago", amazon2().tcp(300_000).log_every(5 * MINUTE, 10, 3, _CUT)),
    sick(
        _TCP,
        "a balancer with more closed connections than may wait",
        google().tcp(90_000, orphans=270_000).log_every(4, 6, 12, _ORPHANS),
    ),
    sick(_TCP, "an old kernel's words", rhel7().tcp(768_000).log_every(3, 5, 9, "TCP: too many of orphaned sockets")),
    near(_TCP, "a few pages", Machine()),
    near(_TCP, "half of what is allowed, on a busy file server", metal().tcp(1_400_000, 3_000_000)),
    near(_TCP, "just below the mark of pressure", azure().tcp(511_900)),
    near(_TCP, "cut yesterday, with room since", database().tcp(40_000).log_every(26 * HOUR, 5, 30, _CUT)),
    near(_TCP, "cut at a peak an hour ago", google().tcp(52_000).log_every(70 * MINUTE, 5, 12, _CUT)),
    near(_TCP, "too many orphans in an attack, three days ago", amazon2().tcp(61).log_every(3 * DAY, 5, 60, _ORPHANS)),
    near(_TCP, "ten thousand closed connections, where many more may wait", metal().tcp(4_000, orphans=10_000)),
    near(_TCP, "a tiny machine, and a tiny limit", nano().tcp(140, 5_600)),
    near(
        _TCP,
        "a flood of half-open connections, answered with cookies",
        google().log((40, "TCP: request_sock_TCP: Possible SYN flooding on port 443. Sending cookies.")),
    ),
    near(
        _TCP,
        "a table of connections that is full",
        Machine().conntrack(262_144, 262_144).log((4, "nf_conntrack: nf_conntrack: table full, dropping packet")),
        "",
        "conntrack-full",
    ),
]
