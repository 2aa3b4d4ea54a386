"""The network card, its driver or the hypervisor behind it fails, although the cores have time for it.

Confirms: device errors (invalid ids, malformed descriptors), failed resets; keep-alive or admin time-outs, or
interrupts that never came, while cores are idle.
Also: the link of a card that goes down again and again, or frames that arrive damaged: a cable, a module or a switch
port. That is told as degraded, for a card on the other port may carry the traffic.
Supports: error counters of the driver that rise; repeated resets.
Refutes: signs of a starved poll, a core held in the kernel (but by io_uring's polling), lockups: then the card needed
CPU and got none.
Remedy: none planned: an in-place reboot keeps the host; stop and start the instance, or ask AWS.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import percent
from bot.causes._finding import make_finding
from bot.causes._harm import walk_of
from bot.causes._starvation import dying_cgroups_before, paced_resets, says_starved, starvation
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, HalfRead, Status, Undecided
from bot.probes.cgroups import CgroupsReading
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import LOCKUPS, KernelEvent
from bot.probes.interrupts import InterruptsReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.nic import NicReading
from bot.probes.processes import ProcessesReading

NAME = "nic-device-fault"
_FAULTS = ("nic-device-error", "nic-reset-failed")  # a lack of CPU does not cause these
_ITS_OWN = ("nic-keepalive", "nic-admin", "nic-interrupt")
_SILENCES = (*_ITS_OWN, "nic-stalled", "netdev-watchdog")
_POLLERS = ("iou-sqp-", "io_uring-sq")  # io_uring's own threads (io_uring/sqpoll.c, until 5.11 fs/io_uring.c)
_FAULT_COUNTERS = (
    "bad_tx_req_id",
    "bad_rx_req_id",
    "bad_rx_desc_num",
    "rx_desc_malformed",
    "tx_desc_malformed",
    "invalid_state",
    "reset_fail",
    "device_request_reset",
)
# Frames whose checksum was wrong, by the kernel (/sys/class/net) and by drivers: Intel, Mellanox, Broadcom.
_DAMAGED_COUNTERS = (
    *("rx_crc_errors", "rx_crc_errors_phy", "rx_crc_errors.nic", "port.rx_crc_errors", "rx_fcs_errors", "crc_errors"),
    *("rx_fcs_err_frames", "rx_symbol_err_phy"),
)
_HOUR_MINUTES = 60


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether the network card itself fails."""
    nic = snapshot.get(NicReading)
    faults = _events(snapshot, tuning, *_FAULTS)
    silences = tuple(e for e in _events(snapshot, tuning, *_SILENCES) if not says_starved(e))
    rises = _fault_counters(nic)
    evidence = []
    if faults:
        says = f"{counted(len(faults), 'device error')} in the log, the last {_recent.ago(snapshot, faults[-1])}"
        evidence.append(Evidence("nic-device-error", "kernel_log", says, _recent.lines(faults)))
    evidence += rises
    cable = [*_flapping_links(snapshot, tuning), *_damaged_packets(nic, tuning)]
    evidence += cable
    starved = _why_starved(snapshot, tuning) or _paced_by_leak_words(snapshot, tuning)
    if silences and not starved:
        says = f"{counted(len(silences), 'time-out')} of the card, the last {_recent.ago(snapshot, silences[-1])}"
        evidence.append(Evidence("nic-silent", "kernel_log", says, _recent.lines(silences)))
    if not evidence:
        return _ruled_out_or_undecided(snapshot, tuning, silences, starved)
    cpu = snapshot.get(CpuReading)
    idle = not isinstance(cpu, Unread) and cpu.idle_percent >= tuning["idle_percent"]
    if not isinstance(cpu, Unread):
        core, spent = cpu.hottest("sys_percent")
        spare = f"the cores are {percent(cpu.idle_percent)} idle; the kernel has most of core {core}, {percent(spent)}"
        rows = cpu.rows("packet_percent", (core,), 2)
        evidence.append(Evidence("cores-idle" if idle else "cores-busy", "cpu", spare, rows))
    # Faults in the log are real. Time-outs are the card's fault only if the cores were seen to have time.
    now = _recent.events_surely_within(snapshot, silences, tuning["now_minutes"])
    said_by_admin = any(e.kind in _ITS_OWN[:2] for e in now)
    sure = bool(faults or rises or cable) or (idle and said_by_admin)
    # A stalled queue alone is most often a lack of CPU too.
    its_own = any(e.kind in _ITS_OWN or e.napi_scheduled is False for e in silences)
    failed = any(event.kind == "nic-reset-failed" for event in faults)
    resets = _events(snapshot, tuning, "nic-reset")
    resets = _recent.events_surely_within(snapshot, resets, tuning["now_minutes"])
    # What is reset for want of CPU is no fault of the card, whatever ails its cable.
    recurs = paced_resets(snapshot, tuning["recent_hours"], tuning["resets_many"]) is not None and bool(silences)
    is_reset_often = (recurs or len(resets) >= tuning["resets_many"]) and not (starved and not (faults or rises))
    confidence = Confidence.CONFIRMED if sure else Confidence.LIKELY if idle and its_own else Confidence.POSSIBLE
    return make_finding(NAME, Status.CRITICAL if failed or is_reset_often else Status.DEGRADED, confidence, evidence)


