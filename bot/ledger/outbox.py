"""The outbox: posts are stored here until they are delivered, across restarts and takeovers.

Delivery is at least once: a post is sent again if its sender dies after its answer and before `taken`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, exists, func, insert, select, update

from bot.domain.entry import instant_of, instant_text, is_stream
from bot.domain.post import CardPosts, DuePost, MessageRef, Post, StoredPost
from bot.domain.safe_text import one_line
from bot.ledger.database import Database, Store, on_thread, reads, writes
from bot.ledger.leases import Leases, due_bounds, is_due
from bot.ledger.tables import LEASES, POSTS

LEASE = timedelta(seconds=15)  # a post that was handed out is not handed out again for this long
AT_ONCE = 50
_SOON = ""  # sorts before every instant


class Outbox(Store):
    """The posts that have not been delivered yet, a row for each (incident, part); they survive a restart.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    def __init__(
        self,
        database: Database,
        lease: timedelta = LEASE,
        *,
        parts: str = "",
        of_others: Collection[str] = (),
        at_once: int = AT_ONCE,
        leases: Leases | None = None,
    ) -> None:
        """`parts`: hand out and count only posts whose part has this prefix; `of_others`: none with these prefixes.

        `at_once`: how many are handed out together; all of them have to be sent within `lease`.

        `leases`: hand out only posts of groups that no other live runner has; without it all posts. What nobody has
        belongs to the program that keeps a post of it, which sends it at once: no other program sends it as well.
        """
        super().__init__(database)
        self._lease = lease
        self._at_once = at_once
        self._leases = leases
        not_ours = [POSTS.c.part.not_like(f"{prefix}%") for prefix in of_others]
        self._ours = and_(POSTS.c.part.startswith(parts), *not_ours)
        self._due = _DUE.where(self._ours)  # built once: building a statement costs more than running it

    @on_thread
    def keep(self, post: Post) -> StoredPost:
        """Store a post to be sent; it replaces an earlier post of the same incident and part."""
        if not (is_stream(post.incident) and is_stream(post.part)):
            raise ValueError(f"{post.incident!r} and {post.part!r} cannot name a post")
        content = json.dumps(post.content, separators=(",", ":"))
        values: dict[str, Any] = {"channel": post.channel, "under": post.under, "content": content, "waiting": True}
        with self.database.writing() as connection:
            if self._leases is not None:
                self._leases.take_unowned(connection, post.incident)
            values["kept_at"] = self.stamp(connection)
            row = _row_of_part(connection, post.incident, post.part)
            above = _place_of(_row_of_part(connection, post.incident, post.under)) if post.under else None
            if row is None:
                number = connection.execute(select(func.coalesce(func.max(POSTS.c.number), 0) + 1)).scalar_one()
                first = {"incident": post.incident, "part": post.part, "number": number, "version": 1}
                values |= first | {"due_at": _SOON, "attempts": 0, "error": ""}
                connection.execute(insert(POSTS).values(values))
                return StoredPost(_id(post.incident, post.part, 1), above=above)
            values["version"] = row.version + 1
            if not row.waiting:  # keeps a running attempt, and the time at which it is to be tried again
                values |= {"due_at": _SOON, "attempts": 0, "error": ""}
            _update_row(connection, row, values)
            return StoredPost(_id(post.incident, post.part, row.version + 1), _place_of(row), above)

    @on_thread
    def claim_due_posts(self, now: datetime) -> tuple[DuePost, ...]:
        """Return what is to be sent now, in the order it was stored; no other program gets these posts for a while.

        Shape: one whose row is malformed goes on waiting, and holds up no other.
        """
        with self.database.reading() as connection:  # polled often, and mostly empty
            if not self._due_rows(connection, now, most=1):
                return ()
        found: list[DuePost] = []
        with self.database.writing() as connection:
            for row in self._due_rows(connection, now, self._at_once):
                values = {"due_at": instant_text(now + self._lease)}
                try:
                    found.append(_due_post(row))
                except (ValueError, TypeError, RecursionError) as no:
                    values["error"] = one_line(f"its row is malformed: {no}")
                _update_row(connection, row, values)
        return tuple(found)

    @writes
    def mark_delivered(self, connection: Connection, post_id: str, channel: str, ts: str) -> None:
        """Say that a post was delivered to that message; where a later one stood there, that is to be sent again."""
        row, is_last = _row_of_post(connection, post_id)
        if row is None:
            return
        values: dict[str, Any] = {"due_at": _SOON, "attempts": 0, "error": ""}
        if is_last or _place_of(row) == MessageRef(channel, ts):
            values["waiting"] = not is_last
        if is_last or row.place_ts is None:
            values |= {"place_channel": channel, "place_ts": ts}
        _update_row(connection, row, values)

    @writes
    def mark_failed(self, connection: Connection, post_id: str, retry_at: datetime, error: str) -> None:
        """Say that a post was not delivered, and when to try again."""
        row, _ = _row_of_post(connection, post_id)
        if row is not None:  # if it was delivered after all, only `waiting` counts
            retry = {"due_at": instant_text(retry_at), "attempts": row.attempts + 1, "error": one_line(error)}
            _update_row(connection, row, retry)

    @writes
    def mark_dropped(self, connection: Connection, post_id: str, error: str) -> None:
        """Say that a post cannot be delivered; a later post of the same part is tried again."""
        row, is_last = _row_of_post(connection, post_id)
        if row is not None and row.waiting:
            _update_row(connection, row, {"due_at": _SOON, "waiting": not is_last, "error": one_line(error)})

    @reads
    def place(self, connection: Connection, incident: str, part: str) -> MessageRef | None:
        """Return the message of a part, once any version of it was delivered."""
        return _place_of(_row_of_part(connection, incident, part))

    @reads
    def last_id(self, connection: Connection, incident: str, part: str) -> str:
        """Return the id of a part's last post, by whichever program; empty without one."""
        row = _row_of_part(connection, incident, part)
        return "" if row is None else _id(incident, part, row.version)

    @reads
    def card(self, connection: Connection, incident: str, part: str) -> CardPosts:
        """Return the messages of all its parts, and what stands in this part, in one read."""
        return posts_of(connection, incident, part)

    @reads
    def channels(self, connection: Connection) -> frozenset[str]:
        """Return where posts were delivered: channels, or what a surface stores in that field."""
        rows = connection.execute(select(POSTS.c.place_channel).where(self._ours).distinct())
        return frozenset(str(channel) for channel in rows.scalars() if channel)

    @reads
    def waiting(self, connection: Connection) -> int:
        """Return how many posts are not delivered yet."""
        count = connection.execute(select(func.count()).select_from(POSTS).where(POSTS.c.waiting, self._ours))
        return int(count.scalar_one())

    def _due_rows(self, connection: Connection, now: datetime, most: int) -> Sequence[Row[Any]]:
        others = set() if self._leases is None else self._leases.alive(connection) - {self._leases.runner}
        asked = {**due_bounds(now), "others": sorted(others), "most": most}
        return connection.execute(self._due, asked).all()


