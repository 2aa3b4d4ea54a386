"""The past of the inventory's nodes, from PROMETHEUS_URL and PYROSCOPE_URL: beside a check, and for `doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.app.factories import now
from bot.domain.contracts import Clock
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import CannotRead, SettingsError
from bot.domain.growth import CountSample
from bot.domain.node import Node
from bot.extras.history.metric_history import PROFILED, with_metric_history
from bot.extras.history.settings import PrometheusSettings, PyroscopeSettings
from bot.inventory import Inventory
from bot.response.diagnosis.scheduler import Diagnose
from bot.settings import Settings
from bot.surfaces.descriptor import DoctorChecks

if TYPE_CHECKING:
    from bot.app.bot import Bot
    from bot.extras.history.prometheus import PrometheusHistory
    from bot.extras.history.pyroscope import PyroscopeHistory


@dataclass(frozen=True, slots=True)
class History:
    """What Prometheus and Pyroscope have of the inventory's nodes; None where one is not set up."""

    known: Inventory
    prometheus: PrometheusHistory | None
    pyroscope: PyroscopeHistory | None

    def beside(self, diagnose: Diagnose) -> Diagnose:
        """Return a diagnosis that also reads the past."""
        if self.pyroscope is not None:
            diagnose = with_metric_history(diagnose, self.pyroscope, now, PROFILED)
        return diagnose if self.prometheus is None else with_metric_history(diagnose, self.prometheus, now)

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[CountSample, ...]:
        """Return earlier counts from Prometheus; none for a node that is gone. Raises: CannotRead."""
        if self.prometheus is None or not self.known.knows(node):
            return ()
        return await self.prometheus.counted(self.known.find(node), cause, until)

    def knows(self, nodes: Iterable[Node]) -> None:
        """Use these nodes as the inventory from now on."""
        for store in filter(None, (self.prometheus, self.pyroscope)):
            store.knows(nodes)

    async def close(self) -> None:
        """Close the connections."""
        for store in filter(None, (self.prometheus, self.pyroscope)):
            await store.close()


def reads_more(bot: Bot) -> History | None:
    """Return the past of the bot's nodes; None where nothing is set up.

    Raises: SettingsError when PROMETHEUS_URL or PYROSCOPE_URL is not an address.
    """
    found = history_of(bot.settings, bot.known)
    return None if found.prometheus is None and found.pyroscope is None else found


def history_of(settings: Settings, known: Inventory) -> History:
    """Return the past of the inventory's nodes, as far as it is set up.

    Raises: SettingsError when PROMETHEUS_URL or PYROSCOPE_URL is not an address.
    """
    return History(known, prometheus_of(settings, known.nodes), pyroscope_of(settings, known.nodes))


def prometheus_of(settings: Settings, nodes: Iterable[Node]) -> PrometheusHistory | None:
    """Return these nodes' Prometheus; None where it is not set.

    Raises: SettingsError when PROMETHEUS_URL is not an address.
    """
    if not (url := settings.of(PrometheusSettings).url):
        return None
    check_base("PROMETHEUS_URL", url)
    from bot.extras.history.prometheus import PrometheusHistory

    return PrometheusHistory(url, nodes)


def pyroscope_of(settings: Settings, nodes: Iterable[Node]) -> PyroscopeHistory | None:
    """Return these nodes' Pyroscope; None where it is not set.

    Raises: SettingsError when PYROSCOPE_URL is not an address.
    """
    set_up = settings.of(PyroscopeSettings)
    if not set_up.url:
        return None
    check_base("PYROSCOPE_URL", set_up.url)
    from bot.extras.history.pyroscope import PyroscopeHistory

    return PyroscopeHistory(set_up.url, nodes, set_up.label, set_up.profile, set_up.tenant)


def check_base(variable: str, url: str) -> None:
    """Raises: SettingsError, naming the variable, when it is not an address."""
    try:
        parts = urlsplit(url)
        is_base = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        is_base = False
    if not is_base:
        service = variable.partition("_")[0].lower()
        raise SettingsError(f"{variable} is not an address.", f"Write its base: {variable}=https://{service}.example")


# --- what `doctor` checks: do they answer, and do they know a node?


def looks(settings: Settings, nodes: Sequence[Node], clock: Clock) -> DoctorChecks:
    """Return the checks of both."""

    async def prometheus() -> Sequence[DoctorFinding]:
        store = prometheus_of(settings, nodes)
        if store is None:
            return (DoctorFinding("Prometheus", Mark.NOT_SET, "no PROMETHEUS_URL: verdicts come without the past"),)
        hint = "Is it reachable, and does its label instance hold the inventory's names, addresses or labels?"
        return (await _node_finding(store, nodes, clock, hint),)

    async def pyroscope() -> Sequence[DoctorFinding]:
        hint = "Is it reachable, and which label names nodes there? [pyroscope] label in zombie.toml"
        store = pyroscope_of(settings, nodes)
        return () if store is None else (await _node_finding(store, nodes, clock, hint),)

    return (("Prometheus", prometheus), ("Pyroscope", pyroscope))


async def _node_finding(
    store: PrometheusHistory | PyroscopeHistory, nodes: Sequence[Node], clock: Clock, hint: str
) -> DoctorFinding:
    if not nodes:
        return DoctorFinding(store.called, Mark.NOTE, "not tried: there are no nodes")
    try:
        evidence = await store.before(nodes[0], clock())
    except CannotRead as no:
        return DoctorFinding(store.called, Mark.WRONG, str(no), hint)
    finally:
        await store.close()
    says = evidence[0].says if evidence else "no past found"
    return DoctorFinding(store.called, Mark.OK, f"of {nodes[0].name}: {says}")
