"""What a simulated node prints for each command of each probe, and of actions, computed from its state.

A simulated node has no shell: it knows a probe's commands by their words, and answers as a real machine in this state
would. What a probe says itself that a healthy node prints (`Probe.example`) needs nothing here.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from bot.demo.machine import cpu, kernel_log, network, proc_files, systemd
from bot.demo.machine.command import Answer, Asked, Tool
from bot.demo.machine.state import Container, State
from bot.domain.probe import Probe
from bot.probes import PROBES

_END = "-- end --\n"


# --- units


def _shown_units(asked: Asked) -> str:
    """`systemctl show` of every service that is not at rest."""
    at_work = (unit for unit in asked.state.units if systemd.now_of(unit, asked.now)[0] != "inactive")
    return systemd.show(asked.state, asked.now, _wanted_properties(asked), at_work)


def _wanted_properties(asked: Asked) -> list[str]:
    """The properties that a command asks for."""
    return " ".join(asked.argv).partition(" -p ")[2].split()[0].split(",")


def _failed_units(asked: Asked) -> str:
    """systemd's version, its failed units, and the end of the list."""
    version = asked.state.system.systemd
    failed = (unit for unit in asked.state.units if unit.active == "failed")
    return f"systemd {version} ({version}.1)\n{systemd.listed(failed, asked.now)}-- status 0 --\n"


def _restarts(asked: Asked) -> str:
    """systemd's journal lines about restarts in the last hour."""
    lines = systemd.restarts(asked.state, asked.now, asked.now.uptime - 3600)[-2000:]
    return "".join(f"[{at:12.6f}] {asked.state.name} systemd[1]: {says}\n" for at, says in lines) + "-- read --\n"


def _known_agents(asked: Asked) -> str:
    """Unit files and states of the platform agents that the command names."""
    names = asked.argv[2].partition("list-unit-files --no-pager --no-legend ")[2].partition(";")[0].split()
    active = systemd.listed((unit for unit in asked.state.units if unit.name in names), asked.now)
    return f"{systemd.unit_files(asked.state, names)}-- active --\n{active}{_END}"


def _ecs_files(asked: Asked) -> str:
    """The ECS agent's configuration, which names no cluster, and its log lines about failed runs."""
    agent, text = asked.state.agent, ""
    if agent is not None:
        text = "==> /etc/ecs/ecs.config <==\n==> /var/log/ecs/ecs-init.log <==\n"
        last, runs, _ = agent.loop.at(asked.now.uptime)
        for turn in range(max(0, last - 90), last + (not runs)):
            ended = min(agent.loop.since + turn * agent.loop.turn + agent.loop.runs, agent.loop.until)
            status = 5 if ended == agent.loop.until else agent.exit_status  # at 5 its supervisor gives up
            stamp = f"{asked.now.wall(ended):%Y-%m-%dT%H:%M:%SZ}"
            text += f"{stamp} [INFO] Agent exited with code {status}\n"
            again = f"{stamp} [WARN] ECS Agent failed to start, retrying in {agent.loop.rests:.6f}s\n"
            text += again if status != 5 else ""
    return f"{text}{_END}"


def _essential_units(asked: Asked) -> str:
    """The units that the node stands on, and the kubelet's own health check."""
    command = asked.argv[2].partition(" -p ")[2].partition(";")[0]
    names = dict.fromkeys(word for word in command.split() if "." in word)
    found = [unit for unit in asked.state.units if names.keys() & {*unit.names}]
    shown = systemd.show(asked.state, asked.now, _wanted_properties(asked), found)
    here = {unit.name for unit in found}
    missing = (name for name in names if name not in here)
    shown += "".join(f"\nId={name}\nLoadState=not-found\nActiveState=inactive\n" for name in missing)
    kubelet = asked.state.unit("kubelet.service")
    runs = kubelet is not None and kubelet.active == "active"
    return f"{shown}\nId=-- health --\nAnswer={'200 0' if runs else '000 7'}\n{_END}"


