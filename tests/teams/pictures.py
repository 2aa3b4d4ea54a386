"""Cards of Teams as the vendor's own renderer draws them in a browser, wide and on a phone, to be looked at.

`npm pack adaptivecards@3.0.6` has `package/dist/adaptivecards.min.js`; then
`.venv/bin/python -m tests.teams.pictures adaptivecards.min.js FOLDER`. It is not the renderer of Teams itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from bot.chat.thread import details
from bot.surfaces.teams import drawing
from tests.browser import PHONE, chromium
from tests.slack.acting_team import Cast, acting_team, people
from tests.slack.service import QUICK
from tests.teams.simulated import ALICE, APPROVERS, BOB, ONCALL, TENANT, simulated_teams
from tests.unit.surfaces.verdicts import FOUNDING

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


async def cards() -> dict[str, Any]:
    """Return cards and a dialog of one decision, with a verdict's details."""
    reply = drawing.draw(details(FOUNDING, "ba574c2acef4", drawing.fits)[0].message)
    found: dict[str, Any] = {"details": drawing.card(drawing.named(reply.blocks, {}))["content"]}
    policy = people(approver_groups=frozenset({f"teams:{APPROVERS}"}), kinds=frozenset({"teams"}))
    async with simulated_teams() as teams:
        whole: Any = teams
        connection = teams.connection(QUICK, lambda event, **_: None)
        more: Any = {"chat": connection, "cast": Cast("teams", TENANT, ALICE, BOB, ONCALL), "policy": policy}
        with tempfile.TemporaryDirectory() as folder:
            async with acting_team(whole, Path(folder), **more) as team, teams.hosted(connection):
                offer = await team.proposed("node-1")
                found["offer"] = teams.raw[offer.ts]["attachments"][0]["content"]
                view: Any = await team.dialog("bob", offer)
                found["dialog"] = view.dialog.card
                await teams.submit("bob", view, {"reason": "it leaks, and training dies"})
                await teams.until(lambda: '"undo"' in json.dumps(offer.blocks), what="its end")
                found["resolved"] = teams.raw[offer.ts]["attachments"][0]["content"]
                await teams.home("bob")
                found["home"] = teams.raw[teams.posted[-1].ts]["attachments"][0]["content"]
    return found


async def main(script: str, folder: Path) -> None:
    async with chromium() as browser:
        for name, content in (await cards()).items():
            for where, size in {"wide": (780, 900), "phone": PHONE}.items():
                await draw(browser, script, content, folder / f"{name}-{where}.png", *size)
                print(f"{folder / name}-{where}.png")


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(exist_ok=True)
    asyncio.run(main(Path(sys.argv[1]).read_text(), Path(sys.argv[2])))
