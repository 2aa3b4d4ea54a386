"""The Web API over HTTP.

Defined in https://docs.slack.dev/apis/web-api
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aiohttp import web

from bot.demo.slack import methods_chat, methods_files, methods_history, methods_people, methods_views
from bot.demo.slack.access import WANTED
from bot.demo.slack.arguments import Arguments, read_arguments
from bot.demo.slack.call import Call, Handler
from bot.demo.slack.refusal import SlackRefused

HANDLERS: Mapping[str, Handler] = {
    **methods_chat.HANDLERS,
    **methods_people.HANDLERS,
    **methods_history.HANDLERS,
    **methods_views.HANDLERS,
    **methods_files.HANDLERS,
}


class WebApi:
    """Answers `/api/METHOD` and receives uploads."""

    def __init__(self, call: Call) -> None:
        self.call = call  # what each call has beside its arguments

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.route("*", "/api/{method}", self.answer),
            web.route("*", "/api/", self.answer),
            web.post("/upload/v1/{ticket}", self.receive_upload),
        ]

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a call."""
        method = request.match_info.get("method", "")
        if method not in HANDLERS:
            return web.json_response({"ok": False, "error": "unknown_method", "req_method": method})
        body = await request.read()
        headers: dict[str, str] = {}
        try:
            arguments = read_arguments(request.headers.get("Content-Type", ""), body, request.query)
            token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            kind = self.call.access.check(token or str(arguments.get("token", "")), method)
            headers["X-OAuth-Scopes"] = ",".join(sorted(self.call.access.granted(kind)))
            headers["X-Accepted-OAuth-Scopes"] = ",".join(WANTED[method])
            call = replace(self.call, arguments=Arguments(arguments))
            return web.json_response({"ok": True, **HANDLERS[method](call)}, headers=headers)
        except SlackRefused as refused:
            return web.json_response(refused.body(), headers=headers)

    async def receive_upload(self, request: web.Request) -> web.Response:
        """Receive a file's content, raw or as the only part of a form."""
        content = await request.read()
        if request.content_type == "multipart/form-data":
            parts = [part for part in (await request.post()).values() if isinstance(part, web.FileField)]
            content = parts[0].file.read() if parts else b""
        if not self.call.uploads.receive(request.match_info["ticket"], content):
            return web.Response(text="no such upload, or not of the announced length", status=400)
        return web.Response(text=f"OK - {len(content)}")
