"""The figures that are compared before and after: a few of a snapshot, in words."""

from __future__ import annotations

from collections.abc import Mapping

from bot.domain.events import Compared
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Verdict
from bot.probes.cgroups import CgroupsReading
from bot.probes.cpu import CpuReading
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.units import UnitsReading

UNREAD = "not read"
AT_REST = "at rest"  # a unit that neither runs nor failed: systemd does not list it


def figures(verdict: Verdict, units: tuple[str, ...]) -> Mapping[str, str]:
    """Return a verdict's figures by name, and the states of the named units."""
    facts: dict[str, str] = {"verdict": " ".join(filter(None, (verdict.status.value, verdict.cause)))}
    return facts if verdict.snapshot is None else facts | _of(verdict.snapshot, units)


def _of(snapshot: Snapshot, units: tuple[str, ...]) -> dict[str, str]:
    cgroups = snapshot.get(CgroupsReading)
    facts = {}
    if isinstance(cgroups, Unread):
        facts["dying memory cgroups"] = UNREAD
    else:
        dying = cgroups.dying if cgroups.dying_later is None else cgroups.dying_later
        facts["dying memory cgroups"] = f"{dying:,}"
    cpu = snapshot.get(CpuReading)
    facts["busiest core in the kernel"] = UNREAD if isinstance(cpu, Unread) else f"{cpu.hottest_sys_percent:.0f} %"
    log = snapshot.get(KernelLogReading)
    facts["network device resets"] = UNREAD if isinstance(log, Unread) else str(log.nic_resets)
    listed = snapshot.get(UnitsReading)
    for unit in units:
        found = None if isinstance(listed, Unread) else next((u for u in listed.services if u.name == unit), None)
        facts[unit] = (
            UNREAD
            if isinstance(listed, Unread)
            else f"{found.active} ({found.sub}), {found.enabled or 'no unit file'}"
            if found is not None
            else AT_REST
        )
    host = snapshot.get(HostReading)
    facts["boot"] = UNREAD if isinstance(host, Unread) else host.boot_id
    return facts


def compared(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Compared, ...]:
    """Return the table of before and after; figures without a counterpart are left out."""
    return tuple(Compared(name, before[name], after[name]) for name in before if name in after)
