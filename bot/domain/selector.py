"""Selectors: how people say which nodes they mean."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bot.domain.errors import UsageError
from bot.domain.safe_text import one_line

if TYPE_CHECKING:
    from bot.domain.node import Node

WORKLOADS = ("pod", "job")  # Kubernetes workloads that may stand for the nodes they run on
DEFAULT_NAMESPACE = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}\Z")
_GLOB = re.compile(r"[A-Za-z0-9*?\[][A-Za-z0-9._*?\[\]!-]{0,252}\Z")
_LABEL = re.compile(r"([A-Za-z0-9][A-Za-z0-9._/-]{0,62})=([A-Za-z0-9._:/@-]{0,253})\Z")
_WORKLOAD = re.compile(r"([a-z]{1,20})/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)\Z")
_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z")


class SelectorKind(enum.Enum):
    """What a selector is made of."""

    NAME = "a node's name"
    GLOB = "a glob of names"
    LABELS = "labels"
    WORKLOAD = "a workload of Kubernetes"


@dataclass(frozen=True, slots=True)
class Selector:
    """The nodes that somebody means.

    Shape: `text` is what they wrote. A node must have all of `labels`. `workload` is `pod` or `job`, and `name` its
    name; for a name or a glob, `name` is the text itself.
    """

    text: str
    kind: SelectorKind
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    workload: str = ""

    @classmethod
    def of(cls, text: str) -> Selector:
        """Return the selector written as a word.

        Raises: UsageError when it is not a name, a glob of names, labels or a workload, or gives a label two values.

        Example:
        >>> Selector.of("role=gpu,az=us-east-1a").labels
        {'role': 'gpu', 'az': 'us-east-1a'}
        >>> Selector.of("ray-gpu-1a-*").kind.value, Selector.of("pod/train-7").workload
        ('a glob of names', 'pod')
        """
        if _NAME.match(text):
            return cls(text, SelectorKind.NAME, text)
        if labels := _labels(text):
            return cls(text, SelectorKind.LABELS, labels=_unique_labels(text, labels))
        if (found := _WORKLOAD.match(text)) and found[1] in WORKLOADS:
            return cls(text, SelectorKind.WORKLOAD, found[2], workload=found[1])
        if _GLOB.match(text):
            return cls(text, SelectorKind.GLOB, text)
        raise UsageError(
            f"“{one_line(text, 60)}” does not say which nodes.",
            "Write a node's name, a glob such as ray-gpu-*, labels such as role=gpu,az=us-east-1a, "
            f"or {' or '.join(f'{kind}/NAME' for kind in WORKLOADS)}.",
        )

    def covers(self, node: Node) -> bool:
        """True when name, glob or labels match this node; for a workload, only its cluster can tell."""
        match self.kind:
            case SelectorKind.LABELS:
                return all(node.labels.get(name) == value for name, value in self.labels.items())
            case SelectorKind.WORKLOAD:
                return False
            case _:
                return fnmatchcase(node.name, self.name)


def valid_namespace(text: str) -> str:
    """Return `text` if it can be a namespace's name: it becomes part of an API's path. Raises: UsageError."""
    if _NAMESPACE.match(text):
        return text
    raise UsageError(f"“{one_line(text, 60)}” is no namespace.", "Lower-case letters, digits and dashes, 63 at most.")


def _labels(text: str) -> Sequence[tuple[str, str]]:
    """The labels in a word, with their values; empty if it has none, or is malformed."""
    found = [_LABEL.match(part) for part in text.split(",")]
    return [(match[1], match[2]) for match in found if match is not None] if all(found) else ()


def _unique_labels(text: str, labels: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """The same as a mapping. If the last of two values won, other nodes than were meant would be muted or cured."""
    values: dict[str, str] = {}
    for label, value in labels:
        if values.setdefault(label, value) != value:
            raise UsageError(
                f"“{one_line(text, 60)}” does not say which nodes: no node has two values of {label}.",
                f"For the nodes of either, write two selectors: {label}={values[label]} {label}={value}.",
            )
    return values
