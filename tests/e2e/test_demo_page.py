"""`zombie demo` in the browser, as a newcomer meets it: the command, the card, the thread, as two people."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.browser import CHROMIUM, PHONE, Window, chromium, window
from tests.conftest import missing
from tests.program import Running

FOUNDING = "ray-gpu-1a-0417"


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


@pytest.fixture
def empty_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    return folder


async def ask(someone: Window, text: str) -> None:
    await someone.page.locator("main .composer textarea").fill(text)
    await someone.page.keyboard.press("Enter")


async def test_newcomer_types_the_command_reads_the_verdict_and_its_thread(tmp_path: Path, empty_folder: Path) -> None:
    if CHROMIUM is None:
        missing("chromium is not installed (Debian: apt install chromium)")
    async with demo(empty_folder) as url, chromium() as browser:
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
            await ask(bob, "/zombie check ray-gpu-1a-0418")
            await bob.until_text(".ephemeral", FOUNDING)
            assert await alice.page.locator(".ephemeral", has_text="0418").count() == 0

            await ask(alice, "/zombie check train-gpu-1a-0102 db-backup-1a-0008 ray-gpu-1c-0290")
            await alice.until_text("article", "3 nodes")
            await alice.page.locator("article", has_text="1 unreachable").first.wait_for()
            await alice.screenshot("check-table-light")
            await phone.page.get_by_text("oncall-gpu").first.click()
            await phone.until_text("article", "3 nodes")
            await phone.screenshot("check-phone")
        for person in (alice, bob, phone):
            assert person.complaints == []
