"""The node's containers in docker and its Kubernetes runtime, at two looks, and recent exits.

Defined in: docker(1), crictl (kubernetes-sigs/cri-tools), ctr (containerd).
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.root_command import in_folders, root_line
from bot.domain.safe_text import one_line
from bot.probes.formats.container_lists import DOCKER_ROW, Container, crictl_rows, ctr_rows, docker_rows


@dataclass(frozen=True, slots=True)
class ContainersReading:
    """Containers of every runtime found; no runtime is an answer: `runtimes` is empty."""

    probe: ClassVar[str] = "containers"

    runtimes: tuple[str, ...]
    containers: tuple[Container, ...] = ()
    containers_later: tuple[Container, ...] | None = None
    exits_by_image: Mapping[str, int] = field(default_factory=dict)  # within `exits_over`
    exits_over: timedelta | None = None  # None: the runtime does not list past exits
    refused: Mapping[str, str] = field(default_factory=dict)  # runtimes that exist but could not be read, and why
    count_is_at_least: bool = False  # only the newest containers were listed

    @property
    def replaced(self) -> tuple[Container, ...]:
        """Containers of the second look whose image had another container id in the first look."""
        if self.containers_later is None:
            return ()
        before = {container.id for container in self.containers}
        images = {container.image for container in self.containers}
        return tuple(c for c in self.containers_later if c.id not in before and c.image in images)

    @property
    def by_image(self) -> Mapping[str, tuple[tuple[Container, ...], ...]]:
        """The containers of each image in each look, images in order; also of images of which one has just ended."""
        looks = (self.containers,) if self.containers_later is None else (self.containers, self.containers_later)
        images = {container.image for look in looks for container in look} | set(self.exits_by_image)
        found: dict[str, tuple[list[Container], ...]] = {image: tuple([] for _ in looks) for image in sorted(images)}
        for at, look in enumerate(looks):
            for container in look:
                found[container.image][at].append(container)
        return {image: tuple(map(tuple, mine)) for image, mine in found.items()}

    @property
    def count(self) -> int:
        """How many containers there are, running or not."""
        return len(self.containers)


MOST_CONTAINERS = 300  # only the newest; a node may keep thousands of dead containers
EXITS_OVER = timedelta(minutes=10)

_LIMIT = timedelta(seconds=8)
_ABSENT, _NO_CLIENT, _TASKS = "-- absent --", "-- no client --", "-- tasks --"
_ENDED = 'echo "-- end $(date -u +%s) --"'
_END = re.compile(r"-- end ([0-9]{1,11}) --")

_DOCKER_PS = ("docker", "ps", "-a", "-n", str(MOST_CONTAINERS), "--no-trunc", "--format", DOCKER_ROW)
_DOCKER_EVENTS = (
    "docker",
    "events",
    "--since",
    "10m",
    "--until",
    "0s",
    "--filter",
    "type=container",
    "--filter",
    "event=die",
    "--format",
    "{{.Actor.Attributes.image}}|{{.Actor.Attributes.exitCode}}",
)
_CRICTL = ("crictl", "ps", "-a", "-n", str(MOST_CONTAINERS), "-o", "json")
_CTR_CONTAINERS = ("ctr", "-n", "k8s.io", "containers", "ls")
_CTR_TASKS = ("ctr", "-n", "k8s.io", "tasks", "ls")

# Folders of the clients: distributions, then kOps and k3s, then snaps.
_FOLDERS = ("/usr/bin", "/usr/local/bin")
_OF_PROGRAM = {"docker": (*_FOLDERS, "/snap/bin")}
_DOCKER_SOCKET = "/var/run/docker.sock"
_ONLY_WITH_DOCKER = (
    f"[ -S {_DOCKER_SOCKET} ] || {{ echo '{_ABSENT}'; exit; }}; "
    f"command -v docker >/dev/null || {{ echo '{_NO_CLIENT}'; exit; }}"
)
# A directory that we may not enter may hide a socket: then ask the client.
_ONLY_WITH_CRI = (
    "s=; for f in /run/containerd/containerd.sock /run/crio/crio.sock /run/k3s/containerd/containerd.sock "
    "/run/cri-dockerd.sock /var/run/dockershim.sock; do d=${f%/*}; "
    "[ -S $f ] || { [ -d $d ] && [ ! -x $d ]; } && { s=$f; break; }; done; "
    f"[ -n \"$s\" ] || {{ echo '{_ABSENT}'; exit; }}; "
    # Docker has its own containerd, whose containers docker lists.
    f"[ -d /var/lib/kubelet ] || [ ! -S {_DOCKER_SOCKET} ] || {{ echo '{_ABSENT}'; exit; }}; "
    f"command -v crictl >/dev/null || command -v ctr >/dev/null || {{ echo '{_NO_CLIENT}'; exit; }}"
)


def _sudo_line(argv: tuple[str, ...]) -> str:
    return root_line(argv, _LIMIT.total_seconds(), _OF_PROGRAM.get(argv[0], _FOLDERS))


def _root_commands(*commands: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(way for argv in commands for way in in_folders(argv, _OF_PROGRAM.get(argv[0], _FOLDERS)))


def _cri_script(said: Callable[[tuple[str, ...]], str]) -> str:
    return (
        f"if command -v crictl >/dev/null; then {said(_CRICTL)} && {_ENDED}; "
        f"else c=$({said(_CTR_CONTAINERS)}) && t=$({said(_CTR_TASKS)}) && "
        f"printf '%s\\n' \"$c\" '{_TASKS}' \"$t\" && {_ENDED}; fi"
    )


@dataclass(frozen=True, slots=True)
class _Listed:
    runtime: str
    containers: tuple[Container, ...]


def parse(outputs: Outputs) -> ContainersReading:
    """Read every runtime's list at both looks, and docker's recent exits.

    Unread when: a runtime exists and none could be read. No runtime socket at all is an answer.
    """
    looks: list[list[_Listed]] = []
    refused: dict[str, str] = {}
    for look in (0, 1):
        looks.append([])
        for command, read in (("docker", _docker), ("cri", _cri_list)):
            try:
                listed = read(outputs.text(command, look))
            except CannotRead as error:
                if look == 0:
                    refused[command] = error.sentence.removeprefix(f"{command}: ").removeprefix("containers: ")
                continue
            if listed is not None:
                looks[look].append(listed)
    first, later = looks
    if refused and not first:
        said = "; ".join(f"{runtime}: {reason}" for runtime, reason in refused.items())
        raise CannotRead(f"containers: {said}")
    exits = (
        _exits_by_image(outputs.text_or_none("exits")) if any(listed.runtime == "docker" for listed in first) else None
    )
    both = [listed.runtime for listed in first] == [listed.runtime for listed in later]
    return ContainersReading(
        runtimes=tuple(listed.runtime for listed in first),
        containers=tuple(container for listed in first for container in listed.containers),
        containers_later=tuple(container for listed in later for container in listed.containers) if both else None,
        exits_by_image=exits or {},
        exits_over=None if exits is None else EXITS_OVER,
        refused=refused,
        count_is_at_least=any(len(listed.containers) >= MOST_CONTAINERS for listed in first),
    )


def _lines_and_time(text: str) -> tuple[list[str], datetime] | None:
    """Return the lines and the node's time, None if the runtime is absent."""
    lines = text.rstrip("\n").split("\n")
    if lines == [_ABSENT]:
        return None
    if lines == [_NO_CLIENT]:
        raise CannotRead("containers: its socket exists, but no client to ask it with")
    end = _END.fullmatch(lines[-1])
    if end is None:
        raise CannotRead(f"containers: the list is cut short ({one_line(lines[-1], 60)})")
    return lines[:-1], datetime.fromtimestamp(int(end.group(1)), UTC)


