"""Every source, over the web edge that it is mounted on: what proves it, and what is answered."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.domain.alert import AlertStatus
from bot.domain.setting import keys_of
from bot.settings import Settings
from bot.sources import SOURCES, settings_of
from bot.sources.source import Source
from bot.surfaces.web_limits import Bodies
from tests.alerts.bodies import SECRET, page_event, raw, signature
from tests.alerts.source_edge import PAGERDUTY, SIGNED, Member, edge, members


@members
async def test_genuine_delivery_is_kept_before_it_is_answered(member: Member) -> None:
    async with edge(member.source) as at:
        assert await at.post(member, member.body) == 202
        (kept,) = at.inbox.found.values()
        assert kept.alarm is not None
        assert (kept.source, kept.alarm.happening, at.arrived.times) == (member.source.kind, AlertStatus.FIRED, 1)
        assert at.counted == [(member.source.kind, "accepted")]


@members
async def test_replayed_delivery_is_taken_and_is_no_second_one(member: Member) -> None:
    async with edge(member.source) as at:
        assert [await at.post(member, member.body) for _ in range(3)] == [202] * 3
        again = member.prove(member.body) | {"X-Webhook-Id": "of-a-replay"}
        assert await at.post(member, member.body, again) == 202
        assert (len(at.inbox.found), at.arrived.times) == (1, 1)


@members
async def test_unproven_delivery_is_refused_and_not_kept(member: Member) -> None:
    async with edge(member.source) as at:
        for headers in ({}, *member.forged):
            assert await at.post(member, member.body, headers) == 401, headers
        assert at.inbox.found == {}


@pytest.mark.parametrize("member", SIGNED, ids=Member.id)
async def test_one_changed_byte_is_refused(member: Member) -> None:
    async with edge(member.source) as at:
        proof = member.prove(member.body)
        for place in range(0, len(member.body), 97):
            changed = member.body[:place] + bytes([member.body[place] ^ 1]) + member.body[place + 1 :]
            assert await at.post(member, changed, proof) == 401
        assert await at.post(member, member.body + b" ", proof) == 401
        assert at.inbox.found == {}


@members
async def test_too_long_and_packed_bodies_are_not_read(member: Member) -> None:
    async with edge(member.source) as at:
        assert await at.post(member, b" " * 300_000) == 413
        packed = gzip.compress(member.body)
        for encoding in ("gzip", "identity", "br"):
            assert await at.post(member, packed, member.prove(packed) | {"Content-Encoding": encoding}) == 415
        long = json.loads(member.body) | {"padding": "x" * 200_000}
        assert await at.post(member, raw(long)) == 202


async def test_body_that_does_not_come_is_given_up_and_asked_for_again() -> None:
    async def slowly() -> AsyncIterator[bytes]:
        yield PAGERDUTY.body[:10]
        await asyncio.Event().wait()

    async with edge(PAGERDUTY.source, bodies=Bodies(seconds=0.05)) as at:
        url = at.address + PAGERDUTY.source.path
        async with at.client.post(url, data=slowly(), headers=PAGERDUTY.prove(PAGERDUTY.body)) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
        assert at.counted == [("pagerduty", "slow")]


async def test_more_at_once_than_there_is_room_for_is_asked_for_again() -> None:
    async with edge(PAGERDUTY.source, most_at_once=2) as at:
        at.inbox.open.clear()
        held = [asyncio.create_task(at.post(PAGERDUTY, raw(page_event(f"E{n}")))) for n in range(2)]
        await at.inbox.full.wait()
        assert await at.post(PAGERDUTY, raw(page_event("E3"))) == 503
        at.inbox.open.set()
        assert await asyncio.gather(*held) == [202, 202]
        assert await at.post(PAGERDUTY, raw(page_event("E3"))) == 202


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
async def test_source_takes_nothing_that_only_looks_like_its_own(source: Source) -> None:
    """Every source, by its settings alone: a webhook where its secret is set, and nobody gets in without it."""
    secrets = {key.environment: SECRET for key in keys_of(source.settings).values() if key.secret}
    webhook = source.webhook(Settings.load({}, secrets, Path("/nowhere"), members=settings_of()).of(source.settings))
    assert webhook is not None, "with all of its secrets it is served"
    assert (webhook.kind, webhook.path) == (source.name, source.path)
    assert source.webhook(Settings.load({}, {}, Path("/nowhere"), members=settings_of()).of(source.settings)) is None
    body = raw(page_event())
    asked = Member(webhook, body, lambda body: {}, ())
    async with edge(asked.source) as at:
        for headers in ({}, {"Authorization": "Bearer x"}, {"X-Token": ""}, {"X-Signature": signature(body)}):
            assert await at.post(asked, body, headers) == 401, headers
        assert at.inbox.found == {}
        assert at.inbox.asked == 0
