"""docs/tutorial.md as a stranger types it: clone, demo, own node, Slack, PagerDuty; each block as it stands there.

The node is a real sshd on loopback; Slack and PagerDuty, which need accounts, are the simulated ones. The demo is
played in a terminal and a browser, as the page tells it.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.pagerduty.account import Incident
from bot.demo.slack.people import ALERTS
from tests.alerts.pagerduty import account
from tests.browser import CHROMIUM, chromium, window
from tests.conftest import missing
from tests.e2e.test_demo_story import PROMPT, Terminal, ends_well
from tests.e2e.test_slack_check import cards
from tests.nodes.accounts import change_accounts
from tests.nodes.sshd import IS_ROOT, SSHD, Sshd
from tests.serving import Served
from tests.slack.workspace import workspace

pytestmark = [pytest.mark.slow, pytest.mark.real_sshd]
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/tutorial.md").read_text()
HOST = "node-123.example.com"
LONG = timedelta(seconds=90)
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+) -->\n)?^```(?P<kind>sh|toml)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)
BLOCKS = [(found["mark"] or "", found["kind"], found["text"]) for found in BLOCK.finditer(PAGE)]
MARKS = {"clone", "by hand", "on the node", "by your own login", "inventory.toml", "zombie.toml", "serve"}
MARKS |= {"by hand, with your own login"}
VERDICT = ("HEALTHY", "DEGRADED", "CRITICAL", "UNKNOWN")


def marked(mark: str) -> str:
    """The one block of that mark."""
    (text,) = [text for found, _, text in BLOCKS if found == mark]
    return text


class Stranger:
    """Somebody at a shell: a folder of theirs, a node with a login, and nothing of ours in the environment."""

    def __init__(self, folder: Path, node: Sshd, login: str) -> None:
        self.folder, self.node, self.login = folder, node, login
        self.checkout = folder / "zombie"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def here(self, text: str) -> str:
        """The same words for this node: its address and port, and a login of the test's own."""
        text = text.replace(f"-p 22 {HOST}", f"-p {self.node.port} {self.node.address}")
        text = text.replace("port = 22 ", f"port = {self.node.port} ").replace(HOST, self.node.address)
        return text.replace('user = "zombie"', f'user = "{self.login}"')

    def types(self, text: str, folder: Path | None = None) -> str:
        """Run a block; every line must end well."""
        done = subprocess.run(
            ["sh", "-euc", self.here(text)],
            cwd=folder or self.checkout,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    async def starts(self, text: str, environment: dict[str, str]) -> Served:
        """Start what the last line says, as a shell does, with tokens in place of the page's."""
        command = shlex.split(text.strip().splitlines()[-1])
        process = await asyncio.create_subprocess_exec(
            *command, cwd=self.checkout, env=self.environment | environment, stderr=asyncio.subprocess.PIPE
        )
        return await Served(process).ready()


def cloned(folder: Path) -> Path:
    """Clone what is committed, as the page says, and return the checkout."""
    if (Path(sys.prefix) / "requirements.lock").read_bytes() != (ROOT / "requirements.lock").read_bytes():
        missing("this environment was not made by the launcher from the lock")
    if shutil.which("git") is None:
        missing("git is not installed (Debian: apt install git)")
    clone, enter, _ = marked("clone").strip().splitlines()
    assert enter == "cd zombie"
    clone = clone.replace("REPOSITORY", shlex.quote(str(ROOT)))
    subprocess.run(["sh", "-euc", clone], cwd=folder, capture_output=True, timeout=120, check=True)
    (folder / "zombie/.venv").symlink_to(sys.prefix)  # test_launcher.py sees it being made
    return folder / "zombie"


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    """A clone of what is committed, beside a node on which the page's login was made by the page's own commands."""
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    if not IS_ROOT:
        pytest.skip("the login is made by useradd, which is root's")
    login = f"zt-{secrets.token_hex(4)}"
    settings = "AuthorizedKeysFile .ssh/authorized_keys\nStrictModes yes"  # as OpenSSH ships; and UsePAM is no there
    with Sshd(extra_config=settings) as node:
        home = node.folder / "home of the login"
        try:
            for line in marked("on the node").strip().splitlines():
                words = [login if word == "zombie" else word for word in shlex.split(line)]
                words = [word.replace("~zombie", str(home)) for word in words]
                assert words.pop(0) == "sudo"
                if words[0] == "useradd":
                    change_accounts([words[0], "--home-dir", str(home), *words[1:]])
                elif words[0] == "usermod":
                    groups = [name for name in words[2].split(",") if f"\n{name}:" in Path("/etc/group").read_text()]
                    change_accounts([*words[:2], ",".join(groups), *words[3:]])
                else:
                    subprocess.run(words, check=True, timeout=30)
            yield Stranger(tmp_path, node, login)
        finally:
            change_accounts(["userdel", "--remove", login])


def test_every_block_is_typed_or_says_why_not() -> None:
    marks = [mark for mark, _, _ in BLOCKS if mark]
    assert set(marks) == MARKS | {"serve with PagerDuty"}
    assert len(BLOCKS) - len(marks) == 4, "a new block without a mark is typed by the test below"


@pytest.mark.long
async def test_demo_is_played_as_the_page_tells_it(tmp_path: Path) -> None:
    if CHROMIUM is None:
        missing("chromium is not installed (Debian: apt install chromium)")
    checkout = cloned(tmp_path)
    story = PAGE.partition("\n## 2. ")[2].partition("\n## ")[0]
    (suggested,) = re.findall(r"`(/zombie check \S+)`", story)
    (leaves,) = re.findall(r"`(\w+)` ends it", story)
    terminal = Terminal(tmp_path, ["setsid", "--ctty", "--wait", *shlex.split(marked("by hand"))], checkout)
    try:
        await asyncio.to_thread(terminal.waits_for, PROMPT, 0, 300)
        (url, *_) = re.findall(r"http://\S+", terminal.shown)
        async with chromium() as browser, window(browser, tmp_path) as someone:
            await someone.page.goto(url)
            first = someone.page.locator(".guide .chip").first
            assert suggested in await first.inner_text()
            await first.click()
            card = someone.page.locator("main article", has_text=suggested.split()[-1]).first
            await card.get_by_role("button", name="Approve").wait_for()
            await someone.page.locator(".guide .become").first.click()
            await card.get_by_role("button", name="Approve").click()
            await someone.page.locator("dialog textarea").fill("I was told to")
            await someone.page.locator("dialog").get_by_role("button", name="Approve").click()
            await card.get_by_text("Resolved").first.wait_for()
            assert someone.complaints == []
        terminal.presses(f"{leaves}\n")
        await asyncio.to_thread(ends_well, terminal)
    finally:
        terminal.close()


@pytest.mark.long
async def test_path_of_a_stranger(stranger: Stranger) -> None:
    assert cloned(stranger.folder) == stranger.checkout
    version = marked("clone").strip().splitlines()[-1]
    assert stranger.types(version).startswith("zombie ")

    said = ""
    for mark, kind, text in BLOCKS:
        if not mark:
            said += stranger.types(text)
        elif mark == "by your own login":
            _, host, command = shlex.split(text.partition(" < ")[0])
            assert host == HOST
            command = command.replace("~zombie", f"~{stranger.login}").replace("sudo ", "")
            stranger.types(f"sh -c {shlex.quote(command)} <{text.partition(' < ')[2]}")
        elif kind == "toml":
            (stranger.checkout / mark).write_text(stranger.here(text).replace("C0123456789", ALERTS.id))
    assert f"node-123  {stranger.node.address}:{stranger.node.port}" in said
    assert re.search(rf"^node-123 +(?:{'|'.join(VERDICT)})", said, re.MULTILINE), said

    async with workspace() as slack, account() as pagerduty:
        tokens = {**slack.environment, "ZOMBIE_LISTEN": "127.0.0.1:0"}
        assert set(re.findall(r"([A-Z_]+)=", marked("serve"))) <= set(tokens)
        bot = await stranger.starts(marked("serve"), tokens)
        await slack.say("alice", "oncall-gpu", "/zombie check node-123")

        def judged() -> bool:
            return any("node-123" in card.text and any(word in card.text for word in VERDICT) for card in cards(slack))

        await slack.until(judged, LONG, "the verdict's card")
        assert await bot.end() == 0

        assert set(re.findall(r"([A-Z_]+)=", marked("serve with PagerDuty"))) <= set(pagerduty.environment)
        bot = await stranger.starts(marked("serve with PagerDuty"), tokens | pagerduty.environment)
        page: Incident = pagerduty.account.trigger("a core is pinned", {"node": "node-123"})
        note = await pagerduty.until(lambda: pagerduty.note_on(page) or None, LONG, "the note")
        assert "node-123" in note
        assert await bot.end() == 0
