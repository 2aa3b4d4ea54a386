"""Checks Prometheus and Pyroscope: do they answer, and do they know a node?"""

from __future__ import annotations

from collections.abc import Sequence

from bot.app.metric_history import history_of, profiled_by
from bot.domain.contracts import Clock
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import CannotRead
from bot.domain.metric_history import MetricHistory
from bot.domain.node import Node
from bot.settings import Settings


async def prometheus(settings: Settings, nodes: Sequence[Node], now: Clock) -> tuple[DoctorFinding, ...]:
    """Does Prometheus answer, and does it know a node?

    Raises: SettingsError when PROMETHEUS_URL is not an address.
    """
    history = history_of(settings, nodes)
    if history is None:
        return (DoctorFinding("Prometheus", Mark.NOT_SET, "no PROMETHEUS_URL: verdicts come without the past"),)
    hint = "Is it reachable, and does its label instance hold the inventory's names, addresses or labels?"
    try:
        return (await _of_a_node("Prometheus", history, nodes, now, hint),)
    finally:
        await history.close()


async def pyroscope(settings: Settings, nodes: Sequence[Node], now: Clock) -> tuple[DoctorFinding, ...]:
    """Does Pyroscope answer, and does it know a node? No result where it is not set.

    Raises: SettingsError when PYROSCOPE_URL is not an address.
    """
    profiled = profiled_by(settings, nodes)
    if profiled is None:
        return ()
    hint = "Is it reachable, and which label names nodes there? [pyroscope] label in zombie.toml"
    return (await _of_a_node("Pyroscope", profiled, nodes, now, hint),)


async def _of_a_node(name: str, history: MetricHistory, nodes: Sequence[Node], now: Clock, hint: str) -> DoctorFinding:
    if not nodes:
        return DoctorFinding(name, Mark.NOTE, "not tried: there are no nodes")
    try:
        evidence = await history.before(nodes[0], now())
    except CannotRead as no:
        return DoctorFinding(name, Mark.WRONG, str(no), hint)
    return DoctorFinding(name, Mark.OK, f"of {nodes[0].name}: {evidence[0].says if evidence else 'no past found'}")
