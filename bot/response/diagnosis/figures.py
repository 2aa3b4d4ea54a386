"""The figures that are compared before and after: a few of a snapshot, in words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

from bot.causes import CAUSES
from bot.domain.events import Compared, SampleTaken
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Verdict
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import RESETS
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.units import UnitsReading

UNREAD = "not read"
AT_REST = "at rest"  # a unit that neither runs nor failed: systemd does not list it
UPTIME = "uptime"
PAUSE = "longest time without a network device reset"  # between two of them, or since the last: "5460 s"


def figures(
    verdict: Verdict, units: tuple[str, ...], shown: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> Mapping[str, str]:
    """Return a verdict's figures by name, and the states of the named units; `shown` are properties read of them."""
    facts: dict[str, str] = {"verdict": " ".join(filter(None, (verdict.status.value, verdict.cause)))}
    return facts if verdict.snapshot is None else facts | _figures_of(verdict.snapshot, units, shown)


def _figures_of(snapshot: Snapshot, units: tuple[str, ...], shown: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    counts = {grows.what: grows.read(snapshot) for cause in CAUSES.values() if (grows := cause.grows) is not None}
    facts = {what: UNREAD if count is None else f"{count:,.0f}" for what, count in counts.items()}
    cpu = snapshot.get(CpuReading)
    facts["busiest core in the kernel"] = UNREAD if isinstance(cpu, Unread) else f"{cpu.hottest_sys_percent:.0f} %"
    log = snapshot.get(KernelLogReading)
    facts["network device resets"] = UNREAD if isinstance(log, Unread) else str(log.nic_resets)
    facts[PAUSE] = _longest_pause(log, snapshot.get(HostReading))
    listed = snapshot.get(UnitsReading)
    for unit in units:
        found = None if isinstance(listed, Unread) else next((u for u in listed.services if u.name == unit), None)
        facts[unit] = (
            UNREAD
            if isinstance(listed, Unread)
            else f"{found.active} ({found.sub}), {found.enabled or 'no unit file'}"
            if found is not None
            else _at_rest(shown.get(unit, {}))
        )
    host = snapshot.get(HostReading)
    facts["boot"] = UNREAD if isinstance(host, Unread) else host.boot_id
    facts[UPTIME] = UNREAD if isinstance(host, Unread) else f"{host.uptime.total_seconds():.0f} s"
    return facts


def _at_rest(shown: Mapping[str, str]) -> str:
    """How a unit is that is not listed: whether it starts at boot is told by its properties alone."""
    if not shown.get("UnitFileState"):
        return AT_REST
    return f"{shown.get('ActiveState', '')} ({shown.get('SubState', '')}), {shown['UnitFileState']}"


def _longest_pause(log: KernelLogReading | Unread, host: HostReading | Unread) -> str:
    """The longest time between two resets, or since the last; empty where there was none, or its time is not known."""
    if isinstance(log, Unread) or isinstance(host, Unread):
        return ""
    times = [reset.since_boot for reset in log.of(*RESETS) if reset.since_boot is not None]
    pauses = [later - earlier for earlier, later in pairwise([*times, host.uptime])]
    return f"{max(pauses).total_seconds():.0f} s" if pauses else ""


def read_then(sample: SampleTaken) -> Mapping[str, str]:
    """Return the figures of a look at a watched node."""
    return dict(line.split("=", 1) for seen in sample.seen for line in seen.source if "=" in line)


def before_and_after_table(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Compared, ...]:
    """Return the table of before and after; figures without a counterpart are left out."""
    return tuple(Compared(name, before[name], after[name]) for name in before if name in after)
