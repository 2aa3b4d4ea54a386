"""Every source, over the web edge that it is mounted on: what proves it, and what is answered."""

from __future__ import annotations

import gzip
import json

import pytest

from bot.domain.alarm import Happening
from tests.alarms import raw
from tests.source_edge import (
    SIGNED,
    Edge,
    Member,
    members,
    over,
)


@members
def test_genuine_delivery_is_kept_before_it_is_answered(member: Member) -> None:
    async def work(at: Edge) -> None:
        assert await at.post(member, member.body) == 202
        (kept,) = at.inbox.found.values()
        assert kept.alarm is not None
        assert (kept.source, kept.alarm.happening, len(at.arrived)) == (member.source.kind, Happening.FIRED, 1)
        assert at.counted == [(member.source.kind.value, "accepted")]

    over(member, work)


@members
def test_replayed_delivery_is_taken_and_is_no_second_one(member: Member) -> None:
    async def work(at: Edge) -> None:
        assert [await at.post(member, member.body) for _ in range(3)] == [202] * 3
        again = member.prove(member.body) | {"X-Webhook-Id": "of-a-replay"}
        assert await at.post(member, member.body, again) == 202
        assert (len(at.inbox.found), len(at.arrived)) == (1, 1)

    over(member, work)


@members
def test_unproven_delivery_is_refused_and_not_kept(member: Member) -> None:
    async def work(at: Edge) -> None:
        for headers in ({}, *member.forged):
            assert await at.post(member, member.body, headers) == 401, headers
        assert at.inbox.found == {}

    over(member, work)


@pytest.mark.parametrize("member", SIGNED, ids=Member.id)
def test_one_changed_byte_is_refused(member: Member) -> None:
    async def work(at: Edge) -> None:
        proof = member.prove(member.body)
        for place in range(0, len(member.body), 97):
            changed = member.body[:place] + bytes([member.body[place] ^ 1]) + member.body[place + 1 :]
            assert await at.post(member, changed, proof) == 401
        assert await at.post(member, member.body + b" ", proof) == 401
        assert at.inbox.found == {}

    over(member, work)


@members
def test_too_long_and_packed_bodies_are_not_read(member: Member) -> None:
    async def work(at: Edge) -> None:
        assert await at.post(member, b" " * 300_000) == 413
        packed = gzip.compress(member.body)
        for encoding in ("gzip", "identity", "br"):
            assert await at.post(member, packed, member.prove(packed) | {"Content-Encoding": encoding}) == 415
        long = json.loads(member.body) | {"padding": "x" * 200_000}
        assert await at.post(member, raw(long)) == 202

    over(member, work)
