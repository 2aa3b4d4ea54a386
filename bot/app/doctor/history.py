"""Checks Prometheus and Pyroscope: do they answer, and do they know a node?"""

from __future__ import annotations

from collections.abc import Sequence

from bot.app.metric_history import history_of, profiled_by
from bot.domain.contracts import Clock
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.settings import Settings


async def prometheus(settings: Settings, nodes: Sequence[Node], now: Clock) -> tuple[DoctorFinding, ...]:
    """Does Prometheus answer, and does it know a node?

    Raises: SettingsError when PROMETHEUS_URL is not an address.
    """
    history = history_of(settings, nodes)
    if history is None:
        return (DoctorFinding("Prometheus", Mark.NOT_SET, "no PROMETHEUS_URL: verdicts come without the past"),)
    try:
        for node in nodes[:1]:
            evidence = await history.before(node, now())
            return (
                DoctorFinding(
                    "Prometheus", Mark.OK, f"of {node.name}: {evidence[0].says if evidence else 'no past found'}"
                ),
            )
    except CannotRead as no:
        hint = "Is it reachable, and does its label instance hold the inventory's names, addresses or labels?"
        return (DoctorFinding("Prometheus", Mark.WRONG, str(no), hint),)
    finally:
        await history.close()
    return (DoctorFinding("Prometheus", Mark.NOTE, "not tried: there are no nodes"),)


async def pyroscope(settings: Settings, nodes: Sequence[Node], now: Clock) -> tuple[DoctorFinding, ...]:
    """Does Pyroscope answer, and does it know a node? No result where it is not set.

    Raises: SettingsError when PYROSCOPE_URL is not an address.
    """
    profiled = profiled_by(settings, nodes)
    if profiled is None:
        return ()
    try:
        for node in nodes[:1]:
            (evidence,) = await profiled.before(node, now())
            return (DoctorFinding("Pyroscope", Mark.OK, f"of {node.name}: {evidence.says}"),)
    except CannotRead as no:
        hint = "Is it reachable, and which label names nodes there? [pyroscope] label in zombie.toml"
        return (DoctorFinding("Pyroscope", Mark.WRONG, str(no), hint),)
    return (DoctorFinding("Pyroscope", Mark.NOTE, "not tried: there are no nodes"),)
