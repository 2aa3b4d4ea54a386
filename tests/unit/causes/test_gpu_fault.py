"""GPU faults: what the driver's lines and the cards' own state make of a node, and what is no fault."""

from datetime import timedelta

import pytest

from bot.domain.action import Step
from bot.domain.verdict import Confidence, Status
from bot.probes.formats.gpu_events import XidKind, bus_id, xid
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.gpu import Gpu, GpuReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

FAULT = "gpu-fault"
BUS = "0000:3b:00.0"
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def gpus(*cards: Gpu, smi: str = "answered") -> GpuReading:
    return GpuReading(cards or (card(), card("0000:5e:00.0")), smi)


def card(bus: str = BUS, answers: bool | None = True, **more: object) -> Gpu:
    return Gpu(bus, "nvidia", answers, lines=(f"{bus} 0x030200 nvidia",), **more)  # type: ignore[arg-type]


def line(says: str, ago: timedelta = MINUTE) -> KernelEvent:
    return b.event("gpu-error", says, ago)


def an_xid(
    code: int, ago: timedelta = MINUTE, bus: str = "0000:3b:00", rest: str = "pid=1234, name=python"
) -> KernelEvent:
    return line(f"[1234.5] NVRM: Xid (PCI:{bus}): {code}, {rest}", ago)


def test_gpu_that_fell_off_is_critical_and_named() -> None:
    finding = found(FAULT, gpus(card(answers=False)), b.log(an_xid(79)))
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert finding.suspects == (BUS,)
    assert "power cycle" in finding.lasting_fix
    assert "a reboot over SSH is none" in finding.summary
    assert finding.remedy == (Step("cordon"),)


