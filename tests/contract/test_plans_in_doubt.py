"""Whole nodes where it is in doubt what is to be done, or somebody is at work already: less is offered, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.asked import FAILED, LEAK, LOOP, OFF, STOPPED, Asked, check
from tests.contract.test_plans_not_earned import CURE, FELL, GPU, STILL, XID, host
from tests.contract.test_units_not_earned import scheduled
from tests.contract.test_verdicts_once_wrong import harmed, told
from tests.independent.cgroups import ecs_loops
from tests.independent.facts import DAY, HOUR
from tests.independent.kinds import database, founding, google, gpu_node, guest, metal, rocky8, small
from tests.independent.machine import KUBELET, Machine

DEAD = ("000 7", "000 7")  # the kubelet's own check: nobody listens


def spread(starts: int = 14_000, **slices: int) -> Machine:
    """Let the dead take a quarter of a small machine, so many below each slice, beside a unit that loops."""
    machine = small(memory_gib=4, up=12 * DAY, kernel="5.15.0-1052-aws").loops("foo.service", starts, 60, again="1min")
    machine.cgroups(120, 41_000, 41_000, {f"{name}.slice": (figure, figure) for name, figure in slices.items()})
    return machine.memory(MemAvailable=190_000, MemFree=150_000, SUnreclaim=700_000, Percpu=330_000, Slab=760_000)


def stuck(core: int, seconds: int, who: str) -> str:
    return f"watchdog: BUG: soft lockup - CPU#{core} stuck for {seconds}s! [{who}:4411]"


def paused(machine: Machine, *ago: float, apart: float, seconds: int = 25) -> Machine:
    """Let the hypervisor hold the machine, and a serial console print the cores' traces so many seconds apart."""
    for at in ago:
        machine.log(*((at - core * apart, stuck(core, seconds, f"app-{core}")) for core in range(8)))
    return machine


def ci(*ids: str) -> list[str]:
    return [f"{at * 64}|ci/job:1|job|2026-11-21 12:13:5{n} +0000 UTC|Up 9 seconds" for n, at in enumerate(ids)]


def counted_before() -> Machine:
    machine = founding().nic(total_resets=(12, 12), suspected_poll_starvation=(9, 9))
    return ecs_loops(machine.cgroups(240, 68_440), 68_300, 11.2).without("kernel_log")


def frantic() -> Machine:
    machine = database(up=3 * HOUR).cgroups(200, 3_480, 3_489)
    told: dict[str, Any] = {"Restart": "always", "NRestarts": 3_450, "started_ago": 0.3}
    again = {"NRestarts": 3_459, "ExecMainStartTimestampMonotonic": int((3 * HOUR + 4.9) * 1e6)}
    return machine.service("metrics-shipper.service", again, **told)


def two_agents() -> Machine:
    machine = ecs_loops(harmed(founding()), 68_300, 11.2).loops("datadog-agent.service", 60_000, 12)
    return machine.agent("datadog-agent.service", "enabled", "activating", "auto-restart")


def stopped_by_hand() -> Machine:
    told: dict[str, Any] = STILL | {"StateChangeTimestampMonotonic": int((9 * DAY - 300) * 1e6)}
    return harmed(founding()).service("push.service", Restart="always", NRestarts=68_300, **told)


def is_off(name: str, machine: Machine, *health: str, **told: Any) -> Machine:
    return machine.essential(name, changed_ago=HOUR, **(STILL | told)).health(*(health or DEAD))


def failed(name: str, machine: Machine, **told: Any) -> Machine:
    return machine.failed(name, **told).essential(name, changed_ago=HOUR, **OFF).health(*DEAD)