def _events(snapshot: Snapshot, tuning: Tuning, *kinds: str) -> tuple[KernelEvent, ...]:
    return _recent.recent(snapshot, _recent.kernel_events(snapshot, *kinds), tuning["recent_hours"])


def _fault_counters(nic: NicReading | Unread) -> list[Evidence]:
    found = []
    for card in () if isinstance(nic, Unread) else nic.nics:
        for name in _FAULT_COUNTERS:
            rise = card.rise(name)
            if rise:
                source = (card.lines[name],) if name in card.lines else ()
                says = f"{card.name}: {name} rose by {rise:,} within the window"
                found.append(Evidence("nic-fault-counter", "nic", says, source))
    return found


def _flapping_links(snapshot: Snapshot, tuning: Tuning) -> list[Evidence]:
    """The links that went down again and again; one that went down once was set anew, or its switch restarted."""
    downs = _recent.kernel_events(snapshot, "nic-link-down")
    found = []
    for name in dict.fromkeys(event.device for event in downs):
        mine = _recent.events_surely_within(snapshot, [event for event in downs if event.device == name], _HOUR_MINUTES)
        if len(mine) >= tuning["link_downs_few"]:
            last = _recent.ago(snapshot, mine[-1])
            says = f"the link of {name or 'a card'} went down {len(mine)} times within the hour, the last {last}"
            found.append(Evidence("nic-link-flaps", "kernel_log", says, _recent.lines(mine)))
    return found


def _damaged_packets(nic: NicReading | Unread, tuning: Tuning) -> list[Evidence]:
    found = []
    for card in () if isinstance(nic, Unread) else nic.nics:
        rises = {name: card.rise(name) or 0 for name in _DAMAGED_COUNTERS}
        name = max(rises, key=lambda each: rises[each])
        if rises[name] >= tuning["damaged_frames_few"]:
            source = (card.lines[name],) if name in card.lines else ()
            says = f"{card.name}: {rises[name]:,} frames arrived damaged within the window ({name})"
            found.append(Evidence("nic-frames-damaged", "nic", says, source))
    return found


def _why_starved(snapshot: Snapshot, tuning: Tuning) -> str:
    """Say what points to a lack of CPU; empty if nothing does."""
    if (starved := snapshot.once(starvation, tuning["recent_hours"])) is not None:
        return starved.says
    if lockups := _events(snapshot, tuning, *LOCKUPS):
        return f"a core was locked up {_recent.ago(snapshot, lockups[-1])}"
    cpu = snapshot.get(CpuReading)
    if not isinstance(cpu, Unread):
        for field, where in (("sys_percent", "the kernel"), ("soft_percent", "soft interrupts")):
            held = [
                core
                for core in cpu.held(field, tuning["core_held_percent"], tuning["core_held_seconds"])
                if not _is_polled(snapshot, core.core)
            ]
            for core in held[:1]:
                return f"core {core.core} spends {percent(core.mean_percent)} of its time in {where}"
    return ""


