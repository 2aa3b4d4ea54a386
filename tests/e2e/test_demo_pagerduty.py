"""`zombie demo` shows auto-triage: an alert is fired on its PagerDuty's page, and nobody types anything."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until

ROOT = Path(__file__).parents[2]
LONG = timedelta(seconds=90)


class Demo:
    """A demo that nobody sits before, and its PagerDuty as a browser has it."""

    def __init__(self, folder: Path) -> None:
        self.screen = folder / "screen"
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
        with self.screen.open("wb") as screen:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "bot", "demo", "--samples", "1"],
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=subprocess.STDOUT,
                env={**environment, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
                cwd=folder,
            )
        self._browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        address = until(self._printed, within=LONG, what="PagerDuty's address")
        self.origin = address.partition("/?")[0]
        self._browser.open(address).read()

    def _printed(self) -> str:
        found = re.search(r"A simulated PagerDuty.*?(http://\S+)", self.screen.read_text(), re.DOTALL)
        return found[1] if found else ""

    def pages(self) -> Any:
        """What stands on the page."""
        with self._browser.open(f"{self.origin}/page/pages") as answer:
            return json.load(answer)

    def does(self, act: str, **body: Any) -> None:
        """Click there."""
        headers = {"Content-Type": "application/json", "Origin": self.origin}
        self._browser.open(urllib.request.Request(f"{self.origin}/page/{act}", json.dumps(body).encode(), headers))

    def end(self) -> None:
        """Interrupt it."""
        self._process.terminate()
        self._process.wait(30)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    one = Demo(tmp_path)
    try:
        yield one
    finally:
        one.end()


@pytest.mark.slow
def test_founding_alert_becomes_a_note_with_the_verdict(demo: Demo) -> None:
    assert demo.pages()["suggestions"][0].startswith("the founding case")
    demo.does("fire", number=0)

    def note() -> str:
        (page,) = demo.pages()["pages"]
        return "".join(one["content"] for one in page["notes"])

    text = until(lambda: note() if "[zombie " in note() else "", within=LONG, what="the note")
    assert "CRITICAL, leaked-memory-cgroups (confirmed)" in text
    assert "Waits for approval: disable ecs.service, then reboot" in text
    assert demo.pages()["pages"][0]["status"] == "triggered"
