"""Profiles of nodes, for the terminal: captured at the same time, read as they arrive, a document for each."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app.factories import nonce, ssh_scripts
from bot.app.many_nodes import each_node
from bot.domain.errors import CannotRead, StoodStill, Unreachable, ZombieError
from bot.domain.node import Node
from bot.extras.profiles.perf_command import CaptureRequest
from bot.extras.profiles.profile import Profile
from bot.extras.profiles.profiler import Captured, Profiler, default_selection, profiled
from bot.extras.profiles.reader import Reader
from bot.extras.profiles.selection import Selection
from bot.extras.profiles.words import says

EXIT_UNREAD, EXIT_UNREACHABLE = 3, 4


@dataclass(frozen=True, slots=True)
class NodeProfile:
    """The result of profiling a node: a capture and its profile, or why there is none."""

    node: str
    found: tuple[Captured, Profile] | ZombieError
    kept: Path | None = None

    @property
    def exit_status(self) -> int:
        """0 for a whole profile that names a function, 3 where something is unread, 4 for an unreachable node."""
        if isinstance(self.found, ZombieError):
            return EXIT_UNREACHABLE if self._is_unreachable else EXIT_UNREAD
        return EXIT_UNREAD if says(*self.found).unread else 0

    @property
    def _is_unreachable(self) -> bool:
        return isinstance(self.found, Unreachable) and not isinstance(self.found, StoodStill)

    def document(self) -> dict[str, Any]:
        """Return it as JSON values: `node`, the profile's document, and how it was captured."""
        body: dict[str, Any] = {"node": self.node}
        if isinstance(self.found, ZombieError):
            kind = "unreachable" if self._is_unreachable else "unread"
            return body | {"status": kind, "reason": self.found.sentence, "try": self.found.try_next}
        captured, profile = self.found
        unread = says(captured, profile).unread
        read = {"status": "unread" if unread else "read", "reason": unread, "capture": _capture(captured)}
        return body | profile.document() | read


@dataclass(frozen=True, slots=True)
class Profiling:
    """What a `profile` does. `kept_in` is a folder for each node's text, as gzip."""

    request: CaptureRequest
    selection: Selection
    anyway: bool = False
    parallel: int = 8
    kept_in: Path | None = None


async def profile_nodes(
    nodes: Sequence[Node],
    what: Profiling,
    environment: Mapping[str, str],
    heard: Callable[[NodeProfile], None],
) -> list[NodeProfile]:
    """Profile the nodes, a limited number at once; pass on each when done. Returns them in the order of the request.

    Raises: UsageError (a missing key or known_hosts file, an unknown core) once all others are done.
    """
    profiler, found = Profiler(ssh_scripts(environment), nonce), dict[str, NodeProfile]()

    async def profile(node: Node) -> None:
        found[node.name] = await profile_node(profiler, node, what)
        heard(found[node.name])

    await each_node(nodes, what.parallel, profile)
    return [found[node.name] for node in nodes]


async def profile_node(profiler: Profiler, node: Node, what: Profiling) -> NodeProfile:
    """Profile a node.

    Raises: UsageError when a key or known_hosts file is missing, or the selected core does not exist.
    """
    kept = None if what.kept_in is None else what.kept_in / f"{node.name}.perf.txt.gz"
    with ExitStack() as opened:
        copy = None if kept is None else opened.enter_context(gzip.open(kept, "wb", compresslevel=1))
        try:
            found = await profiled(
                profiler,
                node,
                what.request,
                Reader(selection=default_selection(what.selection)),
                copy=copy,
                anyway=what.anyway,
            )
        except (CannotRead, Unreachable) as why:
            if kept is not None and copy is not None and not copy.tell():
                kept.unlink(missing_ok=True)  # an empty file would look like a profile
            return NodeProfile(node.name, why)
        return NodeProfile(node.name, found, kept)


def _capture(captured: Captured) -> dict[str, Any]:
    end = captured.end
    offset = end.kernel_log
    return {
        "event": captured.event,
        "hertz": captured.request.hertz,
        "asked_seconds": captured.request.seconds,
        "kernel": captured.facts.text("kernel"),
        "load_percent": round(captured.load_percent, 2),
        "wall_minus_mono": end.clock.minus_mono,
        "wall_error": round(end.clock.error or 0.0, 3),
        "kernel_log": None
        if offset is None
        else {"seconds": round(offset.seconds, 6), "error": round(offset.error, 6), "pairs": offset.pairs},
        "incomplete": captured.incomplete,
        "remarks": list(captured.remarks),
    }
