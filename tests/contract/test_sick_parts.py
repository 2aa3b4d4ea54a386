"""Whole sick nodes of which a part of the kernel warns, or whose programs wait for another program."""

from __future__ import annotations

import json

import pytest

from tests.contract.asked import LEAK, LOOP, STOPPED, Asked, check
from tests.contract.test_plans_not_earned import CURE
from tests.independent.facts import MINUTE, NOW
from tests.independent.kinds import amazon2, database, flatcar, gpu_node, guest, metal, rancher, rhel7, rocky8
from tests.independent.machine import KUBELET, Machine

STALL, NIC, GPU, LOCK, FULL = "io-stall", "nic-device-fault", "gpu-fault", "lockup", "disk-full"
OOM, RECLAIM, PAGES = "oom-kills", "memory-reclaim", "page-allocation-failing"
ILL = "degraded critical"


def sles() -> Machine:
    return Machine(
        kernel="5.14.21-150500.55.44-default",
        system="SUSE Linux Enterprise Server 15 SP5",
        systemd="systemd 249 (249.16+suse)",
    )


def without_unified_memory() -> Machine:
    machine = gpu_node(product="p5.48xlarge").gpus("0000:3b:00.0", "0000:af:00.0")
    return machine.log(
        (11 * MINUTE, "NVRM: Xid (PCI:0000:3b:00): 31, pid=41122, name=python3, Ch 00000012, intr 00000000. MMU Fault"),
        (
            11 * MINUTE - 0.2,
            "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover.",
        ),
    )


def silent_scanner() -> Machine:
    machine = database()
    names = ("postgres", "sshd", "crond", "python3", "rsyslogd", "bash", "node_exporter", "sudo")
    for at, name in enumerate(names):
        machine.waiting(2, name, "fanotify_handle_event", pid=20_000 + 10 * at)
    return machine


def loops_unseen() -> Machine:
    machine = flatcar().service(KUBELET, Restart="always", RestartUSec="10s", NRestarts=270, started_ago=22)
    machine.facts.restarts += [
        (
            40.0 * (89 - n) + 22,
            f"systemd[1]: kubelet.service: Scheduled restart job, restart counter is at {181 + n}.",
        )
        for n in range(90)
    ]
    return machine.essential(KUBELET, changed_ago=22)