def _boot_units(asked: Asked) -> str:
    """The units that the next boot starts, and what shows a node of Kubernetes."""
    text = "".join(f"enabled multi-user.target.wants/{u.name}\n" for u in asked.state.units if u.enabled == "enabled")
    return f"{text}{'kubelet kubelet.service' + chr(10) if asked.state.unit('kubelet.service') else ''}{_END}"


def _dependents(asked: Asked) -> str:
    """What is told of a unit, of each that stops with it and, where asked for, of each that is disabled with it."""
    unit, wanted = asked.state.unit(asked.argv[-1]), _wanted_properties(asked)
    if unit is None:
        return f"Id={asked.argv[-1]}\nNames={asked.argv[-1]}\n\n-- all told --\n"
    stopping = systemd.stopping_with(asked.state, unit)
    also = systemd.disabled_with(asked.state, unit)[1:] if "systemctl cat " in asked.argv[2] else ()
    told = "".join(f"{systemd.show(asked.state, asked.now, wanted, (each,))}\n" for each in stopping)
    names = ("Id", "Names", "LoadState")
    told += "".join(f"Also=yes\n{systemd.show(asked.state, asked.now, names, (each,))}\n" for each in also)
    return f"{told}-- all told --\n"


def _conflicts(asked: Asked) -> str:
    """What is told of the last argument's unit, and of what it requires; none excludes another here."""
    unit = asked.state.unit(asked.argv[-1])
    units = () if unit is None else (unit, *map(asked.state.unit, (*unit.requires, *unit.binds_to)))
    told = (systemd.show(asked.state, asked.now, _wanted_properties(asked), (each,)) for each in units)
    return "".join(f"{block}\n" for block in told) + "-- all told --\n"


# --- containers


def _identity(state: State, name: str, turn: int = 0) -> str:
    return hashlib.sha256(f"{state.name} {name} {turn}".encode()).hexdigest()


_DURATIONS = (
    *((1, 1, "Less than a second"), (2, 1, "1 second"), (60, 1, "{} seconds")),
    *((120, 60, "About a minute"), (3600, 60, "{} minutes"), (7200, 3600, "About an hour")),
    *((172_800, 3600, "{} hours"), (1_209_600, 86400, "{} days")),
)


def _docker_age(seconds: float) -> str:
    """A duration in docker's words (go-units HumanDuration)."""
    for below, size, words in _DURATIONS:
        if seconds < below:
            return words.format(int(seconds / size))
    return f"{int(seconds / 604800)} weeks"


def _docker(asked: Asked) -> Answer | str:
    """docker's list of containers with id, image, name, creation and status; the agent's is another in each run."""
    state, now = asked.state, asked.now
    rows: list[tuple[Container, str, float, float | None]] = [
        (each, _identity(state, each.name), each.created, None) for each in state.docker or ()
    ]
    if state.agent is not None and now.uptime < state.agent.loop.until:
        turn, runs, began = state.agent.loop.at(now.uptime)
        agent = Container("amazon/amazon-ecs-agent:latest", "ecs-agent")
        ended = None if runs else began + state.agent.loop.runs
        rows.append((agent, _identity(state, agent.name, turn), began, ended))
    text = ""
    for each, identity, created, ended in sorted(rows, key=lambda row: -row[2]):
        status = f"Up {_docker_age(now.uptime - created)}"
        if ended is not None and state.agent is not None:
            status = f"Exited ({state.agent.exit_status}) {_docker_age(now.uptime - ended)} ago"
        text += f"{identity}|{each.image}|{each.name}|{now.wall(created):%Y-%m-%d %H:%M:%S} +0000 UTC|{status}\n"
    return _runtime_answer(asked, state.docker, text)


def _ended_containers(asked: Asked) -> Answer | str:
    """Image and exit status of every container that ended in the last ten minutes."""
    agent, now = asked.state.agent, asked.now.uptime
    ended = 0 if agent is None else agent.loop.ended(now) - agent.loop.ended(max(0.0, now - 600))
    status = 0 if agent is None else agent.exit_status
    return _runtime_answer(asked, asked.state.docker, f"amazon/amazon-ecs-agent:latest|{status}\n" * ended)


