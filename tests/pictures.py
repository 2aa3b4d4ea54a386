"""Makes the pictures of README and docs anew, from the demo in a browser: `.venv/bin/python -m tests.pictures [NAME…]`.

Without a font for emoji (Debian: fonts-noto-color-emoji) they have boxes in their place. Beside each picture lies what
it was drawn from, as a digest; tests/contract/test_pictures.py says when that has changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Locator, Page

from bot.chat.service import Message
from bot.domain.transitions import State
from bot.extras.fleet.chat_card import report_card
from bot.extras.reports.page import page as report_page
from bot.extras.reports.report import whole_report
from bot.surfaces.slack.drawing import draw
from tests.browser import PHONE, chromium
from tests.e2e.test_demo_page import FOUNDING as NODE
from tests.e2e.test_demo_page import demo
from tests.unit.extras.fleet.test_chat_card import ASK, BY, told
from tests.unit.extras.reports.report_data import of
from tests.unit.surfaces.test_slack_card import card
from tests.unit.surfaces.verdicts import FOUNDING

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS.parent / "bot/demo/slack/page"
FLEET = "/zombie fleet ray-gpu-* --cause leaked-memory-cgroups"
MINUTES = 240_000  # milliseconds, until a cure is proved


@dataclass(frozen=True)
class Picture:
    """One picture: what it is drawn from, and who takes it in the demo at this address."""

    name: str
    drawn: Callable[[], str]
    take: Callable[[Browser, str, Path], Awaitable[None]]

    @property
    def path(self) -> Path:
        """Where it lies."""
        return DOCS / f"{self.name}.png"

    @property
    def kept(self) -> Path:
        """Where its digest lies."""
        return DOCS / f"{self.name}.json"


def _on_the_page(message: Message) -> str:
    """SHA-256 of a message, as the bot gives it to Slack, and of the page that shows it."""
    digest = hashlib.sha256(json.dumps(list(message.blocks), sort_keys=True).encode())
    for file in sorted(PAGE.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


async def _opened(browser: Browser, url: str, width: int, height: int, scale: float = 1.5) -> Page:
    context = await browser.new_context(
        viewport={"width": width, "height": height}, device_scale_factor=scale, is_mobile=width == PHONE[0]
    )
    context.set_default_timeout(MINUTES)
    page = await context.new_page()
    await page.goto(url)
    await page.locator(".composer").first.wait_for(state="attached")
    return page


async def _says(page: Page, text: str) -> None:
    await page.locator("main .composer textarea").fill(text)
    await page.keyboard.press("Enter")


async def _offer(page: Page) -> Locator:
    """Ask for the founding node, and return its card once it offers its plan and has its picture."""
    await _says(page, f"/zombie check {NODE}")
    shown = page.locator("main article", has_text="CRITICAL").last
    await shown.get_by_role("button", name="Approve").first.wait_for()
    image = shown.locator("img.b-picture").first
    await image.wait_for()
    await image.evaluate("image => image.decode()")
    return shown


async def _card(browser: Browser, url: str, path: Path) -> None:
    await (await _offer(await _opened(browser, url, 1100, 1400))).screenshot(path=path)


async def _card_on_a_phone(browser: Browser, url: str, path: Path) -> None:
    page = await _opened(browser, url, *PHONE, scale=2)
    await page.get_by_text("oncall-gpu").first.click()
    shown = await _offer(page)
    await shown.evaluate("card => card.scrollIntoView({block: 'start'})")
    await page.locator("main .composer textarea").blur()
    await page.screenshot(path=path)


async def _fleet(browser: Browser, url: str, path: Path) -> None:
    page = await _opened(browser, url, 1380, 1600, scale=1.25)
    await _says(page, FLEET)
    shown = page.locator("main article", has=page.locator(".b-table")).last
    await shown.wait_for()
    await shown.screenshot(path=path)


async def _report(browser: Browser, url: str, path: Path) -> None:
    """Ask as one person, approve as another, and open the report that comes once the cure is proved."""
    page = await _opened(browser, url, 1100, 1400)
    await _offer(page)
    await page.locator("#rail").get_by_label("act as somebody else").click()
    await page.get_by_role("option", name="Bob Okafor").click()
    await page.locator(".acting", has_text="Bob Okafor").wait_for()
    await page.get_by_role("button", name="Approve").last.click()
    await page.locator("dialog textarea").fill("the agent leaks, and training dies")
    await page.locator("dialog").get_by_role("button", name="Approve").click()
    done = page.locator("main article", has_text="Resolved").last
    await done.wait_for()
    await done.locator(".thread-bar").click()
    file = page.locator("#thread .file-card", has_text="report-")
    async with page.expect_popup() as opening:
        await file.click()
    report = await opening.value
    await report.set_viewport_size({"width": 1000, "height": 1200})
    await report.get_by_role("heading", name="Impact").wait_for()
    await report.screenshot(path=path)


PICTURES = (
    Picture("card", lambda: _on_the_page(card({}, [FOUNDING])), _card),
    Picture("card-phone", lambda: _on_the_page(card({}, [FOUNDING])), _card_on_a_phone),
    Picture(
        "fleet-card", lambda: _on_the_page(draw(report_card(ASK, told(6, ("us-east-1a", "us-east-1b")), BY))), _fleet
    ),
    Picture(
        "report", lambda: hashlib.sha256(report_page(whole_report(of(State.RESOLVED))).encode()).hexdigest(), _report
    ),
)


async def take(names: Collection[str]) -> None:
    """Take these pictures, or all; each in a demo of its own, where nothing else is on the page."""
    for picture in PICTURES:
        if names and picture.name not in names:
            continue
        with tempfile.TemporaryDirectory() as kept:
            async with demo(Path(kept), 5) as url, chromium() as browser:
                await picture.take(browser, url, picture.path)
        picture.kept.write_text(json.dumps({"drawn_from": picture.drawn()}) + "\n")


if __name__ == "__main__":
    asyncio.run(take(sys.argv[1:]))
