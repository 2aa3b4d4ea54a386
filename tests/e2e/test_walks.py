"""How many files an alert passes on its way to a card, and a yes on its way to the first command on the node."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import bot
from tests.e2e.test_alerts import outside
from tests.slack.acting_team import BOB, acting_team
from tests.slack.workspace import workspace

PROGRAM = Path(bot.__file__).parent
NOT_COUNTED = {"demo", "lab"}  # the simulated workspace runs in this process, too
# As they stand; they may become fewer, and never more. Fifty and thirty-five are what is aimed at.
# More since people mark verdicts, waves hold incidents and profiles are weighed; a few swing with the threads.
MOST_OF_AN_ALERT = 80
MOST_OF_A_YES = 74


class Walk:
    """The files of the program whose functions ran while a block lasted, whichever thread they ran on."""

    def __init__(self) -> None:
        self._ran: set[CodeType] = set()

    @property
    def files(self) -> list[str]:
        """The files by their path below `bot/`; what only defines things ran at import and is not among them."""
        paths = {Path(code.co_filename) for code in self._ran}
        within = {path.relative_to(PROGRAM) for path in paths if path.is_relative_to(PROGRAM)}
        return sorted(str(path) for path in within if path.parts[0] not in NOT_COUNTED)

    def heard(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls at each call of a function."""
        if event == "call":
            self._ran.add(frame.f_code)


@contextmanager
def walk() -> Iterator[Walk]:
    """Note what runs, in this thread and in every thread that begins from now on."""
    walked = Walk()
    threading.setprofile(walked.heard)
    sys.setprofile(walked.heard)
    try:
        yield walked
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def test_an_alert_passes_few_files(tmp_path: Path) -> None:
    async with outside(tmp_path) as here:
        with walk() as walked:
            assert await here.page("E1", title="node-3: core 39 pinned") == 202
            await here.card("node-3", "CRITICAL", "leaked-memory-cgroups")
    assert len(walked.files) <= MOST_OF_AN_ALERT, walked.files


async def test_a_yes_passes_few_files(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as here:
        offer = await here.proposed("node-1")
        with walk() as walked:
            await here.decides(BOB, offer)
            await here.until_state("acting")
    assert len(walked.files) <= MOST_OF_A_YES, walked.files