def test_reboot_is_offered_only_where_a_gpu_is_gone_by_both_accounts_or_one_is_asked_for() -> None:
    reboot, cordon = (Step("reboot"),), (Step("cordon"),)
    to_reboot = an_xid(154, 9 * HOUR, rest="GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    to_reset = an_xid(154, rest="GPU recovery action changed from 0x2 (Node Reboot Required) to 0x1 (GPU Reset)")
    asks = found(FAULT, gpus(card(answers=False)), b.log(an_xid(79, 9 * DAY), to_reboot))
    assert asks.remedy == reboot, "state does not age, and its own word outranks the table"
    assert "power cycle" not in asks.lasting_fix, "the advice is what the plan does"
    assert "Node Reboot Required" in asks.lasting_fix
    assert "Drain" not in asks.lasting_fix
    fell = found(FAULT, gpus(card(answers=False)), b.log(an_xid(79, 9 * DAY)))
    assert fell.remedy == cordon, "a power cycle is no reboot"
    assert found(FAULT, gpus(card(answers=False)), b.log(an_xid(74))).remedy == reboot
    drains = found(FAULT, gpus(card(recovery="Reboot"), card("0000:5e:00.0", recovery="Drain P2P")))
    assert drains.remedy == cordon, "work goes on there"
    assert "Drain P2P" in drains.summary
    assert found(FAULT, gpus(card(answers=False)), b.log()).remedy == cordon, "it may have been taken out"
    other = an_xid(79, bus="0000:5e:00")
    assert found(FAULT, gpus(card(answers=False)), b.log(other)).remedy == cordon, "another one's fault"
    assert found(FAULT, gpus(), b.log(to_reboot)).remedy == reboot
    assert found(FAULT, gpus(), b.log(to_reboot, to_reset)).remedy == cordon, "the latest one says"
    assert found(FAULT, gpus(card(recovery="Reboot"))).remedy == reboot
    assert found(FAULT, gpus(card(recovery="Reset"), card("0000:5e:00.0")), b.log(to_reboot)).remedy == cordon
    assert found(FAULT, gpus(card(remap_failed=True)), b.log(an_xid(64))).remedy == cordon
    assert found(FAULT, b.unread("gpu"), b.log(to_reboot)).remedy == (), "nobody has looked"
    assert found(FAULT, gpus(card(answers=False)), b.unread("kernel_log")).remedy == ()
    switch = line("[1.0] nvidia-nvswitch2: SXid (PCI:0000:3b:00.0): 20034, Fatal, Link 36 LTSSM Fault Up")
    assert found(FAULT, gpus(card(answers=False)), b.log(switch)).remedy == cordon


def test_cordon_is_offered_only_for_what_the_gpus_themselves_show_now() -> None:
    assert found(FAULT, gpus(card(answers=None), smi="stalled"), b.log(an_xid(119))).remedy == (Step("cordon"),)
    assert found(FAULT, gpus(), b.log(an_xid(48))).remedy == (), "every GPU answers"
    assert found(FAULT, gpus(card(remap_pending=True))).remedy == (), "a reset when it suits is enough"
    assert found(FAULT, b.unread("gpu"), b.log(an_xid(79))).remedy == (), "nobody has looked"


def test_state_does_not_age() -> None:
    assert found(FAULT, gpus(card(answers=False)), b.log()).status is Status.CRITICAL
    assert found(FAULT, gpus(card(answers=False)), b.log(an_xid(79, 9 * DAY))).status is Status.CRITICAL
    assert found(FAULT, gpus(card(remap_failed=True))).status is Status.CRITICAL
    assert found(FAULT, gpus(card(remap_pending=True))).status is Status.DEGRADED


def test_events_age_where_every_gpu_answers() -> None:
    just_now = found(FAULT, gpus(), b.log(an_xid(48)))
    assert (just_now.status, just_now.confidence) == (Status.DEGRADED, Confidence.CONFIRMED)
    assert found(FAULT, gpus(), b.log(an_xid(48, 5 * HOUR))).confidence is Confidence.LIKELY
    ruled_out(FAULT, gpus(), b.log(an_xid(48, 3 * DAY)))


def test_fault_of_now_on_gpus_that_cannot_be_asked_is_critical() -> None:
    hangs = found(FAULT, gpus(card(answers=None), smi="stalled"), b.log(an_xid(119)))
    assert hangs.status is Status.CRITICAL
    assert "did not answer" in hangs.summary
    assert found(FAULT, gpus(card(answers=None), smi="absent"), b.log(an_xid(95))).status is Status.CRITICAL


@pytest.mark.parametrize("code", [48, 64, 74, 79, 95, 119, 120, 140])
def test_every_fault_names_nvidias_action(code: int) -> None:
    finding = found(FAULT, gpus(), b.log(an_xid(code)))
    assert f"Xid {code} " in finding.summary
    assert "NVIDIA: " in finding.summary


def test_what_the_driver_demands_outranks_every_table() -> None:
    to_reboot = an_xid(154, rest="GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    demanded = found(FAULT, gpus(), b.log(to_reboot))
    assert demanded.status is Status.CRITICAL
    assert "Node Reboot Required" in demanded.summary
    back = an_xid(154, rest="GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)")
    ruled_out(FAULT, gpus(), b.log(to_reboot, back))
    says_none = Gpu(BUS, "nvidia", True, lines=("GPU Recovery Action : None",))
    ruled_out(FAULT, gpus(says_none), b.log(to_reboot))
    asks = found(FAULT, gpus(card(recovery="Reset")), b.log(back))
    assert "asks for recovery: Reset" in asks.summary


def test_what_repeats_on_one_gpu_wears_out() -> None:
    ruled_out(FAULT, gpus(), b.log(an_xid(94)))
    ruled_out(FAULT, gpus(), b.log(an_xid(94), an_xid(94, bus="0000:5e:00"), an_xid(63)))
    finding = found(FAULT, gpus(), b.log(an_xid(94, 2 * HOUR), an_xid(94)))
    assert finding.status is Status.DEGRADED
    assert "2 times" in finding.summary


@pytest.mark.parametrize("code", [13, 31, 43, 45])
def test_applications_own_errors_are_no_fault_and_are_told(code: int) -> None:
    out = ruled_out(FAULT, gpus(), b.log(an_xid(code), an_xid(code)))
    assert f"Xid {code} " in out.because
    assert "the application's own" in out.because


@pytest.mark.parametrize("code", [68, 109, 999])
def test_contested_and_unknown_codes_are_open(code: int) -> None:
    assert "several possible meanings" in undecided(FAULT, gpus(), b.log(an_xid(code))).because
    ruled_out(FAULT, gpus(), b.log(an_xid(code, DAY)))


def test_switches_tell_fatal_from_the_rest() -> None:
    fatal = line("[1.0] nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 36 LTSSM Fault Up")
    assert "fatal NVSwitch error" in found(FAULT, gpus(), b.log(fatal)).summary
    mild = line("[1.0] nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 12028, Non-fatal, Link 32 egress")
    ruled_out(FAULT, gpus(), b.log(mild))


def test_fallen_off_without_an_xid() -> None:
    gone = line(
        "[1.0] NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:20b0) installed in this system has fallen off the bus"
    )
    told = xid(gone)
    assert told is not None
    assert (told.code, told.meaning.kind) == (79, XidKind.FAULT)
    assert "Xid 79" in found(FAULT, gpus(card("0000:b3:00.0", None), smi="stalled"), b.log(gone)).summary


def test_unified_memory_that_was_lost_days_ago_is_not_called_well() -> None:
    says = "[1.0] NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot"
    assert "unified memory, 3 hours ago" in found(FAULT, gpus(), b.log(line(says, 3 * HOUR))).summary
    assert "nvidia_uvm is loaded anew" in undecided(FAULT, gpus(), b.log(line(says, 2 * DAY))).because


def test_what_was_not_read_is_open_and_no_gpu_is_an_answer() -> None:
    assert "not read" in undecided(FAULT, b.unread("gpu")).because
    assert "not read" in undecided(FAULT, gpus(), b.unread("kernel_log")).because
    assert "no nvidia-smi" in undecided(FAULT, gpus(card(answers=None), smi="absent")).because
    assert "time limit" in undecided(FAULT, gpus(card(answers=None), smi="stalled")).because
    assert "no NVIDIA GPU" in ruled_out(FAULT, GpuReading(())).because
    ruled_out(FAULT, gpus(card(), Gpu("0000:af:00.0", "vfio-pci")))  # another driver's: nvidia-smi does not know it


def test_addresses_are_one_whoever_wrote_them() -> None:
    assert {bus_id(text) for text in ("00000000:3B:00.0", "0000:3b:00", "3b:00.0", "0000:3b:00.0")} == {BUS}


def test_code_that_another_is_caused_by_is_the_fault() -> None:
    finding = found(FAULT, gpus(card()), b.log(an_xid(45, rest="Ch 00000008, caused by previous Xid 79")))
    assert "Xid 79" in finding.summary
    ruled_out(FAULT, gpus(card()), b.log(an_xid(45, rest="Ch 00000008, caused by previous Xid 31")))