LEAKERS = [
    # cgroup-v2.rst, nr_dying_descendants: each start leaves the unit's own cgroup in its slice.
    Asked("most are in no slice", spread(system=12_000, user=15_000, machine=14_000), "critical", LEAK),
    Asked("most are in another slice", spread(system=12_000, machine=28_000), "critical", LEAK),
    Asked("its own slice has none to speak of", spread(machine=28_000, user=13_000), "critical", LEAK),
    Asked("most are in its slice", spread(system=40_000), "critical", LEAK, CURE),
    Asked(
        "a user's services left them",
        database()
        .loops("foo.service", 8_900, 60, again="1min")
        .cgroups(200, 9_000, 9_004, {"user.slice": (8_900, 8_904), "user.slice/user-1000.slice": (8_900, 8_904)}),
        "degraded",
        f"{LEAK} {LOOP}",
        "disable",
    ),
    Asked(
        "a container within the same slice left them",
        database()
        .loops("backup.service", 8_900, 60, again="1min")
        .cgroups(240, 9_000, 9_000, {"system.slice": (8_950, 8_950), "system.slice/docker-1f.scope": (8_900, 8_900)}),
        "degraded",
        f"{LEAK} {LOOP}",
        "disable",
    ),
    Asked(
        "a machine of systemd-nspawn left them",
        database().cgroups(240, 9_000, 9_000, {"machine.slice/systemd-nspawn@ci.service": (8_900, 8_900)}),
        "degraded",
        LEAK,
    ),
    Asked(
        "resets were counted at some time, and the log was not read",
        counted_before(),
        "unknown",
    ),
    Asked(
        "whether anybody needs the agent was not read",
        ecs_loops(harmed(founding()), 68_300, 11.2).without("agents"),
        "critical",
        LEAK,
    ),
    Asked(
        "a kernel of one's own, whose version nobody knows",
        ecs_loops(harmed(founding(kernel="custom")), 68_300, 11.2),
        "degraded critical",
        LEAK,
        "disable",
    ),
    Asked("memory was not read", spread(system=40_000).without("reclaim"), "degraded unknown", f"{LEAK} -", "disable"),
    Asked("two agents loop, and either could have", two_agents(), "critical", LEAK),
    Asked("somebody stopped it five minutes ago", stopped_by_hand(), "critical", LEAK),
    Asked(
        "it loops for twenty minutes, and they are of eleven days",
        harmed(founding()).loops("push.service", 100, 11.9),
        "critical",
        LEAK,
    ),
    Asked("the kubelet itself loops", harmed(founding()).loops(KUBELET, 68_300, 11.2), "critical", f"{LEAK} {LOOP}"),
    Asked(
        "a name with an escape",
        harmed(founding()).loops(r"app-\x2dprod@a\x20b.service", 68_300, 11.2),
        "critical",
        LEAK,
        CURE,
    ),
    Asked(
        "jobs of a CI host end, and no unit runs them",
        harmed(host()).docker(ci("a"), ci("b"), {"ci/job:1": 60}),
        "critical",
        LEAK,
    ),
    Asked(
        "pods end beside what looped long ago",
        Machine(up=200 * DAY)
        .service("vector.service", Restart="always", NRestarts=3_400, started_ago=6 * DAY)
        .cgroups(240, 3_000, 3_060),
        "degraded",
        LEAK,
    ),
    Asked(
        "runs of an hour, seven thousand of them",
        harmed(founding(up=300 * DAY)).service("etl.service", Restart="on-failure", NRestarts=7_000, started_ago=1800),
        "critical",
        LEAK,
    ),
    # systemd.service(5): RestartSec=100ms is the default. What ends twice a second is no poller, however it ends.
    Asked("it is started twice a second", frantic(), "degraded", LEAK, "disable"),
    Asked(
        "they are being freed",
        harmed(founding()).loops("push.service", 68_300, 11.2).cgroups(240, 68_440, 50_000),
        "critical",
        LEAK,
        "disable",
    ),
]

STALLS = [
    # Documentation/admin-guide/serial-console.rst: 11 kB a second, and a trace has some kB.
    Asked("a pause that a slow console prints", paused(guest(), 480, 190, apart=0.45), "degraded", "lockup"),
    Asked("a pause of eight hours", paused(guest(), 100, apart=1e-4, seconds=28_800), "degraded", "lockup"),
    Asked("one stall of a guest, just over", guest().log((90, stuck(3, 26, "mysqld"))), "degraded", "lockup"),
    Asked(
        "stalls every twenty minutes",
        gpu_node().log(*((at, stuck(3, 22, "x")) for at in (4200, 3000, 1800, 700))),
        "degraded",
        "lockup",
    ),
    Asked(
        "stalls whose cores were not read",
        small().log((480, stuck(1, 22, "x")), (190, stuck(1, 22, "x"))).without("cpu"),
        "critical unknown",
        "lockup -",
    ),
    Asked(
        "lines that are ahead of the clock",
        gpu_node().log((-10, stuck(3, 22, "x")), (-400, stuck(3, 22, "x"))),
        "degraded critical",
        "lockup",
    ),
]

STARTS = [
    # Somebody is at work, or has been: an upgrade, a decommission, a mask.
    Asked(
        "a package replaces containerd",
        Machine().essential(
            "containerd.service",
            {"ActiveState": "activating", "SubState": "start"},
            changed_ago=4,
            ActiveState="deactivating",
            SubState="stop-sigterm",
        ),
        "healthy unknown",
    ),
    Asked(
        "the kubelet comes back as one looks",
        Machine().essential(KUBELET, {"ActiveState": "active"}, changed_ago=3, **STILL).health("000 7", "200 0"),
        "healthy unknown",
    ),
    Asked("a kubelet that was disabled", is_off(KUBELET, Machine(), UnitFileState="disabled"), "healthy unknown"),
    Asked(
        "a kubelet that is masked until the next boot",
        is_off(KUBELET, Machine(), UnitFileState="masked-runtime"),
        "healthy unknown",
    ),
    Asked("it failed after ten restarts", failed(KUBELET, Machine(), NRestarts=10), "critical", f"{STOPPED} {FAILED}"),
    Asked(
        "it failed after restarts that only the journal has",
        scheduled(failed(KUBELET, Machine()), KUBELET, 3000, 10, 6),
        "critical",
        f"{STOPPED} {FAILED}",
    ),
    Asked("how often it was restarted was not read", failed(KUBELET, Machine()).without("units"), "critical", STOPPED),
    Asked(
        "the network script of old beside NetworkManager",
        failed("network.service", rocky8().essential("NetworkManager.service")),
        "degraded",
        f"{STOPPED} {FAILED}",
    ),
    Asked(
        "a node of ninety seconds", Machine(up=90).essential(KUBELET, changed_ago=80, **STILL).health(*DEAD), "unknown"
    ),
]

