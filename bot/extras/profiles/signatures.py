"""Kernel functions known to use up a core, and what that means: a table with its sources.

A name is a place, not yet a cause: `cgroup_rstat_flush` walks what changed, on any busy node; a spin lock says nothing
without its caller. So the frames are checked from the innermost outwards, and a lock is shown with its caller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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


def _of(function: str) -> Signature | None:
    return next((row for row in SIGNATURES if row.functions.fullmatch(function)), None)
