"""A report in a real browser: nothing is fetched, no foreign script runs, and each time has the reader's beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from bot.domain.transitions import State
from bot.extras.reports.page import page
from bot.extras.reports.report import whole_report
from tests.unit.extras.reports.report_data import of, told_all
from tests.unit.extras.reports.test_page import HOSTILE

pytestmark = pytest.mark.asyncio(loop_scope="session")
ALARM = "<script>document.title='gone'</script><img src=x onerror=\"document.title='gone'\">"


async def test_hostile_report_opens_without_a_network_and_runs_nothing_of_it(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(whole_report(told_all(" ".join((*HOSTILE, ALARM))))))
    context = await browser.new_context(
        offline=True, timezone_id="Asia/Kolkata", viewport={"width": 390, "height": 844}
    )
    shown = await context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.on("console", lambda told: complaints.append(told.text))
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.on("dialog", lambda dialog: complaints.append(dialog.message))
    await shown.goto(path.as_uri())
    assert asked == [path.as_uri()]
    assert complaints == []
    assert await shown.title() != "gone"
    assert await shown.locator("script").count() == 1
    pictures = await shown.locator("img").evaluate_all("found => found.map(image => image.src.slice(0, 22))")
    assert pictures == ["data:image/png;base64,"], "its own, and none that somebody wrote"
    beside = await shown.locator('time[datetime="2026-11-21T09:30:01Z"] + .here').first.inner_text()
    assert "15:00:01" in beside, "India is five hours and a half ahead"
    assert "Asia/" in await shown.locator("#zone").inner_text()
    width = await shown.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, "a phone shows it without scrolling sideways"
    for cell in await shown.locator("td[data-head='in words']").all():
        box = await cell.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390, "tables too"


async def test_page_s_policy_stops_what_somebody_adds_to_the_file(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    text = page(whole_report(of(State.RESOLVED)))
    path.write_text(text.replace("<h1>", "<script>document.title='gone'</script><img src='https://evil.test/x'><h1>"))
    shown = await (await browser.new_context()).new_page()
    complaints: list[str] = []
    shown.on("console", lambda told: complaints.append(told.text))
    await shown.goto(path.as_uri())
    assert await shown.title() != "gone"
    assert len([each for each in complaints if "Content Security Policy" in each]) == 2


async def test_print_holds_everything_and_leaves_the_contents_out(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(whole_report(of(State.RESOLVED))))
    shown = await (await browser.new_context()).new_page()
    await shown.goto(path.as_uri())
    await shown.emulate_media(media="print")
    assert await shown.locator("nav").is_hidden()
    assert await shown.locator("h2", has_text="Record").is_visible()
    assert (await shown.pdf())[:5] == b"%PDF-"
