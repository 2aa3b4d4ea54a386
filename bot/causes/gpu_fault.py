"""A GPU is gone from the bus, does not answer, or reports an error that only a reset, a reboot or a new card clears.

Confirms: a GPU that does not answer, and the driver's line about it; a recovery action demanded now; a row of memory
that could not be replaced; an Xid of a fault, or the end of the memory shared with programs, within the last minutes.
Supports: an Xid of a fault within the last hours; nvidia-smi hangs as well; errors that repeat on the same GPU.
Refutes: no GPU; GPUs that answer and a log without such lines. Errors that applications cause are not faults.
Remedy: a reboot only where NVIDIA asks for one: the GPU's own recovery action, its latest Xid 154, or the action for
the code of a GPU that does not answer now; once in 30 days, because a reboot that failed once will fail again, and
never against _reboot_risks. A power cycle is no reboot over SSH, and a GPU that asks for a drain still serves work:
there, and for everything else, NVIDIA's action is advice, and people carry it out. A node of a Kubernetes cluster may
be cordoned while a GPU is unusable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from bot.causes import _recent
from bot.causes._figures import sentence
from bot.causes._reboot_risks import BESIDE, no_reboot_words, risks_of_reboot_only
from bot.domain.action import Step
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.defaults import NOT_REBOOTED_AGAIN_WITHIN
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.formats.gpu_events import FALLEN_OFF, RECOVERY_ACTION, UNIFIED_MEMORY, Xid, XidKind, xid
from bot.probes.gpu import Gpu, GpuReading
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading

NAME = "gpu-fault"
_NO_ACTION = ("", "none")
_REBOOT = (Step("reboot"),)


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether a GPU is faulty, by its present state and the driver's lines."""
    gpus, log = snapshot.get(GpuReading), snapshot.get(KernelLogReading)
    xids = () if isinstance(log, Unread) else _xids(log)
    state = () if isinstance(gpus, Unread) else _gpus_of_this_node(snapshot, gpus.gpus, xids)
    faults = _within(snapshot, [x for x in xids if x.meaning.kind is XidKind.FAULT], tuning["recent_hours"])
    repeated = _repeated_xids(_within(snapshot, [x for x in xids if x.meaning.kind is XidKind.REPEATS], 24), tuning)
    asked = _recovery_by_gpu(state, xids)
    evidence = [
        *_silent(state),
        *_recovery_asked_for(state, xids),
        *_memory(state),
        *_faults(snapshot, faults, asked),
        *_repeats(snapshot, repeated, asked),
    ]
    hangs = not isinstance(gpus, Unread) and gpus.smi == "stalled"
    if hangs and faults:
        evidence.append(Evidence("smi-hangs", "gpu", "nvidia-smi did not answer within its time limit", ()))
    if not evidence:
        return _ruled_out_or_undecided(snapshot, tuning, xids)
    now = _recent.events_surely_within(snapshot, [x.event for x in faults], tuning["now_minutes"])
    grave = {"gpu-silent", "gpu-recovery", "remap-failed", "smi-hangs"} & {item.finding for item in evidence}
    sure = grave or now or any(item.finding == "remap-pending" for item in evidence)
    is_of_no_use = bool(grave) or (now and not _all_answer(state))
    remedy = (
        ()
        if isinstance(gpus, Unread) or not is_of_no_use
        else _remedy(state, xids, faults, not isinstance(log, Unread))
    )
    against: tuple[Evidence, ...] = ()
    no_reboot = _no_reboot_words(state, xids) if is_of_no_use else ""
    if remedy == _REBOOT and (against := risks_of_reboot_only(snapshot)):
        remedy, no_reboot = (Step("cordon"),), no_reboot_words(against)
    if remedy == _REBOOT and _recent.lost_within(snapshot, ("gpu-error",)):
        says = "the kernel log has too many lines of GPUs, and one not read may ask for a drain or a power cycle"
        remedy, no_reboot = (Step("cordon"),), f"No reboot is offered: {says}."
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if is_of_no_use else Status.DEGRADED,
        confidence=Confidence.CONFIRMED if sure else Confidence.LIKELY,
        summary=". ".join([sentence(*(item.says for item in evidence[:3])), *([no_reboot] if no_reboot else [])]),
        evidence=(*evidence, *against),
        suspects=_suspects(state, xids, faults),
        remedy=remedy,
        lasting_fix=_advice(state, xids, faults, remedy == _REBOOT),
    )


