"""The demo's fleet in the browser as two people: who else has it, why some have not, and a cure for all in waves."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator

from tests.browser import PHONE, Window, window
from tests.e2e.test_demo_page import ask, demo

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]
FIRST = "trainer-1a-01"
LEAKING = {f"trainer-1a-{at:02}" for at in range(1, 5)} | {f"trainer-1b-{at:02}" for at in range(1, 4)}
MINUTES = 600_000  # milliseconds, until three stages of a reboot and its validation each are over


def wave(someone: Window) -> Locator:
    return someone.page.locator("main article", has_text="Wave: leaked-memory-cgroups")


async def test_who_else_leads_to_table_difference_plan_and_waves_that_cure_every_node_that_has_it(
    browser: Browser, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    async with demo(folder) as url:
        async with (
            window(browser, tmp_path) as alice,
            window(browser, tmp_path, scheme="dark") as bob,
            window(browser, tmp_path, size=PHONE) as phone,
        ):
            for person in (alice, bob, phone):
                await person.page.goto(url)
                await person.page.locator(".composer").first.wait_for(state="attached")
            await bob.page.locator("#rail").get_by_label("act as somebody else").click()
            await bob.page.get_by_role("option", name="Bob Okafor").click()
            await bob.until_text(".acting", "Bob Okafor")

            await ask(alice, f"/zombie check {FIRST}")
            card = alice.page.locator("main article", has_text=f"{FIRST}: CRITICAL")
            await card.get_by_role("button", name="Other nodes?").click()
            await card.locator(".thread-bar").click()
            thread = alice.page.locator("#thread")
            table = thread.locator("article", has_text="7 of 20 nodes have leaked-memory-cgroups")
            await table.get_by_role("button", name="Plan").wait_for()
            assert set(await table.locator("tbody tr td:first-child").all_inner_texts()) == LEAKING
            await alice.screenshot("fleet-table")

            await table.get_by_role("button", name="Diff").click()
            difference = thread.locator(
                "article", has_text="7 nodes beside 8 peers without leaked-memory-cgroups by its signature"
            )
            await difference.get_by_text("boot_units.enabled[ecs.service]").wait_for()
            said = await difference.inner_text()
            assert "Not evidence of health: ecs.service is enabled on trainer-1c-01" in said
            await difference.scroll_into_view_if_needed()
            await alice.screenshot("fleet-difference")

            await table.get_by_role("button", name="Plan").click()
            await wave(alice).get_by_role("button", name="Approve").wait_for()
            proposed = await wave(alice).inner_text()
            assert "Stages: 1 → 2 → 7 cured" in proposed
            assert all(node in proposed for node in LEAKING)
            await alice.screenshot("fleet-proposed")

            await wave(alice).get_by_role("button", name="Approve").click()
            await alice.page.locator("dialog").get_by_text("SelfApproval").wait_for()
            await alice.page.keyboard.press("Escape")
            await wave(bob).get_by_role("button", name="Approve").click()
            dialog = bob.page.locator("dialog")
            await dialog.get_by_text("systemctl reboot").first.wait_for()
            await bob.screenshot("fleet-dialog")
            await dialog.locator("textarea").fill("the canary first")
            await dialog.get_by_role("button", name="Approve").click()

            await wave(bob).get_by_role("button", name="Stop").wait_for()
            await wave(bob).get_by_text("cured: 1: ").wait_for(timeout=MINUTES)
            await bob.screenshot("fleet-after-the-canary")
            await wave(alice).get_by_text("At the end 7 of 7 were cured.").wait_for(timeout=MINUTES)
            assert await wave(alice).get_by_role("button", name="Stop").count() == 0
            # The first card asked for the same cure, which the wave has brought.
            await card.get_by_text(f"has cured {FIRST} since this was read").first.wait_for()
            assert await card.get_by_role("button", name="Approve").count() == 0
            await card.scroll_into_view_if_needed()
            await alice.screenshot("fleet-first-card")
            assert await wave(alice).count() == 1, "one card, edited in place"
            await alice.screenshot("fleet-closed")
            await phone.page.get_by_text("oncall-gpu").first.click()
            await phone.until_text("article", "At the end 7 of 7 were cured.")
            await phone.screenshot("fleet-closed-phone")
        for person in (alice, bob, phone):
            assert person.complaints == []
