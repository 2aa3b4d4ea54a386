"""File uploads: requested, sent to their own address, then completed.

The three steps: https://docs.slack.dev/messaging/working-with-files#upload
"""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass, replace

from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.message import File
from bot.demo.slack.refusal import SlackRefused
from bot.domain.contracts import Clock

MOST_BYTES = 20_000_000
ALT_TEXT_CHARACTERS = 1000


@dataclass(slots=True)
class _Upload:
    file: File
    length_bytes: int
    is_sent: bool = False


class Uploads:
    """The uploads that are not completed."""

    def __init__(self, clock: Clock, names: IdGenerator) -> None:
        self._clock = clock
        self._names = names
        self._by_ticket: dict[str, _Upload] = {}

    def begin(self, name: str, length_bytes: int, alt_text: str) -> tuple[str, str]:
        """Start an upload. Return its ticket and the file's id.

        Raises: SlackRefused with `missing_argument`, `alt_txt_too_large` or `file_upload_size_restricted`.
        """
        if not length_bytes or not name:
            raise SlackRefused("missing_argument")
        if len(alt_text) > ALT_TEXT_CHARACTERS:
            raise SlackRefused("alt_txt_too_large")
        if length_bytes > MOST_BYTES:
            raise SlackRefused("file_upload_size_restricted")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        file = File(self._names.id("F"), name, kind, b"", name, alt_text, int(self._clock().timestamp()))
        ticket = self._names.secret()
        self._by_ticket[ticket] = _Upload(file, length_bytes)
        return ticket, file.id

    def receive(self, ticket: str, content: bytes) -> bool:
        """Receive a file's content. Return False if there is no such upload or the length is wrong."""
        upload = self._by_ticket.get(ticket)
        if upload is None or len(content) != upload.length_bytes:
            return False
        upload.file, upload.is_sent = replace(upload.file, content=content), True
        return True

    def complete(self, file_id: str, title: str) -> File:
        """Return a file whose content was received. Raises: SlackRefused with `file_not_found`."""
        for ticket, upload in self._by_ticket.items():
            if upload.file.id == file_id and upload.is_sent:
                del self._by_ticket[ticket]
                return replace(upload.file, title=title or upload.file.name)
        raise SlackRefused("file_not_found")