def _xids(log: KernelLogReading) -> tuple[Xid, ...]:
    """The driver's errors; beside Xid 79 the open kernel modules print a second line, which counts only without it."""
    told = [x for x in map(xid, log.of("gpu-error", "gpu-application")) if x is not None]
    at = {
        (x.bus, x.event.since_boot and round(x.event.since_boot.total_seconds()))
        for x in told
        if " Xid " in x.event.text
    }
    return tuple(
        x
        for x in told
        if " Xid " in x.event.text
        or x.event.since_boot is None
        or not any((x.bus, round(x.event.since_boot.total_seconds()) + near) in at for near in (-1, 0, 1))
    )


def _gpus_of_this_node(snapshot: Snapshot, gpus: Sequence[Gpu], xids: Sequence[Xid]) -> tuple[Gpu, ...]:
    """The GPUs, without blame for those that were not given to a container: its sysfs shows the host's whole bus."""
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or not host.is_container:
        return tuple(gpus)
    faulty = {x.bus for x in xids}
    return tuple(replace(gpu, answers=None) if not gpu.answers and gpu.bus not in faulty else gpu for gpu in gpus)


def _silent(state: Sequence[Gpu]) -> Iterable[Evidence]:
    for gpu in state:
        if gpu.answers is False:
            says = f"GPU {gpu.bus} is on the bus and does not answer nvidia-smi"
            yield Evidence("gpu-silent", "gpu", says, gpu.lines)


def _recovery_asked_for(state: Sequence[Gpu], xids: Sequence[Xid]) -> Iterable[Evidence]:
    """The recovery action that the GPU asks for now, or else that of its latest Xid 154."""
    for gpu in state:
        if gpu.recovery:
            says = f"GPU {gpu.bus} asks for recovery: {gpu.recovery}"
            yield Evidence("gpu-recovery", "gpu", says, gpu.lines)
    for last in _demanded_by_log(state, xids):
        says = f"the driver says of GPU {last.bus}: {last.recovery}"
        yield Evidence("gpu-recovery", "kernel_log", says, (last.event.text,))


def _demanded_by_log(state: Sequence[Gpu], xids: Sequence[Xid]) -> list[Xid]:
    """The latest Xid 154 of each GPU that does not say itself what is to be done, where it asks for anything."""
    says_itself = {
        gpu.bus for gpu in state if gpu.recovery or (gpu.answers and any("Recovery" in row for row in gpu.lines))
    }
    latest = {x.bus: x for x in xids if x.code == RECOVERY_ACTION and x.recovery and x.bus not in says_itself}
    return [x for x in latest.values() if x.recovery.lower() not in _NO_ACTION]


def _recovery_by_gpu(state: Sequence[Gpu], xids: Sequence[Xid]) -> dict[str, str]:
    """The recovery action that each GPU asks for, by its address; NVIDIA's table counts only for the others."""
    by_log = {x.bus: x.recovery for x in _demanded_by_log(state, xids)}
    return by_log | {gpu.bus: gpu.recovery for gpu in state if gpu.recovery}


def _remedy(state: Sequence[Gpu], xids: Sequence[Xid], faults: Sequence[Xid], log_read: bool) -> tuple[Step, ...]:
    """A reboot where NVIDIA asks for one, by the GPU's own word or for the code of a GPU that does not answer.

    A GPU that was taken out is silent too: its fault is logged (`faults`: the recent ones). Without the log nothing
    milder is offered in a reboot's place: it may have asked for one.
    """
    asked = _recovery_by_gpu(state, xids)
    silent = {gpu.bus for gpu in state if gpu.answers is False} - asked.keys()
    by_code = any(
        "reboot" in x.meaning.action for x in faults if x.bus in silent and not x.is_switch and x.code != FALLEN_OFF
    )
    if not _no_reboot_words(state, xids) and (by_code or any("reboot" in action.lower() for action in asked.values())):
        return _REBOOT
    return (Step("cordon"),) if log_read else ()


def _no_reboot_words(state: Sequence[Gpu], xids: Sequence[Xid]) -> str:
    """Why a reboot would not be what NVIDIA asks for, whatever else speaks for one; empty where nothing does."""
    asked = _recovery_by_gpu(state, xids)
    if drains := next((bus for bus, action in asked.items() if "drain" in action.lower()), None):
        return f"No reboot is offered: GPU {drains} asks for {asked[drains]}, so its work ends first."
    silent = {gpu.bus for gpu in state if gpu.answers is False} - asked.keys()
    if any(x.bus in silent for x in xids if x.code == FALLEN_OFF):
        return "No reboot is offered: NVIDIA asks for a power cycle, and a reboot over SSH is none."
    return ""


