"""Twenty small trainers with a pattern to find: which leak, by image, and why a zone only looks healthy.

Those of the older image have the unused agent enabled. In 1a and 1b it loops and leaks; in 1c another fault keeps it
from starting, so that the whole zone is free of the leak by accident. The newer image has no such agent.
"""

from __future__ import annotations

from dataclasses import replace

from bot.demo.fleet_leaks import small_leak
from bot.demo.images import CONTAINERD, DOCKER, ECS, KUBELET, UBUNTU_20, UBUNTU_22, usual_units
from bot.demo.machine.load import Load, Shares
from bot.demo.machine.state import Memory, Nic, State

OLDER, NEWER = "ami-0f5e1d2c3b4a59687", "ami-0a1b2c3d4e5f60718"
ROLE = "trainer"


def _healthy(name: str) -> State:
    return State(
        name=name,
        system=replace(UBUNTU_22, product="g5.4xlarge"),
        load=Load(16, Shares(usr=31.0, sys=1.2)),
        units=usual_units(UBUNTU_22, CONTAINERD, KUBELET),
        nics=(Nic(version="2.13.0g"),),
        memory=Memory(pressure={"cpu some": 0.3}),
    )


def _agent_failed_at_start(name: str) -> State:
    """The older image, where the agent failed at its start and stayed down."""
    failed = replace(ECS, active="failed", sub="failed", exit_status=127, since=44.0, ran=0.1, restart="no")
    return replace(
        _healthy(name),
        system=replace(UBUNTU_20, product="g5.4xlarge"),
        units=usual_units(UBUNTU_20, CONTAINERD, DOCKER, KUBELET, failed),
    )


LEAKING = tuple(
    small_leak(f"trainer-{zone}-{number:02}", 0x700 + number + 16 * (zone == "1b"), 21_000 + 613 * number)
    for zone, count in (("1a", 4), ("1b", 3))
    for number in range(1, count + 1)
)
KEPT_DOWN = tuple(_agent_failed_at_start(f"trainer-1c-{number:02}") for number in range(1, 6))
NEWER_ONES = tuple(_healthy(f"trainer-{zone}-{number:02}") for zone in ("1a", "1b") for number in range(11, 15))
