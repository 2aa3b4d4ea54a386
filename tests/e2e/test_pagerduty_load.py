"""A storm of pages over two programs at one record, one of which is killed: each page has its one note, in time."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.pagerduty.webhooks import RetryPolicy
from tests.alerts.pagerduty import account
from tests.e2e.test_alert_load import joins
from tests.record.postgresql import Postgresql
from tests.slack.workspace import workspace

pytestmark = [pytest.mark.slow, pytest.mark.long]
PAGES = 100
SECRET = "whsec-of-these-tests"
LONG = timedelta(seconds=240)
TOML = '[slack]\nalerts_channel = "C0ALERTS01"\n'
SOON = RetryPolicy(timedelta(seconds=5), tuple(timedelta(seconds=0.5) for _ in range(200)))


async def test_every_page_of_a_storm_has_one_note_though_a_program_is_killed(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    (tmp_path / "zombie.toml").write_text(TOML)
    (tmp_path / "nodes.toml").write_text(
        "".join(f'[nodes.node-{number}]\naddress = "127.0.0.1"\n' for number in range(PAGES))
    )
    async with workspace() as slack, account(retry_policy=SOON) as pagerduty:
        environment = {
            "ZOMBIE_DATABASE_URL": postgresql.new_database(),
            "ZOMBIE_LISTEN": "127.0.0.1:0",
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
            "PAGERDUTY_API_TOKEN": pagerduty.token,
            "PAGERDUTY_API_URL": pagerduty.api_url,
            "PAGERDUTY_FROM": pagerduty.sender,
            "PAGERDUTY_WEBHOOK_SECRETS": SECRET,
        }
        subscription = pagerduty.deliver_to("http://127.0.0.1:9/", SECRET)
        runners = list(await asyncio.gather(*(joins(tmp_path, environment) for _ in range(2))))
        try:
            subscription.url = f"{runners[1].logged('listening')['address']}/pagerduty"
            pagerduty.webhooks.duplicates = PAGES // 5
            pages = [pagerduty.account.trigger("a core is pinned", {"host": f"node-{n}"}) for n in range(PAGES)]
            await pagerduty.until(lambda: sum(1 for page in pages if page.notes) > PAGES // 4, LONG, "some notes")
            await runners[0].kill()
            await pagerduty.until(lambda: all(pagerduty.note_on(page) for page in pages), LONG, "all notes")
            await pagerduty.webhooks.settled(LONG)
        finally:
            for runner in runners:
                await runner.kill()
        for number, page in enumerate(pages):
            assert f"node-{number}: CRITICAL" in pagerduty.note_on(page), "each its own, and only one"
        calls = sorted(one.at for one in pagerduty.asked())
        most = max(
            sum(1 for at in calls[i : i + 1200] if at - calls[i] < timedelta(minutes=1)) for i in range(len(calls))
        )
        print(f"{len(calls)} calls, at most {most} a minute; {calls[-1] - calls[0]} in all")
        assert most <= 960
        assert not [one for one in pagerduty.asked() if one.status == 429]
