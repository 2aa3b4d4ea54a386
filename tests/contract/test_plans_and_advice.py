"""No plan contradicts the node: why a looper ends, who starts it, who holds a core."""

from __future__ import annotations

import pytest

from tests.contract.asked import CURE, LEAK, LOOP, Asked, check, judged
from tests.contract.made_nodes import broken_root, harmed
from tests.contract.test_plans_at_a_risk import leaks
from tests.independent.facts import HOUR
from tests.independent.kinds import database, founding
from tests.independent.machine import Machine

SKEWED = ("chronyd", "Leap status     : Not synchronised", "System time     : 912.41 seconds slow of NTP time")
OFF = {"ActiveState": "failed", "SubState": "failed", "Result": "exit-code"}


def leaker(**told: object) -> Machine:
    """A service of one's own leaks and loops; nobody knows what it is for."""
    return harmed(founding()).loops("push.service", 68_300, 11.2, **told)  # type: ignore[arg-type]


def looper(**told: object) -> Machine:
    return database().loops("api.service", 5_000, 11, **told)  # type: ignore[arg-type]


def actions(asked: Asked) -> set[str]:
    plan = judged(asked).plan
    return {step.action for step in plan.steps} if plan else set()


EXPLAINED = [
    (f"{title}, {sick}", spoil(made()), cause)
    for sick, made, cause in (("a leaker", leaker, LEAK), ("a looper", looper, LOOP))
    for title, spoil in (
        ("no block is left", lambda machine: machine.room("/", 100, 0)),
        ("no inode is left", lambda machine: machine.room("/", 100, 40, free_inodes=0)),
        ("the disk of its data is full", lambda machine: machine.mount("sdb xfs rw /data").room("/data", 900, 0)),
        ("the root takes no writes", broken_root),
        ("no name server answers", lambda machine: machine.dns(("10.0.0.2", ""), ("10.0.0.3", ""))),
        ("the clock is wrong", lambda machine: machine.clock(*SKEWED)),
        (
            "what runs its containers is stopped",
            lambda machine: machine.essential("containerd.service", changed_ago=HOUR, **OFF),
        ),
    )
]
EXPLAINED += [
    ("it is killed for lack of memory, a leaker", leaker(Result="oom-kill"), LEAK),
    ("it is killed for lack of memory, a looper", looper(Result="oom-kill"), LOOP),
]


@pytest.mark.parametrize(("title", "machine", "cause"), EXPLAINED, ids=[title for title, _, _ in EXPLAINED])
def test_nothing_is_disabled_whose_end_the_node_explains(title: str, machine: Machine, cause: str) -> None:
    assert not {"disable_unit", "mask_unit", "reboot"} & actions(Asked(title, machine, ""))


def test_siblings_whose_ends_nothing_explains_are_disabled() -> None:
    check(Asked("a leaker", leaker(), "critical", LEAK, CURE, needs="disable reboot"))
    check(Asked("a looper", looper(), "degraded", LOOP, needs="disable"))
    slow = looper().dns(("10.0.0.2", "NOERROR NXDOMAIN NOERROR"), ("10.0.0.3", ""))
    check(Asked("the second name server is silent", slow, "degraded", LOOP, needs="disable"))
    image = looper().mount("loop3 squashfs ro /mnt").room("/", 100, 40)
    check(Asked("an image is full, as ever", image, "degraded", LOOP, needs="disable"))
    spent = leaks().dns(("10.0.0.2", ""), ("10.0.0.3", ""))
    check(Asked("an agent that nobody uses here ends by that", spent, "critical", LEAK, CURE, needs="disable reboot"))


@pytest.mark.parametrize(
    "told",
    [
        {"UnitFileState": "static", "TriggeredBy": "api.timer"},
        {"UnitFileState": "static", "TriggeredBy": "api.path"},
        {"UnitFileState": "enabled", "TriggeredBy": "api.socket"},
        {"UnitFileState": "static"},
        {"UnitFileState": "indirect"},
        {"UnitFileState": "generated"},
        {"UnitFileState": "enabled-runtime"},
        {"UnitFileState": "masked-runtime"},
        {"UnitFileState": "disabled", "WantedBy": "shop.target"},
        {"UnitFileState": "enabled", "WantedBy": "multi-user.target bootstrap.service"},
        {"UnitFileState": "enabled", "RequiredBy": "bootstrap.service"},
    ],
    ids=lambda told: " ".join(map(str, told.values())),
)
def test_what_another_mover_starts_is_not_disabled_as_if_that_stopped_it(told: dict[str, str]) -> None:
    plan = check(Asked("moved", looper(**told), "degraded", LOOP, "mask")).plan
    assert plan is None or [step.action for step in plan.steps] == ["mask_unit"]


def test_leak_names_what_starts_its_unit() -> None:
    machine = founding(kernel="5.15.0-1084-aws").cgroups(240, 68_440)
    machine.loops("push.service", 68_300, 11.2, UnitFileState="static", TriggeredBy="push.timer")
    says = "If push.service, which push.timer starts, is masked, the leak ends."
    check(Asked("a timer's job leaks", machine, "critical degraded", LEAK, "mask", says=says))


def test_transient_unit_has_no_plan() -> None:
    check(Asked("systemd-run", looper(UnitFileState="transient"), "degraded", LOOP))


def test_queue_that_starves_on_a_core_of_another_earns_no_reboot() -> None:
    machine = leaker()
    machine.facts.processes = []
    machine.process("python3", usr=2, sys=498, core=5, pid=9001, state="R")
    assert "reboot" not in actions(Asked("another holds the core", machine, ""))
