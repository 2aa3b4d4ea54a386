"""Cases of cores that heat slows down, as the kernel counts and tells it."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import arm, database, edge, gpu_node, metal, rhel7, rocky8
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_HEAT = "thermal-throttling"
_ON = "mce: CPU{}: Core temperature is above threshold, cpu clock is throttled (total events = {})"
_OFF = "mce: CPU{}: Core temperature/speed normal (total events = {})"
_OLD_ON = "CPU{}: Package temperature above threshold, cpu clock throttled (total events = {})"
_OLD_OFF = "CPU{}: Package temperature/speed normal"
_POWER = "CPU{}: Core power limit notification (total events = {})"

HEAT: list[Label] = [
    sick(_HEAT, "a fan failed, and a socket toggles", metal().heat(dict.fromkeys(range(32), (9000, 40)), package=41)),
    sick(_HEAT, "one core with dried paste", database().heat({7: (120_411, 212)})),
    sick(
        _HEAT,
        "it stays hot, so that no new event is counted",
        metal().heat(dict.fromkeys(range(4), (4711, 0))).log((11 * MINUTE, _ON.format(3, 4_711))),
    ),
    sick(
        _HEAT,
        "an old kernel's words, five minutes apart",
        rhel7()
        .heat({0: (3, 9)})
        .log((310, _OLD_ON.format(0, 3)), (309, _OLD_OFF.format(0)), (8, _OLD_ON.format(0, 12))),
    ),
    sick(_HEAT, "a GPU node whose inlet is too warm", gpu_node().heat(dict.fromkeys(range(40), (0, 0)), package=6)),
    sick(
        _HEAT,
        "it was cool for a minute, and is hot again",
        rocky8().heat({5: (30, 1)}).log((400, _ON.format(5, 29)), (340, _OFF.format(5, 29)), (90, _ON.format(5, 31))),
    ),
    near(_HEAT, "a hundred thousand events since boot, none now", metal().heat(dict.fromkeys(range(64), (100000, 0)))),
    near(_HEAT, "a burst of turbo touched the limit once", rocky8().heat({2: (17, 1)})),
    near(_HEAT, "never", metal().heat()),
    near(
        _HEAT,
        "hot at boot, five weeks ago",
        database().heat({0: (2, 0)}).log((35 * DAY, _ON.format(0, 2)), (35 * DAY - 40, _OFF.format(0, 2))),
    ),
    near(
        _HEAT,
        "hot for ten minutes, half an hour ago",
        metal().heat({3: (90, 0)}).log((40 * MINUTE, _ON.format(3, 1)), (30 * MINUTE, _OFF.format(3, 90))),
    ),
    near(
        _HEAT,
        "the end of a hot time two days ago was not logged",
        metal().heat({3: (90, 0)}).log((2 * DAY, _ON.format(3, 90))),
        "its count stands still",
    ),
    near(
        _HEAT,
        "turbo is held back by its power limit",
        rhel7().heat().log_every(9, 300, 6, _POWER.format(11, 4_412)),
        "power is no heat",
    ),
    near(_HEAT, "a virtual machine cannot see it", Machine()),
    near(_HEAT, "an Arm server, which counts nothing", arm()),
    near(_HEAT, "a small board without counters", edge()),
    near(
        _HEAT,
        "a program of the node's own says so on its console",
        metal().heat().log((HOUR / 60, "fancontrol: temperature above threshold on zone 1")),
    ),
]
