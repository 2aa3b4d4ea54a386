"""The outbox's promises, on every database it may be kept in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.post import DuePost, MessageRef, Post
from bot.ledger import Database, Leases, Outbox
from bot.surfaces.pagerduty import PARTS

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
SOON = timedelta(seconds=1)
LEASE = timedelta(seconds=15)
CARD = Post("7k3m9x2qpv", "card", "C1", {"text": "reading…", "blocks": [{"type": "header", "text": "\ud800\x00💥"}]})
VERDICT = Post("7k3m9x2qpv", "card", "C1", {"text": "node-1: CRITICAL"})
DETAILS = Post("7k3m9x2qpv", "details-1", "C1", {"text": "details"}, under="card")
PLACE = MessageRef("C1", "1700000000.000100")


@pytest.fixture
def outbox(database: Database) -> Outbox:
    return Outbox(database, LEASE, of_others=(PARTS,))


def only(due: tuple[DuePost, ...]) -> DuePost:
    (one,) = due
    return one


def sent(outbox: Outbox, post: Post, now: datetime = NOW) -> DuePost:
    outbox.keep.now(post)
    due = only(outbox.claim_due_posts.now(now))
    outbox.mark_delivered.now(due.id, PLACE.channel, PLACE.ts)
    return due


def test_post_waits_until_it_is_taken(outbox: Outbox) -> None:
    post_id = outbox.keep.now(CARD).id
    assert outbox.waiting.now() == 1
    due = only(outbox.claim_due_posts.now(NOW))
    assert (due.id, due.post, due.place, due.thread, due.attempts) == (post_id, CARD, None, None, 0)
    outbox.mark_delivered.now(post_id, PLACE.channel, PLACE.ts)
    assert (outbox.waiting.now(), outbox.claim_due_posts.now(NOW + LEASE)) == (0, ())
    assert outbox.place.now(CARD.incident, "card") == PLACE


def test_stored_post_says_where_an_earlier_one_and_its_card_stand(outbox: Outbox) -> None:
    first = outbox.keep.now(DETAILS)
    assert (first.place, first.above) == (None, None)
    sent(outbox, CARD)
    assert (outbox.keep.now(DETAILS).place, outbox.keep.now(DETAILS).above) == (None, PLACE)
    assert (outbox.keep.now(VERDICT).place, outbox.keep.now(VERDICT).above) == (PLACE, None)


def test_later_edit_replaces_an_earlier_one_that_was_not_sent(outbox: Outbox) -> None:
    outbox.keep.now(CARD)
    outbox.keep.now(VERDICT)
    assert only(outbox.claim_due_posts.now(NOW)).post == VERDICT
    assert outbox.waiting.now() == 1


def test_edit_kept_while_the_first_is_under_way_waits_for_its_place(outbox: Outbox) -> None:
    first = outbox.keep.now(CARD).id
    outbox.claim_due_posts.now(NOW)
    second = outbox.keep.now(VERDICT).id
    assert outbox.claim_due_posts.now(NOW + SOON) == (), "sent now it would become a second card"
    outbox.mark_delivered.now(first, PLACE.channel, PLACE.ts)
    due = only(outbox.claim_due_posts.now(NOW + SOON))
    assert (due.id, due.post, due.place) == (second, VERDICT, PLACE)
    outbox.mark_delivered.now(second, PLACE.channel, PLACE.ts)
    assert outbox.waiting.now() == 0


def test_post_that_was_handed_out_is_handed_to_nobody_else_for_a_while(outbox: Outbox, database: Database) -> None:
    outbox.keep.now(CARD)
    other = Outbox(database, LEASE)
    assert len(outbox.claim_due_posts.now(NOW)) == 1
    assert other.claim_due_posts.now(NOW + LEASE - SOON) == ()
    assert len(other.claim_due_posts.now(NOW + LEASE)) == 1, "its sender is gone, another one takes over"


def test_two_senders_at_once_share_the_posts(outbox: Outbox, database: Database) -> None:
    for number in range(30):
        outbox.keep.now(Post(f"incident{number}", "card", "C1"))
    with ThreadPoolExecutor(4) as threads:
        handed = [
            due.id
            for dues in threads.map(lambda _: Outbox(database, LEASE).claim_due_posts.now(NOW), range(4))
            for due in dues
        ]
    assert sorted(handed) == sorted(set(handed))
    assert len(handed) == 30


def test_post_of_a_group_is_handed_out_to_whoever_sees_to_it(database: Database) -> None:
    time = [NOW]
    a, b = (Leases(database, name, time=lambda: time[0]) for name in "ab")
    a.take.now(CARD.incident)
    ours, theirs = Outbox(database, LEASE, leases=a), Outbox(database, LEASE, leases=b)
    theirs.keep.now(CARD)
    assert (theirs.claim_due_posts.now(NOW), b.mine.now()) == ((), frozenset())
    assert only(ours.claim_due_posts.now(NOW)).post == CARD
    time[0] += LEASE
    assert only(theirs.claim_due_posts.now(NOW + LEASE)).post == CARD, "it fell silent"


def test_post_of_what_nobody_sees_to_belongs_to_the_program_that_keeps_it(database: Database) -> None:
    time = [NOW]
    a, b = (Leases(database, name, time=lambda: time[0]) for name in "ab")
    ours, theirs = Outbox(database, LEASE, leases=a), Outbox(database, LEASE, leases=b)
    profile = Post("profile0123", "card", "C1")
    kept = ours.keep.now(profile).id
    assert theirs.claim_due_posts.now(NOW) == (), "it is being sent already"
    assert only(ours.claim_due_posts.now(NOW)).post == profile
    a.let_go.now([profile.incident])
    assert profile.incident in a.mine.now(), "not before it is sent"
    ours.mark_delivered.now(kept, PLACE.channel, PLACE.ts)
    a.let_go.now([profile.incident])
    assert a.mine.now() == frozenset()
    theirs.keep.now(profile)
    assert (ours.claim_due_posts.now(NOW), only(theirs.claim_due_posts.now(NOW)).place) == ((), PLACE)
    time[0] += LEASE
    assert only(ours.claim_due_posts.now(NOW + LEASE)).post == profile, "it fell silent"
    ours.keep.now(profile)
    assert a.mine.now() == {profile.incident}


def test_failed_post_comes_back_when_it_may_be_tried_again(outbox: Outbox) -> None:
    outbox.keep.now(CARD)
    for attempt in (1, 2):
        outbox.mark_failed.now(
            only(outbox.claim_due_posts.now(NOW + attempt * SOON)).id, NOW + (attempt + 1) * SOON, "ratelimited\n"
        )
    assert outbox.claim_due_posts.now(NOW + 2 * SOON) == ()
    again = only(outbox.claim_due_posts.now(NOW + 3 * SOON))
    assert (again.attempts, again.error) == (2, "ratelimited")


def test_post_taken_up_while_the_clock_was_hours_ahead_is_sent_by_the_right_time(outbox: Outbox) -> None:
    outbox.keep.now(CARD)
    (due,) = outbox.claim_due_posts.now(NOW + timedelta(hours=5))
    assert [each.id for each in outbox.claim_due_posts.now(NOW)] == [due.id], "whoever took it up is dead"
    outbox.mark_failed.now(due.id, NOW + timedelta(hours=5), "Slack is away")
    assert [each.id for each in outbox.claim_due_posts.now(NOW)] == [due.id]


def test_edit_kept_while_slack_says_wait_waits_too(outbox: Outbox) -> None:
    first = outbox.keep.now(CARD).id
    outbox.claim_due_posts.now(NOW)
    outbox.keep.now(VERDICT)
    outbox.mark_failed.now(first, NOW + timedelta(seconds=30), "ratelimited")
    assert outbox.claim_due_posts.now(NOW + timedelta(seconds=29)) == ()
    assert only(outbox.claim_due_posts.now(NOW + timedelta(seconds=30))).post == VERDICT


def test_older_post_that_lands_on_a_later_one_has_that_sent_again(outbox: Outbox) -> None:
    assert outbox.last_id.now(CARD.incident, CARD.part) == ""
    first = sent(outbox, CARD)
    last = sent(outbox, VERDICT)
    assert outbox.last_id.now(CARD.incident, CARD.part) == last.id
    outbox.mark_delivered.now(first.id, PLACE.channel, "1700000000.9")
    assert outbox.waiting.now() == 0, "another message than the card"
    outbox.mark_delivered.now(first.id, PLACE.channel, PLACE.ts)
    again = only(outbox.claim_due_posts.now(NOW))
    assert (again.id, again.post, again.place) == (last.id, VERDICT, PLACE)


def test_failure_that_comes_after_the_success_is_passed_over(outbox: Outbox) -> None:
    due = sent(outbox, CARD)
    outbox.mark_failed.now(due.id, NOW, "timed out")
    assert outbox.waiting.now() == 0


def test_thread_waits_for_what_it_goes_under(outbox: Outbox) -> None:
    outbox.keep.now(DETAILS)
    outbox.keep.now(CARD)
    card = only(outbox.claim_due_posts.now(NOW))
    assert card.post == CARD
    outbox.mark_delivered.now(card.id, PLACE.channel, PLACE.ts)
    details = only(outbox.claim_due_posts.now(NOW))
    assert (details.post, details.thread, details.place) == (DETAILS, PLACE, None)


def test_posts_are_due_in_the_order_they_were_kept(outbox: Outbox) -> None:
    posts = [Post("7k3m9x2qpv", part, "C1") for part in ("b", "a", "c")]
    for post in (*posts, posts[0]):  # kept again, the first keeps its turn
        outbox.keep.now(post)
    assert [due.post for due in outbox.claim_due_posts.now(NOW)] == posts


@pytest.mark.parametrize("damage", ["content = '{'", "content = '[]'", "kept_at = 'x'"])
def test_post_whose_row_is_damaged_goes_on_waiting_and_holds_up_no_other(
    outbox: Outbox, database: Database, damage: str
) -> None:
    outbox.keep.now(Post("one", "card", "C1", {"text": "a"}))
    outbox.keep.now(Post("two", "card", "C1", {"text": "b"}))
    with database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE posts SET {damage} WHERE incident = 'one'")
    other = only(outbox.claim_due_posts.now(NOW))
    assert (other.post.incident, outbox.waiting.now()) == ("two", 2)
    outbox.mark_delivered.now(other.id, PLACE.channel, PLACE.ts)
    outbox.keep.now(Post("one", "card", "C1", {"text": "c"}))  # the card changes
    assert only(outbox.claim_due_posts.now(NOW + timedelta(minutes=1))).post.content == {"text": "c"}


def test_dropped_post_is_not_tried_again_but_a_later_one_is(outbox: Outbox) -> None:
    outbox.keep.now(CARD)
    outbox.mark_dropped.now(only(outbox.claim_due_posts.now(NOW)).id, "channel_not_found")
    assert (outbox.waiting.now(), outbox.claim_due_posts.now(NOW + LEASE)) == (0, ())
    outbox.keep.now(VERDICT)
    assert only(outbox.claim_due_posts.now(NOW)).attempts == 0


def test_dropping_an_earlier_version_does_not_drop_the_later(outbox: Outbox) -> None:
    first = outbox.keep.now(CARD).id
    outbox.claim_due_posts.now(NOW)
    outbox.keep.now(VERDICT)
    outbox.mark_dropped.now(first, "invalid_blocks")
    assert only(outbox.claim_due_posts.now(NOW)).post == VERDICT


def test_what_was_never_kept_has_no_place_and_is_passed_over(outbox: Outbox) -> None:
    assert outbox.place.now("7k3m9x2qpv", "card") is None
    outbox.mark_delivered.now("x/card/1", "C1", "1")
    outbox.mark_failed.now("x/card/1", NOW, "e")
    outbox.mark_dropped.now("x/card/1", "e")
    assert outbox.waiting.now() == 0
    with pytest.raises(ValueError, match="cannot name a post"):
        outbox.keep.now(Post("a/b", "card", "C1"))


def test_what_goes_to_pagerduty_is_handed_out_apart_and_one_by_one(database: Database, outbox: Outbox) -> None:
    note = Post("7k3m9x2qpv", f"{PARTS}q3b15vlmf3asbd", "Q3B15VLMF3ASBD", {"text": "node-1: CRITICAL"})
    other = Post("8k3m9x2qpv", f"{PARTS}q4b15vlmf3asbd", "Q4B15VLMF3ASBD", {"text": "node-2: CRITICAL"})
    notes = Outbox(database, LEASE, parts=PARTS, at_once=1)
    for post in (CARD, note, other):
        outbox.keep.now(post)
    assert (outbox.waiting.now(), notes.waiting.now()) == (1, 2)
    assert only(outbox.claim_due_posts.now(NOW)).post == CARD
    first = only(notes.claim_due_posts.now(NOW))
    assert first.post == note
    assert only(notes.claim_due_posts.now(NOW)).post == other, "the first is on its way"
    notes.mark_failed.now(first.id, NOW, "PagerDuty is down")
    assert only(notes.claim_due_posts.now(NOW)).post == note


def test_what_stands_is_known_until_a_later_version_waits(outbox: Outbox) -> None:
    assert outbox.card.now(CARD.incident, "card").standing is None
    post_id = outbox.keep.now(CARD).id
    assert outbox.card.now(CARD.incident, "card").standing is None, "it waits"
    outbox.mark_delivered.now(post_id, PLACE.channel, PLACE.ts)
    assert outbox.card.now(CARD.incident, "card").standing == CARD.content
    dropped = outbox.keep.now(VERDICT).id
    assert outbox.card.now(CARD.incident, "card").standing is None
    outbox.mark_dropped.now(dropped, "invalid_blocks")
    assert outbox.card.now(CARD.incident, "card").standing is None, "what was dropped never stood there"
