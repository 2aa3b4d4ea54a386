"""Which kubelet and which runtime do a node's work: images bring others besides, and those may stop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from bot.domain.probe import Unread
from bot.domain.protected import KUBELET_UNITS, WITH_OWN_RUNTIME, services
from bot.probes.essential_units import RUNTIME_UNITS, EssentialUnitsReading
from bot.probes.host import HostReading

_FOR_KUBELETS = services("serves-kubelets")


def _is_healthy(reading: EssentialUnitsReading) -> bool:
    return len(reading.health) > 1 and all(said == "ok" for said in reading.health)


def is_redundant_unit(reading: EssentialUnitsReading | Unread, names: Sequence[str]) -> bool:
    """True for a kubelet or runtime beside which another kubelet runs at both looks, and is well, without it."""
    if isinstance(reading, Unread) or not _is_healthy(reading):
        return False
    runs = {
        unit.name
        for unit in reading.units
        if unit.kind == "kubelet" and unit.active == "active" and unit.active_later in (None, "active")
    }
    others = runs.difference(names)
    if any(name in KUBELET_UNITS for name in names):
        return bool(others)
    return any(name in RUNTIME_UNITS for name in names) and not others.isdisjoint(WITH_OWN_RUNTIME)


def _needed_only_by_absent_kubelet(reading: EssentialUnitsReading | Unread, names: Sequence[str]) -> bool:
    """True for a runtime made for kubelets where no kubelet is installed, and another runtime runs."""
    if isinstance(reading, Unread) or any(unit.kind == "kubelet" for unit in reading.units):
        return False
    others = any(
        unit.kind == "runtime" and unit.active == "active" and unit.name not in names for unit in reading.units
    )
    return others and any(name in _FOR_KUBELETS for name in names)


def is_dispensable_unit(
    reading: EssentialUnitsReading | Unread, host: HostReading | Unread, names: Sequence[str], minutes: float
) -> bool:
    """True for a stopped unit without which a kubelet is well, or that serves none: a spare, or a runtime not missed.

    Units: `minutes` after which a kubelet without its runtime calls itself ill.
    """
    if is_redundant_unit(reading, names) or _needed_only_by_absent_kubelet(reading, names):
        return True
    if isinstance(reading, Unread) or isinstance(host, Unread) or not _is_healthy(reading):
        return False
    unit = next((unit for unit in reading.units if unit.name in names and unit.kind == "runtime"), None)
    if unit is None or not unit.changed_usec:
        return False
    return host.uptime - timedelta(microseconds=unit.changed_usec) >= timedelta(minutes=minutes)
