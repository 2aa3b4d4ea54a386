"""A machine at rest, and what its services, agents, containers and devices can be made to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self

from bot.domain.case import Case
from tests.independent.facts import DAY, HOUR, NOW, Facts
from tests.independent.load import Load
from tests.independent.recording import recording

KUBELET = "kubelet.service"


class Machine(Load):
    """By default an EC2 instance of 16 cores and 64 GiB, nine days up, with a kubelet, containerd and an ENA card."""

    def __init__(
        self,
        *,
        kernel: str = "6.1.127-135.201.amzn2023.x86_64",
        system: str = "Amazon Linux 2023.6.20250123",
        cores: int = 16,
        memory_gib: float = 64,
        up: float = 9 * DAY,
        v1: bool = False,
        kubernetes: bool = True,
        maker: str = "Amazon EC2",
        product: str = "m6i.4xlarge",
        virt: str = "amazon",
        clocksource: str = "tsc",
        driver: str = "ena",
        systemd: str = "systemd 252 (252.23)",
        busy: float = 12,
    ) -> None:
        total = int(memory_gib * 1024 * 1024)
        queues = {queue: queue for queue in range(min(cores, 8))}
        sources = {"tsc": "tsc kvm-clock acpi_pm", "xen": "xen tsc hpet acpi_pm"}
        self.facts = Facts(
            kernel=kernel,
            system=system,
            cores=cores,
            up=float(up),
            v1=v1,
            kubernetes=kubernetes,
            maker=maker,
            product=product,
            virt=virt,
            source=clocksource,
            sources=sources.get(clocksource, f"{clocksource} acpi_pm"),
            driver=driver,
            systemd=systemd,
            shares=[[{"usr": busy, "sys": busy / 6} for _ in range(cores)] for _ in range(5)],
            memory={
                "MemTotal": total,
                "MemFree": total // 3,
                "MemAvailable": total * 6 // 10,
                "Slab": total // 75,
                "SReclaimable": total // 110,
                "SUnreclaim": total // 220,
                "Percpu": 2200 * cores,
            },
            softnet=[(4000, 0, 0) for _ in range(cores)],
            health=["200 0", "200 0"] if kubernetes else ["000 7", "000 7"],
            certificates=(
                {"/var/lib/kubelet/pki/kubelet-client-current.pem": (-8 * DAY, 357 * DAY, "kubernetes")}
                if kubernetes
                else {}
            ),
            queues=queues,
            irqs=dict.fromkeys(queues, 900),
        )
        self.service("sshd.service").service("chronyd.service")
        self.service("systemd-journald.service", UnitFileState="static")
        self.essential("systemd-networkd.service").agent("amazon-ssm-agent.service")
        if kubernetes:
            self.service("containerd.service", Restart="always").service(KUBELET, Restart="always", RestartUSec="10s")
            self.process("kubelet", usr=9, sys=6, core=2, pid=2114, threads=40)
            self.essential(KUBELET).essential("containerd.service")
            self.agent(KUBELET).pods(8)

    # Units, agents, containers.

    def service(self, name: str, later: Mapping[str, object] | None = None, **told: object) -> Self:
        """Add a service that systemd shows; `started_ago` sets when its run began."""
        began = int((self.facts.up - float(str(told.pop("started_ago", self.facts.up - 12)))) * 1e6)
        self.facts.units[name] = {
            "Restart": "no",
            "RestartUSec": "100ms",
            "Result": "success",
            "NRestarts": 0,
            "ExecMainStartTimestampMonotonic": began,
            "ExecMainCode": 0,
            "ExecMainStatus": 0,
            "ControlGroup": f"/system.slice/{name}",
            "Id": name,
            "Names": name,
            "PartOf": "",
            "RequiredBy": "",
            "WantedBy": "multi-user.target",
            "TriggeredBy": "",
            "Description": name.removesuffix(".service"),
            "LoadState": "loaded",
            "ActiveState": "active",
            "SubState": "running",
            "FragmentPath": f"/usr/lib/systemd/system/{name}",
            "UnitFileState": "enabled",
            "StateChangeTimestampMonotonic": began,
        } | told
        self.facts.units_later[name] = self.facts.units[name] | dict(later or {})
        return self

    def loops(
        self, name: str, restarts: int, every: float, *, status: int = 1, again: str = "10s", **told: object
    ) -> Self:
        """Add a service that dies and is started again every so many seconds, now between two runs."""
        shown: dict[str, Any] = {
            "ActiveState": "activating",
            "SubState": "auto-restart",
            "Result": "exit-code",
            "Restart": "on-failure",
            "RestartUSec": again,
            "NRestarts": restarts,
            "ExecMainCode": 1,
            "ExecMainStatus": status,
        } | told
        later: dict[str, Any] = {"NRestarts": restarts + 1} if every <= 6 else {}
        self.service(name, later, started_ago=min(every, 9), **shown)
        count = int(min(HOUR, every * restarts) // every)
        self.facts.restarts += [
            (
                every * (count - 1 - n) + 2,
                f"systemd[1]: {name}: Scheduled restart job, restart counter is at {restarts - count + 1 + n}.",
            )
            for n in range(count)
        ]
        return self

    def failed(self, name: str, description: str = "", **told: object) -> Self:
        """Add a unit that failed; a service is shown as well."""
        kind = name.rpartition(".")[2]
        self.facts.failed.append(f"{name} loaded failed failed {description or name}")
        if kind == "service":
            shown: dict[str, Any] = {
                "ActiveState": "failed",
                "SubState": "failed",
                "Result": "exit-code",
                "ExecMainCode": 1,
                "ExecMainStatus": 1,
            }
            self.service(name, **(shown | told))
        return self

    def essential(
        self, name: str, later: Mapping[str, object] | None = None, changed_ago: float | None = None, **told: object
    ) -> Self:
        """Set a unit without which the node takes no work."""
        changed = int((self.facts.up - (self.facts.up - 15 if changed_ago is None else changed_ago)) * 1e6)
        self.facts.essential[name] = {
            "Id": name,
            "LoadState": "loaded",
            "ActiveState": "active",
            "SubState": "running",
            "Result": "success",
            "UnitFileState": "enabled",
            "ConditionResult": "yes",
            "ConditionTimestampMonotonic": 11_000_000,
            "StateChangeTimestampMonotonic": changed,
            "TriggeredBy": "",
        } | told
        self.facts.essential_later[name] = self.facts.essential[name] | dict(later or {})
        if name in self.facts.units and self.facts.essential[name]["ActiveState"] == "inactive":
            del self.facts.units[name]
        return self

    def health(self, *answered: str) -> Self:
        """Set the kubelet's own check at both looks: curl's HTTP code and exit status."""
        self.facts.health = list(answered)
        return self

    def agent(self, unit: str, enabled: str = "enabled", active: str = "active", sub: str = "running") -> Self:
        """Add a platform agent, or a kubelet, as the lists of units tell it."""
        self.facts.agents[unit] = (enabled, active, sub)
        return self

    def ecs(
        self, cluster: str | None = None, exits: int = 0, every: float = 11, code: int = 1, registered: bool = False
    ) -> Self:
        """Set the ECS agent's configuration and log; `cluster` None: no such line."""
        text = "==> /etc/ecs/ecs.config <==\n" + (f"ECS_CLUSTER={cluster}\n" if cluster else "")
        told = [
            f"{_clock(NOW - 3 - every * n)} [INFO] Agent exited with code {code}"
            for n in reversed(range(min(exits, 300)))
        ]
        text += "==> /var/log/ecs/ecs-init.log <==\n" + "".join(f"{line}\n" for line in told)
        if registered:
            line = f'level=info time={_clock(NOW - 8 * DAY)} msg="Registered container instance with cluster!"'
            text += f"==> /var/log/ecs/ecs-agent.log <==\n{line}\n"
        self.facts.agent_files = text + f"==> /failed-runs <==\n{exits}\n"
        return self

    def boot_units(self, *said: str) -> Self:
        """Set what an image's folders say of the next boot, one line each."""
        self.facts.boot_units = list(said)
        return self

    def docker(
        self, rows: Sequence[str], later: Sequence[str] | None = None, exits: Mapping[str, int] | None = None
    ) -> Self:
        """Set docker's containers, `id|image|name|created|status`, and how often an image's container died of late."""
        self.facts.docker = [list(rows), list(rows if later is None else later)]
        self.facts.exits = [f"{image}|1" for image, count in (exits or {}).items() for _ in range(count)]
        self.facts.cri = None
        return self

    def pods(self, count: int, *others: tuple[str, str, str, int, float]) -> Self:
        """Set the containers of the CRI; others are image, name, state, attempt and age in seconds."""
        rows = [
            ("registry.example/app:1", f"app-{n}", "CONTAINER_RUNNING", 0, min(self.facts.up - 60, DAY))
            for n in range(count)
        ]
        listed: list[dict[str, object]] = []
        for at, (image, name, state, attempt, age) in enumerate([*rows, *others]):
            labels = {
                "io.kubernetes.container.name": "c",
                "io.kubernetes.pod.name": name,
                "io.kubernetes.pod.namespace": "prod",
            }
            row: dict[str, object] = {
                "id": f"{at:064x}",
                "podSandboxId": f"{at:064x}",
                "metadata": {"name": "c", "attempt": attempt},
            }
            row |= {"image": {"image": image}, "imageRef": "sha256:1", "state": state, "labels": labels}
            listed.append(row | {"createdAt": str(int((NOW - age) * 1e9))})
        self.facts.cri = [listed, listed]
        return self

    # Devices and limits.

    def no_irqbalance(self) -> Self:
        """Let nobody spread the interrupts."""
        self.facts.irqbalance = "no"
        return self

    def consoles(self, text: str, level: int) -> Self:
        """Set /proc/consoles, and which messages reach them."""
        self.facts.consoles, self.facts.log_level = text, level
        return self

    def nic(self, **counters: tuple[int, int]) -> Self:
        """Set counters of the card at both looks."""
        self.facts.nic.update(counters)
        return self

    def served(self, cores: Mapping[int, int], rises: Mapping[int, int] | None = None) -> Self:
        """Say which core serves each queue, and how often each interrupted in the window."""
        self.facts.queues = dict(cores)
        self.facts.irqs = dict.fromkeys(cores, 900) | dict(rises or {})
        return self

    def packets(self, core: int, processed: int, dropped: int = 0, squeezed: int = 0) -> Self:
        """Set what one core's backlog did within the window."""
        self.facts.softnet[core] = (processed, dropped, squeezed)
        return self

    def conntrack(self, count: int, most: int) -> Self:
        """Set the table of connections."""
        self.facts.conntrack = (count, most)
        return self

    def untracked(self) -> Self:
        """Track no connections."""
        self.facts.conntrack = None
        return self

    def clock(self, keeper: str, *said: str, source: str = "", available: str = "") -> Self:
        """Set who keeps the time and what he says."""
        self.facts.clock = (keeper, list(said))
        self.facts.source, self.facts.sources = source or self.facts.source, available or self.facts.sources
        return self

    def certificate(self, path: str, began: float, ends: float, issuer: str = "kubernetes") -> Self:
        """Set a certificate; `own`: the kubelet signed it itself. Units: seconds from now."""
        self.facts.certificates[path] = (began, ends, issuer)
        return self

    def dns(self, *servers: tuple[str, str]) -> Self:
        """Set the name servers and the codes of their answers."""
        self.facts.dns = list(servers)
        return self

    def ebs(self, device: str, before: Mapping[str, int], rise: Mapping[str, int], queue: int = 0) -> Self:
        """Add an EBS volume. Units: microseconds for which it was held at a limit, ever and within the window."""
        after = {name: before.get(name, 0) + rise.get(name, 0) for name in {*before, *rise}}
        self.facts.ebs[device] = (dict(before), after, queue)
        return self

    def mount(self, line: str, fstab: str = "") -> Self:
        """Add a mount, `device type options point`; one at the same point is replaced."""
        point = line.rpartition(" ")[2]
        self.facts.mounts = [each for each in self.facts.mounts if each.rpartition(" ")[2] != point] + [line]
        if fstab:
            self.facts.fstab = [each for each in self.facts.fstab if each.split()[1] != point] + [fstab]
        return self

    def fstab(self, *lines: str) -> Self:
        """Set what /etc/fstab asks for."""
        self.facts.fstab = list(lines)
        return self

    def room(
        self, point: str, gib: float, free: float, inodes: int = 50_000_000, free_inodes: float = 98, device: str = ""
    ) -> Self:
        """Set how full a file system is. Units: percent free."""
        blocks = int(gib * 1024 * 1024)
        row = (
            device or f"/dev/disk{len(self.facts.rooms)}",
            blocks,
            int(blocks * free / 100),
            inodes,
            int(inodes * free_inodes / 100),
            point,
        )
        self.facts.rooms = [each for each in self.facts.rooms if each[5] != point] + [row]
        return self

    def kubelet_limits(self, *lines: str) -> Self:
        """Set the kubelet's own limits."""
        self.facts.kubelet_config = list(lines)
        return self

    def gpus(
        self,
        *buses: str,
        smi: str | None = None,
        listed: Sequence[str] | None = None,
        ecc: Mapping[str, int] | None = None,
        rows: Mapping[str, str] | None = None,
        actions: Mapping[str, str] | None = None,
        end: str = "status 0",
        replace: Sequence[str] = (),
    ) -> Self:
        """Set the GPUs on the bus and what nvidia-smi says of them; `smi` is its whole answer where it is another."""
        self.facts.gpus = [f"{bus} 0x030200 nvidia" for bus in buses]
        answer = [bus for bus in buses if listed is None or bus in listed]
        lines = [
            "==> /gpus <==",
            *(f"0000{bus.upper()}, {(ecc or {}).get(bus, 0)}" for bus in answer),
            end,
            "==> /rows <==",
        ]
        lines += [f"0000{bus.upper()}, {(rows or {}).get(bus, 'No, No')}" for bus in answer]
        lines.append("==> /actions <==")
        for bus in answer:
            lines += [
                f"GPU 0000{bus.upper()}",
                f"        SRAM Threshold Exceeded           : {'Yes' if bus in replace else 'No'}",
            ]
            lines.append(f"    GPU Recovery Action                   : {(actions or {}).get(bus, 'None')}")
        self.facts.smi = "\n".join([*lines, "-- end --", ""]) if smi is None else smi
        return self

    def smi_hangs(self) -> Self:
        """Let nvidia-smi never come back."""
        self.facts.smi = None
        return self

    def unfinished(
        self, *lines: str, boot: Sequence[str] = ("file vmlinuz-6.1.0-28", "file initrd.img-6.1.0-28")
    ) -> Self:
        """Set what is at work or half done before a reboot, a line each, and the files of the next boot."""
        text = "\n".join([*lines, *(f"boot {each}" for each in boot), "-- end --", ""])
        self.facts.instead[("unfinished", "look")] = (text,)
        return self

    def without(self, *probes: str) -> Self:
        """Leave what these probes ask unanswered."""
        self.facts.without.update(probes)
        return self

    def case(self) -> Case:
        """Return the recording."""
        return recording(self.facts)


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
