"""Whole nodes that are well, and of which a part of the kernel speaks of failures, or a reading looks strange."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.contract.test_sick_parts import MULTICAST
from tests.independent.facts import HOUR, MINUTE
from tests.independent.kinds import azure, database, gpu_node, guest, metal, rancher, rocky8, small
from tests.independent.machine import Machine

VF = "<6>hv_netvsc 000d3a6c-1a2b-000d-3a6c-1a2b000d3a6c eth0: "
LATE = "Lustre: 4411:0:(client.c:2289:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply"
SMI = (
    "==> /gpus <==\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
    "latest NVIDIA driver is installed and running.\n\nstatus 9\n==> /rows <==\n==> /actions <==\n-- end --\n"
)


def passed_on() -> Machine:
    """A host whose GPUs were given to guests: NVIDIA's driver finds none for itself."""
    machine = metal().process("qemu-kvm", usr=300, sys=20, core=3, pid=3311, threads=40)
    machine.facts.gpus = ["0000:3b:00.0 0x030200 vfio-pci", "0000:af:00.0 0x030200 vfio-pci"]
    machine.facts.smi = SMI
    return machine.log(
        (machine.facts.up - 40, "NVRM: The NVIDIA probe routine was not called for 2 device(s)."),
        (machine.facts.up - 41, "NVRM: No NVIDIA devices probed."),
    )


def busy_container() -> Machine:
    machine = Machine(kubernetes=False).process("java", usr=1900, sys=40, core=1, pid=1, threads=60)
    machine.facts.virt = "docker"
    return machine


def unsynced(started_ago: float) -> Machine:
    machine = Machine().service("chronyd.service", started_ago=started_ago)
    return machine.clock("chronyd", "Leap status     : Not synchronised")


ORDINARY = [
    Asked(
        "a livepatch waits for a task that sleeps",
        rocky8().log_every(6, 15, 240, "<5>livepatch: signaling remaining tasks"),
        "healthy",
    ),
    Asked("a host gave its GPUs to guests", passed_on(), "healthy"),
    Asked(
        "a scanner speaks HTTP to a file server",
        database().log_every(100, 600, 40, "<5>svc: svc_tcp_read_marker nfsd RPC fragment too large: 1195725856"),
        "healthy",
    ),
    Asked(
        "volumes of NVMe come and go",
        rancher().log_every(60, 290, 60, "<6>nvme nvme3: Shutdown timeout set to 10 seconds"),
        "healthy",
    ),
    Asked(
        "Azure took the card away once last night",
        azure().log((50_000, f"{VF}Data path switched from VF: eth1"), (49_991, f"{VF}Data path switched to VF: eth1")),
        "healthy",
    ),
    Asked(
        "a job was killed, and its peers' queues end",
        gpu_node().log_every(
            40 * MINUTE,
            0.06,
            60,
            "infiniband mlx5_2: mlx5_handle_error_cqe:333:(pid 0): WC error: 12, Message: transport retry counter "
            "exceeded",
        ),
        "healthy",
    ),
    Asked(
        "a large volume is trimmed",
        database().waiting(1, "fstrim", "blkdev_issue_discard").disk("nvme1n1", 4, 5, 30, 4_000),
        "healthy",
    ),
    Asked(
        "a guest's program splits its locks",
        metal().log_every(
            200, 600, 6, "x86/split lock detection: #AC: CPU 0/KVM/88279 took a split_lock trap at address: 0xf80104"
        ),
        "healthy",
    ),
    Asked("chrony was restarted seconds ago", unsynced(20), "healthy"),
    Asked("chrony has not been synchronised for an hour", unsynced(HOUR), "degraded", "clock-unsynced"),
    Asked(
        "a person set the count of restarts back",
        Machine().service("api.service", {"NRestarts": 0}, NRestarts=41, Restart="on-failure"),
        "healthy",
    ),
    Asked(
        "a program dies by a signal",
        small().log_every(9, 120, 40, "<6>python3: potentially unexpected fatal signal 6."),
        "healthy",
    ),
    Asked(
        "a peer's laptop is closed",
        guest().log_every(
            9,
            90,
            40,
            "<7>wireguard: wg0: Handshake for peer 7 ((einval)) did not complete after 20 attempts, giving up",
        ),
        "healthy",
    ),
    Asked(
        "volumes that were not unmounted are mounted",
        Machine().log_every(
            40, 300, 40, "EXT4-fs (dm-9): warning: mounting unchecked fs, running e2fsck is recommended"
        ),
        "healthy",
    ),
    Asked("two requests of Lustre were late", rocky8().log((50 * MINUTE, LATE), (12 * MINUTE, LATE)), "healthy"),
    Asked(
        "a GPU has no display",
        gpu_node().log_every(9, 120, 40, "nvidia-modeset: WARNING: GPU:0: Unable to read EDID for display DP-0"),
        "healthy",
    ),
    Asked("what fails has failed for days", rocky8().log_every(40, 60, 3_000, MULTICAST), "healthy"),
    Asked("it failed once", rocky8().log((5 * MINUTE, MULTICAST)), "healthy"),
    Asked("services keep much state", Machine().room("/run", 6.4, 8, device="tmpfs"), "healthy"),
    Asked("three wait for a scanner", Machine().waiting(3, "sshd", "fanotify_handle_event"), "healthy"),
    Asked(
        "memory is compacted, mostly with success",
        metal().vmstat(compact_stall=(100, 40_100), compact_fail=(90, 600)),
        "healthy",
    ),
    Asked("a container's own program is PID 1 of it", busy_container(), "healthy"),
    Asked(
        "a boot of four minutes ago",
        Machine(up=240).process("systemd", usr=330, sys=160, core=5, pid=1, state="R"),
        "healthy",
    ),
    Asked("a burst of frames found no buffer", metal().nic(rx_missed_errors=(9_000, 9_400)), "healthy"),
]


@pytest.mark.parametrize("asked", ORDINARY, ids=lambda asked: str(asked.title))
def test_words_of_failure_alone_make_no_node_sick(asked: Asked) -> None:
    check(asked)
