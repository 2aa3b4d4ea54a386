"""The demo at ports that somebody chose, and what it says where they are taken."""

import contextlib
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_demo_page import demo

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def free_ports(count: int) -> list[int]:
    """Ports that nobody has, below those which the kernel gives to the demo's nodes."""
    found: list[int] = []
    for port in random.sample(range(20_000, 32_000), 200):
        with contextlib.suppress(OSError), socket.socket() as chooser:
            chooser.bind(("127.0.0.1", port))
            found.append(port)
    return found[:count]


async def test_pages_are_where_they_were_asked_to_be(tmp_path: Path) -> None:
    slack, pagerduty = free_ports(2)
    async with demo(tmp_path, 1, "--slack-port", str(slack), "--pagerduty-port", str(pagerduty)) as url:
        assert url.startswith(f"http://127.0.0.1:{slack}/?token=")
        with socket.create_connection(("127.0.0.1", pagerduty), timeout=5):
            pass


@pytest.mark.parametrize("option", ["--slack-port", "--pagerduty-port"])
def test_port_that_is_taken_is_said(tmp_path: Path, option: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "bot", "demo", option, str(taken.getsockname()[1])],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, "A port of the demo is in use." in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
