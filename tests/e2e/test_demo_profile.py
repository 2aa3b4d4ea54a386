"""The demo in a browser: a burst that no check saw, a profile asked from its card, and the confirmed verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.browser import PHONE, window
from tests.e2e.test_demo_page import ask, demo

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]
NODE = "ray-gpu-1a-0712"


async def test_profile_from_the_card_brings_pictures_and_confirms_the_verdict(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    async with (
        demo(folder, samples=5) as url,
        window(browser, tmp_path) as alice,
        window(browser, tmp_path, size=PHONE) as phone,
    ):
        await alice.page.goto(url)
        await ask(alice, f"/zombie check {NODE}")
        card = alice.page.locator("main article", has_text=NODE).last
        await alice.until_text("main article", "likely leaked-memory-cgroups")
        await card.get_by_role("button", name="Approve").wait_for()
        assert await card.locator("img.b-picture").count() == 0, "the burst lay outside the window: no core stands out"
        await card.get_by_role("button", name="Profile").click()
        await alice.until_text("main article", "(confirmed)")
        await card.get_by_role("button", name="Approve").wait_for()
        await card.locator(".thread-bar").click()
        thread = alice.page.locator("#thread")
        await alice.until_text("#thread article", "mem_cgroup_nr_lru_pages")
        await alice.until_text("#thread article", "It changes the verdict (leaked-memory-cgroups likely, with a plan →")
        pictures = thread.locator("figure.file-picture img")
        await pictures.nth(1).wait_for()
        words = [await pictures.nth(at).get_attribute("alt") or "" for at in range(2)]
        assert sorted(said.partition(" of ")[0] for said in words) == ["Flame graph", "Heat map"]
        assert all(f"core 52 of {NODE}" in said for said in words)
        for at in range(2):
            await pictures.nth(at).evaluate("image => image.decode()")
        await pictures.first.scroll_into_view_if_needed()
        await alice.screenshot("profile-pictures")

        await ask(alice, f"/zombie capture {NODE} 1h")
        await alice.until_text("main article", "It ends by itself")
        await alice.page.locator("main article", has_text="It ends by itself").last.scroll_into_view_if_needed()
        await alice.screenshot("capture-card")
        await phone.page.goto(url)
        await phone.page.get_by_text("oncall-gpu").first.click()
        await phone.until_text("main article", "It ends by itself")
        await phone.screenshot("capture-card-phone")
        await phone.page.locator("main article", has_text="(confirmed)").first.locator(".thread-bar").click()
        await phone.until_text("#thread article", "It changes the verdict")
        picture = phone.page.locator("#thread figure.file-picture img").first
        await picture.wait_for()
        edges = await picture.evaluate("image => [image.getBoundingClientRect().right, innerWidth]")
        assert edges[0] <= edges[1] == PHONE[0], "a phone shows all of it"
        await phone.page.locator(
            "#thread article", has_text="It changes the verdict"
        ).first.scroll_into_view_if_needed()
        await phone.screenshot("profile-phone")
        await picture.scroll_into_view_if_needed()
        await phone.screenshot("profile-pictures-phone")
        recorded = alice.page.locator("main article", has_text="It ends by itself").last
        await recorded.get_by_role("button", name="Stop").click()
        await alice.until_text("main article", "It is over")
        assert alice.complaints == phone.complaints == []
