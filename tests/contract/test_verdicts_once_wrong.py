"""Whole nodes on which the verdict was wrong once, each beside a sibling that differs in what decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from bot.actions import ACTIONS
from bot.domain.node import Node
from bot.domain.verdict import Status, Verdict
from bot.probes import PROBES
from bot.response.diagnosis.triage import Triage
from bot.transport.replay import ReplayTransport
from tests.independent.cgroups import ecs_loops, kubelet_holds, starves
from tests.independent.facts import DAY, HOUR
from tests.independent.kinds import amazon2, edge, founding, gpu_node, metal, small
from tests.independent.machine import KUBELET, Machine
from tests.shipped import shipped

LEAK = "leaked-memory-cgroups"
CORE = 5


def judged(machine: Machine, playbook: str = "node-health") -> Verdict:
    triage = Triage(ReplayTransport(machine.case()), ACTIONS, lambda: datetime(2026, 11, 21, 12, 14, tzinfo=UTC))
    return asyncio.run(triage.diagnose(Node("node", "localhost"), shipped().get(playbook)))


def told(machine: Machine, playbook: str = "node-health") -> tuple[str, str | None, list[str]]:
    """Return status, cause and the plan's steps."""
    verdict = judged(machine, playbook)
    steps = [" ".join([step.action, *step.args.values()]) for step in (verdict.plan.steps if verdict.plan else ())]
    return verdict.status.value, verdict.cause, steps


def harmed(machine: Machine, dying: int = 68_440) -> Machine:
    """Let so many be dying, a core be held by the walk, and the card reset for want of that core."""
    return starves(kubelet_holds(machine.cgroups(240, dying), CORE), CORE, 900, 5400, 12)


def agent_churns(machine: Machine) -> Machine:
    image = "amazon/amazon-ecs-agent:latest"
    rows = [[f"{n * 64}|{image}|ecs-agent|2026-11-21 12:13:5{at} +0000 UTC|Up 9 seconds"] for at, n in enumerate("ab")]
    machine.service("ecs.service", Restart="on-failure", started_ago=11 * DAY - 60).agent("ecs.service")
    return machine.docker(rows[0], rows[1], {image: 44}).ecs(None, exits=68_300, every=13.9)


def certbot(machine: Machine) -> Machine:
    return machine.failed("certbot.service", "Certbot")


def test_nginx_that_broke_lately_is_not_blamed_for_eleven_days() -> None:
    nginx = amazon2(up=11 * DAY).loops("nginx.service", 100, 11.9)
    both = judged(agent_churns(harmed(nginx)))
    assert (both.cause, both.suspects[:1]) == (LEAK, ("ecs.service",))
    assert "nginx.service" not in str(both.plan)
    alone = amazon2(up=11 * DAY).loops("nginx.service", 100, 11.9).cgroups(240, 300)
    assert told(alone) == ("degraded", "crash-looping-unit", ["disable_unit nginx.service"])


def test_two_that_could_both_have_made_them_are_named_and_neither_is_offered() -> None:
    two = judged(ecs_loops(harmed(founding().loops("foo.service", 50_000, 15)), 68_300, 11.2))
    assert (two.cause, two.plan) == (LEAK, None)
    assert {"foo.service", "ecs.service"} <= set(two.suspects)
    one = judged(ecs_loops(harmed(founding()), 68_300, 11.2))
    assert one.plan is not None
    assert "ecs.service" in str(one.plan.steps[0])


@pytest.mark.parametrize(
    "name",
    [
        "k3s-agent",
        "rke2-agent",
        "snap.microk8s.daemon-kubelite",
        "k0sworker",
        "cri-docker",
        "etcd",
        "teleport",
        "sssd",
        "tailscaled",
        "frr",
        "slurmd",
        "munge",
        "amazon-ssm-agent",
        "wg-quick@wg0",
        "multipathd",
        "nvidia-fabricmanager",
        "ray",
    ],
)
def test_what_others_stand_on_is_never_offered(name: str) -> None:
    assert judged(harmed(founding().loops(f"{name}.service", 68_300, 11.2))).plan is None
    assert judged(founding().loops(f"{name}.service", 68_300, 11.2)).plan is None


def test_a_suspect_that_nothing_stands_on_is_offered() -> None:
    status, cause, steps = told(harmed(founding().loops("backup-agent.service", 68_300, 11.2)))
    assert (status, cause, steps[0]) == ("critical", LEAK, "disable_unit backup-agent.service")
    assert steps[-1] == "reboot"


SOFT = "watchdog: BUG: soft lockup - CPU#5 stuck for {}s! [java:4411]"


