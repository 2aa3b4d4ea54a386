"""The heat map of the demo's founding node, as a browser shows it: wide and on a phone, light and dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Locator

from bot.view.core_picture import LEFT
from tests.browser import CHROMIUM, PHONE, Window, chromium, window
from tests.conftest import missing
from tests.e2e.test_demo_page import FOUNDING, ask, demo

pytestmark = pytest.mark.slow
SIZE = "image => [image.naturalWidth, image.naturalHeight, image.getBoundingClientRect().right, innerWidth]"
# How far from the left the yellow of the map stands, whose rows lie above its legend, as the browser decoded it.
YELLOW = """async image => {
    await image.decode();
    const size = {width: image.naturalWidth, height: image.naturalHeight};
    const canvas = Object.assign(document.createElement("canvas"), size);
    const drawing = canvas.getContext("2d");
    drawing.drawImage(image, 0, 0);
    const map = drawing.getImageData(0, 84, canvas.width, 62).data;
    let found = 0;
    for (let at = 0; at < map.length / 4; at += 1) {
        const [red, green, blue] = map.slice(4 * at, 4 * at + 3);
        if (red > 180 && green > 180 && blue < 100) found = Math.max(found, at % canvas.width);
    }
    return found;
}"""


@pytest.fixture
def empty_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    return folder


async def shown(someone: Window) -> tuple[Locator, Any]:
    image = someone.page.locator("article img.b-picture").first
    await image.wait_for()
    await image.evaluate("image => image.decode()")
    return image, await image.evaluate(SIZE)


async def test_founding_card_shows_which_core_is_held(tmp_path: Path, empty_folder: Path) -> None:
    if CHROMIUM is None:
        missing("chromium is not installed (Debian: apt install chromium)")
    async with demo(empty_folder, samples=5) as url, chromium() as browser:
        async with (
            window(browser, tmp_path) as alice,
            window(browser, tmp_path, scheme="dark") as bob,
            window(browser, tmp_path, size=PHONE) as phone,
        ):
            for person in (alice, bob, phone):
                await person.page.goto(url)
                await person.page.locator(".composer").first.wait_for(state="attached")
            await ask(alice, f"/zombie check {FOUNDING}")
            image, (wide, tall, _, _) = await shown(alice)
            assert (wide, tall) == (680, 216), "it was decoded whole"
            words = await image.get_attribute("alt") or ""
            assert re.search(r"core 39: (9\d|100) % kernel time in [345] of 5 s", words)
            assert "the other 95 below" in words
            assert LEFT + 39 * 6 <= await image.evaluate(YELLOW) < LEFT + 40 * 6, "where core 39 stands"
            await alice.screenshot("heat-map-light")
            await shown(bob)
            await bob.screenshot("heat-map-dark")
            await phone.page.get_by_text("oncall-gpu").first.click()
            image, (_, _, right, width) = await shown(phone)
            assert width == PHONE[0]
            assert right <= width, "a phone shows all of it"
            await image.evaluate("image => image.scrollIntoView()")  # the card may be drawn anew meanwhile
            await phone.screenshot("heat-map-phone")

            source = await image.get_attribute("src") or ""
            address = url.partition("/?")[0] + source
            async with aiohttp.ClientSession() as stranger, stranger.get(address) as refused:
                assert refused.status == 401, "a picture is for whoever opened the printed address"
        for person in (alice, bob, phone):
            assert person.complaints == []