def _docker(text: str) -> _Listed | None:
    ended = _lines_and_time(text)
    if ended is None:
        return None
    lines, now = ended
    return _Listed("docker", tuple(docker_rows([line for line in lines if line], now)))


def _cri_list(text: str) -> _Listed | None:
    ended = _lines_and_time(text)
    if ended is None:
        return None
    lines, now = ended
    if _TASKS in lines:
        at = lines.index(_TASKS)
        return _Listed("containerd", tuple(ctr_rows(lines[:at], lines[at + 1 :])))
    return _Listed("cri", tuple(crictl_rows("\n".join(lines), now)))


def _exits_by_image(text: str | None) -> Counter[str] | None:
    try:
        ended = _lines_and_time(text or "")
    except CannotRead:
        return None
    return None if ended is None else Counter(line.rpartition("|")[0] for line in ended[0] if "|" in line)


PROBE = Probe(
    name="containers",
    title="containers",
    commands=(
        Command(
            "docker",
            ("sh", "-c", f"{_ONLY_WITH_DOCKER}; {shlex.join(_DOCKER_PS)} && {_ENDED}"),
            alternatives=(("sh", "-c", f"{_sudo_line(_DOCKER_PS)} && {_ENDED}"),),
            looks=SampleTimes.TWICE,
            lane="containers",
            limit=_LIMIT,
            sudo=_root_commands(_DOCKER_PS),
        ),
        Command(
            "cri",
            ("sh", "-c", f'{_ONLY_WITH_CRI}; [ -w "$s" ] || exit; {_cri_script(shlex.join)}'),
            alternatives=(("sh", "-c", _cri_script(_sudo_line)),),
            looks=SampleTimes.TWICE,
            lane="containers",
            limit=_LIMIT,
            output_limit_bytes=2 * 1024 * 1024,
            sudo=_root_commands(_CRICTL, _CTR_CONTAINERS, _CTR_TASKS),
        ),
        Command(
            "exits",
            ("sh", "-c", f"{_ONLY_WITH_DOCKER}; {shlex.join(_DOCKER_EVENTS)} && {_ENDED}"),
            alternatives=(("sh", "-c", f"{_sudo_line(_DOCKER_EVENTS)} && {_ENDED}"),),
            lane="containers",
            limit=_LIMIT,
            sudo=_root_commands(_DOCKER_EVENTS),
        ),
    ),
    parse=parse,
    reading=ContainersReading,
)
