"""The lab: starts and stops nodes on this machine, and writes their inventory."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from bot.domain.errors import UnknownNode, UsageError
from bot.domain.nearest import nearest
from bot.lab import virtual_machine
from bot.lab.image_store import Image, ImageStore, Say
from bot.lab.node import LabNode
from bot.lab.recipe import Recipe
from bot.lab.virtual_machine import Hardware

# Settings for acting on the lab's nodes. Their image has the sudo rights for it.
SETTINGS = """\
inventory = "inventory.toml"
[check]
deadline = "90s" # an emulated node that is busy answers slowly
[policy]
terminal_approvers = ["alice", "bob"]
self_approval = true # in the lab the same person asks and approves, with a single login
[act]
units = ["ecs.service", "log-shipper.service"]
start_units = ["containerd.service"]
validation = "1m"
reboot_deadline = "10m"
"""
BOOT_SECONDS = 300.0  # a boot takes about 15 s; on a busy machine minutes


@dataclass(frozen=True, slots=True)
class LabRequest:
    """What `up` should start."""

    nodes: int = 1
    cgroups: str = "v2"
    hardware: Hardware = Hardware()


class Lab:
    """A lab in a folder. What it starts is recorded there, so that any later command can stop it."""

    def __init__(self, folder: Path, images: Path, say: Say) -> None:
        self._folder = folder
        self._say = say
        self._images = ImageStore(images, say)

    @property
    def inventory(self) -> Path:
        """The inventory of the running nodes.

        Raises: UsageError when none runs.
        """
        path = self._folder / "inventory.toml"
        if not path.is_file():
            raise UsageError("No lab is up.", "Start it: zombie lab up")
        return path

    @property
    def settings(self) -> Path:
        """The settings for acting on the running nodes; they name the inventory too.

        Raises: UsageError when none runs.
        """
        return self.inventory.with_name("zombie.toml")

    @property
    def nodes(self) -> tuple[LabNode, ...]:
        """The nodes that were started, by name."""
        return tuple(LabNode.load(path.parent) for path in sorted(self._folder.glob("nodes/*/node.json")))

    def node(self, name: str) -> LabNode:
        """Return a node.

        Raises: UnknownNode when there is none of that name; UsageError when no lab is up.
        """
        nodes = {node.name: node for node in self.nodes}
        if not nodes:
            raise UsageError("No lab is up.", "Start it: zombie lab up")
        if name not in nodes:
            near = nearest(name, nodes)
            raise UnknownNode(f"The lab has no node {name!r}.", f"There are: {', '.join(near or nodes)}")
        return nodes[name]

    def up(self, recipe: Recipe, request: LabRequest) -> tuple[LabNode, ...]:
        """Build the image if it is not cached, boot the nodes and wait for all of them; if a node fails, stop all.

        Raises: UsageError when a lab is up already, or this machine cannot run it.
        """
        if (self._folder / "nodes").exists():
            raise UsageError(f"A lab is up already, in {self._folder}.", "Stop it first: zombie lab down")
        image = self._images.image(recipe)
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "nodes").mkdir()
        try:
            nodes = self._started(image, request)
            began = time.monotonic()
            for node in nodes:
                virtual_machine.await_banner(node, BOOT_SECONDS)
                self._say(f"{node.name}: up after {time.monotonic() - began:.1f} s, {node.address} port {node.port}")
            self._write_inventory(image, nodes)
        except BaseException:
            self.down()
            raise
        return nodes

    def _started(self, image: Image, request: LabRequest) -> tuple[LabNode, ...]:
        self._say(f"booting {request.nodes} × Debian with cgroup {request.cgroups} …")
        names = [f"lab-{number}" for number in range(1, request.nodes + 1)]
        folder = self._folder / "nodes"
        return tuple(
            virtual_machine.start(name, folder / name, image, request.cgroups, request.hardware) for name in names
        )

    def _write_inventory(self, image: Image, nodes: tuple[LabNode, ...]) -> None:
        key = self._folder / "login_key"
        shutil.copyfile(image.key("zombie"), key)
        key.chmod(0o600)
        hosts = self._folder / "known_hosts"
        hosts.write_text("".join(node.known_hosts.read_text(encoding="ascii") for node in nodes), encoding="ascii")
        lines = ["[ssh]", 'user = "zombie"', 'key = "login_key"', 'known_hosts = "known_hosts"']
        for node in nodes:
            lines += ["", f'[nodes."{node.name}"]', f'address = "{node.address}"', f"port = {node.port}"]
            lines += [f'labels = {{ lab = "qemu", cgroups = "{node.cgroups}" }}']
        (self._folder / "zombie.toml").write_text(SETTINGS, encoding="utf-8")
        (self._folder / "inventory.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def down(self) -> int:
        """Stop every node and delete what the lab wrote, except the images; return the number of nodes."""
        nodes = self.nodes
        for node in nodes:
            node.process.end()
        if (self._folder / "nodes").exists():
            shutil.rmtree(self._folder / "nodes")
        for name in ("inventory.toml", "zombie.toml", "known_hosts", "login_key"):
            (self._folder / name).unlink(missing_ok=True)
        if self._folder.is_dir() and not any(self._folder.iterdir()):
            self._folder.rmdir()
        return len(nodes)

    def forget_images(self) -> None:
        """Delete every image.

        Raises: UsageError while a node uses an image.
        """
        if any(node.process.runs for node in self.nodes):
            raise UsageError("Running nodes use these images.", "Stop them first: zombie lab down")
        self._images.remove_all()


def reboot(node: LabNode, boot_id: str, within_seconds: float = BOOT_SECONDS) -> str:
    """Reboot a node and return its new boot_id.

    Raises: UsageError when it does not come back with a new boot_id.
    """
    node.run("systemctl reboot", within_seconds=60)
    return await_boot(node, boot_id, within_seconds)


def await_boot(node: LabNode, boot_id: str, within_seconds: float = BOOT_SECONDS) -> str:
    """Wait until the node answers with a boot_id other than `boot_id`, and return it."""
    deadline = time.monotonic() + within_seconds
    while (left := deadline - time.monotonic()) > 0:
        virtual_machine.await_banner(node, left)
        try:
            answer = node.run("cat /proc/sys/kernel/random/boot_id", within_seconds=45)
        except UsageError:
            continue
        if answer.ok and answer.stdout.strip() != boot_id:
            return answer.stdout.strip()
        time.sleep(0.5)  # noqa: TID251 - the old system still answers while it goes down
    raise UsageError(f"{node.name} did not come back with another boot_id within {within_seconds:g} s.")
