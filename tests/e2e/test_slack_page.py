"""The workspace's page in a real browser: typing, reading, clicking, as several people."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from bot.demo.slack.guide import Guide, Suggested
from tests.browser import PHONE, Window, window
from tests.slack.small_bot import ONCALL, answer_as_a_bot, card, plain
from tests.slack.workspace import SlackWorkspace, bolt, client, workspace

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> &lt;!channel&gt; <javascript:alert(1)|click> "
    '<https://a.example/"onmouseover="alert(1)|safe> `<b>`'
)


pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack, bolt(slack) as app:
        answer_as_a_bot(app)
        yield slack


@pytest_asyncio.fixture(loop_scope="session")
async def desk(browser: Browser, slack: SlackWorkspace, tmp_path: Path) -> AsyncIterator[Window]:
    """Alice's window, at the on-call channel."""
    async with window(browser, tmp_path) as desk:
        await desk.page.goto(slack.page_url)
        await desk.page.locator("main .composer").wait_for()
        yield desk
        assert desk.complaints == []


async def type_in(desk: Window, text: str, pane: str = "main") -> None:
    await desk.page.locator(f"{pane} .composer textarea").fill(text)
    await desk.page.keyboard.press("Enter")


async def test_command_card_thread_and_approval_as_two_people(
    desk: Window, browser: Browser, slack: SlackWorkspace, tmp_path: Path
) -> None:
    async with window(browser, tmp_path, scheme="dark") as bobs:
        await bobs.page.goto(slack.page_url)
        await bobs.page.locator("#rail").get_by_label("act as somebody else").click()
        await bobs.page.get_by_role("option", name="Bob Okafor").click()
        await bobs.until_text(".acting", "Bob Okafor")

        await type_in(desk, "/zombie check node-1")
        await desk.until_text("article .b-section", "sick")
        await desk.until_text("article .edited", "(edited)")
        await desk.until_text(".ephemeral", "Only visible to you")
        await desk.screenshot("card-light-wide")
        await bobs.until_text("article .b-section", "sick")
        assert await bobs.page.locator(".ephemeral").count() == 0

        await bobs.page.locator(".thread-bar").click()
        await bobs.until_text("#thread article", "raw evidence")
        await bobs.screenshot("thread-dark-wide")
        await bobs.page.locator("#thread").get_by_role("button", name="Approve").click()

        dialog = bobs.page.locator("dialog.modal")
        await dialog.get_by_role("button", name="Approve").click()
        await bobs.until_text(".b-error", "Please complete this required field.")
        await dialog.get_by_label("Reason").fill("meh")
        await dialog.get_by_role("button", name="Approve").click()
        await bobs.until_text(".b-error", "Say more.")
        await expect(dialog.get_by_label("Reason")).to_have_value("meh")
        await bobs.screenshot("dialog-dark-wide")
        await dialog.get_by_label("Reason").fill("it is sick")
        await bobs.page.keyboard.press("Enter")
        await dialog.wait_for(state="detached")
        await desk.until_text("article", "approved by @bob: it is sick")
        assert bobs.complaints == []


async def test_newcomer_clicks_a_command_and_hears_who_may_approve_it(desk: Window, slack: SlackWorkspace) -> None:
    alice, bob = slack.state.user("alice"), slack.state.user("bob")
    suggested = Suggested("/zombie check node-1", "a sick node")
    slack.page.guide = Guide(ONCALL, (suggested,), (alice.id, bob.id), (("the simulated PagerDuty", slack.origin),))
    await desk.page.reload()
    guide = desk.page.locator(".guide")
    await expect(guide).to_contain_text("Alice Moreau and Bob Okafor may approve, each what the other asked for")
    await expect(guide).to_contain_text("You are Alice Moreau: what you ask for waits for Bob Okafor.")
    await expect(guide.get_by_role("link")).to_have_attribute("rel", "noopener noreferrer")
    await desk.screenshot("guide-light-wide")
    await guide.get_by_role("button", name="/zombie check node-1").click()
    await desk.until_text("article .b-section", "sick")
    await guide.get_by_role("button", name="Be Bob Okafor").click()
    await desk.until_text(".acting", "Bob Okafor")
    await desk.until_text(".guide", "waits for Alice Moreau")
    await desk.page.locator('[data-channel="home"]').click()
    await expect(guide).to_have_count(0)


