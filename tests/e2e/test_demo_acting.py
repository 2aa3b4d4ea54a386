"""The demo in the browser as two people: one asks, the other approves, and each node ends as it was made to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator

from tests.browser import Window, window
from tests.e2e.test_demo_page import FOUNDING, ask, demo

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]
ENDINGS = {FOUNDING: ("Resolved", "is gone"), "ray-gpu-1b-0603": ("Escalated", "did not come back")}
BOOTED = "ray-gpu-1b-0604"
MINUTES = 120_000  # milliseconds, until the slowest has ended


def card(someone: Window, node: str) -> Locator:
    return someone.page.locator("main article", has_text=node).first


async def approve(someone: Window, node: str, reason: str) -> None:
    await card(someone, node).get_by_role("button", name="Approve").click()
    dialog = someone.page.locator("dialog")
    await dialog.get_by_text("ecs.service").first.wait_for()
    await dialog.locator("textarea").fill(reason)
    await dialog.get_by_role("button", name="Approve").click()


async def opens_its_report(someone: Window) -> None:
    """Open the report that came into the thread: it shows everything, and can do nothing in the workspace."""
    async with someone.page.expect_popup() as opening:
        await someone.page.locator("#thread .file-card", has_text="report-").click()
    report = await opening.value
    await report.get_by_role("heading", name="Kept before the reboot").wait_for()
    told = await report.locator("body").text_content() or ""  # what is folded, too
    for words in (f"Resolved: {FOUNDING}", "napi handler", "MemAvailable", "zombie audit verify --head"):
        assert words in told, words
    picture = report.locator("figure img").first
    assert await picture.evaluate("async image => { await image.decode(); return image.naturalWidth }") > 0
    assert await report.evaluate("window.origin") == "null", "it is not of the workspace's origin"
    await Window(report, someone.folder).screenshot("report")
    await report.close()


async def test_one_asks_the_other_approves_and_every_ending_is_told(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    async with demo(folder) as url:
        async with window(browser, tmp_path) as alice, window(browser, tmp_path, scheme="dark") as bob:
            for person in (alice, bob):
                await person.page.goto(url)
                await person.page.locator(".composer").first.wait_for(state="attached")
            await bob.page.locator("#rail").get_by_label("act as somebody else").click()
            await bob.page.get_by_role("option", name="Bob Okafor").click()
            await bob.until_text(".acting", "Bob Okafor")

            for node in (*ENDINGS, BOOTED):
                await ask(alice, f"/zombie check {node}")
            for node in (*ENDINGS, BOOTED):
                await card(alice, node).get_by_role("button", name="Approve").wait_for()
            await alice.screenshot("acting-proposed")

            await card(alice, FOUNDING).get_by_role("button", name="Approve").click()
            await alice.page.locator("dialog").get_by_text("SelfApproval").first.wait_for()
            assert await alice.page.locator("dialog textarea").count() == 0, "nobody writes a reason for a refusal"
            await alice.page.locator("dialog").locator("footer").get_by_role("button", name="Close").click()

            under_way = asyncio.create_task(card(alice, FOUNDING).get_by_text("under way").wait_for())
            await approve(bob, FOUNDING, "the agent leaks, and training dies")
            await under_way  # before any other click; a slow machine may see it end while it still answers this one
            await alice.screenshot("acting-under-way")
            for node in ENDINGS.keys() - {FOUNDING}:
                await approve(bob, node, "the agent leaks, and training dies")
            for node, (ending, why) in ENDINGS.items():
                await card(alice, node).get_by_text(ending).first.wait_for(timeout=MINUTES)
                assert why in await card(alice, node).inner_text()
            assert "the agent leaks, and training dies" in await card(alice, FOUNDING).inner_text()
            assert "dying memory cgroups: 68,4" in await card(alice, FOUNDING).inner_text()
            await card(alice, FOUNDING).locator(".thread-bar").click()
            await alice.screenshot("acting-resolved")
            await opens_its_report(alice)

            await approve(bob, BOOTED, "too late: a colleague was faster")
            await bob.page.get_by_text("StateChanged").first.wait_for()
            await card(alice, BOOTED).get_by_text("Cancelled").first.wait_for()
            assert "boot_id" in await card(alice, BOOTED).inner_text()
            await alice.screenshot("acting-cancelled")
        for person in (alice, bob):
            assert person.complaints == []
