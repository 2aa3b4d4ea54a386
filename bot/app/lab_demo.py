"""The demo on nodes with a kernel of their own: the lab's that is up, or one booted for it and made sick."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bot.app.demo import POLICY, stage
from bot.app.lab import LOGIN, lab, recipe, say
from bot.demo.cluster.of_fleet import SETTINGS as CLUSTER
from bot.demo.story import tell
from bot.lab.fault import find
from bot.lab.lab import Lab, Wish
from bot.lab.node import LabNode
from bot.lab.virtual_machine import Hardware

BEYOND_WINDOW = timedelta(seconds=85)  # emulated, a node with work of its own answers slowly
OWN = Wish(nodes=1, cgroups="v1", hardware=Hardware(memory_mib=768))  # so little that the leak does harm
POLICY_HERE = POLICY.removesuffix(CLUSTER).replace('"30s"', '"10m"') + '[check]\ndeadline = "90s"\n'
DISEASE = "leaked-memory-cgroups"


@dataclass(frozen=True, slots=True)
class LabCast:
    """The lab's nodes as the demo tells of them; `folder` gets copies of the files by which they are reached."""

    nodes: Mapping[str, LabNode]
    inventory: Path
    teaches: Mapping[str, str]

    @classmethod
    def of(cls, here: Lab, folder: Path, teaches: Mapping[str, str]) -> LabCast:
        """Copy the files, so that what the demo writes beside them is no part of the lab."""
        for name in ("inventory.toml", "known_hosts", "login_key"):
            shutil.copy(here.inventory.with_name(name), folder / name)
        return cls({node.name: node for node in here.nodes}, folder / "inventory.toml", teaches)

    @property
    def says(self) -> str:
        """What the nodes are."""
        return f"{len(self.nodes)} of the lab's nodes, each a real Debian: whatever is done there is done for real."

    def login(self, name: str) -> tuple[str, ...]:
        """Return the words of the ssh command that leads to a node."""
        node, folder = self.nodes[name], self.inventory.parent
        files = ("-i", str(folder / "login_key"), "-o", f"UserKnownHostsFile={folder / 'known_hosts'}")
        return ("ssh", "-F", "none", *files, "-p", str(node.port), f"{LOGIN}@{node.address}")

    async def start(self, seconds: Callable[[], float]) -> None:
        """They run already."""

    async def stop(self) -> None:
        """They are not ended by the story, but by whoever booted them."""


def demo_on_lab(samples: int, command: str, environment: Mapping[str, str]) -> int:
    """Run the demo on the lab that is up; where none is, boot one for it, make it sick, and end it afterwards.

    Raises: UsageError when this machine cannot boot one.
    """
    here = lab(environment)
    on_stage = stage(samples, command, BEYOND_WINDOW, POLICY_HERE)
    if nodes := here.nodes:
        return tell(on_stage, lambda folder: LabCast.of(here, folder, _as_they_are(nodes)))
    (node,) = here.up(recipe("bookworm"), OWN)
    try:
        say(f"{node.name}: it gets the founding disease, for real …")
        outcome = find(DISEASE).make(node)
        say(f"  {outcome.says}")
        teaches = {node.name: f"ecs.service leaks memory cgroups, for real, on cgroup {node.cgroups}"}
        return tell(on_stage, lambda folder: LabCast.of(here, folder, teaches))
    finally:
        here.down()


def _as_they_are(nodes: Sequence[LabNode]) -> dict[str, str]:
    return {node.name: f"of the lab that is up: {node.kind}, cgroup {node.cgroups}" for node in nodes}
