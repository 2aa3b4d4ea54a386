"""A real headless Chromium, the machine's own, as a test's eyes and hands."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, Page, async_playwright, expect

CHROMIUM = shutil.which("chromium")
# As wide as the fonts of phones and desktops. Debian's default, DejaVu, is wider, and what fits a screen does not then.
FONT = next(Path("/usr/share/fonts").rglob("LiberationSans-Regular.*"), None)
ARGUMENTS = [
    "--no-sandbox",  # tests run as root in containers; what is shown comes from the test itself
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE = (1440, 900)
PHONE = (390, 844)
PATIENCE = 120_000  # milliseconds: a machine with other work may take long, and no test waits for nothing


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Start the browser. Raises: FileNotFoundError when there is none."""
    if CHROMIUM is None:
        raise FileNotFoundError("chromium is not installed (Debian: apt install chromium)")
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()


class Window:
    """One window with its own cookies, that remembers every complaint of the browser."""

    def __init__(self, page: Page, screenshots: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.folder = screenshots
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda told: self.complaints.append(told.text) if told.type == "error" else None)
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    async def screenshot(self, name: str) -> None:
        """Keep what is in sight as `NAME.png`."""
        await self.page.screenshot(path=self.folder / f"{name}.png")

    async def texts(self, selector: str) -> list[str]:
        """Return what stands in every element of this kind."""
        return [text.strip() for text in await self.page.locator(selector).all_inner_texts()]

    async def until_text(self, selector: str, text: str) -> None:
        """Wait until an element of this kind holds the text."""
        await self.page.locator(selector, has_text=text).first.wait_for()


@asynccontextmanager
async def window(
    browser: Browser, screenshots: Path, *, size: tuple[int, int] = WIDE, scheme: Literal["light", "dark"] = "light"
) -> AsyncIterator[Window]:
    """Open a window. `ZOMBIE_SCREENSHOTS` names a folder where all its screenshots are kept."""
    if kept := os.environ.get("ZOMBIE_SCREENSHOTS"):
        screenshots = Path(kept)
        screenshots.mkdir(parents=True, exist_ok=True)
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, is_mobile=size == PHONE
    )
    opened = Window(await context.new_page(), screenshots)
    try:
        yield opened
    except Exception:  # what a person would have seen says more than which word was waited for
        print(f"--- in sight of {opened.page.url}:", await opened.page.locator("body").inner_text(), sep="\n")
        raise
    finally:
        await context.close()
