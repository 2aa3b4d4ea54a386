"""Memory is short, and programs must reclaim pages themselves before they go on.

Confirms: direct reclaim or allocation stalls in the window together with little MemAvailable or memory pressure (PSI).
Likely: with little MemAvailable, pages go to swap and come back within the window, or kswapd reclaims all the time.
Supports: kswapd or kcompactd use much CPU; compaction stalls; the kernel killed processes for lack of memory; the
network card's receive ring could not be refilled within the last hour.
Refutes: counters that do not rise; pages scanned without a single stall while memory is left; much MemAvailable;
pressure without any reclaim for the node, which is a cgroup's at its own limit. A kill alone is oom-kills: it freed
the memory.
Remedy: none planned: the programs need the same memory after a reboot.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import count, memory, percent
from bot.causes._finding import make_finding
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.processes import ProcessesReading
from bot.probes.reclaim import ReclaimReading

NAME = "memory-reclaim"
_BY_LIMIT = ("emory cgroup out of memory", "CONSTRAINT_MEMCG")  # a pod exceeded its own limit: the node has memory


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether the node is busy reclaiming memory."""
    reclaim, kills = snapshot.get(ReclaimReading), _recent_kills(snapshot, tuning)
    refills = _recent.recent(snapshot, _recent.kernel_events(snapshot, "nic-refill"), tuning["recent_hours"])
    evidence: list[Evidence] = []
    stalls = scanned = 0
    pressed = short = alone = False
    if not isinstance(reclaim, Unread):
        stalls, scanned = reclaim.allocstall_rise or 0, reclaim.pgscan_direct_rise or 0
        full, left = reclaim.memory_full_avg10, reclaim.mem_available_percent
        pressed = full is not None and full >= tuning["memory_full_avg10"]
        short = left is not None and left < tuning["available_percent"]
    # A NUMA node that reclaims its own pages before it takes another's (vm.zone_reclaim_mode) scans, and stalls nobody.
    is_local = not isinstance(reclaim, Unread) and reclaim.allocstall_rise == 0 and not (pressed or short)
    direct = stalls >= tuning["stalls_many"] or (scanned >= tuning["scanned_pages_many"] and not is_local)
    if not isinstance(reclaim, Unread) and pressed and not (direct or short):
        alone = _is_at_its_own_limit(reclaim, tuning)
    if not isinstance(reclaim, Unread) and (direct or (pressed and not alone)):
        evidence.append(_reclaim_evidence(reclaim, stalls, scanned))
        evidence += _pressure(reclaim) if pressed else []
        evidence += _available_evidence(reclaim) if short else []
        evidence += _workers(snapshot, tuning)
    if not isinstance(reclaim, Unread) and short and not evidence:
        seen = _swap_evidence(reclaim, tuning) or _kswapd(snapshot, reclaim, tuning)
        evidence += [*seen, *_available_evidence(reclaim), *_workers(snapshot, tuning)] if seen else []
    if kills and (evidence or short):
        says = f"the kernel killed processes for lack of memory, {_recent.ago(snapshot, kills[-1])}"
        evidence.append(Evidence("oom-kill", "kernel_log", says, _recent.lines(kills, 3)))
    if refills:
        says = f"the network card's receive ring could not be refilled, {_recent.ago(snapshot, refills[-1])}"
        evidence.append(Evidence("nic-refill", "kernel_log", says, _recent.lines(refills, 2)))
    if not evidence and alone:
        return RuledOut(NAME, "what waits for memory is at its own cgroup's limit: nothing reclaims for the whole node")
    if not evidence:
        return _ruled_out_or_undecided(
            reclaim, f"; the kernel killed processes {_recent.ago(snapshot, kills[-1])} (oom-kills)" if kills else ""
        )
    severe = (
        not isinstance(reclaim, Unread)
        and not alone
        and (reclaim.memory_full_avg10 or 0) >= tuning["memory_full_critical"]
    )
    status = Status.CRITICAL if severe or (kills and short and direct) else Status.DEGRADED
    sure = direct and (pressed or short)
    return make_finding(NAME, status, Confidence.CONFIRMED if sure else Confidence.LIKELY, evidence)


