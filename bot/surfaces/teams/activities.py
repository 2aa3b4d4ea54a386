"""What Teams delivers, as values: who and where, what was typed, a click, a sent dialog. Activities are not trusted."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from bot.chat.clicks import Click, Submission, mapping
from bot.chat.people import Person
from bot.chat.requests import CommandRequest
from bot.domain.alert import TEAMS
from bot.domain.safe_text import one_line
from bot.surfaces.teams.drawing import ACTION, CHOSEN, OPENED, REASON, ROW, SEALED, VALUE

FETCH, SUBMIT, EXECUTE = "task/fetch", "task/submit", "adaptiveCard/action"
STANDARD = "standard"  # the kind of channel whose members are those of its team
_USER = re.compile(r"[0-9a-f-]{36}\Z")
_PLACE = re.compile(r"[^\s/;\x00-\x1f\x7f]{1,250}\Z")  # no more stands in the name of a request on record
_COMMAND = re.compile(r"/?zombie\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spoken:
    """An activity: who, by object id and by the id that Teams has for them here, and where.

    Shape: `conversation` has no thread in it; `thread` is empty outside channels. `is_direct`: in a chat with the bot.
    """

    activity: Mapping[str, Any]
    id: str
    person: Person
    name: str
    name_here: str
    conversation: str
    thread: str
    is_direct: bool

    @classmethod
    def of(cls, activity: Mapping[str, Any]) -> Spoken | None:
        """Read an activity; None where it does not say who a person is, or comes from a place that is shared."""
        who, where = mapping(activity.get("from")), mapping(activity.get("conversation"))
        data = mapping(activity.get("channelData"))
        user = str(who.get("aadObjectId") or "").lower()
        conversation, _, more = str(where.get("id") or "").partition(";")
        thread = more.removeprefix("messageid=") if more.startswith("messageid=") else ""
        kind = str(mapping(data.get("channel")).get("type") or STANDARD).lower()
        if not _USER.match(user) or not _PLACE.match(conversation) or kind != STANDARD:
            return None
        if thread and not _PLACE.match(thread):
            return None
        tenant = str(mapping(data.get("tenant")).get("id") or "").lower()
        person = Person(user, tenant, chat=TEAMS)
        name, name_here, is_direct = (
            one_line(str(who.get("name") or ""), 80),
            str(who.get("id") or user),
            where.get("conversationType"),
        )
        ours = (str(activity.get("id") or ""), person, name, name_here, conversation, thread, is_direct == "personal")
        return cls(activity, *ours)

    @property
    def data(self) -> Mapping[str, Any]:
        """What a button or a dialog brings back, with what was typed beside it."""
        value = mapping(self.activity.get("value"))
        return mapping(mapping(value.get("action")).get("data") or value.get("data"))

    def command(self) -> CommandRequest | None:
        """Return what was typed to the bot; None where it was not mentioned, outside a chat with it."""
        us, text, is_meant = (
            mapping(self.activity.get("recipient")).get("id"),
            str(self.activity.get("text") or ""),
            False,
        )
        entities = self.activity.get("entities")
        for entity in map(mapping, entities if isinstance(entities, list) else ()):
            if entity.get("type") == "mention" and us and mapping(entity.get("mentioned")).get("id") == us:
                is_meant = True
                text = text.replace(str(entity.get("text") or ""), " ", 1) if entity.get("text") else text
        if not (is_meant or self.is_direct):
            return None
        said = html.unescape(text).replace("\u00a0", " ").strip()
        return CommandRequest(
            key=f"msg-{self.conversation}-{self.id}",
            person=self.person,
            channel=self.conversation,
            text=_COMMAND.sub("", said, count=1).strip() if _COMMAND.match(said) else said,
            thread_ts=self.thread,
            asked_at=_instant(self.activity.get("timestamp")),
            direct=self.is_direct,
        )

    def click(self, *, in_home: bool = False) -> Click:
        """Return the click on a button; `in_home`: of a home that was proved to be theirs."""
        data = self.data
        chosen = data.get(str(data[CHOSEN])) if CHOSEN in data else data.get(VALUE)
        return Click(
            key=f"click-{self.conversation}-{self.id}",
            person=self.person,
            action=str(data.get(ACTION) or ""),
            value=str(chosen or "").strip(),
            block=str(data.get(ROW) or ""),
            trigger=f"{self.person.user}-{self.id}",
            channel="" if in_home else self.conversation,
            ts="" if in_home else str(self.activity.get("replyToId") or ""),
            thread_ts="" if in_home else self.thread,
            in_home=in_home,
        )

    def submission(self) -> Submission:
        """Return the dialog that was sent; delivered again, perhaps with another id, it is the same."""
        sealed, reason = str(self.data.get(SEALED) or ""), str(self.data.get(REASON) or "").strip()
        words = (self.person.user, sealed, str(self.data.get(OPENED) or ""), reason)
        same = sha256("\n".join(words).encode(errors="replace")).hexdigest()
        return Submission(key=f"sent-{same[:40]}", person=self.person, metadata=sealed, reason=reason)


def _instant(text: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo is not None else None
