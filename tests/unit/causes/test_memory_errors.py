"""Memory that fails on machines that count it, and machines that cannot know."""

from datetime import timedelta

import pytest

from bot.domain.errors import CannotRead
from bot.domain.verdict import Status
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.memory_errors import MemoryController, MemoryErrorsReading, parse
from tests.readings.recorded import once
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

MEMORY = "memory-errors"
METAL = b.host(virtualisation="none")
NOBODY_COUNTS = MemoryErrorsReading((), 0)


def counted(uncorrected: int = 0, corrected: int = 0, hours: float = 270.0, given_up: int = 0) -> MemoryErrorsReading:
    controller = MemoryController("mc0", uncorrected, corrected, round(hours * 3600), (f"mc0/ue_count:{uncorrected}",))
    return MemoryErrorsReading((controller,), given_up)


def record(severity: str, section: str, number: int = 4, ago: timedelta = timedelta(minutes=3)) -> list[KernelEvent]:
    """A record of the firmware, as the kernel prints it."""
    mark = f"{{{number}}}" if number else ""
    said = (f"{mark}[Hardware Error]: event severity: {severity}", f"{mark}[Hardware Error]:   section_type: {section}")
    grave = ("event severity: fatal", "event severity: recoverable")
    return [
        b.event("hardware-grave" if text.endswith(grave) else "hardware-error", text, ago, device=mark) for text in said
    ]


@pytest.mark.parametrize("virtualisation", ["none", "amazon"])
@pytest.mark.parametrize(
    "kind_and_line",
    [
        ("memory-error", "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0"),
        ("memory-error", "Memory failure: 0x1c0f3a2: recovery action for dirty LRU page: Recovered"),
        ("memory-error", "mce: Uncorrected hardware memory error in user-access at 1c0f3a2c00"),
    ],
    ids=["edac", "page", "machine-check"],
)
def test_what_the_kernel_tells_of_uncorrected_errors_is_critical(
    kind_and_line: tuple[str, str], virtualisation: str
) -> None:
    finding = found(MEMORY, b.log(b.event(*kind_and_line)), b.host(virtualisation=virtualisation), NOBODY_COUNTS)
    assert finding.status is Status.CRITICAL
    assert finding.evidence[0].source == (kind_and_line[1],)


def test_any_counted_uncorrected_error_is_critical() -> None:
    finding = found(MEMORY, counted(uncorrected=1))
    assert (finding.status, finding.remedy) == (Status.CRITICAL, ())
    assert "1 memory error that could not be corrected" in finding.summary


def test_memory_that_the_kernel_gave_up_is_critical() -> None:
    assert "no longer uses" in found(MEMORY, counted(given_up=4096)).summary


@pytest.mark.parametrize("severity", ["recoverable", "fatal"])
def test_firmwares_record_counts_where_it_is_about_memory(severity: str) -> None:
    assert found(MEMORY, b.log(*record(severity, "memory error"))).status is Status.CRITICAL
    ruled_out(MEMORY, b.log(*record(severity, "PCIe error")))
    ruled_out(MEMORY, b.log(*record("corrected", "memory error")))
    # the severity of one record and the section of another
    ruled_out(MEMORY, b.log(*record(severity, "PCIe error", 4), *record("corrected", "memory error", 5)))


def test_record_of_the_boot_before_has_no_number() -> None:
    assert found(MEMORY, b.log(*record("fatal", "memory error", number=0))).status is Status.CRITICAL


def test_corrected_errors_by_the_hundred_an_hour_are_a_failing_module() -> None:
    finding = found(MEMORY, counted(corrected=60_000))
    assert (finding.status, finding.summary) == (Status.DEGRADED, "mc0 corrected 60,000 memory errors in 11.2 days")
    ruled_out(MEMORY, counted(corrected=26_000))


def test_pace_is_not_scaled_beyond_the_time_it_was_counted_in() -> None:
    ruled_out(MEMORY, counted(corrected=40, hours=0.1))
    found(MEMORY, counted(corrected=140, hours=0.1))


def test_line_that_comes_for_corrected_errors_too_says_nothing() -> None:
    logged = b.event("hardware-error", "mce: [Hardware Error]: Machine check events logged")
    corrected = b.event("hardware-error", "EDAC MC0: 1 CE memory read error on DIMM_A1", device="MC0")
    ruled_out(MEMORY, b.log(logged, corrected))


@pytest.mark.parametrize("virtualisation", ["amazon", "kvm", "microsoft", "vmware", "xen"])
def test_virtual_machines_memory_is_its_hosts_matter(virtualisation: str) -> None:
    told = ruled_out(MEMORY, b.host(virtualisation=virtualisation), NOBODY_COUNTS)
    assert "host's business" in told.because


@pytest.mark.parametrize("virtualisation", ["none", "docker", ""])
def test_nobody_counts_on_bare_metal_without_edac(virtualisation: str) -> None:
    told = undecided(MEMORY, b.host(virtualisation=virtualisation), NOBODY_COUNTS)
    assert ("no EDAC driver" in told.because, "ipmitool" in told.would_decide) == (True, True)


def test_metal_instance_is_no_virtual_machine_whatever_systemd_says() -> None:
    undecided(MEMORY, b.host(virtualisation="amazon"), MemoryErrorsReading((), 0, "m5.metal"))


def test_counts_that_were_not_read_are_open_but_on_a_virtual_machine() -> None:
    assert "not read" in undecided(MEMORY, METAL, b.unread("memory_errors")).because
    ruled_out(MEMORY, b.host(virtualisation="kvm"), b.unread("memory_errors"))
    ruled_out(MEMORY, METAL, b.unread("kernel_log"))


@pytest.mark.parametrize(
    "text", ["mc0/ue_count:-1\n-- end --\n", "/sys/devices/system/edac/mc/mc0/ue_count:1\n-- end --\n", "product x\n"]
)
def test_half_an_answer_is_unread(text: str) -> None:
    with pytest.raises(CannotRead, match="memory_errors"):
        parse(once("look", text))
