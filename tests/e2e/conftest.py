"""What the end-to-end tests may ask for."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browser import CHROMIUM, chromium
from tests.conftest import missing
from tests.nodes.ring import Patient, a_patient
from tests.nodes.sshd import SSHD, Sshd
from tests.slack import service
from tests.slack.acting_team import ALICE, BOB, CAROL, GUEST, ActingTeam, acting_team, with_carol
from tests.slack.memory_chat import MemoryChat
from tests.slack.service import Bot, Readings
from tests.slack.workspace import SlackWorkspace, workspace


@pytest.fixture(scope="module")
def shared() -> Iterator[Sshd]:
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    with Sshd() as node:
        yield node


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all stories; they run in its loop, by `asyncio(loop_scope="session")`."""
    if CHROMIUM is None:
        missing("chromium is not installed (Debian: apt install chromium)")
    async with chromium() as browser:
        yield browser


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Patient]:
    """A node of OpenSSH that captures are begun on; tests that use it carry the marks `OWN_LOGIN`."""
    with a_patient(tmp_path) as found:
        yield found


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    """A workspace with somebody in the channel who is no approver."""
    async with workspace() as slack:
        with_carol(slack)
        yield slack


@dataclass(frozen=True)
class SlackHere:
    """A workspace, readings of nodes that a test begins and ends, and the folder in which the bot keeps its state."""

    slack: SlackWorkspace
    readings: Readings
    folder: Path

    def serving(self, readings: Readings | None = None, **settings: Any) -> AbstractAsyncContextManager[Bot]:
        """The bot, started; it is stopped when the block ends."""
        return service.serving(self.slack, self.folder, readings or self.readings, **settings)

    def being_read(self, **settings: Any) -> AbstractAsyncContextManager[Bot]:
        """The bot while it reads node-1 for alice, until the readings are let go."""
        return service.being_read(self.slack, self.folder, self.readings, **settings)

    def built(self, **settings: Any) -> AbstractAsyncContextManager[Bot]:
        """The bot, not started."""
        return service.built(self.slack, self.folder, self.readings, **settings)


@pytest.fixture
def here(slack: SlackWorkspace, readings: Readings, tmp_path: Path) -> SlackHere:
    return SlackHere(slack, readings, tmp_path)


@pytest.fixture
def chat() -> MemoryChat:
    """A chat in memory: alice and bob are in the group of approvers, carol is not, and gus is a guest."""
    people = {"alice": ALICE, "bob": BOB, "carol": CAROL.id, "gus": GUEST}
    return MemoryChat(people, frozenset({ALICE, BOB}), frozenset({GUEST}))


@pytest.fixture
async def team(chat: MemoryChat, tmp_path: Path) -> AsyncIterator[ActingTeam]:
    """Its people with the bot, whose approved plans are not carried out."""
    async with acting_team(chat, tmp_path, chat=chat) as team:
        team.run_plans = False
        yield team


@pytest.fixture
async def readings() -> Readings:
    """Readings of nodes that a test begins and ends."""
    return Readings()
