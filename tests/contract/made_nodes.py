"""The nodes of `made`: `= title | machine | statuses | causes`, and what else may be said, as the fields of `Asked`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.contract.asked import Asked, scheduled, shown, uncounted
from tests.independent.cgroups import kubelet_holds, starves
from tests.independent.facts import DAY, NOW
from tests.independent.machine import Machine
from tests.independent.rows import HELPERS, Row, rows

FOLDER = Path(__file__).with_name("made")
CORE = 5
XID = "NVRM: Xid (PCI:0000:3b:00): {}, pid=41, name=python3, {}"
FELL = XID.format(79, "GPU has fallen off the bus.")
ASKS = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
STUCK = "watchdog: BUG: soft lockup - CPU#{} stuck for 22s! [{}:4411]"
BROKE = "EXT4-fs error (device nvme0n1p1): ext4_journal_check_start:84: comm kubelet: Detected aborted journal"
SHUT = "EXT4-fs (nvme0n1p1): Remounting filesystem read-only"


def harmed(machine: Machine, dying: int = 68_440) -> Machine:
    """Let so many be dying, a core be held by the walk, and the card reset for want of that core."""
    return starves(kubelet_holds(machine.cgroups(240, dying), CORE), CORE, 900, 5400, 12)


def agent_churns(machine: Machine) -> Machine:
    """Let the ECS agent's container end and begin again inside one unit that runs."""
    image = "amazon/amazon-ecs-agent:latest"
    rows = [[f"{n * 64}|{image}|ecs-agent|2026-11-21 12:13:5{at} +0000 UTC|Up 9 seconds"] for at, n in enumerate("ab")]
    machine.service("ecs.service", Restart="on-failure", started_ago=11 * DAY - 60).agent("ecs.service")
    return machine.docker(rows[0], rows[1], {image: 44}).ecs(None, exits=68_300, every=13.9)


def registered(machine: Machine, ago: float) -> Machine:
    """Let the ECS agent's log tell when it last worked."""
    at = datetime.fromtimestamp(NOW - ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = f'level=info time={at} msg="Registered container instance with cluster!"'
    machine.facts.agent_files += f"==> /var/log/ecs/ecs-agent.log <==\n{line}\n"
    return machine


def walks(machine: Machine, ago: float) -> Machine:
    """Let a call trace of that age be in the walk over memory cgroups."""
    machine.log((ago, "CPU: 7 PID: 2114 Comm: kubelet Not tainted 5.4.0-1084-aws #91"))
    machine.log((ago - 0.01, "RIP: 0010:mem_cgroup_node_nr_lru_pages+0x6a/0xa0"))
    return machine.log((ago - 0.02, " memcg_numa_stat_show+0x16e/0x1f0"))


def broken_root(machine: Machine) -> Machine:
    """Let a root have been shut by its file system after an error."""
    machine.fstab("UUID=6a1e / ext4 defaults 0 1").mount("nvme0n1p1 ext4 ro,relatime /")
    return machine.log((900, BROKE), (899.9, SHUT))


def gone_gpu(machine: Machine, ago: float = 600) -> Machine:
    """Let a GPU have fallen off, and ask for a reboot by the driver's own word (Xid 154)."""
    machine.gpus("0000:3b:00.0", "0000:af:00.0", listed=("0000:af:00.0",))
    return machine.log((ago, FELL), (ago - 1, XID.format(154, ASKS)))


def stalls(machine: Machine, core: int = 5, who: str = "python3") -> Machine:
    """Let a core be stuck three times, and held now."""
    return machine.log(*((ago, STUCK.format(core, who)) for ago in (420, 210, 12))).core(core, sys=100)


def paced(machine: Machine, every: float, count: int, newest: float, driver: str) -> Machine:
    """Let an old driver reset the card: it knows that the card was silent, and not why."""
    ended = f"ena 0000:20:03.0: Device reset completed successfully, Elastic Network Adapter (ENA) v{driver}"
    card = "ena 0000:20:03.0 eth0:"
    for at, line in enumerate((f"{card} Keep alive watchdog timeout.", f"{card} Trigger reset is on", ended)):
        machine.log_every(newest - at / 1000, every, count, line)
    return machine


_OF_MADE = (harmed, paced, uncounted, shown, scheduled, agent_churns, registered, walks, broken_root, gone_gpu, stalls)
_HELPERS = HELPERS | {each.__name__: each for each in _OF_MADE}


def made(name: str) -> list[Asked]:
    """Return the nodes of a file, in its order."""
    return [_asked(each) for each in rows(FOLDER / f"{name}.txt", _HELPERS)]


def _asked(read: Row) -> Asked:
    status, cause = read.said
    return Asked(read.title, read.machine, status, cause, **read.named)
