"""`zombie demo` shows auto-triage: an alert is fired on its PagerDuty's page, and nobody types anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser import CHROMIUM, Window, chromium, window
from tests.conftest import missing
from tests.e2e.test_demo_page import FOUNDING, demo


async def opened_by(link: Locator, someone: Window) -> Page:
    """Click a link that opens a page of its own, and return that."""
    async with someone.page.context.expect_page() as opening:
        await link.click()
    page = await opening.value
    page.on("pageerror", lambda error: someone.complaints.append(str(error)))
    return page


@pytest.mark.slow
async def test_founding_alert_becomes_a_note_and_a_card_that_lead_to_each_other(tmp_path: Path) -> None:
    if CHROMIUM is None:
        missing("chromium is not installed (Debian: apt install chromium)")
    folder = tmp_path / "demo"
    folder.mkdir()
    async with demo(folder, 1) as url, chromium() as browser, window(browser, tmp_path) as someone:
        await someone.page.goto(url)
        pagerduty = await opened_by(someone.page.get_by_role("link", name="the simulated PagerDuty"), someone)
        await expect(pagerduty.locator("#what option").first).to_contain_text("the first case")
        await pagerduty.get_by_role("button", name="Fire it").click()
        await pagerduty.locator(".row").click()
        note = pagerduty.locator(".note", has_text="[zombie ")
        for words in ("CRITICAL, leaked-memory-cgroups (confirmed)", "disable ecs.service, then reboot"):
            await note.get_by_text(words).wait_for()
        await expect(pagerduty.locator(".summary .pill")).to_have_text("Triggered")
        await expect(note).not_to_contain_text("/page/incidents/")

        slack = await opened_by(note.get_by_role("link"), someone)
        card = slack.locator("main article", has_text=FOUNDING).first
        await card.get_by_role("button", name="Approve").wait_for()
        await card.get_by_text("On call: Ann Oncall").wait_for()
        again = await opened_by(card.get_by_role("link", name="PagerDuty"), someone)
        await expect(again.locator("#detail h1")).to_have_text("A core is pinned in the kernel: training jobs fail")
        assert someone.complaints == []