def _is_at_its_own_limit(reclaim: ReclaimReading, tuning: Tuning) -> bool:
    """True if memory is left and neither programs nor kswapd reclaim for the node, by counters of both looks.

    PSI's "full" is the time in which all tasks that are not idle wait (psi.rst): on an idle node that may be one task,
    at the limit of its own cgroup, whose reclaim these counters leave out (mm/vmscan.c, global_reclaim).
    """
    by_kswapd, left = reclaim.pgscan_kswapd_rise, reclaim.mem_available_percent
    counted = reclaim.allocstall_rise is not None and reclaim.pgscan_direct_rise is not None and by_kswapd is not None
    return counted and left is not None and (by_kswapd or 0) < tuning["scanned_pages_many"]


def _recent_kills(snapshot: Snapshot, tuning: Tuning) -> tuple[KernelEvent, ...]:
    kills = _recent.kernel_events(snapshot, "oom-kill")
    whole = [event for event in kills if not any(text in event.text for text in _BY_LIMIT)]
    return _recent.recent(snapshot, whole, tuning["oom_recent_hours"])


def _reclaim_evidence(reclaim: ReclaimReading, stalls: int, scanned: int) -> Evidence:
    says = f"{count(stalls, 'allocation')} stalled and {count(scanned, 'page')} were scanned by direct reclaim"
    counters = (name for name in reclaim.lines if name.startswith(("pgscan_direct", "allocstall")))
    names = sorted((name for name in counters if reclaim.rise(name)), key=lambda name: -(reclaim.rise(name) or 0))
    compact = reclaim.rise("compact_stall")
    if compact:
        says += f", {count(compact, 'compaction stall')} besides"
        names.append("compact_stall")
    source = tuple(reclaim.lines[name] for name in names if name in reclaim.lines)[:5]
    return Evidence("direct-reclaim", "reclaim", f"{says} within the window", source)


def _kswapd(snapshot: Snapshot, reclaim: ReclaimReading, tuning: Tuning) -> list[Evidence]:
    """Kswapd at work for most of the window: it finds hardly anything any more, and programs are next."""
    processes, scanned = snapshot.get(ProcessesReading), reclaim.pgscan_kswapd_rise or 0
    if isinstance(processes, Unread) or scanned < tuning["scanned_pages_many"]:
        return []
    busy = [each for each in processes.busiest if each.kernel_thread and each.name.startswith("kswapd")]
    if not any(each.sys_seconds >= tuning["kswapd_share"] * processes.seconds for each in busy):
        return []
    names = [name for name in reclaim.lines if name.startswith("pgscan_kswapd") and reclaim.rise(name)]
    says = f"kswapd alone scanned {count(scanned, 'page')} within the window"
    return [Evidence("kswapd-busy", "reclaim", says, tuple(reclaim.lines[name] for name in names[:2]))]


def _swap_evidence(reclaim: ReclaimReading, tuning: Tuning) -> list[Evidence]:
    out, back = reclaim.rise("pswpout") or 0, reclaim.rise("pswpin") or 0
    if min(out, back) < tuning["swapped_pages_many"]:
        return []
    says = f"{count(out, 'page')} went to swap and {count(back, 'page')} came back within the window"
    source = tuple(reclaim.lines[name] for name in ("pswpin", "pswpout") if name in reclaim.lines)
    return [Evidence("swapping", "reclaim", says, source)]


def _pressure(reclaim: ReclaimReading) -> list[Evidence]:
    line = reclaim.pressure["memory full"]
    says = f"for {percent(line.avg10)} of the last 10 s everything waited for memory"
    return [Evidence("memory-pressure", "reclaim", says, (line.raw,) if line.raw else ())]