def leaking_kernel() -> Machine:
    machine = Machine()
    total = machine.facts.memory["MemTotal"]
    machine.memory(MemAvailable=total // 50, MemFree=total // 100, Slab=total * 86 // 100, SUnreclaim=total * 85 // 100)
    machine.vmstat(pgscan_kswapd=(10, 900_000), pgscan_direct=(10, 240_000), allocstall_normal=(10, 5_400))
    machine.pressure(memory_some=44, memory_full=21)
    return machine.process("kswapd0", sys=390, core=4, pid=212, kernel=True, state="R")


def compacting() -> Machine:
    machine = metal(cores=16).all_cores(usr=18, sys=45)
    machine.vmstat(compact_stall=(100, 40_100), compact_fail=(90, 38_000), compact_isolated=(1_000, 9_000_000))
    return machine.process("kcompactd0", sys=480, core=3, pid=214, kernel=True, state="R")


def control_plane() -> Machine:
    name = "kube-apiserver"
    row = {
        "id": "7" * 64,
        "podSandboxId": "8" * 64,
        "metadata": {"name": name, "attempt": 141},
        "image": {"image": "registry.k8s.io/kube-apiserver:v1.31.2"},
        "imageRef": "sha256:1",
        "state": "CONTAINER_EXITED",
        "createdAt": str(int((NOW - 150) * 1e9)),
        "labels": {
            "io.kubernetes.container.name": name,
            "io.kubernetes.pod.name": f"{name}-cp1",
            "io.kubernetes.pod.namespace": "kube-system",
        },
    }
    text = json.dumps({"containers": [row]}) + f"\n-- end {NOW} --\n"
    return Machine().instead("containers", "cri", text, text)


def squeezed() -> Machine:
    machine = guest().log_every(3, 6, 200, "<6>virtio_balloon virtio2: Out of puff! Can't get 256 pages")
    total = machine.facts.memory["MemTotal"]
    return machine.memory(MemAvailable=total // 25, MemFree=total // 50)


MULTICAST = "ib0: multicast join failed for ff12:401b:ffff:0000:0000:0000:ffff:ffff, status -22"
INDEX_FULL = "Directory (ino: 89391105) index full, reach max htree level :2"

# The kernel tells of these, at the level of a warning or below.
WARNED = [
    Asked(
        "an NVMe disk's interrupts are lost",
        metal().log_every(25, 30, 40, "nvme nvme1: I/O {n} QID 5 timeout, completion polled"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "a ConnectX is too warm",
        gpu_node().log_every(
            20, 60, 40, "mlx5_core 0000:5e:00.0: temp_warn:171:(pid 0): High temperature on sensors with bit set 0 1"
        ),
        ILL,
        f"{NIC} thermal-throttling -",
    ),
    Asked(
        "a set of addresses is full",
        guest().log_every(12, 30, 100, "Set KUBE-CLUSTER-IP is full, maxelem 65536 reached"),
        ILL,
    ),
    Asked(
        "a client of Ceph loses its monitors again and again",
        guest()
        .log_every(14, 35, 60, "<6>libceph: mon0 (1)10.0.3.1:6789 session lost, hunting for new mon")
        .log_every(11, 35, 60, "<6>libceph: mon2 (1)10.0.3.3:6789 session established"),
        ILL,
        f"{STALL} -",
    ),
    Asked("the memory that GPUs and programs share is lost", without_unified_memory(), ILL, GPU, CURE),
    Asked(
        "a database may not have the memory that is free",
        Machine(kernel="6.8.0-48-generic", kubernetes=False, cores=32, memory_gib=256).log_every(
            2,
            7,
            200,
            "__vm_enough_memory: pid: 41{n}, comm: postgres, bytes: 17825792 not enough memory for the allocation",
        ),
        ILL,
        f"{RECLAIM} {PAGES} -",
    ),
    Asked(
        "CentOS 7 cannot account for the kernel's memory of a cgroup",
        rhel7(kubernetes=True)
        .log_every(9, 45, 40, "SLUB: Unable to allocate memory on node -1 (gfp=0xd0)")
        .log_every(8.99, 45, 40, "  cache: kmalloc-192(3921:7d2f1a), object size: 192, buffer size: 192")
        .log_every(8.98, 45, 40, "  node 0: slabs: 11, objs: 462, free: 0"),
        ILL,
        f"{PAGES} {LEAK} -",
    ),
    Asked("no subnet manager is on the fabric", rocky8().log_every(40, 16, 18, MULTICAST), ILL, f"{NIC} -"),
    Asked(
        "a backplane resets a disk every two minutes",
        metal().log_every(50, 120, 30, "sd 0:0:12:0: Power-on or device reset occurred"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "a guest of VMware aborts its writes",
        rancher().log_every(12, 35, 40, "<7>sd 0:0:1:0: [sdb] tag#17 task abort on host 0, 00000000f3b1c2aa"),
        ILL,
        STALL,
    ),
    Asked(
        "a directory has no room, and the disk has",
        guest()
        .log_every(20, 60, 50, f"EXT4-fs warning (device vdb): ext4_dx_add_entry:2516: {INDEX_FULL}")
        .log_every(
            19.99,
            60,
            50,
            "EXT4-fs warning (device vdb): ext4_dx_add_entry:2520: Large directory feature is not enabled on this "
            "filesystem",
        ),
        ILL,
        f"{FULL} -",
    ),
    Asked(
        "a software switch drops packets",
        rancher().log_every(4, 10, 200, "openvswitch: ovs-system: deferred action limit reached, drop recirc action"),
        ILL,
    ),
    Asked(
        "a file server closes its clients' connections",
        database().log_every(
            9, 20, 100, "<5>nfsd: too many open connections, consider increasing the number of threads"
        ),
        ILL,
    ),
    Asked(
        "nobody in a full cgroup may be killed",
        Machine()
        .log_every(3.1, 5, 200, "dockerd invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-1000")
        .log_every(3, 5, 200, "Out of memory and no killable processes..."),
        ILL,
        f"{OOM} {RECLAIM} -",
    ),
    Asked(
        "a card's checksums are wrong",
        Machine(kernel="5.4.0-190-generic", driver="mlx5_core", kubernetes=False).log_every(
            20, 40, 60, "<3>eth0: hw csum failure"
        ),
        ILL,
        f"{NIC} -",
    ),
]
# Nothing in the log tells of these.
SEEN = [
    Asked("a virus scanner answers nobody", silent_scanner(), ILL, f"{STALL} {LOCK} -"),
    Asked(
        "the bus of a SLES failed",
        sles().failed("dbus-broker.service").failed("systemd-logind.service"),
        ILL,
        f"failed-units {STOPPED}",
        "start",
    ),
    Asked(
        "the runtime never lists its containers",
        Machine().instead("containers", "cri", None, None),
        ILL + " unknown",
        f"{STOPPED} -",
    ),
    Asked(
        "no byte is left for the state of services",
        Machine().room("/run", 6.4, 0, device="tmpfs"),
        "critical",
        FULL,
    ),
    Asked(
        "a card has no buffer for 20,000 frames a second",
        metal().core(3, soft=55, usr=5).nic(rx_missed_errors=(9_000_000, 9_100_000)),
        ILL,
        f"{NIC} softirq-storm -",
    ),
    Asked("memory is compacted all the time", compacting(), ILL, f"{RECLAIM} {PAGES} -"),
    Asked(
        "PID 1 holds a core",
        Machine().process("systemd", usr=330, sys=160, core=5, pid=1, state="R").core(5, usr=66, sys=32),
        ILL,
        "too-many-live-cgroups -",
    ),
    Asked("a kubelet dies every 40 s and runs at both looks", loops_unseen(), ILL, f"{LOOP} {STOPPED}"),
    Asked("the API server of a control plane ends again and again", control_plane(), ILL, f"{LOOP} -"),
    Asked("the kernel's own memory leaks", leaking_kernel(), ILL, RECLAIM),
]
# Made once those above were told rightly.
AGAIN = [
    Asked(
        "the state of a file server does not fit",
        database().log_every(9, 20, 40, "NFS: v4 server nas01 returned a bad sequence-id error!"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "a path comes and goes",
        database()
        .log_every(30, 40, 40, "device-mapper: multipath: 253:3: Failing path 8:48.")
        .log_every(20, 40, 40, "device-mapper: multipath: 253:3: Reinstating path 8:48."),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "two machines have one address",
        guest().log_every(5, 12, 90, "ICMPv6: NA: 52:54:00:9a:11:02 advertised our address 2001:db8::15 on eth0!"),
        ILL,
    ),
    Asked(
        "nobody watches the locks of a file server",
        database().log_every(12, 30, 40, "<5>lockd: cannot monitor nas01"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "the kernel has no room for its maps",
        guest().log_every(9, 20, 40, "vmap allocation for size 2101248 failed: use vmalloc=<size> to increase size"),
        ILL,
        f"{PAGES} -",
    ),
    Asked(
        "half of a mirror is mended from the other all day",
        metal().log_every(12, 30, 40, "<6>md/raid1:md0: read error corrected (8 sectors at 81{n} on sda1)"),
        ILL,
        f"{STALL} -",
    ),
    Asked("a host takes memory that is not there", squeezed(), ILL, f"{RECLAIM} -"),
    Asked(
        "no grant is left on Xen",
        amazon2().log_every(
            2, 5, 100, "xen:grant_table: xen/grant-table: max_grant_frames reached cur=64 extra=1 limit=64"
        ),
        ILL,
        f"{NIC} -",
    ),
]


@pytest.mark.parametrize("asked", [*WARNED, *SEEN, *AGAIN], ids=lambda asked: str(asked.title))
def test_node_of_which_the_kernel_only_warns_is_not_called_healthy(asked: Asked) -> None:
    check(asked)


def test_lines_of_a_repeated_failure_are_shown() -> None:
    told = Asked("shown", rocky8().log_every(40, 16, 18, MULTICAST), ILL, f"{NIC} -")
    shown = [line for item in check(told).evidence for line in item.source]
    assert any(MULTICAST in line for line in shown), shown
