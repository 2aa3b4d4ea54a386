"""The founding case in Teams as the vendor's own renderer draws it in a browser, wide and on a phone, to be looked at.

`npm pack adaptivecards@3.0.6` has `package/dist/adaptivecards.min.js`; then
`.venv/bin/python -m tests.teams.pictures adaptivecards.min.js FOLDER`. It is not the renderer of Teams itself. The
cards are the program's own, over the demo's nodes, as README shows the same case in Slack.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from bot.app.demo import demo_pagerduty, environment_of
from bot.demo.fleet import FLEET, running
from bot.inventory import Inventory
from tests.browser import PHONE, chromium
from tests.e2e.test_teams_serve import program, serving
from tests.slack.memory_chat import Shown
from tests.teams.simulated import APPROVERS, ONCALL, SimulatedTeams, simulated_teams

ROOT = Path(__file__).parents[2]
NODES = FLEET[0], FLEET[2]  # the founding case, and the same leak that no check sees at work
MINUTES = timedelta(minutes=3)
TOML = f"""
[policy]
acting = true
approver_groups = ["teams:{APPROVERS}"]
[act]
units = ["ecs.service"]
validation = "20s"
reboot_deadline = "30s"
"""
SIZES = {"small": 12, "default": 14, "medium": 14, "large": 18, "extraLarge": 24}
COLORS = {
    "default": {"default": "#242424", "subtle": "#616161"},
    "accent": {"default": "#5b5fc7", "subtle": "#5b5fc7"},
    "attention": {"default": "#c4314b", "subtle": "#c4314b"},
}
HOST: Mapping[str, Any] = {
    "supportsInteractivity": True,
    "fontTypes": {
        "default": {"fontFamily": "Liberation Sans", "fontSizes": SIZES},
        "monospace": {"fontFamily": "Liberation Mono", "fontSizes": SIZES | {"small": 11}},
    },
    "containerStyles": {
        "default": {"backgroundColor": "#ffffff", "foregroundColors": COLORS},
        "emphasis": {"backgroundColor": "#f5f5f5", "foregroundColors": COLORS},
    },
    "actions": {"maxActions": 6, "buttonSpacing": 8, "actionsOrientation": "horizontal", "actionAlignment": "left"},
}
LOOKS = """body{margin:8px;background:#f0f0f0} #card{background:#fff;border:1px solid #ddd;border-radius:6px}
.ac-pushButton{border:1px solid #ccc;border-radius:4px;background:#fff;padding:5px 12px;font:600 14px Liberation Sans}
.style-positive{background:#5b5fc7;color:#fff} .style-destructive{color:#c4314b}
.ac-input{border:1px solid #ccc;border-radius:4px;padding:6px;width:100%;box-sizing:border-box}"""
DRAWN = """([card, host]) => {
    const drawn = new AdaptiveCards.AdaptiveCard(), context = new AdaptiveCards.SerializationContext();
    drawn.hostConfig = new AdaptiveCards.HostConfig(host);
    drawn.parse(card, context);
    document.getElementById('card').appendChild(drawn.render());
    return {wide: document.documentElement.scrollWidth, links: document.querySelectorAll('a[href]').length,
            faults: [...Array(context.eventCount).keys()].map(at => context.getEventAt(at).message)};
}"""


async def draw(browser: Browser, script: str, content: Any, to: Path, width: int, height: int) -> None:
    """Draw a card; whatever the renderer complains of, a link, or a page that is too wide ends it."""
    page = await browser.new_page(viewport={"width": width, "height": height})
    await page.set_content(f"<style>{LOOKS}</style><div id=card></div>")
    await page.add_script_tag(content=script)
    found = await page.evaluate(DRAWN, [content, HOST])
    await page.screenshot(path=to, full_page=True)
    assert (found["wide"], found["links"], found["faults"]) == (width, 0, []), (to.name, found)
    await page.close()


def content(teams: SimulatedTeams, message: Shown) -> Any:
    """Return a message's card."""
    return teams.raw[message.ts]["attachments"][0]["content"]


async def cards() -> AsyncIterator[tuple[str, Any]]:
    """Yield the cards of a node that is offered a cure, approved and cured, and of one whose verdict is likely."""
    founding, likely = (node.name for node in NODES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with (
            running([*NODES], folder, lambda: datetime.now(UTC)) as fleet,
            demo_pagerduty(Inventory.load(fleet.inventory).nodes) as pagerduty,
            simulated_teams() as teams,
        ):
            (folder / "zombie.toml").write_text(TOML)
            (folder / "nodes.toml").write_text(fleet.inventory.read_text())
            places = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": name, "ZOMBIE_STATE_DIR": name}
            environment = {**places, "ZOMBIE_LISTEN": "127.0.0.1:0", **teams.environment, **environment_of(*pagerduty)}
            async with program(folder, environment, "serve") as serves:
                await serving(teams, serves)

                async def card(node: str, words: str) -> Shown:
                    return await teams.until(
                        lambda: next((one for one in teams.posted if node in one.text and words in shown(one)), None),
                        MINUTES,
                        what=f"the card of {node} with {words}",
                    )

                for node in (founding, likely):
                    await teams.say("alice", ONCALL, f"check {node}")
                offer = await card(founding, '"approve"')
                yield "offer", content(teams, offer)
                yield "likely", content(teams, await card(likely, '"profile"'))
                await teams.click("bob", offer, "approve")
                view: Any = teams.modal("bob")
                yield "dialog", view.dialog.card
                await teams.submit("bob", view, {"reason": "the agent leaks, and training dies"})
                yield "resolved", content(teams, await card(founding, '"undo"'))
                for reply in teams.posted:
                    if reply.thread_ts == offer.ts and "ToggleVisibility" in shown(reply):
                        yield "details", content(teams, reply)
                        break
                await teams.home("bob")
                yield "home", content(teams, teams.posted[-1])


def shown(message: Shown) -> str:
    """Return a message's blocks as JSON."""
    return json.dumps(message.blocks)


async def main(script: str, folder: Path) -> None:
    async with chromium() as browser:
        async for name, drawn in cards():
            for where, size in {"wide": (780, 900), "phone": PHONE}.items():
                await draw(browser, script, drawn, folder / f"{name}-{where}.png", *size)
                print(f"{folder / name}-{where}.png")


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(exist_ok=True)
    asyncio.run(main(Path(sys.argv[1]).read_text(), Path(sys.argv[2])))
