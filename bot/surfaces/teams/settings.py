"""The settings of the bot in Microsoft Teams: the app's registration, its tenant, and where it is used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from bot.domain.alert import TEAMS
from bot.domain.chat_settings import ChatSettings
from bot.domain.errors import SettingsError
from bot.domain.setting import TEXT, row, secret
from bot.sources.addresses import is_safe_for_secrets

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
# Of the public cloud and the government's; nobody else can have a name of these, unlike below .trafficmanager.net.
MICROSOFTS = frozenset(
    {
        "smba.trafficmanager.net",
        "smba.infra.gcc.teams.microsoft.com",
        "smba.infra.gov.teams.microsoft.us",
        "smba.infra.dod.teams.microsoft.us",
        "login.microsoftonline.com",
        "login.microsoftonline.us",
        "login.botframework.com",
        "login.botframework.azure.us",
    }
)


@dataclass(frozen=True, slots=True)
class TeamsSettings(ChatSettings):
    """How to reach Teams, and what it is used for; the addresses are other ones in the government's clouds."""

    word = "Teams"
    app_id: str = row(TEXT, "The application (client) id of the bot's registration.", "", environment="TEAMS_APP_ID")
    app_secret: str = secret("A client secret of that registration.", "TEAMS_APP_SECRET")
    tenant: str = row(TEXT, "The id of the tenant whose members may ask and decide.", "", environment="TEAMS_TENANT")
    service_url: str = row(
        TEXT,
        "The base of the connector: the bot's token is sent to its host and to no other.",
        "https://smba.trafficmanager.net/teams/",
        environment="TEAMS_SERVICE_URL",
    )
    login_url: str = row(
        TEXT,
        "Where the bot gets its own token.",
        "https://login.microsoftonline.com/",
        environment="TEAMS_LOGIN_URL",
    )
    metadata_url: str = row(
        TEXT,
        "Where the keys are named that sign what Teams sends.",
        "https://login.botframework.com/v1/.well-known/openidconfiguration",
        environment="TEAMS_METADATA_URL",
    )
    issuer: str = row(
        TEXT,
        "Who signs what Teams sends.",
        "https://api.botframework.com",
        environment="TEAMS_ISSUER",
    )

    @property
    def is_set(self) -> bool:
        """True where anything of the registration is set up."""
        return bool(self.app_id or self.app_secret or self.tenant)

    @property
    def is_microsofts(self) -> bool:
        """True where every address is Microsoft's own: a server that stands in for it could decide for anybody."""
        return all(urlsplit(url).hostname in MICROSOFTS for url in self._addresses)

    @property
    def _addresses(self) -> tuple[str, ...]:
        return self.service_url, self.login_url, self.metadata_url

    def checked(self) -> TeamsSettings:
        """Return these settings. Raises: SettingsError where one is missing or wrong."""
        for name, value in (("TEAMS_APP_ID", self.app_id), ("TEAMS_TENANT", self.tenant)):
            if not _ID.match(value):
                raise SettingsError(
                    f"{name} is {'no id' if value else 'not set'}.",
                    f"Write it as the registration's page does: {name}=0a1b2c3d-0000-4000-8000-000000000000",
                )
        if not self.app_secret:
            raise SettingsError("TEAMS_APP_SECRET is not set.", "Make one under “Certificates & secrets” of the app.")
        if not all(map(is_safe_for_secrets, self._addresses)):
            raise SettingsError("An address of Teams is neither https nor on loopback.", "Leave it out for Teams.")
        return self


def teams_user(by: str, tenant: str = "") -> str:
    """Return the object id of a person named as in the record; empty for anybody else, and of another tenant.

    Example:
    >>> teams_user("teams:0a1b2c3d-0000-4000-8000-000000000000/9f8e7d6c-0000-4000-8000-000000000000")
    '9f8e7d6c-0000-4000-8000-000000000000'
    >>> teams_user("slack:T024/U123"), teams_user("teams:T/<at>everyone</at>")
    ('', '')
    """
    kind, _, name = by.partition(":")
    home, _, user = name.partition("/")
    return user if kind == TEAMS and tenant in ("", home) and _ID.match(home) and _ID.match(user) else ""
