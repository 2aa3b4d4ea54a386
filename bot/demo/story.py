"""What `zombie demo` does in the terminal: start the fleet, check it live, then leave a prompt."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import signal
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from bot.demo.cast import Cast
from bot.demo.fleet import FLEET, Fleet
from bot.domain.nearest import nearest
from bot.domain.verdict import Verdict

T = TypeVar("T")

HELP = """\
  check [NODE…]   look again, at these or at all
  show NODE       the whole verdict: evidence, what would help, what was ruled out
  json NODE       the same as JSON
  nodes           every node and what it has to teach
  help            this
  quit            end; so do Ctrl-D and Ctrl-C
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """What the story needs of the program it tells of.

    Shape: `check` looks at the nodes of an inventory, all where none are named, shows each headline as it falls and
    returns the verdicts; `ask` reads a line and raises EOFError at the end of input; `command` is how the program is
    called. `beside` runs what else the demo shows of the fleet of an inventory, and says what to do with it. `stays`:
    at the end of input the demo goes on until it is interrupted, because nobody sits at a terminal.
    """

    check: Callable[[Path, Sequence[str]], Coroutine[Any, Any, Sequence[Verdict]]]
    whole: Callable[[Verdict], str]
    document: Callable[[Sequence[Verdict]], str]
    clock: Callable[[], datetime]
    write: Callable[[str], None]
    ask: Callable[[str], str]
    command: str = "./zombie"
    beside: Callable[[Path], AbstractAsyncContextManager[str]] | None = None
    stays: bool = False


def tell(stage: Stage, cast: Callable[[Path], Cast] | None = None) -> int:
    """Run the demo until the person has seen enough, and return the exit status; nothing is left behind.

    Shape: `cast` makes the nodes, their files in that folder; without one they are the simulated fleet.
    """
    with (
        _interruptible(),
        tempfile.TemporaryDirectory(prefix="zombie-demo-") as folder,
        Backstage() as backstage,
    ):
        fleet = cast(Path(folder)) if cast is not None else Fleet(FLEET, Path(folder), stage.clock)
        try:
            backstage.run(fleet.start(backstage.seconds))
            with _beside(stage, fleet, backstage) as told:
                _Story(stage, fleet, backstage, told).tell()
        except KeyboardInterrupt:
            stage.write("\n")
        finally:
            _hold_interrupts()
            backstage.run(fleet.stop())
    return 0


@contextlib.contextmanager
def _beside(stage: Stage, fleet: Cast, backstage: Backstage) -> Iterator[str]:
    """What else there is to see, while it is there; it ends even if the person cannot wait."""
    if stage.beside is None:
        yield ""
        return
    other = stage.beside(fleet.inventory)
    told = backstage.run(other.__aenter__())
    try:
        yield told
    finally:
        _hold_interrupts()
        backstage.run(_left(other))


async def _left(other: AbstractAsyncContextManager[str]) -> None:
    await other.__aexit__(None, None, None)


class Backstage:
    """The event loop on which the fleet lives, in a thread of its own, so that the prompt may wait in peace."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fleet")

    def __enter__(self) -> Backstage:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(_end_of_all_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def seconds(self) -> float:
        """Return the loop's own time."""
        return self._loop.time()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work there and wait for it here; an interruption here ends the work there."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise


async def _end_of_all_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let a closed terminal and a polite kill end the demo as Ctrl-C does; afterwards all is as it was."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in kept:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _hold_interrupts() -> None:
    """Clearing up takes a moment; a second Ctrl-C must not leave half of it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass(slots=True)
class _Story:
    """The acts: all nodes at once, the founding case in full, and then whatever the person asks."""

    stage: Stage
    fleet: Cast
    backstage: Backstage
    beside: str = ""
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def tell(self) -> None:
        names = list(self.fleet.teaches)
        self._say(f"{self.fleet.says}\n{self.beside}Looking at all of them at once …\n\n")
        self._check([])
        first = names[0]
        if first in self.verdicts:
            self._say(f"\nThe first of them in full ({self.fleet.teaches[first]}):\n\n")
            self._say(self.stage.whole(self.verdicts[first]))
        self._say(f"\nTry:\n{self._suggestions(names)}\n{self._elsewhere(first)}{self.beside}\n")
        with _completion([*_COMMANDS, *names]):
            self._prompt()

    def _suggestions(self, names: Sequence[str]) -> str:
        told = [f"  show {name:<20} {self.fleet.teaches[name]}" for name in names[1:4]]
        return "\n".join([*told, "  nodes                     all of them", "  help"])

    def _elsewhere(self, name: str) -> str:
        return (
            "\nThe nodes answer from another terminal too, until this one ends:\n"
            f"  {self.stage.command} check {name} --inventory {shlex.quote(str(self.fleet.inventory))}\n"
            f"  {shlex.join(self.fleet.login(name))} cat /proc/cgroups\n"
        )

    def _prompt(self) -> None:
        while True:
            try:
                line = self.stage.ask("zombie demo> ")
            except EOFError:
                self._say("\n")
                if self.stage.stays:
                    self._say("Nobody sits at a terminal here; the demo goes on until it is interrupted.\n")
                    threading.Event().wait()
                return
            words = line.split()
            if words and words[0] in ("zombie", self.stage.command):  # as one types it in a shell
                del words[0]
            word, *names = words or [""]
            if word in ("quit", "exit", "q"):
                return
            self._do(word, names)

    def _do(self, word: str, names: list[str]) -> None:
        if not word:
            return
        if word not in _COMMANDS:
            self._say(f"There is no command {word!r} here. {_or_rather(word, _COMMANDS)}There are:\n{HELP}")
            return
        unknown = [name for name in names if name not in self.fleet.teaches]
        if unknown:
            self._say(
                f"There is no node {unknown[0]!r}. {_or_rather(unknown[0], self.fleet.teaches)}`nodes` lists them.\n"
            )
            return
        match word:
            case "check":
                self._check(names)
                if len(names) == 1 and names[0] in self.verdicts:
                    self._say("\n" + self.stage.whole(self.verdicts[names[0]]))
            case "show" | "json":
                if not names:
                    self._say(f"Which node? For example: {word} {next(iter(self.fleet.teaches))}\n")
                    return
                self._check([name for name in names if name not in self.verdicts], quiet_if_none=True)
                seen = [self.verdicts[name] for name in names if name in self.verdicts]
                if word == "json":
                    self._say(self.stage.document(seen) + "\n")
                else:
                    self._say("\n".join(map(self.stage.whole, seen)))
            case "nodes":
                width = max(map(len, self.fleet.teaches))
                for name, teaches in self.fleet.teaches.items():
                    self._say(f"  {name:<{width}}  {teaches}\n")
            case "help":
                self._say(HELP)

    def _check(self, names: Sequence[str], quiet_if_none: bool = False) -> None:
        if names or not quiet_if_none:
            for verdict in self.backstage.run(self.stage.check(self.fleet.inventory, names)):
                self.verdicts[verdict.node] = verdict

    def _say(self, text: str) -> None:
        self.stage.write(text)


_COMMANDS = ("check", "show", "json", "nodes", "help", "quit")


def _or_rather(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f"Did you mean {' or '.join(near)}? " if near else ""


@contextlib.contextmanager
def _completion(words: Sequence[str]) -> Iterator[None]:
    """Complete commands and names by the tab key, where Python was built with readline."""
    try:
        import readline
    except ImportError:
        yield
        return

    def complete(text: str, number: int) -> str | None:
        fitting = [f"{word} " for word in words if word.startswith(text)]
        return fitting[number] if number < len(fitting) else None

    kept, delimiters = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(complete)
    readline.set_completer_delims(" \t")  # a dash is part of a node's name
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_completer(kept)
        readline.set_completer_delims(delimiters)