def _memory(state: Sequence[Gpu]) -> Iterable[Evidence]:
    for gpu in state:
        if gpu.remap_failed:
            says = f"GPU {gpu.bus} could not replace a bad row of its memory"
            yield Evidence("remap-failed", "gpu", says, gpu.lines)
        elif gpu.remap_pending:
            says = f"GPU {gpu.bus} has a row of memory to replace; a GPU reset does that"
            yield Evidence("remap-pending", "gpu", says, gpu.lines)


def _faults(snapshot: Snapshot, faults: Sequence[Xid], asked: Collection[str]) -> Iterable[Evidence]:
    for key in dict.fromkeys((x.bus, x.says) for x in faults):
        same = [x for x in faults if (x.bus, x.says) == key]
        often = f"{len(same)} times, the last " if len(same) > 1 else ""
        ago = _recent.ago(snapshot, same[-1].event)
        says = f"{_gpu_words(same[-1])}, {often}{ago}{_table_words(same[-1], asked)}"
        yield Evidence("gpu-xid", "kernel_log", says, _recent.lines([x.event for x in same], 3))


def _repeats(snapshot: Snapshot, repeated: Sequence[Sequence[Xid]], asked: Collection[str]) -> Iterable[Evidence]:
    for same in repeated:
        says = f"{_gpu_words(same[-1])}, {counted(len(same), 'time')}{_table_words(same[-1], asked)}"
        yield Evidence("gpu-xid-repeats", "kernel_log", says, _recent.lines([x.event for x in same], 3))


def _table_words(x: Xid, asked: Collection[str]) -> str:
    """What NVIDIA's table says is to be done; nothing where the GPU asks for an action itself."""
    return "" if x.bus in asked else f"; NVIDIA: {x.meaning.action}"


def _gpu_words(x: Xid) -> str:
    return f"{x.says} on {'switch' if x.is_switch else 'GPU'} {x.bus}" if x.bus else x.says


def _repeated_xids(xids: Sequence[Xid], tuning: Tuning) -> list[list[Xid]]:
    by_gpu: dict[tuple[str, int], list[Xid]] = {}
    for x in xids:
        by_gpu.setdefault((x.bus, x.code), []).append(x)
    return [same for same in by_gpu.values() if len(same) >= tuning["repeats_few"]]


def _within(snapshot: Snapshot, xids: Sequence[Xid], hours: float) -> list[Xid]:
    kept = set(_recent.recent(snapshot, [x.event for x in xids], hours))
    return [x for x in xids if x.event in kept]


def _all_answer(state: Sequence[Gpu]) -> bool:
    held = [gpu for gpu in state if gpu.driver == "nvidia"]
    return bool(held) and all(gpu.answers for gpu in held)


def _suspects(state: Sequence[Gpu], xids: Sequence[Xid], faults: Sequence[Xid]) -> tuple[str, ...]:
    """The GPUs that are blamed; switches, which nothing here can find again, only where no GPU is."""
    sick = [gpu.bus for gpu in state if gpu.answers is False or gpu.recovery or gpu.remap_failed]
    logged = [*_demanded_by_log(state, xids), *faults]
    gpus = [*sick, *(x.bus for x in logged if not x.is_switch and x.bus)]
    return tuple(dict.fromkeys(gpus or (x.bus for x in logged if x.bus)))


def _answering(snapshot: Snapshot) -> list[str]:
    gpus = snapshot.get(GpuReading)
    return [] if isinstance(gpus, Unread) else [gpu.bus for gpu in gpus.gpus if gpu.answers]


def _advice(state: Sequence[Gpu], xids: Sequence[Xid], faults: Sequence[Xid], is_reboot: bool) -> str:
    """NVIDIA's action in words: what the GPU asks for, or that for the last fault. Empty: the playbook's words stand.

    Where the plan is the reboot that NVIDIA asks for, the words ask for nothing that it does not do.
    """
    if any(gpu.replace or gpu.remap_failed for gpu in state):
        return "Replace the GPU: its memory cannot repair itself any further."
    first = "" if is_reboot else " Drain the node first."
    if asked := _recovery_by_gpu(state, xids):
        wanted = (bus for bus, action in asked.items() if not is_reboot or "reboot" in action.lower())
        if (bus := next(wanted, None)) is not None:
            return f"Do what GPU {bus} asks for: {asked[bus]}.{first}"
    if faults:
        return f"NVIDIA's action for {faults[-1].says}: {faults[-1].meaning.action}.{first}"
    return ""


