"""The simulated PagerDuty's page in a real browser: its list, an incident with its notes, on a desk and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bot.demo.pagerduty.page import Suggestion
from tests.alerts.pagerduty import account
from tests.browser import PHONE, window

pytestmark = pytest.mark.asyncio(loop_scope="session")
HOSTILE = "<img src=x onerror=alert(1)> <script>alert(1)</script>"
NOTE = f"node-1: CRITICAL {HOSTILE}\nCard in Slack: http://127.0.0.1:9/archives/C1/p1\njavascript:alert(1)"
GROUND = "() => getComputedStyle(document.body).backgroundColor"
# innerWidth would grow with a page that is too wide for a phone.
OUTSIDE = """() => [...document.querySelectorAll("body *")]
    .filter(each => each.getClientRects().length)
    .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(each => `${each.tagName}.${each.className}: ${each.innerText.slice(0, 60)}`)"""


async def test_person_fires_an_alert_reads_its_notes_and_sees_to_it(browser: Browser, tmp_path: Path) -> None:
    async with account() as pagerduty, window(browser, tmp_path) as desk:
        pagerduty.page.suggestions = (Suggestion("the first case", f"A core is pinned {HOSTILE}", {"host": "n-1"}),)
        pagerduty.page.elsewhere = (("Slack", "http://127.0.0.1:9/"),)
        await desk.page.goto(pagerduty.page_url)
        await desk.until_text("#pages", "All quiet")
        assert await desk.page.evaluate(GROUND) != "rgb(20, 22, 26)", "by day"
        await expect(desk.page.get_by_role("link", name="Open Slack")).to_have_attribute("rel", "noopener noreferrer")
        await desk.page.get_by_role("button", name="Fire it").click()
        await desk.page.locator(".row.triggered", has_text="A core is pinned").click()
        detail = desk.page.locator("#detail")
        await expect(detail.locator("h1")).to_contain_text(HOSTILE)
        await expect(detail.locator(".alerts")).to_contain_text("n-1")

        (page,) = pagerduty.account.incidents.values()
        pagerduty.account.annotate(page, NOTE, pagerduty.account.bot)
        note = detail.locator(".note")
        await expect(note).to_contain_text("javascript:alert(1)")
        assert await note.locator("a").evaluate_all("links => links.map(each => each.href)") == [
            "http://127.0.0.1:9/archives/C1/p1"
        ], "an address is a link, and nothing else is"
        await detail.get_by_label("Note").fill("half a sentence")
        pagerduty.account.edit(page, page.notes[0], "node-1: Resolved")
        await expect(detail.locator(".told", has_text="Zombie Bot")).to_contain_text("(edited)")
        await expect(detail.get_by_label("Note")).to_have_value("half a sentence")
        await detail.get_by_role("button", name="Add note").click()
        await expect(detail.locator(".note")).to_have_text(["half a sentence", "node-1: Resolved"])
        for act, status in (("Acknowledge", "acknowledged"), ("Resolve", "resolved"), ("Reopen", "triggered")):
            await detail.get_by_role("button", name=act).click()
            await expect(detail.locator(".summary .pill")).to_have_text(status.capitalize())
            assert page.status == status
        await expect(detail.locator(".timeline li")).to_have_count(6)

        await desk.page.get_by_role("link", name="‹ Incidents").click()
        await desk.page.get_by_role("tab", name="Resolved 0").click()
        await desk.until_text("#pages", "No incident is resolved.")
        await desk.page.goto(f"{pagerduty.api_url}/page/incidents/{page.id}")
        await expect(detail.locator("h1")).to_contain_text("A core is pinned")
        assert desk.complaints == []


async def test_list_and_incident_fit_a_phone_at_night(browser: Browser, tmp_path: Path) -> None:
    async with account() as pagerduty, window(browser, tmp_path, size=PHONE, scheme="dark") as phone:
        title = "A core is pinned in the kernel: training jobs fail on ray-gpu-1a-0417-with-a-very-long-name"
        page = pagerduty.account.trigger(title, {"metric": "node_cpu_seconds_total{mode='system'}" * 3})
        pagerduty.page.suggestions = (Suggestion(f"the first case: {title}", title, {"host": "n-1"}),)
        pagerduty.account.annotate(page, "x" * 400 + "\nhttps://example.com/" + "y" * 300, pagerduty.account.bot)
        await phone.page.goto(pagerduty.page_url)
        await phone.page.locator(".row").wait_for()
        assert await phone.page.evaluate(OUTSIDE) == []
        await phone.screenshot("pagerduty-list-dark")
        await phone.page.locator(".row").click()
        await phone.page.locator(".note").wait_for()
        assert await phone.page.evaluate(OUTSIDE) == []
        await phone.screenshot("pagerduty-incident-dark")
        assert await phone.page.evaluate(GROUND) == "rgb(20, 22, 26)"
        assert phone.complaints == []
