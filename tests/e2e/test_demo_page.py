"""`zombie demo` in the browser, as a newcomer meets it: the command, the card, its picture and thread, and an alert."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Browser, Locator, Page, expect

from bot.view.core_picture import LEFT
from tests.browser import PHONE, Window, window
from tests.program import Running, zombie

FOUNDING = "ray-gpu-1a-0417"
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


def is_empty(folder: Path) -> bool:
    return not list(folder.iterdir())


@asynccontextmanager
async def demo(folder: Path, samples: int = 2, *more: str) -> AsyncIterator[str]:
    """The program as a process; yields the page's address. It must end by Ctrl-C, and leave nothing behind."""
    environ = {**os.environ, "TMPDIR": str(folder)}
    process = await Running.start("demo", "--samples", str(samples), *more, env=environ)
    assert process.stdout is not None
    told = ""
    async with asyncio.timeout(120):
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\w+", told)):
            line = await process.stdout.readline()
            assert line, (await process.communicate())[1].decode()
            told += line.decode()
    reading = asyncio.create_task(process.stdout.read())
    try:
        yield found.group()
    finally:
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(120):
            await process.wait()
        await reading
    assert process.returncode == 0
    assert is_empty(folder), "the demo cleans up after itself"


async def ask(someone: Window, text: str) -> None:
    await someone.page.locator("main .composer textarea").fill(text)
    await someone.page.keyboard.press("Enter")


async def shown(someone: Window) -> tuple[Locator, Any]:
    image = someone.page.locator("article img.b-picture").first
    await image.wait_for()
    await image.evaluate("image => image.decode()")
    return image, await image.evaluate(SIZE)


async def opened_by(link: Locator, someone: Window) -> Page:
    """Click a link that opens a page of its own, and return that."""
    async with someone.page.context.expect_page() as opening:
        await link.click()
    page = await opening.value
    page.on("pageerror", lambda error: someone.complaints.append(str(error)))
    return page


def free_ports(count: int) -> list[int]:
    """Ports that nobody has, below those which the kernel gives to the demo's nodes."""
    found: list[int] = []
    for port in random.sample(range(20_000, 32_000), 200):
        with contextlib.suppress(OSError), socket.socket() as chooser:
            chooser.bind(("127.0.0.1", port))
            found.append(port)
    return found[:count]


@pytest.mark.asyncio(loop_scope="session")
async def test_newcomer_types_a_command_reads_its_verdict_and_fires_an_alert_that_leads_to_a_card(
    browser: Browser, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    slack, pagerduty = free_ports(2)
    ports = ("--slack-port", str(slack), "--pagerduty-port", str(pagerduty))
    async with demo(folder, 5, *ports) as url:
        assert url.startswith(f"http://127.0.0.1:{slack}/?token=")
        with socket.create_connection(("127.0.0.1", pagerduty), timeout=5):
            pass
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
            await reads_the_founding_verdict(alice, bob)
            await looks_at_its_picture(alice, phone, url)

            await ask(bob, "/zombie check ray-gpu-1a-0418")
            await bob.until_text(".ephemeral", FOUNDING)
            assert await alice.page.locator(".ephemeral", has_text="0418").count() == 0
            await ask(alice, "/zombie check train-gpu-1a-0102 db-backup-1a-0008 ray-gpu-1c-0290")
            await alice.until_text("article", "3 nodes")
            await alice.page.locator("article", has_text="1 unreachable").first.wait_for()
            await phone.until_text("article", "3 nodes")

            await fires_the_founding_alert(alice)
        for person in (alice, bob, phone):
            assert person.complaints == []


async def reads_the_founding_verdict(alice: Window, bob: Window) -> None:
    """One asks for it, and the other reads what is in its thread."""
    await ask(alice, f"/zombie check {FOUNDING}")
    await alice.until_text("article", "reading")
    await alice.screenshot("check-reading-light")
    await alice.until_text("article", "CRITICAL")
    await alice.until_text("article .edited", "(edited)")
    for word in ("leaked-memory-cgroups", "ecs.service", "68,4", "confirmed"):
        await alice.until_text("article", word)
    assert await alice.page.locator("main article").count() == 1, "one card, edited in place"
    await alice.until_text(".thread-bar", "repl")
    await alice.screenshot("check-verdict-light")
    await bob.until_text("article", "CRITICAL")
    await bob.page.locator(".thread-bar").click()
    await bob.until_text("#thread article", "Ruled out")
    await bob.screenshot("check-thread-dark")


async def looks_at_its_picture(alice: Window, phone: Window, url: str) -> None:
    """The heat map shows the held core, wide and on a phone, and to nobody without the printed address."""
    image, (wide, tall, _, _) = await shown(alice)
    assert (wide, tall) == (680, 216), "it was decoded whole"
    words = await image.get_attribute("alt") or ""
    assert re.search(r"core 39: (9\d|100) % kernel time in [345] of 5 s", words)
    assert "the other 95 below" in words
    assert LEFT + 39 * 6 <= await image.evaluate(YELLOW) < LEFT + 40 * 6, "where core 39 stands"
    await phone.page.get_by_text("oncall-gpu").first.click()
    image, (_, _, right, width) = await shown(phone)
    assert width == PHONE[0]
    assert right <= width, "a phone shows all of it"
    source = await image.get_attribute("src") or ""
    address = url.partition("/?")[0] + source
    async with aiohttp.ClientSession() as stranger, stranger.get(address) as refused:
        assert refused.status == 401, "a picture is for whoever opened the printed address"


async def fires_the_founding_alert(someone: Window) -> None:
    """It becomes a note and a card that lead to each other, and nobody types anything."""
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
    card = slack.locator("main article", has_text=FOUNDING).last
    await card.get_by_role("button", name="Approve").wait_for()
    again = await opened_by(card.get_by_role("link", name="PagerDuty"), someone)
    await expect(again.locator("#detail h1")).to_have_text("A core is pinned in the kernel: training jobs fail")


@pytest.mark.slow
def test_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = zombie("demo", "--slack-port", port, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert (done.returncode, "A port of the demo is in use." in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