def test_a_stall_that_ended_is_one_past_episode_and_one_that_goes_on_is_not() -> None:
    rcu = "rcu: INFO: rcu_sched self-detected stall on CPU"
    past = Machine().log((610, SOFT.format(22)), (584, SOFT.format(48)), (550, rcu))
    assert told(past) == ("degraded", "lockup", [])
    paused = Machine().log(*((240 - core / 1e4, SOFT.format(41).replace("#5", f"#{core}")) for core in range(6)))
    assert told(paused) == ("degraded", "lockup", [])
    now = Machine().log((400, SOFT.format(22)), (60, SOFT.format(22)), (5, SOFT.format(48))).core(5, sys=100)
    status, cause, steps = told(now.process("java", sys=440, core=5, pid=4411, state="R"))
    assert (status, cause, steps[-1:]) == ("critical", "lockup", ["reboot"])


def test_slab_that_so_few_cannot_have_taken_is_no_harm_of_theirs() -> None:
    def node(dying: int, held_mib: int, left_mib: int) -> Machine:
        machine = small(memory_gib=4, up=5 * DAY).loops("push.service", dying - 50, 10.4)
        scope = {"system.slice/push.service": (dying - 20, dying - 20)}
        machine.cgroups(110, dying, below=scope)
        return machine.memory(SUnreclaim=held_mib * 900, Percpu=held_mib * 124, MemAvailable=left_mib * 1024)

    few, many = told(node(1_200, 435, 2_000)), told(node(41_000, 1_050, 190))
    assert "reboot" not in few[2]
    assert few[0] == "degraded"
    assert (many[0], many[1], many[2][-1:]) == ("critical", LEAK, ["reboot"])


def test_live_cgroups_of_pods_are_no_fault_and_those_of_nobody_are() -> None:
    assert told(Machine(cores=96, memory_gib=768).pods(300).cgroups(12_400, 60)) == ("healthy", None, [])
    walk = Machine().pods(8).log((60, "CPU: 3 PID: 2114 Comm: kubelet Not tainted 5.15.0 #1"))
    assert told(Machine().pods(8).cgroups(12_400, 60))[1] == "too-many-live-cgroups"
    assert told(walk.cgroups(12_400, 60))[2] == [], "an old trace of anything is no walk"


def test_live_cgroups_whose_containers_were_not_read_are_never_healthy() -> None:
    assert told(Machine().pods(8).cgroups(45_200, 60).without("containers"))[0] == "unknown"
    assert told(Machine().pods(8).cgroups(900, 60).without("containers"))[0] == "healthy"
    held = kubelet_holds(Machine(cores=96).pods(300).cgroups(12_400, 60), CORE)
    assert told(held)[0] == "unknown"


def test_a_rise_of_six_blames_nobody() -> None:
    def node(restarts: int) -> Machine:
        return Machine(up=30 * DAY).loops("push.service", restarts, 850).cgroups(210, 3_000, 3_006)

    few, many = judged(node(25)), judged(node(3_000))
    assert (few.cause, few.plan) == (LEAK, None)
    assert (many.cause, many.suspects, many.plan is not None) == (LEAK, ("push.service",), True)


def test_eleven_hundred_do_not_hold_a_core() -> None:
    few = judged(kubelet_holds(founding().loops("push.service", 1_050, 600).cgroups(240, 1_100), CORE))
    assert few.status is Status.DEGRADED
    assert "reboot" not in str(few.plan)
    assert any("not attributed to the dying cgroups" in evidence.says for evidence in few.evidence)
    assert "reboot" in str(judged(ecs_loops(harmed(founding()), 68_300, 11.2)).plan)


def test_side_cars_of_tasks_do_not_make_the_hosts_own_service_a_loop() -> None:
    image = "amazon/aws-for-fluent-bit:2.32"
    row = f"{'a' * 64}|{image}|ecs-web-log_router-1|2026-11-21 12:13:00 +0000 UTC|Up 1 minute"
    host = Machine(kubernetes=False).service("fluent-bit.service", Restart="always").agent("fluent-bit.service")
    assert told(host.docker([row], exits={image: 60})) == ("healthy", None, [])
    assert told(agent_churns(Machine(up=11 * DAY)))[1] == "crash-looping-unit"


def test_unpatched_hosts_grow_by_themselves_and_a_leak_grows_faster() -> None:
    def host(dying: int) -> Machine:
        return Machine(kernel="4.19.0-27-cloud-amd64", v1=True, up=7 * DAY, kubernetes=False).cgroups(190, dying)

    assert told(host(1_562)) == ("healthy", None, [])
    assert told(host(60_000))[1] == LEAK


def sick_gpu(code: int) -> Machine:
    line = f"NVRM: Xid (PCI:0000:3b:00): {code}, pid=41, name=python3, GPU has fallen off the bus."
    return gpu_node().gpus("0000:3b:00.0", "0000:af:00.0").log((60, line))


def tsc(source: str) -> Machine:
    line = (
        "clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large"
    )
    said = ("Leap status     : Normal", "System time     : 0.000021133 seconds slow of NTP time")
    return metal().log((HOUR, line)).clock("chronyd", *said, source=source, available="hpet acpi_pm")


def forks(ago: float) -> Machine:
    return Machine().log((ago, "cgroup: fork rejected by pids controller in /system.slice/jenkins.service"))


