"""Clicks and dialogs as they come in: each seen through once, beside everything else, acknowledged before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from bot.domain.safe_text import one_line
from bot.surfaces.slack.acting_rooms import ActingRooms
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.clicking import Clicking
from bot.surfaces.slack.clicks import Click, Submission
from bot.surfaces.slack.decisions import Decisions
from bot.surfaces.slack.home import HomeDesk

REMEMBERED = 2000


class ActingDesk:
    """Takes what people do with cards, dialogs and the App Home.

    Each is seen through in the background, and drained with it.
    """

    def __init__(self, rooms: ActingRooms, home: HomeDesk, background: Background) -> None:
        self._rooms = rooms
        self._background = background
        self._clicking = Clicking(rooms)
        self._decisions = Decisions(rooms, home)
        self._seen: OrderedDict[str, None] = OrderedDict()

    def clicked(self, click: Click) -> None:
        """Begin to see a click through; returns at once. The same delivered twice is one."""
        if self._is_new(click.key):
            self._background.begin(self._clicking.see_through(click), f"click {one_line(click.action, 40)}")

    def sent(self, submission: Submission) -> Mapping[str, str]:
        """Begin to see a dialog through; returns what it is to say in place of closing, by block."""
        errors, refusal = self._decisions.objection(submission)
        if self._is_new(submission.key):
            if refusal is not None:
                noted = self._rooms.note("decide", submission.person.by, refusal)
                self._background.begin(noted, "note of a refusal")
            else:
                self._background.begin(self._decisions.see_through(submission), "submission")
        return errors

    def _is_new(self, key: str) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return True