def _ruled_out_or_undecided(snapshot: Snapshot, tuning: Tuning, xids: Sequence[Xid]) -> CauseResult:
    gpus, log = snapshot.get(GpuReading), snapshot.get(KernelLogReading)
    if not isinstance(gpus, Unread) and not gpus.gpus:
        if not xids:
            return RuledOut(NAME, "there is no NVIDIA GPU on the bus", applies=False)
        because = "there is no NVIDIA GPU on the bus, and the driver's lines tell of one"
        return Undecided(NAME, because, suspected=True, would_decide="`lspci` by hand")
    if isinstance(gpus, Unread):
        return Undecided(NAME, f"the GPUs were not read ({gpus.reason})")
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    silent = [gpu for gpu in gpus.gpus if gpu.driver == "nvidia" and gpu.answers is None]
    if silent:
        what = {"stalled": "nvidia-smi did not answer within its time limit", "absent": "there is no nvidia-smi"}
        because = what.get(gpus.smi, "nvidia-smi did not say whether every GPU answers")
        # A driver that fails for all GPUs takes them all away; where no program is, it may be in a container.
        fails = gpus.smi in ("stalled", "failed") or any(
            "[Unknown Error]" in row for gpu in silent for row in gpu.lines
        )
        return Undecided(NAME, because, suspected=fails, would_decide="`nvidia-smi -q` by hand")
    undriven = [gpu for gpu in gpus.gpus if gpu.driver in ("", "nouveau")]
    is_driven = any(gpu.driver == "nvidia" for gpu in gpus.gpus)
    if is_driven and (alone := [gpu for gpu in undriven if not gpu.driver]):
        because = f"no driver took GPU {alone[0].bus}, while others are driven"
        by_hand = "why its driver refused it: `dmesg | grep -i nvidia` by hand"
        return Undecided(NAME, because, suspected=True, would_decide=by_hand)
    if not is_driven:
        because = f"no driver of NVIDIA's is bound to {counted(len(gpus.gpus), 'GPU')} on the bus"
        if not undriven or gpus.smi == "absent":
            return RuledOut(NAME, because, applies=False)
        because = f"nvidia-smi {'finds none' if gpus.smi == 'answered' else 'fails'}, and {because}"
        by_hand = "`nvidia-smi` by hand, and whether its driver was built for this kernel,"
        return Undecided(NAME, because, suspected=True, would_decide=by_hand)
    doubtful = [x for x in xids if x.meaning.kind is XidKind.OPEN and x.code != RECOVERY_ACTION]
    recent = _within(snapshot, doubtful, 1)
    if recent:
        return Undecided(
            NAME,
            f"{recent[-1].says} in the log has several possible meanings",
            would_decide="NVIDIA's catalog of codes",
        )
    if lost := [x for x in xids if x.code == UNIFIED_MEMORY]:
        because = f"{lost[-1].says}, {_recent.ago(snapshot, lost[-1].event)}: it lasts until nvidia_uvm is loaded anew"
        return Undecided(NAME, because, would_decide="a program that uses the GPUs, by hand,")
    own = [x for x in xids if x.meaning.kind is XidKind.APPLICATION]
    beside = f"; {own[-1].says} is the application's own error" if own else ""
    answer = f"{counted(len(gpus.gpus), 'GPU')} on the bus, and every GPU bound to the driver answers"
    none = f"{answer}; no GPU fault in the log{beside}"
    return _recent.none_told(snapshot, NAME, none, ("gpu-error",), tuning["recent_hours"])


CAUSE = Cause(
    name=NAME,
    title="GPU fault",
    probes=("gpu", "kernel_log", "host"),
    settled_by="the GPU's own state and recovery action (`nvidia-smi -q`)",
    thresholds={
        "recent_hours": Threshold(
            24,
            "After a reset or reboot the Xid's line stays in the log of its boot; a day-old line without a trace on "
            "the GPU is over (ours).",
        ),
        "now_minutes": Threshold(
            60, "Ours. A job that ran into the fault is restarted within the hour, and runs into it again."
        ),
        "repeats_few": Threshold(
            2,
            "NVIDIA asks for no action at the first Xid 63, 92 or 94; the same code again on the same GPU within a day "
            "means a failing card (ours).",
        ),
    },
    signature=("gpu", "kernel_log", "host"),
    evaluate=evaluate,
    answering=_answering,
    beside=("processes", *BESIDE),
    eased_by=("cordon",),
    cured_alone_by=("reboot",),  # the card itself asks for it, and nothing that runs here made it so
    reboot_lasts=NOT_REBOOTED_AGAIN_WITHIN,  # ours: a GPU that asks for a second one within a month has to be replaced
    remedy=("cordon", "reboot"),
    lasting_fix=(
        "Do what NVIDIA's catalog asks for the code; drain the node first, and replace a GPU whose fault comes back."
    ),
)