def _crictl_list(asked: Asked) -> Answer | str:
    """crictl's list of containers."""
    rows = []
    for each in reversed(asked.state.cri or ()):  # the newest first
        namespace, _, pod = each.name.rpartition("/")
        identity, name = _identity(asked.state, each.name), each.image.rpartition("/")[2].partition(":")[0]
        labels = {"container.name": name, "pod.name": pod, "pod.namespace": namespace or "default"}
        rows.append(
            {
                "id": identity,
                "podSandboxId": identity[::-1],
                "metadata": {"name": name, "attempt": 0},
                "image": {"image": each.image, "annotations": {}},
                "imageRef": f"sha256:{identity}",
                "state": "CONTAINER_RUNNING",
                "createdAt": str(int(asked.now.wall(each.created).timestamp() * 1e9)),
                "labels": {f"io.kubernetes.{key}": value for key, value in labels.items()},
                "annotations": {},
            }
        )
    return _runtime_answer(asked, asked.state.cri, f"{json.dumps({'containers': rows}, indent=2)}\n")


def _runtime_answer(asked: Asked, containers: Sequence[Container] | None, listing: str) -> Answer | str:
    """A runtime's listing and the node's time: its socket is root's."""
    if containers is None:
        return "-- absent --\n"
    if "sudo -n" not in asked.argv[2]:
        return Answer.error("permission denied while trying to connect to the socket", 1)
    return f"{listing}-- end {int(asked.now.at.timestamp())} --\n"


# --- memory, disks, GPUs, certificates


def _cgroups(asked: Asked) -> str:
    """Where cgroups are mounted, what the kernel counts, how many directories there are."""
    state, v2 = asked.state, proc_files.is_v2(asked.state)
    folder = "/sys/fs/cgroup"
    paths = (f"{folder}/cgroup.controllers", f"{folder}/cgroup.stat") if v2 else ("/proc/cgroups",)
    walk = "" if v2 else f"==> /walk <==\ndirectories {state.cgroups.alive} in {folder}/memory\n"
    return (
        f"filesystem {'cgroup2fs' if v2 else 'tmpfs'}\nnamespace cgroup:[4026531835]\n==> /proc/self/mountinfo <==\n"
        f"{proc_files.mounted_cgroups(state)}{proc_files.tail(paths, state, asked.now)[0]}{walk}-- end of look --\n"
    )


def _host_facts(asked: Asked) -> str:
    """Time, the file system of the cgroup mount, virtualisation."""
    kind = "cgroup2fs" if proc_files.is_v2(asked.state) else "tmpfs"
    return f"time={int(asked.now.at.timestamp())}\ncgroup={kind}\nvirt=amazon\n"


def _quota_stats(asked: Asked) -> str:
    """cpu.stat of every cgroup with a quota."""
    uptime, text = asked.now.uptime, ""
    for quota in asked.state.quotas:
        counts = f"nr_periods {int(10 * uptime)}\nnr_throttled {int(quota.throttled * uptime)}\n"
        text += f"==> /{quota.path} <==\n{counts}throttled_usec {int(quota.throttled_seconds * uptime * 1e6)}\n"
    return f"{text}==> /seen <==\n{40 + len(asked.state.quotas)}\n"


def _filesystems(asked: Asked) -> str:
    """The mounts on block devices, fstab, and the room on each."""
    disks = asked.state.disks
    sections = {
        "mounts": "".join(f"{disk.device} ext4 rw,relatime {disk.point}\n" for disk in disks),
        "fstab": "".join(f"LABEL={disk.device} {disk.point} ext4 defaults 0 1\n" for disk in disks),
        "blocks": _df_output(asked, "1024-blocks Used Available Capacity", "104000000 43000000 61000000 1%"),
        "inodes": _df_output(asked, "Inodes IUsed IFree IUse%", "13107200 707200 12400000 1%"),
        "kubelet": "here\n" if asked.state.unit("kubelet.service") else "",
        "etc": "ext2/ext3\n",
    }
    return "".join(f"==> /{name} <==\n{text}" for name, text in sections.items()) + _END


