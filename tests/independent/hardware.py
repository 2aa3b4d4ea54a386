"""Cases of GPUs, memory, EBS volumes and network cards."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import database, edge, gpu_node, metal, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_A100 = tuple(f"0000:{bus}:00.0" for bus in ("10", "20", "30", "40", "90", "a0", "b0", "c0"))
_TWO = ("0000:3b:00.0", "0000:af:00.0")
_XID = "NVRM: Xid (PCI:{}): "
_GPU = "gpu-fault"


def _gpus(machine: Machine | None = None) -> Machine:
    return (machine or gpu_node()).gpus(*_A100)


def _passed_through(machine: Machine, bus: str) -> Machine:
    machine.facts.gpus.append(f"{bus} 0x030200 vfio-pci")
    return machine


GPUS: list[Label] = [
    sick(
        _GPU,
        "one of eight A100 fell off the bus 40 s ago",
        _gpus()
        .log((41, _XID.format("0000:a0:00") + "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."))
        .log((41, "NVRM: GPU 0000:a0:00.0: GPU has fallen off the bus."))
        .gpus(
            *_A100,
            listed=_A100[:5],
            end="Unable to determine the device handle for GPU0000:A0:00.0: Unknown Error\nstatus 255",
        ),
        "it does not answer now, and 79 wants a restart",
        "reboot",
    ),
    sick(
        _GPU,
        "double-bit error three hours ago, the driver waits for a reset",
        _gpus(gpu_node("6.8.0-1015-aws", product="p5.48xlarge"))
        .log((3 * HOUR, _XID.format("0000:4d:00") + "48, pid=81231, name=python3, DBE (double bit error) at 0x1c40"))
        .log(
            (
                3 * HOUR - 1,
                _XID.format("0000:4d:00")
                + "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            )
        )
        .gpus("0000:4d:00.0", "0000:5e:00.0", ecc={"0000:4d:00.0": 2}, actions={"0000:4d:00.0": "Reset"}),
        "a reset of the GPU is due, not a reboot",
    ),
    sick(
        _GPU,
        "uncontained error, and the driver demands a reboot of the node",
        gpu_node("6.1.112-122.189.amzn2023.x86_64", product="p5.48xlarge")
        .gpus(*_TWO, actions={"0000:3b:00.0": "Reboot"})
        .log((5 * MINUTE, _XID.format("0000:3b:00") + "95, pid=4411, name=pt_main_thread, Uncontained: GPC 3"))
        .log(
            (
                5 * MINUTE - 1,
                _XID.format("0000:3b:00")
                + "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
            )
        ),
        "Xid 154 outranks every table",
        "reboot",
    ),
    sick(
        _GPU,
        "gone from the bus without any Xid, and nvidia-smi hangs",
        gpu_node("5.15.0-1068-aws")
        .gpus(*_TWO)
        .smi_hangs()
        .log(
            (
                12 * MINUTE,
                (
                    "NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:2330) installed in this system has "
                    "fallen off the bus and is not responding to commands."
                ),
            )
        ),
        "the driver's words and the hang are one fault",
        "reboot",
    ),
    sick(
        _GPU,
        "a fatal NVSwitch error",
        _gpus().log(
            (
                90,
                "nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
            )
        ),
        "fatal by the switch's own word",
        "reboot",
    ),
    sick(
        _GPU,
        "the GPU's own processor does not answer any more",
        gpu_node("5.10.225-213.878.amzn2.x86_64", product="g5.12xlarge")
        .gpus("0000:00:1b.0", "0000:00:1c.0", "0000:00:1d.0", "0000:00:1e.0")
        .log_every(
            20,
            45,
            6,
            _XID.format("0000:00:1c")
            + "119, pid=2213, name=python, Timeout after 6s of waiting for RPC response from GPU1 GSP! "
            "Expected function 76 (GSP_RM_CONTROL) (0x20800a4c 0x4).",
        ),
        "it repeats now",
    ),
    sick(
        _GPU,
        "row remapping failed",
        metal()
        .gpus(*_TWO, rows={"0000:af:00.0": "No, Yes"}, ecc={"0000:af:00.0": 14}, replace=["0000:af:00.0"])
        .log((2 * HOUR, _XID.format("0000:af:00") + "64, pid=0, name=, Failed to remap row")),
        "the card has no spare row left: replace it",
    ),
    near(
        _GPU,
        "a notebook reads past its memory",
        _gpus().log_every(
            30,
            300,
            4,
            _XID.format("0000:30:00") + "31, pid=71{n}, name=python3, Ch 00000018, intr 00000000. MMU Fault: "
            "ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ 0x7f2c_30000000. Fault is of type FAULT_PDE ACCESS_TYPE_READ",
        ),
        "the application's own error",
    ),
    near(
        _GPU,
        "a kernel under development throws exceptions by the hundred",
        _gpus(gpu_node(product="g4dn.metal")).log_every(
            3,
            2,
            200,
            _XID.format("0000:10:00")
            + "13, pid=5120, name=train.py, Graphics SM Warp Exception on (GPC 0, TPC 3, SM 1): "
            "Illegal Instruction Parameter",
        ),
        "application, however often",
    ),
    near(
        _GPU,
        "a job was killed and its channels were cleaned up",
        _gpus()
        .log((600, _XID.format("0000:90:00") + "43, pid=99120, name=python3, Ch 00000008"))
        .log((599, _XID.format("0000:90:00") + "45, pid=99120, name=python3, Ch 00000009")),
        "43 is the application's, 45 follows it",
    ),
    near(
        _GPU,
        "one row was remapped four days ago, nothing is pending",
        _gpus().log(
            (4 * DAY, _XID.format("0000:20:00") + "63, pid=0, name=, Row Remapper: New row marked for remapping")
        ),
        "NVIDIA's action is to ignore it",
    ),
    near(
        _GPU,
        "a virtual machine owns one of the GPUs",
        _passed_through(metal().gpus(_TWO[0]), _TWO[1]),
        "what vfio holds need not answer nvidia-smi",
    ),
    near(
        _GPU,
        "the switch reports an error that is not fatal, once",
        _gpus().log(
            (
                8 * HOUR,
                "nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
            )
        ),
        "not fatal, once, eight hours ago",
    ),
    near(
        _GPU,
        "a consumer card that counts no errors",
        metal(cores=16).gpus("0000:01:00.0", rows={"0000:01:00.0": "[N/A], [N/A]"}, actions={"0000:01:00.0": "N/A"}),
        "no ECC there: not told is not broken",
    ),
]

_MEMORY = "memory-errors"
MEMORY: list[Label] = [
    sick(
        _MEMORY,
        "an uncorrectable error three minutes ago",
        metal()
        .edac("mc0", 1, 3, 60 * DAY)
        .log(
            (
                180,
                "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x8a2b3c)",
            )
        ),
        "any uncorrected error",
    ),
    sick(
        _MEMORY,
        "a module that wears out: hundreds of corrected errors an hour",
        metal(up=12 * DAY)
        .edac("mc0", 0, 9, 11 * DAY)
        .edac("mc1", 0, 148_211, 11 * DAY)
        .log_every(
            9,
            7,
            60,
            "EDAC MC1: 1 CE memory read error on CPU_SrcID#1_MC#1_Chan#0_DIMM#1 (channel:0 slot:1 page:0x1f2)",
        ),
        "560 an hour",
    ),
    sick(
        _MEMORY,
        "the kernel gave up a page",
        metal()
        .edac("mc2", 0, 40, 60 * DAY, given_up_kib=4)
        .log((2 * HOUR, "mce: Uncorrected hardware memory error in user-access at 8a2b3c40"))
        .log((2 * HOUR, "Memory failure: 0x8a2b3c: recovery action for dirty LRU page: Recovered")),
        "an uncorrected error, contained",
    ),
    sick(
        _MEMORY,
        "the firmware reports a recoverable error in a memory module",
        metal(cores=128)
        .log((900, "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1"))
        .log((900, "{1}[Hardware Error]: event severity: recoverable"))
        .log((900, "{1}[Hardware Error]:  Error 0, type: recoverable"))
        .log((900, "{1}[Hardware Error]:   section_type: memory error"))
        .log((900, "{1}[Hardware Error]:   error_type: 3, multi-bit ECC")),
        "recoverable means uncorrected",
    ),
    near(_MEMORY, "a virtual machine that counts none", Machine(), "nobody counts here: no finding either way"),
    near(_MEMORY, "a dozen corrected errors in eleven days", metal().edac("mc0", 0, 12, 11 * DAY), "ECC at work"),
    near(
        _MEMORY,
        "one machine check, corrected",
        metal()
        .edac("mc0", 0, 1, 60 * DAY)
        .log((2 * DAY, "mce: [Hardware Error]: Machine check events logged"))
        .log((2 * DAY, "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: 8c00004000010091")),
        "the line comes for corrected ones too",
    ),
    near(
        _MEMORY,
        "the firmware reports a corrected error",
        metal()
        .log((5 * HOUR, "{3}[Hardware Error]: event severity: corrected"))
        .log((5 * HOUR, "{3}[Hardware Error]:   section_type: memory error")),
        "corrected by its own words",
    ),
    near(
        _MEMORY,
        "a PCIe link corrects errors all day",
        metal()
        .log_every(40, 30, 50, "{{n}}[Hardware Error]: event severity: corrected")
        .log_every(40, 30, 50, "{{n}}[Hardware Error]:   section_type: PCIe error"),
        "not memory, and corrected",
    ),
    near(
        _MEMORY, "four hundred corrected errors in a month", metal().edac("mc1", 0, 400, 30 * DAY), "one in two hours"
    ),
]

_EBS = "ebs-throttled"
EBS: list[Label] = [
    sick(
        _EBS,
        "a gp3 volume stands at its throughput for most of the window",
        database().ebs("nvme1", {"volume_throughput": 900_000_000}, {"volume_throughput": 3_600_000}, 64),
        "3.6 of 5 s",
    ),
    sick(
        _EBS,
        "the instance's own limit holds every volume",
        Machine(product="m5.large", cores=2, memory_gib=8)
        .ebs("nvme0", {"instance_iops": 12_000_000}, {"instance_iops": 4_950_000}, 30)
        .ebs("nvme1", {"instance_iops": 12_000_000}, {"instance_iops": 4_950_000}, 41),
        "all of the window",
    ),
    sick(
        _EBS,
        "a small gp2 volume has spent its credits",
        small().ebs("nvme0", {"volume_iops": 88_000_000_000}, {"volume_iops": 3_100_000}, 12),
        "62 % of the window",
    ),
    near(
        _EBS,
        "hours at the limit since boot, none now",
        database().ebs("nvme1", {"volume_throughput": 40_000_000_000, "volume_iops": 9_000_000_000}, {}),
        "counters age",
    ),
    near(
        _EBS,
        "a tenth of a second at the limit",
        Machine().ebs("nvme0", {"volume_iops": 5_000_000}, {"volume_iops": 100_000}),
        "2 %",
    ),
    near(_EBS, "a machine that has no such volume", metal(), "nothing to hold"),
    near(_EBS, "nobody may ask the device", database().without("ebs"), "not read, and never critical"),
    near(_EBS, "a volume that never came to a limit", Machine().ebs("nvme0", {}, {}, 1), "all zero"),
]

_NIC = "nic-device-fault"
_ENA = "ena 0000:00:05.0 eth0: "
_BACK = "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.13.2g"
NICS: list[Label] = [
    sick(
        _NIC,
        "keep-alives fail again and again, and no core is busy",
        Machine()
        .log_every(30, 600, 5, _ENA + "Keep alive watchdog timeout, 6{n}12 msecs since last keep alive.")
        .log_every(29, 600, 5, _BACK)
        .nic(wd_expired=(5, 5), total_resets=(5, 5), interface_down=(5, 5), interface_up=(6, 6)),
        "the Nitro side is gone each time",
    ),
    sick(
        _NIC,
        "the reset itself fails",
        Machine(kernel="6.1.141-155.222.amzn2023.x86_64")
        .log((95, _ENA + "ENA admin queue is not in running state!"))
        .log(
            (
                94,
                _BACK.replace("successfully", "status: -110").replace("completed status", "completed, status"),
            )
        )
        .nic(admin_q_pause=(1, 1), total_resets=(1, 1), reset_fail=(1, 1)),
        "a status that is not zero is a failed reset",
    ),
    sick(
        _NIC,
        "descriptors come back malformed",
        Machine(cores=32)
        .log_every(15, 120, 4, "ena 0000:00:05.0: Invalid req_id 61455 in qid 3")
        .log_every(14, 120, 4, _BACK)
        .nic(bad_tx_req_id=(4, 5), total_resets=(4, 5)),
        "driver or device",
    ),
    near(
        _NIC,
        "one reset five days ago",
        Machine()
        .log((5 * DAY, _ENA + "Keep alive watchdog timeout, 6412 msecs since last keep alive."), (5 * DAY - 1, _BACK))
        .nic(wd_expired=(1, 1), total_resets=(1, 1)),
        "over long since",
    ),
    near(
        _NIC,
        "somebody set the rings anew",
        Machine().nic(interface_down=(3, 3), interface_up=(4, 4)),
        "down and up without a reset",
    ),
    near(
        _NIC,
        "a card dropped frames some time in its life",
        metal().nic(rx_dropped=(48_112, 48_112), rx_crc_errors=(2, 2)),
        "none now",
    ),
    near(
        _NIC,
        "the receive ring ran dry once",
        Machine().log((7 * HOUR, _ENA + "Trigger refill for ring 3")),
        "no reset, hours ago",
    ),
    near(_NIC, "a board's card that drops broadcast", edge().nic(rx_dropped=(901, 902)), "one frame"),
]
