"""The composition root: builds the parts and runs them. The only file that sees every room."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.domain.batch import Sampling
from bot.domain.contracts import Concluded, Listener, Progress, Transport
from bot.domain.errors import UsageError
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Status, Verdict
from bot.library import Library
from bot.probes import PROBES
from bot.response.triage import Triage
from bot.surfaces.progress import TerminalProgress

if TYPE_CHECKING:
    from bot.inventory import Inventory

DEFAULT_PLAYBOOK = "node-health"
# Beyond the window: connecting, logging in, and the slowest command's own limit.
DEADLINE_BEYOND_WINDOW = timedelta(seconds=15)


def now() -> datetime:
    """The clock."""
    return datetime.now(UTC)


def nonce() -> str:
    """A fresh secret for one batch's frames."""
    return secrets.token_hex(12)


def incident_id() -> str:
    """A fresh id for an incident, fifty bits that can be read out and typed: no i, l, o or u."""
    return "".join(secrets.choice("0123456789abcdefghjkmnpqrstvwxyz") for _ in range(10))


def library(extra: Sequence[Path] = ()) -> Library:
    """Load the house's playbooks and those of further directories.

    Raises: PlaybookError when one cannot be used as written.
    """
    return Library.load([_own_playbooks(), *extra], PROBES, CAUSES)


def _own_playbooks() -> Path:
    package = Path(__file__).parent
    packaged = package / "_playbooks"
    return packaged if packaged.is_dir() else package.parent / "playbooks"


def inventory(path: Path, environment: Mapping[str, str]) -> Inventory:
    """Load an inventory.

    Raises: InventoryError when it cannot be used as written.
    """
    from bot.inventory import Inventory

    return Inventory.load(path, home=_home(environment))


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())


def ssh_transport(environment: Mapping[str, str]) -> Transport:
    """The way to nodes of an inventory; asyncssh is loaded here and not before."""
    from bot.transport.ssh import SshTransport
    from bot.transport.ssh_options import Keyring

    return SshTransport(Keyring(_home(environment) / ".ssh" / "known_hosts", environment.get("SSH_AUTH_SOCK")), nonce)


def local_transport() -> Transport:
    """The way to this very machine."""
    from bot.transport.local import LocalTransport

    return LocalTransport(nonce)


def this_machine() -> Node:
    """This machine as a node, by its host name where that can be a node's name."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()).lstrip("._-")
    return Node(name or "localhost", "localhost")


@dataclass(frozen=True, slots=True)
class Check:
    """What one `check` does: these nodes, this playbook, so long a window, so many at a time."""

    nodes: tuple[Node, ...]
    playbook: Playbook
    transport: Transport
    sampling: Sampling
    deadline: timedelta
    parallel: int

    def triage(self, heard: Listener) -> Triage:
        """The diagnosis that this check runs for each node."""
        return Triage(self.transport, ACTIONS, now, self.sampling, self.deadline, heard)


async def check(what: Check, heard: Listener, concluded: Callable[[Verdict], None]) -> None:
    """Diagnose every node, `parallel` at a time, and hand over each verdict as it falls.

    Raises: UsageError (a missing key or known_hosts file) of any node, once all others are through.
    """
    gate = asyncio.Semaphore(what.parallel)
    triage = what.triage(heard)
    wrong: list[UsageError] = []

    async def one(node: Node) -> None:
        async with gate:
            try:
                concluded(await triage.diagnose(node, what.playbook))
            except UsageError as error:
                wrong.append(error)

    async with asyncio.TaskGroup() as group:
        for node in what.nodes:
            group.create_task(one(node))
    if wrong:
        raise wrong[0]


async def record(what: Check, folder: Path) -> tuple[Path, ...]:
    """Write what each node answers into `folder`, one recording a node, without judging it."""
    from bot.transport.replay import dump

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for node in what.nodes:
        runs = await what.triage(lambda _: None).runs(node, what.playbook)
        path = folder / f"{node.name}.jsonl"
        path.write_text(dump(runs), encoding="utf-8")
        written.append(path)
    return tuple(written)


def demo(samples: int, command: str) -> int:
    """Run the demo in the terminal and return the exit status; `command` is how the program is called."""
    from bot.demo.story import Stage, tell
    from bot.surfaces.document import document
    from bot.surfaces.text import headline, verdict_text

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    playbook = library().get(DEFAULT_PLAYBOOK)

    async def look(path: Path, names: Sequence[str]) -> Sequence[Verdict]:
        known = inventory(path, os.environ)
        nodes = tuple(map(known.find, names)) or tuple(known.nodes)
        sampling = Sampling(samples)
        what = Check(
            nodes, playbook, ssh_transport(os.environ), sampling, sampling.window + DEADLINE_BEYOND_WINDOW, len(nodes)
        )
        verdicts: dict[str, Verdict] = {}
        async with shown_progress() as (heard, clear):

            def concluded(verdict: Verdict) -> None:
                verdicts[verdict.node] = verdict
                clear()
                print(headline(verdict, colour), flush=True)

            await check(what, heard, concluded)
        return [verdicts[node.name] for node in nodes if node.name in verdicts]

    stage = Stage(
        check=look,
        whole=lambda verdict: verdict_text(verdict, min(100, terminal_width()), colour),
        document=document,
        clock=now,
        write=lambda text: print(text, end="", flush=True),
        ask=input,
        command=command,
    )
    return tell(stage)


def exit_status(verdicts: Iterable[Verdict], fail_on: Status) -> int:
    """Return 1 for any node at or above `fail_on`, else 4 for any unreachable, else 3 for any unknown, else 0.

    Example:
    >>> exit_status([], Status.DEGRADED)
    0
    """
    statuses = {verdict.status for verdict in verdicts}
    if any(status.rank >= fail_on.rank for status in statuses):
        return 1
    if Status.UNREACHABLE in statuses:
        return 4
    return 3 if Status.UNKNOWN in statuses else 0


def sudoers(user: str, extra: Sequence[Path] = ()) -> str:
    """Return the sudoers lines that reading by every playbook needs."""
    from bot.response.privilege import reading_lines

    probes = [probe for playbook in library(extra).playbooks for probe in playbook.probes]
    return reading_lines(user, probes)


@contextlib.asynccontextmanager
async def shown_progress() -> AsyncIterator[tuple[Listener, Callable[[], None]]]:
    """Draw progress on stderr while the block runs, where stderr is a terminal; yields (listener, clear)."""
    if not sys.stderr.isatty():
        yield _unheard, _nothing
        return
    loop = asyncio.get_running_loop()
    began = loop.time()
    progress = TerminalProgress(sys.stderr, terminal_width, lambda: loop.time() - began)

    async def redraw() -> None:
        while True:
            progress.draw()
            await asyncio.sleep(0.2)

    drawing = asyncio.create_task(redraw())
    try:
        yield progress.heard, progress.clear
    finally:
        drawing.cancel()
        progress.clear()


def terminal_width() -> int:
    """Columns of the terminal, 80 where there is none."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 80


def _unheard(_: Progress | Concluded) -> None:
    """Hears progress where nobody watches."""


def _nothing() -> None:
    """Clears what was never drawn."""