async def test_card_that_is_drawn_anew_under_the_hand_loses_neither_choice_nor_click(
    desk: Window, slack: SlackWorkspace
) -> None:
    await type_in(desk, "/zombie check node-1")
    await desk.until_text("article", "sick")  # after its last edit, which gives menus back what they showed first
    (shown,) = [each for each in slack.messages(ONCALL) if each.blocks]
    menu = desk.page.locator('[data-action-id="pick_node"]')
    await menu.click()
    slack.state.post(ONCALL, "U0BOB00001", "a reply", thread_ts=shown.ts)
    await desk.until_text(".thread-bar", "2 replies")
    await desk.page.get_by_role("option", name="node-2").click()
    await desk.until_text("article", "picked n2")
    await expect(menu).to_have_text("node-2")

    await menu.click()
    before = await menu.element_handle()
    assert before is not None
    slack.state.edit(shown, blocks=tuple(card("still sick")))
    await before.wait_for_element_state("hidden")  # an edit makes the menu another element of the page
    await desk.page.get_by_role("option", name="node-1").click()
    await desk.until_text("article", "picked n1")

    await desk.page.get_by_role("button", name="Approve").hover()
    await desk.page.mouse.down()
    slack.state.edit(shown, blocks=tuple(card("sick as ever")))
    await desk.page.wait_for_function(
        """async () => JSON.stringify((await import("/static/store.js")).store.whole).includes("sick as ever")"""
    )
    await desk.page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    await desk.page.mouse.up()
    await expect(desk.page.locator("dialog.modal")).to_be_visible()
    await desk.page.locator("dialog.modal").get_by_role("button", name="Close").first.click()
    await desk.until_text("article .b-section", "sick as ever")


async def test_command_in_a_thread_is_answered_as_slack_does_and_hints_complete_what_is_typed(
    desk: Window, slack: SlackWorkspace
) -> None:
    await type_in(desk, "anybody?")
    await desk.page.locator("article", has_text="anybody?").hover()
    await desk.page.get_by_label("Reply in thread").first.click()
    await type_in(desk, "/zombie check node-1", pane="#thread")
    await desk.until_text("#thread .ephemeral", "/zombie is not supported in threads. Sorry!")
    await desk.page.keyboard.press("Control+a")
    await desk.page.get_by_label("Close thread").click()
    await expect(desk.page.locator("#thread")).to_be_hidden()
    assert await desk.page.locator("main article").count() == 1, "replies stay out of the channel"

    box = desk.page.locator("main .composer textarea")
    await box.press_sequentially("/zo")
    await desk.until_text(".hint", "check NODE… | status")
    await desk.page.keyboard.press("Tab")
    await expect(box).to_have_value("/zombie ")
    await box.fill("")
    await box.press_sequentially("ask @bo")
    await desk.page.keyboard.press("Enter")
    await expect(box).to_have_value("ask @bob ")
    await desk.page.keyboard.press("Shift+Enter")
    await box.press_sequentially("now")
    await desk.page.keyboard.press("Enter")
    await desk.until_text("article .mention", "@bob")
    assert slack.messages(ONCALL)[-1].text == "ask <@U0BOB00001> \nnow"


