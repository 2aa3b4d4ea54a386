"""The Web API's `files.*`: the two calls around an upload.

Methods, arguments and errors: https://docs.slack.dev/reference/methods/files.getUploadURLExternal and
…/files.completeUploadExternal
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.demo.slack.call import Call, Handler
from bot.demo.slack.methods_chat import thread_of
from bot.demo.slack.people import BOT_USER
from bot.demo.slack.refusal import SlackRefused


def get_upload_url(call: Call) -> dict[str, Any]:
    """Return where to send a file's content."""
    ticket, file_id = call.uploads.begin(
        call.arguments.text("filename"),
        call.arguments.number("length"),
        call.arguments.text("alt_txt", ""),
    )
    return {"upload_url": f"{call.origin}/upload/v1/{ticket}", "file_id": file_id}


def complete_upload(call: Call) -> dict[str, Any]:
    """Complete an upload, and share the files in a channel or thread, if one is named."""
    wanted = call.arguments.structure("files", "invalid_arguments")
    if not isinstance(wanted, list) or not wanted or not all(isinstance(each, dict) for each in wanted):
        raise SlackRefused.arguments("must provide an array [json-pointer:/files]")
    name = call.arguments.text("channel_id", "")
    channel = call.channel(name) if name else None
    thread_ts = None if channel is None else thread_of(call, channel)
    files = tuple(call.uploads.complete(str(each.get("id")), str(each.get("title") or "")) for each in wanted)
    for file in files:
        call.workspace.files[file.id] = file
    if channel is not None:
        call.workspace.post(channel.id, BOT_USER, "", files=files, thread_ts=thread_ts)
    return {"files": [file.as_slack(f"{call.file_address}/{file.id}") for file in files]}


HANDLERS: Mapping[str, Handler] = {
    "files.getUploadURLExternal": get_upload_url,
    "files.completeUploadExternal": complete_upload,
}
