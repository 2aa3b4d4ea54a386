"""What somebody who was woken sees on a phone: a card, its dialog and its thread, on one screen each, day and night."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Locator

from tests.browser import FONT, PHONE, Window, window
from tests.conftest import missing
from tests.e2e.test_demo_page import FOUNDING, ask, demo

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]
WIDTH, HEIGHT = PHONE
STOPPED = "web-1c-0077"
HEADING = ["Status", "Node", "Cause", "What now"]
MINUTES = 120_000  # milliseconds, until the slowest has ended
# Everything in an element that is wider than the screen, or that is wider inside than it shows without scrolling.
OUTSIDE = """element => [element, ...element.querySelectorAll("*")]
    .filter(each => each.getClientRects().length && !each.closest(".b-table"))
    .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1
        || (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline"
            && !["hidden", "auto", "scroll"].includes(getComputedStyle(each).overflowX)))
    .map(each => `${each.tagName}.${each.className}: ${each.innerText.slice(0, 60)}`)"""


@pytest.fixture(autouse=True)
def needs_a_phones_font() -> None:
    if FONT is None:
        missing("a font as wide as a phone's is not installed (Debian: apt install fonts-liberation)")


async def height(shown: Locator) -> float:
    box = await shown.bounding_box()
    assert box is not None
    return box["height"]


async def nothing_runs_off(shown: Locator) -> None:
    assert await shown.evaluate(OUTSIDE) == []
    page: Any = await shown.evaluate("() => document.documentElement.scrollWidth")
    assert page <= WIDTH


async def opened(phone: Window, url: str) -> None:
    await phone.page.goto(url)
    await phone.page.locator(".composer").first.wait_for(state="attached")
    await phone.page.get_by_text("oncall-gpu").first.click()
    await nothing_runs_off(phone.page.locator(".guide"))


async def acts_as_bob(someone: Window, url: str) -> None:
    await someone.page.goto(url)
    await someone.page.locator(".composer").first.wait_for(state="attached")
    await someone.page.locator("#rail").get_by_label("act as somebody else").click()
    await someone.page.get_by_role("option", name="Bob Okafor").click()
    await someone.until_text(".acting", "Bob Okafor")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
async def test_card_dialog_and_thread_fit_a_phone(
    browser: Browser, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    async with (
        demo(folder) as url,
        window(browser, tmp_path) as alice,
        window(browser, tmp_path, size=PHONE, scheme=scheme) as phone,
    ):
        await alice.page.goto(url)
        await alice.page.locator(".composer").first.wait_for(state="attached")
        await phone.page.add_init_script("sessionStorage.setItem('as', 'bob')")  # who asks may not say yes
        await opened(phone, url)
        await ask(alice, f"/zombie check {FOUNDING}")
        card = phone.page.locator("main article", has_text=FOUNDING).first
        approve = card.get_by_role("button", name="Approve")
        await approve.wait_for()
        await card.locator("img.b-picture").wait_for()
        await card.locator("img.b-picture").evaluate("image => image.decode()")
        assert await height(card) <= HEIGHT, "one screen holds all of it"
        await nothing_runs_off(card)
        await card.evaluate("card => card.scrollIntoView({block: 'start'})")
        await phone.screenshot(f"phone-card-{scheme}")
        seen: Any = await card.evaluate("card => card.getBoundingClientRect().top")
        button = await approve.bounding_box()
        assert button is not None
        assert seen >= 0, "the title is on the screen"
        assert button["y"] + button["height"] <= HEIGHT, "and so are the buttons"
        assert "🔴" in await card.locator(".b-header").inner_text()

        await approve.click()
        dialog = phone.page.locator("dialog")
        await dialog.locator("textarea").wait_for()
        await nothing_runs_off(dialog)
        assert await height(dialog) <= HEIGHT
        send = await dialog.get_by_role("button", name="Approve").bounding_box()
        assert send is not None
        assert send["y"] + send["height"] <= HEIGHT
        told = await dialog.inner_text()
        for word in ("systemctl disable --now -- ecs.service", "systemctl reboot", "host key", "plan "):
            assert word in told, told
        await phone.screenshot(f"phone-dialog-{scheme}")
        await phone.page.keyboard.press("Escape")

        await card.locator(".thread-bar").click()
        await phone.page.locator("#thread summary", has_text="What would have changed").wait_for()
        replies = phone.page.locator("#thread article")
        assert await replies.count() == 1 + 1, "the card, and one reply"
        assert await height(replies.nth(1)) <= HEIGHT
        await nothing_runs_off(replies.nth(1))
        assert not await phone.page.get_by_text("cpu-steal").first.is_visible(), "what was ruled out is folded"
        await phone.page.locator("#thread summary", has_text="Ruled out").click()
        await phone.page.get_by_text("cpu-steal").first.wait_for()
        await phone.screenshot(f"phone-thread-{scheme}")
        await nothing_runs_off(phone.page.locator("#thread"))
        assert phone.complaints == []


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_several_nodes_home_and_what_was_cured_fit_a_phone(
    browser: Browser, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    async with (
        demo(folder) as url,
        window(browser, tmp_path, size=PHONE, scheme=scheme) as phone,
        window(browser, tmp_path, scheme=scheme) as bob,
    ):
        await opened(phone, url)
        await ask(phone, f"/zombie check {FOUNDING} {STOPPED}")
        card = phone.page.locator("main article", has_text="2 nodes").first
        await card.get_by_role("button", name="Approve 2 plans").wait_for()
        assert await height(card) <= HEIGHT, "one screen holds all of it"
        await nothing_runs_off(card)
        table = card.locator("table")
        assert [text.strip() for text in await table.locator("th").all_inner_texts()] == HEADING
        assert await card.locator(".b-table").evaluate("table => table.scrollWidth <= table.clientWidth")
        for node in (FOUNDING, STOPPED):
            assert await table.locator("tr", has_text=node).count() == 1
            await card.get_by_role("button", name=f"Approve {node}").wait_for()
        await card.evaluate("card => card.scrollIntoView({block: 'start'})")
        await phone.screenshot(f"phone-several-{scheme}")

        await acts_as_bob(bob, url)
        await bob.page.get_by_role("button", name="Approve 2 plans").first.click()
        dialog = bob.page.locator("dialog")
        for node in (FOUNDING, STOPPED):
            await dialog.get_by_text(node).first.wait_for()
        await dialog.locator("textarea").fill("both are sick")
        await dialog.get_by_role("button", name="Approve").click()
        await card.get_by_text("Resolved", exact=False).first.wait_for(timeout=MINUTES)
        assert await height(card) <= HEIGHT
        await nothing_runs_off(card)

        await phone.page.get_by_role("link", name="Back").click()
        await phone.page.get_by_role("link", name="Zombie home").click()
        home = phone.page.locator(".home-body")
        await home.locator(".block").first.wait_for()
        await nothing_runs_off(home)
        assert await height(home.locator(".blocks").first) <= HEIGHT, "what waits and the brake are on one screen"
        await phone.screenshot(f"phone-home-{scheme}")
        assert phone.complaints == []


@pytest.mark.long
async def test_cured_node_shows_what_changed_on_one_screen(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    async with (
        demo(folder) as url,
        window(browser, tmp_path, size=PHONE) as phone,
        window(browser, tmp_path) as bob,
    ):
        await opened(phone, url)
        await ask(phone, f"/zombie check {FOUNDING}")
        await acts_as_bob(bob, url)
        await bob.page.get_by_role("button", name="Approve").first.click()
        await bob.page.locator("dialog textarea").fill("the agent leaks")
        await bob.page.locator("dialog").get_by_role("button", name="Approve").click()
        card = phone.page.locator("main article", has_text=FOUNDING).first
        await card.get_by_text("Resolved").first.wait_for(timeout=MINUTES)
        told = await card.inner_text()
        for words in (
            "dying memory cgroups: 68,4",
            "network card resets: none since the reboot",
            "the node was rebooted",
        ):
            assert words in told
        assert "ecs.service: is starting" in told
        assert "LoadState" not in told
        await nothing_runs_off(card)
        await card.evaluate("card => card.scrollIntoView({block: 'start'})")
        last = await card.locator("li").last.bounding_box()
        assert last is not None
        assert last["y"] + last["height"] <= HEIGHT, "what changed, and all above it, is on the screen"
        await phone.screenshot("phone-resolved")
        await card.locator(".thread-bar").click()
        thread = phone.page.locator("#thread")
        await thread.locator(".file-card", has_text="report-").wait_for()
        said = [await reply.inner_text() for reply in await thread.locator("article").all()]
        assert len(said) == 1 + 3, "the card, the evidence, the yes, and everything else in one file"
        assert "said yes" in said[2]
        await nothing_runs_off(thread)
        await phone.screenshot("phone-resolved-thread")
        await phone.page.keyboard.press("Escape")
        await card.get_by_role("button", name="Verdict wrong").click()
        dialog = phone.page.locator("dialog")
        await dialog.locator("textarea").fill("io-stall")
        await nothing_runs_off(dialog)
        await dialog.get_by_role("button", name="Say so").click()
        await phone.until_text("main", "zombie playbooks keep")
        assert await phone.page.get_by_role("button", name="Take it back").is_visible()
        assert phone.complaints == []