async def test_hostile_text_stays_text_and_markup_looks_like_slacks(desk: Window, slack: SlackWorkspace) -> None:
    evidence = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": HOSTILE}]}
    blocks = [
        {"type": "section", "text": {"type": "mrkdwn", "text": HOSTILE}},
        {"type": "section", "text": plain(HOSTILE)},
        {"type": "header", "text": plain(HOSTILE[:150])},
        {"type": "rich_text", "elements": [evidence]},
        {"type": "table", "rows": [[{"type": "raw_text", "text": HOSTILE}]]},
    ]
    slack.state.post(ONCALL, "U0ZOMBIE01", HOSTILE, blocks=blocks)
    slack.state.post(ONCALL, "U0ALICE001", HOSTILE)
    await expect(desk.page.locator("article")).to_have_count(2)
    assert await desk.page.locator("article :is(script, img, iframe, [onerror], [onmouseover])").count() == 0
    links = [await link.get_attribute("href") for link in await desk.page.locator("article .content a").all()]
    assert all(link and link.startswith("https://a.example/") for link in links)
    assert await desk.page.locator("article .mention").count() == 0
    assert "<script>alert(1)</script>" in (await desk.texts("article .b-header"))[0]

    text = (
        "*bold* _italic_ ~gone~ `code` 2*3*4 snake_case_name\n&gt; quoted\n```\nraw *not bold*\n```\n"
        "<https://x.example|label> :zombie: :no_such: &lt;b&gt; <#C0ALERTS01|alerts> <!date^0^{date_num}|then>"
    )
    slack.state.post(ONCALL, "U0BOB00001", text)
    await desk.page.locator("article", has_text="quoted").wait_for()
    for selector, wanted in {
        "strong": ["bold"],
        "em": ["italic"],
        "s": ["gone"],
        "code": ["code"],
        "blockquote": ["quoted"],
        "pre": ["raw *not bold*"],
        "a": ["label", "#alerts"],
        ".emoji": ["🧟"],
        "time[title]:not(.time)": ["1970-01-01"],
    }.items():
        assert await desk.texts(f"article:last-of-type .content {selector}") == wanted, selector
    shown = (await desk.texts("article .content"))[-1]
    assert "2*3*4 snake_case_name" in shown
    assert ":no_such: <b>" in shown


async def test_phone_shows_one_pane_at_a_time_and_the_longest_names_whole(
    browser: Browser, slack: SlackWorkspace, tmp_path: Path
) -> None:
    async with window(browser, tmp_path, size=PHONE, scheme="dark") as phone:
        page = phone.page
        await page.goto(slack.page_url)
        panes = {name: page.locator(name) for name in ("#sidebar", "main", "#thread")}

        async def only(name: str) -> None:
            await expect(panes[name]).to_be_visible()
            for other in panes.keys() - {name}:
                await expect(panes[other]).to_be_hidden()

        await only("#sidebar")
        await phone.screenshot("list-dark-phone")
        await page.get_by_role("link", name="oncall-gpu").click()
        await only("main")
        await type_in(phone, "/zombie check node-1")
        await phone.until_text("article .b-section", "sick")
        await phone.screenshot("card-dark-phone")
        await page.locator(".thread-bar").click()
        await only("#thread")
        await page.locator("#thread").get_by_label("Back").click()
        await only("main")
        await page.locator("main").get_by_label("Back").click()
        await only("#sidebar")
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE[0]

        await page.get_by_role("link", name="oncall-gpu").click()
        names = ("a" * 63, "-".join(["gpu"] * 16))
        cells = [
            [{"type": "raw_text", "text": word} for word in ("critical", name, "io-stall", "nothing")] for name in names
        ]
        heading = [{"type": "raw_text", "text": word} for word in ("Status", "Node", "Cause", "What now")]
        table = {"type": "table", "rows": [heading, *cells], "column_settings": [{"is_wrapped": True}] * 4}
        slack.state.post(ONCALL, "U0ZOMBIE01", "2 nodes", blocks=[table])
        shown = phone.page.locator(".b-table")
        await shown.wait_for()
        assert await shown.evaluate("table => table.scrollWidth <= table.clientWidth")
        widths = await shown.evaluate("table => [...table.querySelectorAll('th')].map(each => each.clientWidth)")
        assert min(widths) > 40, "and no column is squeezed to a letter"
        assert phone.complaints == []