def _df_output(asked: Asked, heads: str, figures: str) -> str:
    rows = (f"/dev/{disk.device} {figures} {disk.point}\n" for disk in asked.state.disks)
    return f"Filesystem {heads} Mounted on\n{''.join(rows)}"


def _certificates(asked: Asked) -> str:
    """The certificate that the kubelet serves; its files are root's alone."""
    text = f"now {int(asked.now.at.timestamp())}\n"
    if asked.state.unit("kubelet.service"):
        begin, end = (_openssl_date(asked.now.at + timedelta(days=days)) for days in (-20, 25))
        names = f"subject=O = system:nodes, CN = system:node:{asked.state.name}\nissuer=CN = kubernetes\n"
        text += f"kubelet\n==> /served <==\nnotBefore={begin}\nnotAfter={end}\n{names}"
    return f"{text}{_END}"


def _openssl_date(at: datetime) -> str:
    return f"{at:%b} {at.day:2} {at:%H:%M:%S %Y} GMT"


_GPU_SETTINGS = """\
    Product Name                          : NVIDIA A100-SXM4-40GB
    Persistence Mode                      : Enabled
    VBIOS Version                         : 92.00.45.00.05
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
        Current Power Limit               : 400.00 W
    Clocks
        SM                                : 1410 MHz
    Max Clocks
        SM                                : 1410 MHz
"""


def _nvidia_smi(asked: Asked) -> str:
    """What nvidia-smi says of each GPU: errors, rows of memory, what it asks for, and who uses it."""
    gpus, lost = asked.state.gpus, "Unable to determine the device handle for GPU {}: Unknown Error\n"
    if not gpus:
        return "no gpu\n"
    there = [(f"0000{gpu.bus.upper()}", gpu) for gpu in gpus if gpu.there]
    listed = "".join(f"{bus}, 0\n" for bus, _ in there)
    listed += "".join(lost.format(gpu.bus.upper()) for gpu in gpus if not gpu.there)
    running = {process.pid: process for process in cpu.all_processes(asked.state)}
    said = ""
    for bus, gpu in there:
        said += f"GPU {bus}\n{_GPU_SETTINGS}    GPU Recovery Action               : None\n"
        said += "".join(f"        Process ID                        : {pid}\n" for pid in gpu.pids if pid in running)
        said += "" if running.keys() & {*gpu.pids} else "    Processes                             : None\n"
    used = sorted(running.keys() & {pid for gpu in gpus for pid in gpu.pids})
    return (
        f"==> /gpus <==\n{listed}status {0 if len(there) == len(gpus) else 255}\n"
        f"==> /rows <==\n{''.join(f'{bus}, No, No{chr(10)}' for bus, _ in there)}==> /actions <==\n{said}"
        f"==> /processes <==\nup {asked.now.uptime:.2f}\n"
        f"{''.join(cpu.stat(running[pid], asked.now) for pid in used)}{_END}"
    )


# --- which command is answered by what


def _tail_files(asked: Asked) -> Answer:
    """`tail -v -n +1` of files."""
    printed, complaints = proc_files.tail(asked.argv[4:], asked.state, asked.now)
    return Answer(printed.encode(), complaints.encode(), 1 if complaints else 0)


def _cat_files(asked: Asked) -> Answer:
    contents = {path: proc_files.read(path, asked.state, asked.now) for path in asked.argv[1:]}
    missing = "".join(f"cat: {path}: No such file or directory\n" for path, text in contents.items() if text is None)
    return Answer("".join(text or "" for text in contents.values()).encode(), missing.encode(), 1 if missing else 0)


