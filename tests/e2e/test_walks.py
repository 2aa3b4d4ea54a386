"""How many files an alert passes on its way to a card, and a yes on its way to the first command on the node."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import bot
from tests.e2e.test_alerts import alert_stage
from tests.slack.acting_team import BOB, ActingTeam, acting_team
from tests.slack.workspace import workspace

PROGRAM = Path(bot.__file__).parent
NOT_COUNTED = {"demo", "lab"}  # the simulated workspace runs in this process, too
# As they stand, and three for what luck brings to all of them; they may become fewer, and never more.
# Fifty and thirty-five are what is aimed at. Threads that wait, beats and what else runs meanwhile are among them.
MOST_OF_AN_ALERT = 85
MOST_OF_A_YES = 85
WALKS = 3  # of each kind; what only happens beside an alert, as a beat does, is not on every one of them


class Walks:
    """The files of the program whose functions ran in each part of a block, whichever thread they ran on."""

    def __init__(self) -> None:
        self._walking: set[CodeType] | None = None
        self._walked: list[set[CodeType]] = []

    @contextmanager
    def walk(self) -> Iterator[None]:
        """Note what runs while a block lasts."""
        self._walking = set()
        self._walked.append(self._walking)
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

    def heard(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls at each call of a function."""
        if self._walking is not None and event == "call":
            self._walking.add(frame.f_code)


def files_of(ran: set[CodeType]) -> set[str]:
    paths = {Path(code.co_filename) for code in ran}
    within = {path.relative_to(PROGRAM) for path in paths if path.is_relative_to(PROGRAM)}
    return {str(path) for path in within if path.parts[0] not in NOT_COUNTED}


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


async def test_an_alert_passes_few_files(tmp_path: Path) -> None:
    with listening() as walks:
        async with alert_stage(tmp_path) as here:
            for number in range(1, WALKS + 1):
                with walks.walk():
                    assert await here.page(f"E{number}", f"Q{number}", title=f"node-{number}: core 39 pinned") == 202
                    await here.card(f"node-{number}", "CRITICAL", "leaked-memory-cgroups")
    assert len(walks.files) <= MOST_OF_AN_ALERT, walks.files


async def test_a_yes_passes_few_files(tmp_path: Path) -> None:
    with listening() as walks:
        async with workspace() as slack, acting_team(slack, tmp_path, nodes=WALKS) as here:
            for number in range(1, WALKS + 1):
                offer = await here.proposed(f"node-{number}", key=f"cmd-{number}")
                with walks.walk():
                    await here.decides(BOB, offer)
                    await until_begun(here, f"node-{number}")
                await here.idle()
    assert len(walks.files) <= MOST_OF_A_YES, walks.files


async def until_begun(here: ActingTeam, node: str) -> None:
    """Wait until the plan of the node's incident is being carried out, or has been."""
    before = {"opened", "triaged", "proposed", "approved"}
    async with asyncio.timeout(120):
        while any(found.node == node and found.state in before for found in await here.ledger.incidents()):  # noqa: ASYNC110 - asks a database
            await asyncio.sleep(0.02)
