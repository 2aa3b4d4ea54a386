"""Kernel functions known to use up a core, and what that means: a table with its sources.

A name is a place, not yet a cause: `cgroup_rstat_flush` walks what changed, on any busy node; a spin lock says nothing
without its caller. So the frames are checked from the innermost outwards, and a lock is shown with its caller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.safe_text import safe
from bot.profile.profile import HotFunction, Profile

MOST_FRAMES = 12  # from the innermost: outer frames call for many reasons


@dataclass(frozen=True, slots=True)
class Signature:
    """A row: its name, the functions, what they do, the cause they point at (empty: none by itself), the source."""

    name: str
    functions: re.Pattern[str]
    does: str
    points_at: str
    source: str


def _row(name: str, functions: str, does: str, points_at: str, source: str) -> Signature:
    # Compilers add .constprop.0, .isra.0 and the like to a function's name.
    return Signature(name, re.compile(rf"(?:{functions})(?:\.[a-z0-9.]+)?"), does, points_at, source)


LOCK = _row(
    "lock-wait",
    r"(?:native|__pv|pv)_queued_spin_lock_slowpath|queued_(?:read|write)_lock_slowpath|osq_lock|mutex_spin_on_owner"
    r"|rwsem_(?:spin_on_owner|optimistic_spin)",
    "waits for a lock that another core holds",
    "",
    "kernel/locking/qspinlock.c, osq_lock.c",
)
SIGNATURES: tuple[Signature, ...] = (
    LOCK,
    _row(
        "memcg-walk",
        r"mem_cgroup_(?:node_)?nr_lru_pages|memcg_numa_stat_show|memory_numa_stat_show|memcg_stat_show|memcg1_stat_format",
        "sums statistics over every memory cgroup, dying ones too",
        "leaked-memory-cgroups",
        "mm/memcontrol.c before Linux 5.8; dd8657b6c1cb made it cheap",
    ),
    _row(
        "rstat-flush",
        r"(?:mem_)?cgroup_(?:css_)?rstat_(?:flush|updated)\w*|css_rstat_flush\w*|do_flush_stats|mem_cgroup_flush_stats\w*",
        "brings the statistics of cgroups up to date: it walks what changed, which any busy node does",
        "",
        "kernel/cgroup/rstat.c",
    ),
    _row(
        "compaction",
        r"compact_(?:zone|node|unevictable|lock)\w*|isolate_(?:migrate|free)pages\w*|migrate_pages\w*|fast_isolate_\w+",
        "moves pages together to make large ones",
        "memory-reclaim",
        "mm/compaction.c",
    ),
    _row(
        "reclaim",
        r"shrink_(?:node|lruvec|zone|slab|list|inactive_list|active_list|page_list|folio_list)\w*|do_shrink_slab"
        r"|isolate_lru_\w+|balance_pgdat|try_to_free_\w+|super_cache_(?:scan|count)",
        "looks for memory to free",
        "memory-reclaim",
        "mm/vmscan.c",
    ),
    _row(
        "dentries",
        r"__d_lookup(?:_rcu)?|d_lookup|__dentry_kill|shrink_dentry_list|d_walk|dentry_lru_isolate",
        "looks names up among very many cached ones",
        "",
        "fs/dcache.c",
    ),
    _row(
        "slow-clock",
        r"read_hpet|acpi_pm_read\w*|pvclock_clocksource_read\w*|xen_clocksource_\w+|kvm_clock_(?:get_cycles|read)",
        "reads a clock that is slow to read: see the clocksource",
        "clock-unsynced",
        "arch/x86/kernel/hpet.c, pvclock.c; drivers/clocksource/acpi_pm.c",
    ),
    _row(
        "console",
        r"io_serial_(?:in|out)|mem_serial_in|serial8250_console_\w+|wait_for_(?:xmitr|lsr)|univ8250_console_write",
        "writes to the serial console, a letter at a time",
        "serial-console-printk",
        "drivers/tty/serial/8250/8250_port.c",
    ),
    _row(
        "conntrack",
        r"gc_worker|__nf_conntrack_(?:find_get|alloc)|nf_conntrack_tuple_taken|early_drop",
        "looks through the table of connections",
        "conntrack-full",
        "net/netfilter/nf_conntrack_core.c",
    ),
    _row(
        "packets",
        r"net_rx_action|__?napi_poll|process_backlog|napi_complete_done|napi_gro_receive|ena_io_poll|ena_clean_rx_irq"
        r"|mlx5e_napi_poll|virtnet_poll",
        "takes packets from the network card",
        "softirq-storm",
        "net/core/dev.c",
    ),
    _row(
        "throttling",
        r"distribute_cfs_runtime|unthrottle_cfs_rq|throttle_cfs_rq|tg_(?:un)?throttle_\w+|sched_cfs_period_timer",
        "hands out and takes back CPU quotas",
        "cfs-throttling",
        "kernel/sched/fair.c",
    ),
    _row(
        "cross-calls",
        r"smp_call_function_(?:many\w*|single\w*)|csd_lock_wait\w*|flush_tlb_(?:mm_range|func\w*|others\w*)",
        "waits until other cores have answered",
        "",
        "kernel/smp.c",
    ),
)


@dataclass(frozen=True, slots=True)
class ProfileMeaning:
    """What the hottest core's function means.

    Shape: `share_of_core` is of the samples of that core (of all non-idle samples, if the text has no cores); `under`
    are the callers, innermost first; `signature` is None if no row has the function; `lock_of` is the row above a lock.
    """

    hot: HotFunction
    share_of_core: float
    under: tuple[str, ...]
    signature: Signature | None
    lock_of: Signature | None = None

    @property
    def points_at(self) -> str:
        """The slug of a cause, empty if the function points at none."""
        rows = (self.lock_of, self.signature)
        return next((row.points_at for row in rows if row is not None and row.points_at), "")

    @property
    def says(self) -> str:
        """What it means, as the end of a sentence; empty if no row has the function."""
        if self.signature is None:
            return ""
        if self.signature is LOCK:
            above = self.lock_of.does if self.lock_of is not None else f"taken in {self.under[0]}" if self.under else ""
            return f"{LOCK.does}{': ' if above else ''}{above}"
        return self.signature.does

    def document(self) -> dict[str, Any]:
        """Return it as JSON types, if a row has the function."""
        assert self.signature is not None
        return {
            "signature": self.signature.name,
            "does": self.says,
            "points_at": self.points_at or None,
            "share_of_core": round(self.share_of_core, 4),
            "under": [safe(name) for name in self.under[:MOST_FRAMES]],
            "source": self.signature.source,
        }


def signature_of(frames: Sequence[str]) -> tuple[Signature | None, Signature | None]:
    """Return the row of the innermost known frame, and for a lock the row above it.

    Example:
    >>> [row and row.name for row in signature_of(["native_queued_spin_lock_slowpath", "shrink_lruvec"])]
    ['lock-wait', 'reclaim']
    """
    known = [row for frame in frames[:MOST_FRAMES] if (row := _of(frame)) is not None]
    first = known[0] if known else None
    above = next((row for row in known if row is not LOCK), None) if first is LOCK else None
    return first, above


def meaning(profile: Profile) -> ProfileMeaning | None:
    """Return what the hottest core's function means; None if everything is idle."""
    hot, _ = profile.hot_functions()
    if hot is None:
        return None
    core = next((core for core in profile.cores if core.core == hot.core), None)
    under = _under(profile, hot)
    first, above = signature_of([hot.function, *under])
    share = hot.samples / core.samples if core is not None else hot.share
    return ProfileMeaning(hot, share, under, first, above)


def _of(function: str) -> Signature | None:
    return next((row for row in SIGNATURES if row.functions.fullmatch(function)), None)


def _under(profile: Profile, hot: HotFunction) -> tuple[str, ...]:
    """The callers in the heaviest stack of this process that ends in this function, innermost first."""
    start, end = hot.process.replace(" ", "_").encode(), f";{hot.function}".encode()
    heaviest, most = b"", 0
    for key, times in profile.stacks.items():
        if times > most and key.endswith(end) and key.startswith(start):
            heaviest, most = key, times
    return tuple(reversed(heaviest.decode("utf-8", "backslashreplace").split(";")[1:-1]))