OTHERS = [
    Asked(
        "the silent GPU is not the one that fell off",
        gpu_node().gpus("0000:af:00.0", "0000:3b:00.0", listed=("0000:3b:00.0",)).log((20 * DAY, FELL)),
        "critical",
        GPU,
        "cordon",
    ),
    Asked(
        "the driver asked for a reboot and took it back",
        gpu_node()
        .gpus("0000:3b:00.0")
        .log(
            (900, XID.format(154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")),
            (300, XID.format(154, "GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)")),
        ),
        "healthy",
    ),
    Asked(
        "nvidia-smi may not look",
        gpu_node().gpus(
            "0000:3b:00.0", smi="==> /gpus <==\nInsufficient Permissions\nstatus 4\n==> /rows <==\n-- end --\n"
        ),
        "unknown",
    ),
    Asked(
        "Flatcar's /usr takes no writes",
        Machine(system="Flatcar").fstab().mount("dm-0 btrfs ro,seclabel /usr").mount("sda9 ext4 rw /"),
        "healthy",
    ),
    Asked(
        "Google's root takes no writes",
        google().fstab().mount("dm-0 ext2 ro,relatime /").room("/", 2, 10, 0, 0, "/dev/root").room("/var", 90, 60),
        "healthy",
    ),
    Asked("resets of long ago", Machine().nic(total_resets=(12, 12), suspected_poll_starvation=(9, 9)), "healthy"),
    Asked(
        "what ends well every half hour",
        database().service("chef-client.service", Restart="always", NRestarts=5_200, started_ago=900),
        "healthy degraded",
        f"- {LOOP}",
        sure=False,
    ),
    Asked(
        "every five minutes, an hour so far",
        database().loops("api.service", 12, 300, again="5min"),
        "degraded",
        LOOP,
        "disable",
    ),
    Asked(
        "a local file system needs it",
        database().loops("luks-unlock.service", 8_000, 11, RequiredBy="local-fs.target"),
        "degraded",
        LOOP,
    ),
    Asked(
        "it is sshd by another name",
        metal().loops("acme-ssh.service", 8_000, 11, Names="acme-ssh.service sshd.service"),
        "degraded critical",
        LOOP,
    ),
    Asked(
        "whether anybody needs it was not read",
        database().loops("push.service", 8_000, 11).without("agents"),
        "degraded",
        LOOP,
    ),
    Asked(
        "what would stop with it is sshd by another name",
        database()
        .loops("keys.service", 8_000, 11, RequiredBy="acme-ssh.service")
        .service("acme-ssh.service", Names="acme-ssh.service sshd.service"),
        "degraded",
        LOOP,
    ),
    Asked(
        "a store of data needs it",
        database().loops("keys.service", 8_000, 11, RequiredBy="mysqld.service"),
        "degraded",
        LOOP,
    ),
    Asked(
        "a mount is bound to it",
        database().loops("keys.service", 8_000, 11, BoundBy="srv-data.mount"),
        "degraded",
        LOOP,
    ),
    Asked(
        "a path starts it",
        database().loops("keys.service", 8_000, 11, TriggeredBy="keys.path"),
        "degraded",
        LOOP,
        "mask",
    ),
    Asked(
        "two that need each other",
        database().loops("a.service", 8_000, 11, RequiredBy="b.service").service("b.service", RequiredBy="a.service"),
        "degraded",
        LOOP,
        "disable",
    ),
]


@pytest.mark.parametrize("asked", [*LEAKERS, *STALLS, *STARTS, *OTHERS], ids=lambda asked: str(asked.title))
def test_in_doubt_less_is_offered(asked: Asked) -> None:
    check(asked)


@pytest.mark.parametrize("playbook", ["node-health", "zombie-cgroups", "network-resets", "packet-waits"])
def test_playbook_that_does_not_look_at_memory_reboots_nothing_over_it(playbook: str) -> None:
    def steps(*lines: tuple[float, str]) -> list[str]:
        return told(metal().log((480, stuck(9, 22, "python3")), (190, stuck(9, 22, "python3")), *lines), playbook)[2]

    assert steps() == ["reboot"]
    assert steps((500, "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)")) == []


def test_what_is_started_twice_a_second_may_be_stopped() -> None:
    plan = check(Asked("it is started twice a second", frantic(), "degraded", LEAK, "disable")).plan
    assert plan is not None
