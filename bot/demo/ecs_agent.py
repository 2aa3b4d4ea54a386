"""The Amazon ECS agent on a node outside any ECS cluster: its unit, its container, its supervisor's log.

Defined in: aws/amazon-ecs-agent, ecs-init/engine/engine.go (exit codes, back-off) and packaging/*/ecs.service.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.demo.machine.state import Container, Loop, Moment, Unit

IMAGE = "amazon/amazon-ecs-agent:latest"
LOG = "/var/log/ecs/ecs-init.log"
_TURNS_KEPT = 90
_TERMINAL = 5  # at this status the supervisor gives up; at any other it starts the container again

UNIT = Unit(
    "ecs.service",
    "Amazon Elastic Container Service - container agent",
    restart="on-failure",
    restart_usec=10_000_000,
    pid=2960,
    command="/usr/libexec/amazon-ecs-init start",
    part_of=("docker.service",),
)


def container(loop: Loop, exit_status: int) -> Container:
    """Return the agent's container. It starts just after its supervisor and ends before the next start."""
    inner = Loop(loop.runs - 0.4, loop.rests + 0.4, loop.since + 0.4, loop.until)
    return Container(IMAGE, "ecs-agent", loop=inner, exit_status=exit_status)


def supervisor_log(loop: Loop, exit_status: int) -> Callable[[Moment], str]:
    """Return a function that computes the newest lines of the supervisor's log."""

    def content(now: Moment) -> str:
        last, _, _ = loop.at(now.uptime)
        text = ""
        for turn in range(max(0, last - _TURNS_KEPT), last + 1):
            began = loop.since + turn * loop.turn
            ended = min(began + loop.runs, loop.until)
            text += _line(now, began, "Starting Amazon Elastic Container Service Agent")
            if ended <= now.uptime:
                text += _ended(now, ended, _TERMINAL if ended == loop.until else exit_status, loop.rests)
        return text

    return content


def _ended(now: Moment, at: float, exit_status: int, rests: float) -> str:
    text = _line(now, at, f"Agent exited with code {exit_status}")
    if exit_status == _TERMINAL:
        return text + _line(now, at, "agent exited with terminal exit code: 5", "ERROR")
    text += _line(now, at, f"ECS Agent failed to start, retrying in {rests:.6f}s", "WARN")
    return text + _line(now, at + rests, "Removing existing agent container ID: 1b0c1b4f2d6e")


def _line(now: Moment, at: float, message: str, level: str = "INFO") -> str:
    return f"{now.wall(at):%Y-%m-%dT%H:%M:%SZ} [{level}] {message}\n"