def _paced_by_leak_words(snapshot: Snapshot, tuning: Tuning) -> str:
    """Say that resets recur at an even pace beside dying cgroups that were before them, whose walk holds a core."""
    cgroups = snapshot.get(CgroupsReading)
    paced = paced_resets(snapshot, tuning["recent_hours"], tuning["resets_many"])
    if isinstance(cgroups, Unread) or paced is None or not walk_of(snapshot, cgroups.mode).is_costly:
        return ""
    dying = dying_cgroups_before(snapshot, paced, tuning["dying_many"])
    return f"{paced.says}, and {dying:,} memory cgroups are dying, many of them before the first" if dying else ""


def _is_polled(snapshot: Snapshot, core: int) -> bool:
    """True if io_uring polls on a core that serves no network device: held by design, it starves none."""
    interrupts, processes = snapshot.get(InterruptsReading), snapshot.get(ProcessesReading)
    if isinstance(interrupts, Unread) or isinstance(processes, Unread) or interrupts.queues_on(core):
        return False
    return any(each.name.startswith(_POLLERS) and core in each.cores_in_kernel for each in processes.busiest)


def _ruled_out_or_undecided(
    snapshot: Snapshot, tuning: Tuning, silences: tuple[KernelEvent, ...], starved: str
) -> CauseResult:
    log, nic = snapshot.get(KernelLogReading), snapshot.get(NicReading)
    if silences:
        says = f"the card's {counted(len(silences), 'time-out')} have another reason: {starved}"
        return _recent.none_told(snapshot, NAME, says, _FAULTS, tuning["recent_hours"])
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    if isinstance(nic, Unread):
        # Resets, which make it critical, are in the log; counters alone never make it critical.
        return Undecided(NAME, f"the network cards were not read ({nic.reason})", worst=Status.DEGRADED)
    if any(card.counters for card in nic.nics) and not any(card.counters_later for card in nic.nics):
        return HalfRead(NAME, "the network cards were looked at only once")
    none = "no device error, failed reset or time-out in the log, and no error counter rose"
    if starved:
        none = f"no device error and no failed reset; {starved}"
    return _recent.none_told(snapshot, NAME, none, (*_FAULTS, *_SILENCES), tuning["recent_hours"])


CAUSE = Cause(
    name=NAME,
    title="Network device fault",
    probes=("kernel_log", "nic", "cpu", "host", "interrupts"),
    beside=("processes", "cgroups"),
    settled_by="time-outs while the cores are idle, or a fault that the card counts itself (`ethtool -S`)",
    thresholds={
        "recent_hours": Threshold(
            24,
            "A time-out of days ago on a node that is still up is not a present symptom; jobs run up to 12 hours. A "
            "day is ours.",
        ),
        "now_minutes": Threshold(
            10, "Ours. The present load of the cores explains a time-out only if it is this recent."
        ),
        "idle_percent": Threshold(
            20, "Ours. With a fifth of all time idle, a lack of CPU does not explain a card that does not answer."
        ),
        "resets_many": Threshold(
            3,
            "A reset takes under a millisecond and does little harm; three within minutes mean that resetting does not "
            "help (ours).",
        ),
        "dying_many": Threshold(1000, "As in leaked-memory-cgroups."),
        "link_downs_few": Threshold(
            3,
            "Within an hour (ours). A link goes down once when a driver is loaded, a setting is changed or a switch "
            "restarts, and twice if that is undone.",
        ),
        "damaged_frames_few": Threshold(
            20,
            "Within the window (ours). 10GBASE-R may lose one bit in 10^12, a frame in minutes at full rate; four a "
            "second are a cable, a module or a port.",
        ),
        "core_held_percent": Threshold(
            80,
            "Ours. A core that spends this much in the kernel or in soft interrupts may have kept the driver from its "
            "work.",
        ),
        "core_held_seconds": Threshold(2, "Ours. Healthy work fills a core for one second."),
    },
    evaluate=evaluate,
    lasting_fix=("Stop and start the instance to move it to another host, update the driver, or open a case with AWS."),
)
