"""How often an alert, and a yes, wait for the record; how many files they pass is printed beside it, and not judged."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, reduce
from operator import and_
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import bot
from tests.e2e.test_alerts import alert_stage
from tests.slack.acting_team import BOB, ActingTeam, acting_team
from tests.slack.service import QUICK
from tests.slack.workspace import workspace

PROGRAM = Path(bot.__file__).parent
NOT_COUNTED = {"demo", "lab"}  # the simulated workspace runs in this process, too
# How often each room is entered; about 20 and 10 times the ledger. A card may be drawn once or twice more, and in an
# alert that takes longer, whoever looks every second does so more often.
# The chat and the surface that draws it were one room: what they say to each other is counted since they are two.
MOST_ENTRIES_OF_AN_ALERT = {"ledger": 36, "response": 4, "chat": 8, "surfaces": 8, "extras": 1}
MOST_ENTRIES_OF_A_YES = {"ledger": 14, "response": 3, "chat": 2, "surfaces": 8}
NO_BEAT = replace(QUICK, sweep_every=3600.0)  # what an earlier run left is looked for in another walk
WALKS = 3  # of each kind; what only happens beside an alert, as a beat does, is not on every one of them


class Walks:
    """The files of the program whose functions ran in each part of a block, whichever thread they ran on.

    Beside them, how often each room was entered: a coroutine in it was awaited by a coroutine of another room. What
    returns to its caller enters nothing, and neither do plain functions and values.
    """

    def __init__(self) -> None:
        self._walking: set[CodeType] | None = None
        self._walked: list[set[CodeType]] = []
        self._entering: list[Counter[tuple[str, str, str]]] = []  # from where, into which room, by what
        self._starts: dict[CodeType, int] = {}  # where each coroutine begins: it is also heard when it goes on

    @contextmanager
    def walk(self) -> Iterator[None]:
        """Note what runs while a block lasts."""
        self._walking = set()
        self._walked.append(self._walking)
        self._entering.append(Counter())
        try:
            yield
        finally:
            self._walking = None

    @property
    def files(self) -> list[str]:
        """Those that ran on every walk, by their path below `bot/`: what only happened to run beside one drops out.

        What only defines things ran at import and is not among them.
        """
        return sorted(set.intersection(*map(files_of, self._walked)))

    @property
    def entries(self) -> Counter[tuple[str, str, str]]:
        """How often each coroutine was awaited from another room, on the walk where that was fewest."""
        return reduce(and_, self._entering)

    @property
    def entered(self) -> Counter[str]:
        """How often each room was entered."""
        rooms = Counter[str]()
        for (_, room, _), times in self.entries.items():
            rooms[room] += times
        return rooms

    @property
    def told(self) -> str:
        """The same in words, the most frequent first."""
        lines = (f"{times} {before} → {room} {by}" for (before, room, by), times in self.entries.most_common())
        return ", ".join(lines)

    def heard(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls at each call of a function."""
        if event != "call":
            return
        code = frame.f_code
        is_coroutine = bool(code.co_flags & inspect.CO_COROUTINE)
        begins = is_coroutine and self._starts.setdefault(code, frame.f_lasti) == frame.f_lasti
        if self._walking is None:
            return
        self._walking.add(code)
        if begins and (room := room_of(code)):
            before = caller_of(frame)
            if before not in ("", room):
                self._entering[-1][before, room, code.co_qualname] += 1


def caller_of(frame: FrameType) -> str:
    """The room that awaits a coroutine; empty where a task begins, for then the loop does."""
    caller = frame.f_back
    while caller is not None and not (room := room_of(caller.f_code)):
        caller = caller.f_back
    return room if caller is not None else ""


@cache
def room_of(code: CodeType) -> str:
    """The folder below `bot/` that code stands in; empty where it is not counted."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PROGRAM) or (room := path.relative_to(PROGRAM).parts[0]) in NOT_COUNTED:
        return ""
    return room


def files_of(ran: set[CodeType]) -> set[str]:
    return {str(Path(code.co_filename).relative_to(PROGRAM)) for code in ran if room_of(code)}


@contextmanager
def listening() -> Iterator[Walks]:
    """Hear this thread and every thread that begins from now on."""
    walks = Walks()
    threading.setprofile(walks.heard)
    sys.setprofile(walks.heard)
    try:
        yield walks
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def test_an_alert_enters_the_rooms_seldom(tmp_path: Path) -> None:
    with listening() as walks:
        async with alert_stage(tmp_path, timing=NO_BEAT) as here:
            for number in range(1, WALKS + 1):
                with walks.walk():
                    assert await here.page(f"E{number}", f"Q{number}", title=f"node-{number}: core 39 pinned") == 202
                    await here.card(f"node-{number}", "CRITICAL", "leaked-memory-cgroups")
    print(f"an alert: {len(walks.files)} files; entered: {walks.told}")
    enters_few(walks, MOST_ENTRIES_OF_AN_ALERT)


async def test_a_yes_enters_the_rooms_seldom(tmp_path: Path) -> None:
    with listening() as walks:
        async with workspace() as slack, acting_team(slack, tmp_path, nodes=WALKS) as here:
            for number in range(1, WALKS + 1):
                offer = await here.proposed(f"node-{number}", key=f"cmd-{number}")
                with walks.walk():
                    await here.decides(BOB, offer)
                    await until_begun(here, f"node-{number}")
                await here.idle()
    print(f"a yes: {len(walks.files)} files; entered: {walks.told}")
    enters_few(walks, MOST_ENTRIES_OF_A_YES)


def enters_few(walks: Walks, most: Mapping[str, int]) -> None:
    entered = walks.entered
    assert entered.keys() <= most.keys(), walks.told
    assert all(times <= most[room] for room, times in entered.items()), walks.told


async def until_begun(here: ActingTeam, node: str) -> None:
    """Wait for the first command on the node."""
    async with asyncio.timeout(120):
        while not here.stage.nodes[node].stopped:  # noqa: ASYNC110 - the node only counts
            await asyncio.sleep(0.001)
