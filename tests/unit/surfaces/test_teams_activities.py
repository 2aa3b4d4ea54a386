"""What Teams delivers is read as it is, and what is missing or strange in it harms nobody."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.surfaces.teams.activities import Spoken
from tests.known import known

APP, TENANT = "0a0a0a0a-0000-4000-8000-000000000001", "0b0b0b0b-0000-4000-8000-000000000002"
BOB, CHANNEL = "b0b00000-0000-4000-8000-000000000004", "19:oncall0001@thread.tacv2"
US = {"type": "mention", "text": "<at>zombie</at>", "mentioned": {"id": f"28:{APP}", "name": "zombie"}}
ANN = {"type": "mention", "text": "<at>Ann</at>", "mentioned": {"id": "29:ann", "name": "Ann"}}


def spoken(**changed: Any) -> Spoken | None:
    activity: dict[str, Any] = {
        "id": "f:1",
        "type": "message",
        "timestamp": "2026-11-28T09:30:00.123Z",
        "from": {"id": "29:bob", "name": "Bob", "aadObjectId": BOB.upper()},
        "conversation": {"id": f"{CHANNEL};messageid=1700000000001", "tenantId": TENANT, "conversationType": "channel"},
        "recipient": {"id": f"28:{APP}"},
        "channelData": {"tenant": {"id": TENANT}},
        "text": "<at>zombie</at> check node-1",
        "entities": [US],
    }
    return Spoken.of(activity | changed)


TYPED = {
    "<at>zombie</at>\u00a0check&nbsp;node-1": "check node-1",
    "<at>zombie</at> /zombie status": "status",
    "<at>zombie</at> zombie check a&amp;b": "check a&b",
    "  <at>zombie</at>  ": "",
    "undo abc because of <at>Ann</at> <at>zombie</at>": "undo abc because of <at>Ann</at>",
}


@pytest.mark.parametrize("text", TYPED)
def test_only_the_mention_of_the_bot_is_taken_out(text: str) -> None:
    one = known(spoken(text=text, entities=[ANN, US]))
    request = known(one.command())
    assert request.text == TYPED[text]
    assert (request.person.user, request.channel, request.thread_ts) == (BOB, CHANNEL, "1700000000001")
    assert (request.by, request.direct) == (f"teams:{TENANT}/{BOB}", False)
    assert known(request.asked_at).isoformat() == "2026-11-28T09:30:00.123000+00:00"


def test_chat_with_the_bot_needs_no_mention_and_a_channel_does() -> None:
    said: dict[str, Any] = {"text": "check node-1", "entities": []}
    in_channel = spoken(**said)
    alone = spoken(**said, conversation={"id": "a:1bob", "conversationType": "personal"})
    assert in_channel is not None
    assert alone is not None
    assert in_channel.command() is None
    request = known(alone.command())
    assert (request.text, request.channel, request.direct) == ("check node-1", "a:1bob", True)


def test_two_deliveries_of_a_dialog_are_one_and_another_reason_is_another() -> None:
    def key(number: int, reason: str, opened: str = "click-1") -> str:
        one = known(spoken(id=f"f:{number}", value={"data": {"sealed": "s", "opened": opened, "reason": reason}}))
        return one.submission().key

    assert key(1, "it leaks") == key(2, " it leaks ")
    assert len({key(1, "it leaks"), key(1, "it leaked"), key(1, "it leaks", "click-2")}) == 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("from", "conversation", "channelData", "recipient", "entities", "text", "value", "timestamp", "replyToId", "id")


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_nothing_that_comes_makes_it_fail(changed: dict[str, Any]) -> None:
    one = spoken(**changed)
    if one is not None:
        assert one.person.user == BOB
        assert "/" not in one.conversation
        one.command()
        one.click()
        one.submission()
