"""`zombie demo` in the terminal: start the nodes, check them, then offer a prompt."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from bot.demo.fleet import FLEET, PATTERN, Fleet, Member, running
from bot.domain.nearest import nearest
from bot.domain.verdict import Verdict

T = TypeVar("T")

HELP = """\
  check [NODE…]   check these nodes again, or all of them
  show NODE       the whole verdict: evidence, what would help, what was ruled out
  json NODE       the same as JSON
  nodes           every node, and what there is to see on it
  help            this list
  quit            leave; Ctrl-D and Ctrl-C do the same
"""


@dataclass(frozen=True, slots=True)
class DemoTools:
    """The parts of the program that the demo uses.

    Shape: `check` checks the named nodes of an inventory (all, if none is named), prints each headline at once and
    returns the verdicts. `read_line` raises EOFError at the end of input. `command` is how the program is called.
    `extras` runs Slack and PagerDuty for an inventory and says how to use them. With `keeps_running` the demo does not
    stop at the end of input but at an interrupt, because no terminal is attached.
    """

    check: Callable[[Path, Sequence[str]], Coroutine[Any, Any, Sequence[Verdict]]]
    full_text: Callable[[Verdict], str]
    document: Callable[[Sequence[Verdict]], str]
    clock: Callable[[], datetime]
    write: Callable[[str], None]
    read_line: Callable[[str], str]
    command: str = "zombie"
    extras: Callable[[Path], AbstractAsyncContextManager[str]] | None = None
    keeps_running: bool = False


def run_demo(tools: DemoTools, members: Sequence[Member] = (*FLEET, *PATTERN)) -> int:
    """Run the demo until the person leaves, clean up, and return the exit status."""

    @contextlib.asynccontextmanager
    async def everything(folder: Path) -> AsyncIterator[tuple[Fleet, str]]:
        async with running(members, folder, tools.clock) as known:
            extras = tools.extras(known.inventory) if tools.extras is not None else contextlib.nullcontext("")
            async with extras as instructions:
                yield known, instructions

    with _interruptible(), tempfile.TemporaryDirectory(prefix="zombie-demo-") as folder:
        try:
            with _beside(everything(Path(folder))) as ((known, instructions), loop):
                _Session(tools, known, loop, instructions).run()
        except KeyboardInterrupt:
            tools.write("\n")
    return 0


@contextlib.contextmanager
def _beside(block: AbstractAsyncContextManager[T]) -> Iterator[tuple[T, asyncio.AbstractEventLoop]]:
    """Run an asynchronous block on an event loop in its own thread; the main thread can then block on the prompt.

    The block is left, in the end, even when the person interrupts.
    """
    loop, entered = asyncio.new_event_loop(), Future[T]()

    async def stay() -> None:
        async with block as value:
            entered.set_result(value)
            await asyncio.Event().wait()  # until it is cancelled

    def live() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.get_loop().run_until_complete(asyncio.wait([staying]))

    staying = loop.create_task(stay())
    staying.add_done_callback(lambda _: entered.cancel())
    thread = threading.Thread(target=live, name="fleet")
    thread.start()
    try:
        yield entered.result(), loop
    finally:
        _ignore_interrupts()
        with contextlib.suppress(RuntimeError):  # the loop is closed where the block could not be entered
            loop.call_soon_threadsafe(staying.cancel)
        thread.join()
        if not staying.cancelled():
            staying.result()  # raises what broke it


def _run_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it; an interrupt here cancels it there."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C for the length of a block."""
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


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C from here on, so that a second Ctrl-C cannot stop the clean-up half-way."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass(slots=True)
class _Session:
    """First all nodes at once, then the first node in full, then a prompt."""

    tools: DemoTools
    nodes: Fleet
    loop: asyncio.AbstractEventLoop
    instructions: str = ""
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def run(self) -> None:
        names = list(self.nodes.descriptions)
        self._say(f"{self.nodes.summary}\n{self.instructions}Looking at all of them at once …\n\n")
        self._check([])
        first = names[0]
        if first in self.verdicts:
            self._say(f"\nThe first node in full ({self.nodes.descriptions[first]}):\n\n")
            self._say(self.tools.full_text(self.verdicts[first]))
        self._say(f"\nTry:\n{self._suggestions(names)}\n{self._elsewhere(first)}{self.instructions}\n")
        _complete([*_COMMANDS, *names])
        self._prompt()

    def _suggestions(self, names: Sequence[str]) -> str:
        shows = [f"  show {name:<20} {self.nodes.descriptions[name]}" for name in names[1:4]]
        return "\n".join([*shows, "  nodes                     all of them", "  help"])

    def _elsewhere(self, name: str) -> str:
        return (
            "\nYou can also reach the nodes from another terminal while this runs:\n"
            f"  {self.tools.command} check {name} --inventory {shlex.quote(str(self.nodes.inventory))}\n"
            f"  {shlex.join(self.nodes.ssh_command(name))} cat /proc/cgroups\n"
        )

    def _prompt(self) -> None:
        while True:
            try:
                line = self.tools.read_line("zombie demo> ")
            except EOFError:
                self._say("\n")
                if self.tools.keeps_running:
                    self._say("No terminal is attached: the demo runs until it is interrupted.\n")
                    threading.Event().wait()
                return
            words = line.split()
            if words and words[0] in ("zombie", self.tools.command):  # typed out of habit
                del words[0]
            word, *names = words or [""]
            if word in ("quit", "exit", "q"):
                return
            self._run_word(word, names)

    def _run_word(self, word: str, names: list[str]) -> None:
        if not word:
            return
        if word not in _COMMANDS:
            self._say(f"There is no command {word!r} here. {_did_you_mean(word, _COMMANDS)}There are:\n{HELP}")
            return
        unknown = [name for name in names if name not in self.nodes.descriptions]
        if unknown:
            hint = _did_you_mean(unknown[0], self.nodes.descriptions)
            self._say(f"There is no node {unknown[0]!r}. {hint}`nodes` lists them.\n")
            return
        match word:
            case "check":
                self._check(names)
                if len(names) == 1 and names[0] in self.verdicts:
                    self._say("\n" + self.tools.full_text(self.verdicts[names[0]]))
            case "show" | "json":
                if not names:
                    self._say(f"Which node? For example: {word} {next(iter(self.nodes.descriptions))}\n")
                    return
                self._check([name for name in names if name not in self.verdicts], quiet_if_none=True)
                seen = [self.verdicts[name] for name in names if name in self.verdicts]
                if word == "json":
                    self._say(self.tools.document(seen) + "\n")
                else:
                    self._say("\n".join(map(self.tools.full_text, seen)))
            case "nodes":
                width = max(map(len, self.nodes.descriptions))
                for name, description in self.nodes.descriptions.items():
                    self._say(f"  {name:<{width}}  {description}\n")
            case "help":
                self._say(HELP)

    def _check(self, names: Sequence[str], quiet_if_none: bool = False) -> None:
        if names or not quiet_if_none:
            for verdict in _run_on(self.loop, self.tools.check(self.nodes.inventory, names)):
                self.verdicts[verdict.node] = verdict

    def _say(self, text: str) -> None:
        self.tools.write(text)


_COMMANDS = ("check", "show", "json", "nodes", "help", "quit")


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f"Did you mean {' or '.join(near)}? " if near else ""


def _complete(words: Sequence[str]) -> None:
    """Have the tab key complete commands and names, where Python was built with readline."""
    try:
        import readline
    except ImportError:
        return

    def complete(text: str, number: int) -> str | None:
        return dict(enumerate(f"{word} " for word in words if word.startswith(text))).get(number)

    readline.set_completer(complete)
    readline.set_completer_delims(" \t")  # a dash is part of a node's name
    readline.parse_and_bind("tab: complete")