ANSWERS: Mapping[tuple[str, str], Tool] = {
    ("agents", "units"): _known_agents,
    ("agents", "files"): _ecs_files,
    ("boot_units", "files"): _boot_units,
    ("certificates", "look"): _certificates,
    ("cgroups", "look"): _cgroups,
    ("clock", "look"): lambda asked: (
        "==> /source <==\ntsc\ntsc hpet acpi_pm\n==> /keeper <==\nchronyd\n==> /chrony <==\n"
        f"System time     : 0.000012131 seconds slow of NTP time\nLeap status     : Normal\n{_END}"
    ),
    ("containers", "docker"): _docker,
    ("containers", "cri"): _crictl_list,
    ("containers", "exits"): _ended_containers,
    ("cpu", "mpstat"): cpu.mpstat,
    ("dns", "look"): lambda asked: f"tool dig\nservers 10.0.0.2\nserver 10.0.0.2 NOERROR NXDOMAIN NOERROR\n{_END}",
    ("ebs", "log"): lambda asked: "no volume\n",
    ("essential_units", "look"): _essential_units,
    ("essential_units", "complaints"): lambda asked: _END,
    ("filesystems", "look"): _filesystems,
    ("gpu", "bus"): lambda asked: "".join(f"{gpu.bus} 0x030200 nvidia\n" for gpu in asked.state.gpus) + _END,
    ("gpu", "smi"): _nvidia_smi,
    ("host", "said"): _host_facts,
    ("interrupts", "interrupts"): network.interrupts,
    ("interrupts", "irqbalance"): network.irqbalance,
    ("kernel_log", "log"): kernel_log.kernel_lines,
    ("memory_errors", "look"): lambda asked: (
        f"HardwareCorrupted:     0 kB\nproduct {asked.state.system.product}\n{_END}"
    ),
    ("nic", "look"): network.nics,
    ("processes", "processes"): cpu.busiest,
    ("softirq_waits", "bpftrace"): cpu.softirq_waits,
    ("storage", "arrays"): lambda asked: _END,
    ("throttling", "cpu.stat"): _quota_stats,
    ("units", "show"): _shown_units,
    ("units", "failed"): _failed_units,
    ("units", "restarts"): _restarts,
}
# Questions of actions and of `doctor`, by words that only they hold.
FRAGMENTS: tuple[tuple[str, Tool], ...] = (
    ("|PropagatesStopTo)=", _dependents),
    ("ConflictedBy", _conflicts),
    ("--state=activating -p Id", lambda asked: "-- end of units --\n"),  # no oneshot is at work here
    ("| tail -n 400", kernel_log.last_lines),
)
TOOLS: Mapping[str, Tool] = {
    "tail": _tail_files,
    "cat": _cat_files,
    "date": lambda asked: f"{int(asked.now.at.timestamp())}\n",  # +%s
    "whoami": lambda asked: "demo\n",
    "ls": lambda asked: "",
    "systemctl": lambda asked: systemd.show(
        asked.state, asked.now, _wanted_properties(asked), (asked.state.unit(asked.argv[-1]),)
    ),
}
_FILLED_IN = re.compile(r"(gap=)?(?:[0-9.]+|\{samples\}|\{rest\})")  # what a batch puts a number for


def _tool_key(argv: Sequence[str]) -> tuple[str, ...]:
    words = (_FILLED_IN.fullmatch(word) for word in argv[1:])
    filled = (word if found is None else f"{found[1] or ''}#" for word, found in zip(argv[1:], words, strict=True))
    return (argv[0].removeprefix("/usr/bin/"), *filled)


def _tools(probes: Iterable[Probe]) -> dict[tuple[str, ...], Tool]:
    """What answers each way to ask a command of a probe; its own example goes first."""
    asked = ((probe, command) for probe in probes for command in probe.commands)
    found = {
        _tool_key(argv): _example(probe.example[command.name])
        if command.name in probe.example
        else ANSWERS.get((probe.name, command.name), TOOLS.get(argv[0]))
        for probe, command in asked
        for argv in (command.argv, *command.alternatives)
    }
    return {key: tool for key, tool in found.items() if tool is not None}


def _example(text: str) -> Tool:
    return lambda asked: text


_OF_PROBES = _tools(PROBES.values())


@functools.lru_cache(maxsize=512)  # every node is sent the same ones
def tool(argv: tuple[str, ...]) -> Tool | None:
    """Return what answers a command, None where a node has no answer."""
    line = " ".join(argv)
    fragment = next((answer for words, answer in FRAGMENTS if words in line), TOOLS.get(argv[0]))
    return _OF_PROBES.get(_tool_key(argv), fragment)
