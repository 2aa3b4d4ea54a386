"""The demo on virtual machines: the running lab's, or a machine booted for the demo with a fault."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bot.app.demo import POLICY, demo_tools
from bot.app.lab import LOGIN, lab, recipe, say
from bot.demo.fleet import CLUSTER_SETTINGS
from bot.demo.session import run_demo
from bot.lab.fault import find
from bot.lab.lab import Lab, LabRequest
from bot.lab.node import LabNode
from bot.lab.virtual_machine import Hardware

BEYOND_WINDOW = timedelta(seconds=85)  # an emulated node that is busy answers slowly
OWN_LAB = LabRequest(
    nodes=1, cgroups="v1", hardware=Hardware(memory_mib=768)
)  # so little memory that the leak does harm
POLICY_HERE = POLICY.removesuffix(CLUSTER_SETTINGS).replace('"30s"', '"10m"') + '[check]\ndeadline = "90s"\n'
FAULT = "leaked-memory-cgroups"


@dataclass(frozen=True, slots=True)
class LabDemoNodes:
    """The lab's nodes, as the demo needs them."""

    nodes: Mapping[str, LabNode]
    inventory: Path
    descriptions: Mapping[str, str]

    @classmethod
    def of(cls, here: Lab, folder: Path, descriptions: Mapping[str, str]) -> LabDemoNodes:
        """Copy the lab's files to the demo's folder, so that the demo writes nothing into the lab's own."""
        for name in ("inventory.toml", "known_hosts", "login_key"):
            shutil.copy(here.inventory.with_name(name), folder / name)
        return cls({node.name: node for node in here.nodes}, folder / "inventory.toml", descriptions)

    @property
    def summary(self) -> str:
        """What the nodes are."""
        return f"{len(self.nodes)} of the lab's nodes, each a real Debian. What you do there really happens."

    def ssh_command(self, name: str) -> tuple[str, ...]:
        """Return the ssh command that logs in to a node."""
        node, folder = self.nodes[name], self.inventory.parent
        files = ("-i", str(folder / "login_key"), "-o", f"UserKnownHostsFile={folder / 'known_hosts'}")
        return ("ssh", "-F", "none", *files, "-p", str(node.port), f"{LOGIN}@{node.address}")


def demo_on_lab(samples: int, command: str, environment: Mapping[str, str]) -> int:
    """Run the demo on the running lab; without a lab, boot a node, give it a fault, and shut it down afterwards.

    Raises: UsageError when this machine cannot boot it.
    """
    here = lab(environment)
    tools = demo_tools(samples, command, BEYOND_WINDOW, POLICY_HERE)
    if nodes := here.nodes:
        return run_demo(tools, lambda folder: nullcontext(LabDemoNodes.of(here, folder, _described(nodes))))
    (node,) = here.up(recipe("bookworm"), OWN_LAB)
    try:
        say(f"{node.name}: making memory cgroups leak, for real …")
        outcome = find(FAULT).make(node)
        say(f"  {outcome.says}")
        descriptions = {node.name: f"ecs.service leaks memory cgroups, for real, on cgroup {node.cgroups}"}
        return run_demo(tools, lambda folder: nullcontext(LabDemoNodes.of(here, folder, descriptions)))
    finally:
        here.down()


def _described(nodes: Sequence[LabNode]) -> dict[str, str]:
    return {node.name: f"a node of the running lab, cgroup {node.cgroups}" for node in nodes}
