"""Containers of a simulated node, as docker, crictl and ctr list them.

Defined in: docker(1), Go templates of docker container ls; the Kubernetes CRI's ListContainersResponse (runtime.v1).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.demo.machine.command import Answer, CommandContext
from bot.demo.machine.state import Container, Moment, State

_ABSENT = "-- absent --\n"
_REFUSED = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock"


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """A run of a container. Units: seconds of uptime; `ended` is None while it runs."""

    container: Container
    id: str
    created: float
    ended: float | None


def listed(state: State, containers: Sequence[Container], now: Moment) -> list[ContainerRun]:
    """Return the containers that the runtime lists now, newest first."""
    found = [container_run for container in containers for container_run in _turns(state, container, now)]
    return sorted(found, key=lambda container_run: -container_run.created)


def _turns(state: State, container: Container, now: Moment) -> Iterator[ContainerRun]:
    loop = container.loop
    if loop is None:
        yield ContainerRun(container, _id(state, container, 0), container.created, None)
        return
    last, runs, _ = loop.at(now.uptime)
    for turn in range(max(0, last - container.keeps + 1), last + 1):
        began = loop.since + turn * loop.turn
        ended = None if turn == last and runs else began + loop.runs
        yield ContainerRun(container, _id(state, container, turn), began, ended)


def _id(state: State, container: Container, turn: int) -> str:
    return hashlib.sha256(f"{state.name} {container.name} {turn}".encode()).hexdigest()


def _words(seconds: float) -> str:
    """A duration in docker's words (go-units HumanDuration)."""
    steps = ((1, "Less than a second"), (2, "1 second"), (60, "{} seconds"), (120, "About a minute"))
    for below, words in steps:
        if seconds < below:
            return words.format(int(seconds))
    for size, below, name in ((60, 60, "minutes"), (3600, 48, "hours"), (86400, 14, "days")):
        if name == "hours" and seconds < 7200:
            return "About an hour"
        if seconds / size < below:
            return f"{int(seconds / size)} {name}"
    return f"{int(seconds / 604800)} weeks"


def docker_ps(state: State, now: Moment) -> str:
    """Return `docker ps -a --no-trunc` with id, image, name, creation and status between bars."""
    text = ""
    for run in listed(state, state.runtime.docker or (), now):
        made = f"{now.wall(run.created):%Y-%m-%d %H:%M:%S} +0000 UTC"
        status = f"Up {_words(now.uptime - run.created)}"
        if run.ended is not None:
            status = f"Exited ({run.container.exit_status}) {_words(now.uptime - run.ended)} ago"
        text += f"{run.id}|{run.container.image}|{run.container.name}|{made}|{status}\n"
    return text


def docker_exits(state: State, now: Moment, over: float) -> str:
    """Return image and exit status of every container that ended within the last `over` seconds, oldest first."""
    text = ""
    for container in state.runtime.docker or ():
        if container.loop is not None:
            ended = container.loop.ended(now.uptime) - container.loop.ended(max(0.0, now.uptime - over))
            text += f"{container.image}|{container.exit_status}\n" * ended
    return text


def docker(context: CommandContext, argv: Sequence[str]) -> Answer:
    """docker's list of containers, or the exits of the last ten minutes, then the node's time."""
    state, now = context.state, context.now()
    as_root = "sudo -n" in argv[2]
    if state.runtime.docker is None:
        return Answer.error("docker: command not found", 127) if as_root else Answer.text(_ABSENT)
    if not as_root:
        return Answer.error(_REFUSED, 1)
    if not state.sudo:
        return Answer.error("sudo: a password is required", 1)
    listing = docker_exits(state, now, 600) if " events --since" in argv[2] else docker_ps(state, now)
    return Answer.text(f"{listing}-- end {int(now.at.timestamp())} --\n")


def cri(context: CommandContext, argv: Sequence[str]) -> Answer:
    """crictl's list of containers, then the node's time."""
    state, now = context.state, context.now()
    as_root = "sudo -n" in argv[2]
    if state.runtime.cri is None:
        return Answer.error("crictl: command not found", 127) if as_root else Answer.text(_ABSENT)
    if not as_root:
        return Answer()  # the socket is root's
    if not state.sudo:
        return Answer.error("sudo: a password is required", 1)
    rows = [_crictl(run, now) for run in listed(state, state.runtime.cri, now)]
    return Answer.text(f"{json.dumps({'containers': rows}, indent=2)}\n-- end {int(now.at.timestamp())} --\n")


def _crictl(run: ContainerRun, now: Moment) -> dict[str, object]:
    namespace, _, pod = run.container.name.rpartition("/")
    name = run.container.image.rpartition("/")[2].partition(":")[0]
    return {
        "id": run.id,
        "podSandboxId": run.id[::-1],
        "metadata": {"name": name, "attempt": 0},
        "image": {"image": run.container.image, "annotations": {}},
        "imageRef": f"sha256:{run.id}",
        "state": "CONTAINER_RUNNING" if run.ended is None else "CONTAINER_EXITED",
        "createdAt": str(int(now.wall(run.created).timestamp() * 1e9)),
        "labels": {
            "io.kubernetes.container.name": name,
            "io.kubernetes.pod.name": pod,
            "io.kubernetes.pod.namespace": namespace or "default",
        },
        "annotations": {},
    }