def _available_evidence(reclaim: ReclaimReading) -> list[Evidence]:
    available, total = reclaim.mem_available_kib or 0, reclaim.mem_total_kib or 0
    source = tuple(reclaim.lines[row] for row in ("MemTotal", "MemAvailable") if row in reclaim.lines)
    return [Evidence("memory-short", "reclaim", f"{memory(available)} of {memory(total)} are left", source)]


def _workers(snapshot: Snapshot, tuning: Tuning) -> list[Evidence]:
    processes = snapshot.get(ProcessesReading)
    if isinstance(processes, Unread):
        return []
    busy = [p for p in processes.busiest if p.name.startswith(("kswapd", "kcompactd")) and p.sys_seconds > 0]
    if not busy:
        return []
    says = ", ".join(f"{p.name} used {p.sys_seconds:.1f} s of CPU" for p in busy[:3])
    return [Evidence("reclaim-threads", "processes", says, tuple(p.raw for p in busy[:3] if p.raw))]


def _ruled_out_or_undecided(reclaim: ReclaimReading | Unread, killed: str) -> CauseResult:
    if isinstance(reclaim, Unread):
        return Undecided(NAME, f"memory and reclaim were not read ({reclaim.reason})")
    if reclaim.allocstall_rise is None and reclaim.pgscan_direct_rise is None:
        return Undecided(NAME, "the reclaim counters were read only once, or this kernel does not have them")
    left = reclaim.mem_available_percent
    remaining = "" if left is None else f"; {percent(left)} of the memory is available"
    stalls, scanned = reclaim.allocstall_rise or 0, reclaim.pgscan_direct_rise or 0
    little = f"hardly any direct reclaim ({count(stalls, 'stall')})" if stalls or scanned else "no direct reclaim"
    return RuledOut(NAME, f"{little} within the window{remaining}{killed}")


CAUSE = Cause(
    name=NAME,
    title="Memory reclaim",
    probes=("reclaim", "kernel_log", "processes", "host"),
    settled_by="a second check while it is slow: stalled allocations that rise while memory is short",
    thresholds={
        "stalls_many": Threshold(
            20,
            "Allocations that had to reclaim memory themselves within the window. A node that streams files through "
            "its page cache has a few now and then; a few per second are felt (ours).",
        ),
        "scanned_pages_many": Threshold(
            5000,
            "20 MB scanned by programs themselves within the window (ours); kswapd alone keeps a healthy node free.",
        ),
        "swapped_pages_many": Threshold(
            5000,
            "20 MB each way within the window (ours). What comes back was put out moments before; a node that swaps "
            "only cold pages out reads hardly any back.",
        ),
        "kswapd_share": Threshold(
            0.5,
            "Of the window, in the kernel (ours). On a healthy node kswapd sleeps as soon as there is a little free "
            "memory again; it runs on while it finds none.",
        ),
        "available_percent": Threshold(
            5,
            "A training job may use 92 % of the memory legitimately; with less than 5 % left the next burst does not "
            "fit (ours).",
        ),
        "memory_full_avg10": Threshold(
            10,
            "Percent of the last 10 s in which nothing could run for lack of memory; a healthy node is at 0. A tenth "
            "is ours.",
        ),
        "memory_full_critical": Threshold(
            40, "Ours. With nearly half of all time lost, health checks and heartbeats miss their deadlines."
        ),
        "oom_recent_hours": Threshold(1, "Ours. The kill freed the memory; what it broke is known within the hour."),
        "recent_hours": Threshold(
            1, "The driver tries again by itself; a ring that could not be refilled longer ago is full again (ours)."
        ),
    },
    evaluate=evaluate,
    lasting_fix=(
        "More memory, a limit for what takes it, or a higher vm.min_free_kbytes where bursts of packets need pages."
    ),
)
