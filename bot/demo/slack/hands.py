"""What people's hands reach, whether they type or click."""

from __future__ import annotations

from dataclasses import dataclass

from bot.demo.slack.dispatcher import Dispatcher
from bot.demo.slack.payloads import Payloads
from bot.demo.slack.response_urls import ResponseUrls
from bot.demo.slack.triggers import Triggers
from bot.demo.slack.workspace import Workspace
from bot.domain.contracts import Clock


@dataclass(slots=True)
class Hands:
    """The workspace, and the way to the app."""

    workspace: Workspace
    dispatcher: Dispatcher
    payloads: Payloads
    triggers: Triggers
    urls: ResponseUrls
    clock: Clock
