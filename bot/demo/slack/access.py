"""The app's tokens, and the scopes that each method needs.

Scopes: https://docs.slack.dev/reference/methods. A method with several scopes needs any of them.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field

from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.refusal import SlackRefused

DEFAULT_SCOPES = frozenset(
    {"commands", "chat:write", "app_mentions:read", "files:write", "usergroups:read", "users:read", "im:history"}
)
APP_SCOPES = frozenset({"connections:write"})

BOT_TOKEN = "bot"
APP_TOKEN = "app"

WANTED: dict[str, tuple[str, ...]] = {
    "auth.test": (),
    "apps.connections.open": ("connections:write",),
    "chat.postMessage": ("chat:write",),
    "chat.update": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "conversations.history": ("channels:history", "groups:history", "im:history", "mpim:history"),
    "conversations.replies": ("channels:history", "groups:history", "im:history", "mpim:history"),
    "users.info": ("users:read",),
    "users.lookupByEmail": ("users:read.email",),
    "usergroups.users.list": ("usergroups:read",),
    "views.open": (),
    "views.publish": (),
    "files.getUploadURLExternal": ("files:write",),
    "files.completeUploadExternal": ("files:write",),
}
"""Every known method, with its scopes, any of which is enough."""


@dataclass(frozen=True, slots=True)
class Access:
    """The app's tokens and the scopes it was installed with."""

    bot_token: str
    app_token: str
    signing_secret: str
    verification_token: str
    scopes: frozenset[str] = field(default=DEFAULT_SCOPES)

    @classmethod
    def grant(cls, names: IdGenerator, scopes: Iterable[str] = DEFAULT_SCOPES) -> Access:
        """Install the app: return new tokens, with these scopes for the bot."""
        return cls(
            bot_token=f"xoxb-{names.secret()}",
            app_token=f"xapp-1-{names.secret()}",
            signing_secret=names.secret(16),
            verification_token=names.secret(),
            scopes=frozenset(scopes),
        )

    def check(self, token: str, method: str) -> str:
        """Return the token's kind, if the token may call this method.

        Raises: SlackRefused with `not_authed`, `invalid_auth`, `not_allowed_token_type` or `missing_scope`.
        """
        kind = self._kind(token)
        if (kind == APP_TOKEN) != (method == "apps.connections.open"):
            raise SlackRefused("not_allowed_token_type")
        granted, wanted = self.granted(kind), WANTED[method]
        if wanted and not granted.intersection(wanted):
            raise SlackRefused("missing_scope", needed=",".join(wanted), provided=",".join(sorted(granted)))
        return kind

    def granted(self, kind: str) -> frozenset[str]:
        """Return the scopes of a token of this kind."""
        return APP_SCOPES if kind == APP_TOKEN else self.scopes

    def _kind(self, token: str) -> str:
        if not token:
            raise SlackRefused("not_authed")
        for kind, known in ((BOT_TOKEN, self.bot_token), (APP_TOKEN, self.app_token)):
            if hmac.compare_digest(token.encode(), known.encode()):
                return kind
        raise SlackRefused("invalid_auth")
