"""What the client promises, against the simulated PagerDuty over real HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from bot.domain.errors import PagerDutyRefused, PagerDutyUnavailable, SettingsError
from bot.domain.pagerduty import OutgoingAlert
from bot.sources.pagerduty_client import PagerDutyClient
from bot.sources.pagerduty_http import Access, PagerDutyHttp, Patience
from tests.alerts.pagerduty import Naps, PagerDuty, access, account, client, now

SECRET = "u+hunter2hunter2hunter"


@pytest.fixture
async def pagerduty() -> AsyncIterator[PagerDuty]:
    async with account() as one:
        yield one


@pytest.fixture
async def asking(pagerduty: PagerDuty) -> AsyncIterator[PagerDutyClient]:
    async with client(pagerduty) as one:
        yield one


async def test_alerts_of_a_page_come_whole_over_several_answers(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    page = pagerduty.account.trigger("many nodes", {"host": "node-0"})
    for number in range(1, 230):
        pagerduty.account.add_alert(page, f"alert {number}", {"host": f"node-{number}"})
    alerts = await asking.alerts_of(page.id)
    assert [one["body"]["details"]["host"] for one in alerts] == [f"node-{number}" for number in range(230)]
    assert len(pagerduty.asked("alerts")) == 3


async def test_alert_by_e_mail_brings_its_log_entry(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    page = pagerduty.account.trigger("by mail", mail="node-7 is slow")
    (alert,) = await asking.alerts_of(page.id)
    assert "details" not in alert["body"]
    assert alert["log_entry"]["channel"]["body"] == "node-7 is slow"


async def test_note_is_added_listed_and_edited(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    page = pagerduty.account.trigger("slow")
    first = await asking.add_note(page.id, "reading…")
    await asking.add_note(page.id, "another")
    await asking.edit_note(page.id, first.id, "node-1: CRITICAL")
    assert [one.content for one in await asking.notes(page.id)] == ["node-1: CRITICAL", "another"]
    assert page.status == "triggered"


async def test_pages_fields_and_people_are_read(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    old = pagerduty.account.trigger("old", created_at=now() - timedelta(hours=2))
    new, done = pagerduty.account.trigger("new"), pagerduty.account.trigger("done")
    pagerduty.account.resolve(done)
    new.fields["verdict"] = "healthy"
    hour_ago = now() - timedelta(hours=1)
    assert [one.id for one in await asking.pages_since(hour_ago)] == [new.id]
    assert {one.id for one in await asking.pages_since(old.created_at, only_open=False)} >= {new.id, done.id}
    assert (await asking.page(done.id)).is_open is False
    await asking.set_custom_fields(new.id, {"verdict": "critical"})
    assert await asking.custom_fields(new.id) == {"verdict": "critical"}
    assert await asking.email_of(pagerduty.account.person.id) == "ann@example.com"


async def test_raised_twice_under_one_key_is_one_alert(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    raised = OutgoingAlert("zombie-7k3m9x2qpv", "x" * 3000, "node-1", details={"incident": "7k3m9x2qpv"})
    pagerduty.faults.lose_answer("enqueue")
    await asking.raise_alert(raised)
    await asking.raise_alert(raised)
    (incident,) = pagerduty.account.incidents.values()
    assert (incident.key, len(incident.title)) == ("zombie-7k3m9x2qpv", 1024)
    assert len(pagerduty.asked("enqueue")) == 3


async def test_subscriptions_are_read_and_pinged(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    one = pagerduty.deliver_to("http://127.0.0.1:9/", "secret")
    assert [each.is_disabled for each in await asking.subscriptions()] == [False]
    pagerduty.webhooks.disable(one)
    assert [(each.is_active, each.is_suspended) for each in await asking.subscriptions()] == [(True, True)]
    one.active = False
    assert [each.is_disabled for each in await asking.subscriptions()] == [True]
    await asking.ping(one.id)


async def test_limited_call_comes_back_when_it_was_told_to() -> None:
    naps = Naps()
    async with account() as pagerduty, client(pagerduty, naps=naps) as asking:
        page = pagerduty.account.trigger("slow")
        pagerduty.faults.rate_limit("incident", retry_after_seconds=17)
        await asking.page(page.id)
        assert sum(naps.taken) == pytest.approx(17, abs=1)


async def test_limited_call_without_a_header_waits_anyway_and_so_does_everybody_else() -> None:
    naps = Naps()
    async with account() as pagerduty, client(pagerduty, naps=naps) as asking:
        page = pagerduty.account.trigger("slow")
        pagerduty.faults.rate_limit("add_note", times=2)
        await asyncio.gather(asking.add_note(page.id, "once"), asking.page(page.id))
        assert sum(naps.taken) >= 10
        assert [one.call for one in pagerduty.asked()] == ["add_note", "add_note", "add_note", "incident"]
        assert len(page.notes) == 1, "a limited call was not done, and is done once"


async def test_long_limit_is_the_callers_to_wait_out(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    pagerduty.faults.rate_limit("subscriptions", retry_after_seconds=600)
    with pytest.raises(PagerDutyUnavailable) as no:
        await asking.subscriptions()
    assert no.value.retry_after_seconds == 600
    with pytest.raises(PagerDutyUnavailable, match="limits our rate"):
        await asking.subscriptions()
    assert len(pagerduty.asked()) == 1, "nobody hangs meanwhile, and nothing is asked"


async def test_own_pace_keeps_within_the_limit() -> None:
    naps = Naps()
    async with account(limit=1000) as pagerduty, client(pagerduty, Patience(), naps) as asking:
        page = pagerduty.account.trigger("slow")
        began = naps.seconds
        await asyncio.gather(*(asking.page(page.id) for _ in range(61)))
        assert naps.seconds - began == pytest.approx(60 * 0.13, abs=0.2), "two programs keep below 960 a minute"


async def test_limit_of_the_account_is_kept_to() -> None:
    async with account(limit=3) as pagerduty, client(pagerduty) as asking:
        page = pagerduty.account.trigger("slow")
        for _ in range(3):
            await asking.page(page.id)
        with pytest.raises(PagerDutyUnavailable) as no:
            await asking.page(page.id)
        assert 0 < no.value.retry_after_seconds <= 60


async def test_calls_go_one_after_another(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    page = pagerduty.account.trigger("slow")
    pagerduty.faults.slow("notes", timedelta(seconds=0.2))
    await asyncio.gather(asking.notes(page.id), asking.page(page.id))
    assert [one.call for one in pagerduty.asked()] == ["notes", "incident"]


@pytest.mark.parametrize("trouble", ["lose_answer", "lose_request", "status"])
async def test_read_is_tried_again_after_any_failure(
    pagerduty: PagerDuty, asking: PagerDutyClient, trouble: str
) -> None:
    page = pagerduty.account.trigger("slow")
    getattr(pagerduty.faults, trouble)("notes", times=2)
    assert await asking.notes(page.id) == ()
    assert len(pagerduty.asked("notes")) == 3


@pytest.mark.parametrize("trouble", ["lose_answer", "status"])
async def test_note_whose_answer_is_lost_is_not_sent_again_unseen(
    pagerduty: PagerDuty, asking: PagerDutyClient, trouble: str
) -> None:
    page = pagerduty.account.trigger("slow")
    getattr(pagerduty.faults, trouble)("add_note")
    with pytest.raises(PagerDutyUnavailable):
        await asking.add_note(page.id, "once")
    assert len(pagerduty.asked("add_note")) == 1


async def test_pagerduty_that_is_down_is_said_to_be_down() -> None:
    async with account() as pagerduty, client(pagerduty) as asking:
        pagerduty.faults.is_down = True
        with pytest.raises(PagerDutyUnavailable, match="did not answer"):
            await asking.subscriptions()
    async with client(pagerduty) as asking:
        with pytest.raises(PagerDutyUnavailable, match="cannot be reached"):
            await asking.subscriptions()


async def test_silence_is_not_waited_for_for_ever() -> None:
    patience = Patience(answer_seconds=0.1, gap_seconds=0, tries=1)
    async with account() as pagerduty, client(pagerduty, patience) as asking:
        pagerduty.faults.slow("subscriptions", timedelta(minutes=1))
        with pytest.raises(PagerDutyUnavailable):
            await asking.subscriptions()


@pytest.mark.parametrize("page_id", ["QNOTTHERE", "../users", "a/b?c=d#e", "..", "", "%2e%2e"])
async def test_id_of_nothing_is_refused_and_leads_nowhere_else(
    pagerduty: PagerDuty, asking: PagerDutyClient, page_id: str
) -> None:
    with pytest.raises(PagerDutyRefused) as no:
        await asking.page(page_id)
    assert no.value.status == 404


async def test_wrong_token_and_unknown_sender_are_told_with_what_to_try() -> None:
    async with account() as pagerduty:
        page = pagerduty.account.trigger("slow")
        async with client(pagerduty, token="wrong") as asking:
            with pytest.raises(PagerDutyRefused, match="PAGERDUTY_API_TOKEN"):
                await asking.page(page.id)
        for sender in ("", "nobody@example.com"):
            async with client(pagerduty, sender=sender) as asking:
                with pytest.raises(PagerDutyRefused, match="Requester User Not Found"):
                    await asking.add_note(page.id, "once")


async def test_refusal_says_what_pagerduty_said_and_no_more() -> None:
    refuses = httpx.MockTransport(lambda _: httpx.Response(404, json={"error": {"message": "Not Found", "code": 2100}}))
    http = PagerDutyHttp(Access(token=SECRET), Patience(), transport=refuses)
    with pytest.raises(PagerDutyRefused) as no:
        await http.ask("GET", "/incidents/Q1")
    await http.close()
    assert no.value.sentence == "PagerDuty refuses: Not Found."


async def test_refusal_that_shows_a_key_shows_no_beginning_of_it() -> None:
    said = {"error": {"message": "x " * 86, "errors": ["You sent glpat-AbCdEfGhIjKlMnOpQrSt"]}}
    refuses = httpx.MockTransport(lambda _: httpx.Response(400, json=said))
    http = PagerDutyHttp(Access(token=SECRET), Patience(), transport=refuses)
    with pytest.raises(PagerDutyRefused, match="You sent") as no:
        await http.ask("GET", "/incidents/Q1")
    await http.close()
    assert "AbCd" not in no.value.sentence


async def test_answer_that_is_no_json_is_no_answer(pagerduty: PagerDuty, asking: PagerDutyClient) -> None:
    pagerduty.faults.status("subscriptions", 200, times=3)
    with pytest.raises(PagerDutyUnavailable):
        await asking.subscriptions()


async def test_secrets_stand_in_no_repr_log_or_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with account() as pagerduty, client(pagerduty, token=SECRET, routing_key=SECRET) as asking:
        with pytest.raises(PagerDutyRefused) as no:
            await asking.subscriptions()
        with pytest.raises(PagerDutyRefused) as also:
            await asking.raise_alert(OutgoingAlert("zombie-1", "a", "b"))
        told = [repr(asking), repr(access(pagerduty, token=SECRET)), repr(no.value), str(also.value), caplog.text]
        assert not any(SECRET in one for one in told)
    with pytest.raises(SettingsError) as broken:
        Access(token=f"{SECRET}\nX-Other: 1")
    assert SECRET not in str(broken.value)


@pytest.mark.parametrize(
    "answer",
    [httpx.Response(302, headers={"Location": "http://xn--a/"}), httpx.Response(200, content=b"[" * 200_000)],
    ids=["a name that decodes to none", "levels without end"],
)
async def test_answer_that_none_can_read_counts_as_lost(answer: httpx.Response) -> None:
    http = PagerDutyHttp(Access(token=SECRET), Patience(tries=1), transport=httpx.MockTransport(lambda _: answer))
    with pytest.raises(PagerDutyUnavailable):
        await http.ask("GET", "/incidents")
    await http.close()
