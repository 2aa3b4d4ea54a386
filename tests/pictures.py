"""Makes the README's picture anew, from the demo in a browser: `.venv/bin/python -m tests.pictures` in the checkout.

Without a font for emoji (Debian: fonts-noto-color-emoji) it has boxes in their place. Beside the picture lies what it
was drawn from, as a digest; tests/contract/test_pictures.py says when that has changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from pathlib import Path

from tests.browser import chromium
from tests.e2e.test_demo_page import FOUNDING as NODE
from tests.e2e.test_demo_page import demo
from tests.unit.surfaces.test_slack_card import card
from tests.unit.surfaces.verdicts import FOUNDING

ROOT = Path(__file__).parents[1]
PICTURE, DRAWN_FROM = ROOT / "docs/card.png", ROOT / "docs/card.json"
PAGE = ROOT / "bot/demo/slack/page"
SIZE = {"width": 1100, "height": 1400}


def drawn_from() -> str:
    """SHA-256 of the founding verdict's card, as the bot gives it to Slack, and of the page that shows it."""
    digest = hashlib.sha256(json.dumps(list(card([], [FOUNDING]).blocks), sort_keys=True).encode())
    for file in sorted(PAGE.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


async def take() -> None:
    """Ask for the founding node in the demo, and take the picture once the card offers its plan."""
    with tempfile.TemporaryDirectory() as kept:
        async with demo(Path(kept), 5) as url, chromium() as browser:
            context = await browser.new_context(viewport=SIZE, device_scale_factor=1.5)  # type: ignore[arg-type]
            page = await context.new_page()
            await page.goto(url)
            await page.locator("main .composer textarea").fill(f"/zombie check {NODE}")
            await page.keyboard.press("Enter")
            shown = page.locator("article", has_text="CRITICAL").last
            await shown.get_by_role("button", name="Approve").first.wait_for()
            image = shown.locator("img.b-picture").first
            await image.wait_for()
            await image.evaluate("image => image.decode()")
            await shown.screenshot(path=PICTURE)
    DRAWN_FROM.write_text(json.dumps({"drawn_from": drawn_from()}) + "\n")


if __name__ == "__main__":
    asyncio.run(take())
