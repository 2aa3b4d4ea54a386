"""A small bot for the tests of the workspace: enough of one to be typed at, clicked and read."""

from __future__ import annotations

from typing import Any

from slack_bolt.app.async_app import AsyncApp

ONCALL = "C0ONCALL01"


def plain(text: str) -> dict[str, Any]:
    """A plain text object."""
    return {"type": "plain_text", "text": text}


def card(state: str) -> list[dict[str, Any]]:
    """A card with a button and two menus."""
    return [
        {"type": "header", "text": plain(":zombie: node-1")},
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{state}*"}},
        {
            "type": "actions",
            "elements": [
                {"type": "button", "text": plain("Approve"), "action_id": "approve"},
                {
                    "type": "static_select",
                    "action_id": "pick_node",
                    "placeholder": plain("Pick a node"),
                    "options": [{"text": plain(f"node-{number}"), "value": f"n{number}"} for number in range(3)],
                },
            ],
        },
    ]


REASON = {
    "type": "modal",
    "callback_id": "reason",
    "title": plain("Why?"),
    "submit": plain("Approve"),
    "blocks": [
        {
            "type": "input",
            "block_id": "reason",
            "label": plain("Reason"),
            "element": {"type": "plain_text_input", "action_id": "reason"},
        }
    ],
}


def answer_as_a_bot(app: AsyncApp) -> None:
    """Make Bolt's app a bot with a card, a menu, a dialog and a home."""

    @app.command("/zombie")
    async def check(ack: Any, command: Any, client: Any) -> None:
        await ack(f"only you read this, <@{command['user_id']}>")
        posted = await client.chat_postMessage(channel=command["channel_id"], text="reading", blocks=card("reading…"))
        where = {"channel": posted["channel"], "ts": posted["ts"]}
        await client.chat_update(**where, text="sick", blocks=card("sick"))
        await client.chat_postMessage(channel=where["channel"], thread_ts=where["ts"], text="raw evidence")

    @app.action("approve")
    async def approve(ack: Any, body: Any, client: Any) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=REASON)

    @app.view("reason")
    async def decide(ack: Any, view: Any, body: Any, client: Any) -> None:
        reason = view["state"]["values"]["reason"]["reason"]["value"]
        if len(reason) < 4:
            await ack(response_action="errors", errors={"reason": "Say more."})
            return
        await ack()
        await client.chat_postMessage(channel=ONCALL, text=f"approved by <@{body['user']['id']}>: {reason}")

    @app.action("pick_node")
    async def pick(ack: Any, body: Any, client: Any) -> None:
        await ack()
        await client.chat_postMessage(channel=ONCALL, text=f"picked {body['actions'][0]['selected_option']['value']}")

    @app.event("app_home_opened")
    async def home(event: Any, client: Any) -> None:
        section = {"type": "section", "text": {"type": "mrkdwn", "text": f"Hello <@{event['user']}>"}}
        await client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [section]})
