"""More cases of GPUs."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import gpu_node, metal
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_GPU = "gpu-fault"
_XID = "NVRM: Xid (PCI:{}): "
_FOUR = tuple(f"0000:{bus}:00.0" for bus in ("1b", "1c", "1d", "1e"))


def _h100(up: float = 40 * DAY) -> Machine:
    return gpu_node("6.8.0-1021-aws", up=up, product="p5.48xlarge").gpus(*_FOUR)


GPUS: list[Label] = [
    sick(
        _GPU,
        "contained errors of one GPU, five in an hour",
        _h100().log_every(
            3 * MINUTE,
            11 * MINUTE,
            5,
            _XID.format("0000:1c:00")
            + "94, pid=81{n}4, name=python3, Contained: CE User Channel (0x9). RST: No, D-RST: No",
        ),
        "each ends a job, and they come back on the same GPU",
    ),
    near(
        _GPU,
        "one contained error, a week ago",
        _h100().log(
            (
                7 * DAY,
                _XID.format("0000:1d:00") + "94, pid=991, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
            )
        ),
        "the job ended, the GPU works",
    ),
    near(
        _GPU,
        "a class exception of somebody's program",
        _h100().log(
            (
                20 * MINUTE,
                _XID.format("0000:1b:00")
                + "69, pid=5512, name=render, Class Error: ChId 0018, Class 0000c7c0, Offset 000002b4, Data 00000000",
            )
        ),
        "the application's",
    ),
    near(
        _GPU,
        "the driver was loaded anew this morning",
        metal(cores=32)
        .gpus(*_FOUR[:2])
        .log(
            (4 * HOUR, "nvidia-nvlink: Unregistered Nvlink Core, major device number 236"),
            (4 * HOUR - 5, "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build"),
        ),
        "an update, and every GPU answers",
    ),
    near(
        _GPU,
        "application errors on four GPUs at once, as a job was cancelled",
        _h100().log(
            *(
                (600 - n / 10, _XID.format(f"0000:1{letter}:00") + f"43, pid=77{n}0, name=pt_main_thread, Ch 00000008")
                for n, letter in enumerate("bcde")
            )
        ),
        "one job's end",
    ),
]