async def test_page_asks_nobody_else_hides_the_token_and_keeps_the_theme_that_was_chosen(
    browser: Browser, slack: SlackWorkspace, tmp_path: Path
) -> None:
    async with window(browser, tmp_path, scheme="dark") as desk:
        asked: list[str] = []
        desk.page.on("request", lambda request: asked.append(request.url))
        await desk.page.goto(slack.page_url)
        await desk.page.locator("main .composer").wait_for()
        ground = "getComputedStyle(document.body).backgroundColor"
        assert await desk.page.evaluate(ground) == "rgb(26, 29, 33)", "the system's, until one is chosen"
        await desk.page.locator("#rail").get_by_label("Theme").click()
        await desk.page.get_by_role("option", name="Light").click()
        assert await desk.page.evaluate(ground) == "rgb(255, 255, 255)"
        await desk.page.reload()
        await desk.page.locator("main .composer").wait_for()
        assert await desk.page.evaluate(ground) == "rgb(255, 255, 255)"
        await desk.page.get_by_role("link", name="Zombie home").click()
        await desk.until_text(".home-body", "Hello @alice")
        assert {url.removeprefix(slack.origin)[0] for url in asked} == {"/"}
        assert "token" not in desk.page.url
        assert await desk.page.evaluate("document.cookie") == ""


async def test_uploaded_picture_and_log_are_shown(desk: Window, slack: SlackWorkspace) -> None:
    web = client(slack)
    picture = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    await web.files_upload_v2(channel=ONCALL, filename="flame.png", content=picture, alt_txt="a flame graph")
    await web.files_upload_v2(channel=ONCALL, filename="evil.html", content=b"<script>alert(1)</script>")
    await web.files_upload_v2(channel=ONCALL, filename="dmesg.txt", content=b"\n".join([b"line"] * 9), title="dmesg")
    shown = desk.page.get_by_alt_text("a flame graph")
    await expect(shown).to_have_js_property("naturalWidth", 1)
    await desk.page.get_by_role("button", name="Show all 9 lines").click()
    assert (await desk.texts("article .preview"))[-1].count("line") == 9
    async with desk.page.expect_popup() as opening:
        await desk.page.get_by_role("link", name="evil.html").click()
    document = await opening.value
    assert await document.evaluate("window.origin") == "null", "nothing in it has the page's rights"


async def test_page_comes_back_with_what_it_missed_and_leads_to_any_message_of_a_long_channel(
    desk: Window, slack: SlackWorkspace
) -> None:
    first = slack.state.post(ONCALL, "U0BOB00001", "the very first")
    await slack.page.close()
    slack.state.post(ONCALL, "U0BOB00001", "said meanwhile")
    await desk.until_text("article", "said meanwhile")
    await expect(desk.page.locator("body.offline")).to_have_count(0)

    for number in range(160):
        slack.state.post(ONCALL, "U0BOB00001", f"line {number}")
    await desk.until_text("article", "line 159")
    await expect(desk.page.locator("article")).to_have_count(150)
    await desk.page.get_by_role("button", name="Show earlier messages (12)").click()
    await expect(desk.page.locator("article")).to_have_count(162)
    await desk.page.goto(f"{slack.origin}/archives/{ONCALL}/p{first.ts.replace('.', '')}")
    await desk.until_text("article.pointed", "the very first")

    parent = slack.state.post("C0ALERTS01", "U0ZOMBIE01", "the parent")
    reply = slack.state.post("C0ALERTS01", "U0ZOMBIE01", "the reply", thread_ts=parent.ts)
    link = f"{slack.origin}/archives/C0ALERTS01/p{reply.ts.replace('.', '')}?thread_ts={parent.ts}&cid=C0ALERTS01"
    await desk.page.goto(link)
    await desk.until_text("#thread article.pointed", "the reply")
    assert desk.page.url == f"{slack.origin}/#C0ALERTS01/{parent.ts}"
