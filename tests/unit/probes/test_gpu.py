"""gpu: what nvidia-smi -q says of clocks, of what slows a GPU down and of its firmware."""

import re

import pytest

from bot.domain.command import Outputs
from bot.probes.formats.gpu_events import XidKind, bus_id, xid
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.gpu import PROBE, parse
from tests.known import known
from tests.readings.recorded import run

# nvidia-smi -q of driver 550, shortened; before 535 they are `Clocks Throttle Reasons` and `Power Limit`.
SAID = """\
Driver Version                            : 550.54.15
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA A100-SXM4-40GB
    Persistence Mode                      : Enabled
    VBIOS Version                         : 92.00.45.00.05
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 40960 MiB
    GPU Power Readings
        Current Power Limit               : 400.00 W
    Clocks
        Graphics                          : 210 MHz
        SM                                : 210 MHz
    Applications Clocks
        Graphics                          : 1095 MHz
    Max Clocks
        Graphics                          : 1410 MHz
        SM                                : 1410 MHz
    Processes                             : None
    GPU Recovery Action                   : None
"""
SETTINGS = {
    "Product Name": "NVIDIA A100-SXM4-40GB",
    "Persistence Mode": "Enabled",
    "VBIOS Version": "92.00.45.00.05",
    "SW Power Cap": "Not Active",
    "HW Slowdown": "Active",
    "HW Thermal Slowdown": "Active",
    "HW Power Brake Slowdown": "Not Active",
    "SW Thermal Slowdown": "Not Active",
    "Power Limit": "400.00 W",
    "Clock (MHz)": 210.0,
    "Max Clock (MHz)": 1410.0,
}


@pytest.mark.parametrize("older", [False, True])
def test_clocks_and_what_slows_a_gpu_down_are_settings(older: bool) -> None:
    said = SAID.replace("Event", "Throttle").replace("Current Power", "Power") if older else SAID
    (pattern,) = re.findall(r"grep -aE '([^']+)'", PROBE.commands[1].argv[2])
    kept = "\n".join(line for line in said.splitlines() if re.search(pattern, line))
    assert "Graphics" not in kept
    smi = f"==> /gpus <==\n00000000:3B:00.0, 0\nstatus 0\n==> /actions <==\n{kept}\n-- end --\n"
    reading = parse(Outputs(run("bus", "0000:3b:00.0 0x030200 nvidia\n-- end --\n"), run("smi", smi)))
    assert dict(reading.gpus[0].settings) == SETTINGS
    assert (reading.gpus[0].recovery, reading.users) == ("", ())


def test_addresses_are_one_whoever_wrote_them() -> None:
    written = ("00000000:3B:00.0", "0000:3b:00", "3b:00.0", "0000:3b:00.0")
    assert {bus_id(text) for text in written} == {"0000:3b:00.0"}


def test_one_that_fell_off_without_an_xid_is_told_by_its_code() -> None:
    gone = "NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:20b0) installed in this system has fallen off the bus"
    told = known(xid(KernelEvent("gpu-error", gone)))
    assert (told.code, told.meaning.kind) == (79, XidKind.FAULT)