def waits(disk: int, io_some: float, writes: int) -> Machine:
    machine = gpu_node().all_cores(usr=92, sys=7).waiting(40, "dataloader", "io_schedule")
    return machine.disk("nvme3n1", disk, disk, writes=writes).pressure(io_some=io_some, io_full=0.5)


def root(options: str) -> Machine:
    return small(up=9 * DAY).mount(f"nvme0n1p1 ext4 {options},relatime /", "LABEL=root / ext4 defaults 0 1")


def kubelet(enabled: str) -> Machine:
    off = {"ActiveState": "inactive", "SubState": "dead", "UnitFileState": enabled}
    machine = Machine().health("000 7", "000 7").agent(KUBELET, enabled, "inactive", "dead")
    return machine.essential(KUBELET, later={}, changed_ago=25 * HOUR, **{**off, "Result": "success"})


def killed(every: float, count: int) -> Machine:
    line = "Memory cgroup out of memory: Killed process 7{n}1 (python3) total-vm:9000kB, anon-rss:8000kB, UID:0"
    return Machine().log_every(12, every, count, line)


def thrashes(left: int, scanned: int) -> Machine:
    machine = Machine().memory(MemAvailable=left, MemFree=left // 2).vmstat(pgscan_direct=(8_000, 8_000 + scanned))
    return machine.core(7, sys=99).process("kswapd0", sys=440, core=7, pid=212, kernel=True, state="R")


def stolen(cores: int, steal: float) -> Machine:
    machine = gpu_node()
    for core in range(40, 40 + cores):
        machine.core(core, steal=steal, usr=50)
    return machine


@pytest.mark.parametrize(
    ("machine", "sick", "sibling"),
    [
        (sick_gpu, (79, "gpu-fault"), (31,)),
        (tsc, ("hpet", "clock-unsynced"), ("tsc",)),
        (forks, (40, "pid-or-fd-exhaustion"), (6 * DAY,)),
        (waits, (40, 42.0, 0, "io-stall"), (40, 42.0, 41_000)),
        (root, ("ro", "filesystem-read-only"), ("rw",)),
        (kubelet, ("enabled", "essential-unit-stopped"), ("masked",)),
        (killed, (30, 20, "oom-kills"), (2 * HOUR, 2)),
        (thrashes, (500_000, 900_000, "memory-reclaim"), (30_000_000, 900)),
        (stolen, (4, 45.0, "cpu-steal"), (4, 1.0)),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_called_healthy_once(
    machine: Callable[..., Machine], sick: tuple[object, ...], sibling: tuple[object, ...]
) -> None:
    *arguments, cause = sick
    assert told(machine(*arguments))[1] == cause
    assert told(machine(*sibling))[:2] == ("healthy", None)


def test_an_interface_that_is_held_is_told_while_it_is_held() -> None:
    line = "unregister_netdevice: waiting for eth0 to become free. Usage count = 2"
    assert told(Machine().log_every(4, 10, 30, line)) == ("degraded", None, [])
    assert told(Machine().log_every(4, 10, 2, line))[0] == "healthy", "a release that took ten seconds"
    assert told(Machine().log_every(2 * HOUR, 10, 30, line))[0] == "healthy"
    assert told(Machine().log_every(4, 10, 30, line.replace("= 2", "= 0")))[0] == "healthy"


def test_an_efa_device_that_does_not_answer_is_a_fault_of_the_network_card() -> None:
    line = "infiniband rdmap16s27: The device didn't send any completion for admin cmd CREATE_QP(6) status 0 (id: 3)"
    assert told(gpu_node().log((300, line))) == ("degraded", "nic-device-fault", [])
    assert told(gpu_node().log((2 * DAY, line)))[0] == "healthy"
    assert told(gpu_node().log((300, "infiniband mlx5_0: Wait for completion (polling) timeout")))[0] == "healthy"


def test_only_cores_and_cgroups_read_is_unknown() -> None:
    assert told(Machine().without(*(PROBES.keys() - {"cpu", "cgroups"})))[0] == "unknown"
    assert told(Machine())[0] == "healthy"


def test_a_failed_unit_hides_neither_what_was_not_read_nor_a_leak() -> None:
    unread = judged(certbot(kubelet_holds(founding(), CORE).without("cgroups")))
    assert unread.status is Status.UNKNOWN
    assert LEAK in {each.cause for each in unread.undecided}
    assert judged(certbot(founding().cgroups(240, 68_440))).cause == LEAK
    assert told(certbot(founding())) == ("degraded", "failed-units", [])


def test_the_gate_fails_an_image_that_would_loop_and_lets_the_others_pass() -> None:
    def image(*lines: str) -> Machine:
        return Machine(up=240, kubernetes=False).boot_units("kubelet /usr/bin/kubelet", *lines)

    assert told(image("multi-user.target.wants/ecs.service"), "image-gate")[:2] == ("degraded", "unused-agent-enabled")
    assert told(image("multi-user.target.wants/chronyd.service"), "image-gate")[:2] == ("healthy", None)
    assert told(edge())[:2] == ("healthy", None)
