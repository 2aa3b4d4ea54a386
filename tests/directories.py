"""Where nodes and playbooks are looked up: what a test needs to be found, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.errors import UnknownNode
from bot.domain.node import Node
from bot.domain.playbook import Playbook


@dataclass(frozen=True, slots=True)
class Always:
    """A directory that knows one node, by whatever name."""

    node: Node

    def find(self, name: str, /) -> Node:
        return self.node


class Nowhere:
    """A directory that knows no node."""

    def find(self, name: str, /) -> Node:
        raise UnknownNode(f"No node is called {name}.")


@dataclass(frozen=True, slots=True)
class OnePlaybook:
    """The playbooks of which there is one."""

    playbook: Playbook

    def get(self, name: str, /) -> Playbook:
        return self.playbook