_ABOVE = POSTS.alias("above")
_DUE = (
    select(POSTS, _ABOVE.c.place_channel.label("thread_channel"), _ABOVE.c.place_ts.label("thread_ts"))
    .select_from(POSTS.outerjoin(_ABOVE, and_(_ABOVE.c.incident == POSTS.c.incident, _ABOVE.c.part == POSTS.c.under)))
    .where(
        POSTS.c.waiting,
        is_due(POSTS.c.due_at, bindparam("now"), bindparam("latest")),
        (POSTS.c.under == "") | _ABOVE.c.place_ts.is_not(None),
        ~exists().where(LEASES.c.group == POSTS.c.incident, LEASES.c.runner.in_(bindparam("others", expanding=True))),
    )
    .order_by(POSTS.c.number)
    .limit(bindparam("most"))
)
_PART = and_(POSTS.c.incident == bindparam("of_card"), POSTS.c.part == bindparam("of_part"))
_ROW, _UPDATE = select(POSTS).where(_PART), update(POSTS).where(_PART)
_PLACES = select(POSTS.c.part, POSTS.c.place_channel, POSTS.c.place_ts).where(POSTS.c.incident == bindparam("of_card"))


def posts_of(connection: Connection, incident: str, part: str) -> CardPosts:
    """Return where all parts of a card were posted, and what stands in one of them."""
    rows = connection.execute(_PLACES, {"of_card": incident})
    places = {row.part: place for row in rows if (place := _message_ref(row.place_channel, row.place_ts)) is not None}
    return CardPosts(places, _delivered_content(connection, incident, part) if part in places else None)


def _delivered_content(connection: Connection, incident: str, part: str) -> Mapping[str, Any] | None:
    row = _row_of_part(connection, incident, part)
    if row is None or row.waiting or row.error or row.place_ts is None:
        return None
    try:
        return _content(row)
    except (ValueError, TypeError, RecursionError):  # then it is not known what stands there, and it is sent again
        return None


def _content(row: Row[Any]) -> Mapping[str, Any]:
    content = json.loads(row.content)
    if not isinstance(content, dict):
        raise ValueError("its content is not an object")
    return content


def _due_post(row: Row[Any]) -> DuePost:
    return DuePost(
        id=_id(row.incident, row.part, row.version),
        post=Post(row.incident, row.part, row.channel, _content(row), row.under),
        kept_at=instant_of(row.kept_at),
        place=_place_of(row),
        thread=_message_ref(row.thread_channel, row.thread_ts),
        attempts=row.attempts,
        error=row.error,
    )


def _message_ref(channel: str | None, ts: str | None) -> MessageRef | None:
    return None if channel is None or ts is None else MessageRef(channel, ts)


def _place_of(row: Row[Any] | None) -> MessageRef | None:
    return None if row is None else _message_ref(row.place_channel, row.place_ts)


def _id(incident: str, part: str, version: int) -> str:
    return f"{incident}/{part}/{version}"


def _row_of_post(connection: Connection, post_id: str) -> tuple[Row[Any] | None, bool]:
    """Return the row of a post, and whether the post is the last version."""
    incident, part, version = post_id.split("/")
    row = _row_of_part(connection, incident, part)
    return row, row is not None and row.version == int(version)


def _row_of_part(connection: Connection, incident: str, part: str) -> Row[Any] | None:
    return connection.execute(_ROW, {"of_card": incident, "of_part": part}).one_or_none()


def _update_row(connection: Connection, row: Row[Any], values: dict[str, Any]) -> None:
    connection.execute(_UPDATE, {**values, "of_card": row.incident, "of_part": row.part})
