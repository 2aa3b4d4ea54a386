"""Builds the parts: playbooks, inventory, transports, clock and randomness."""

from __future__ import annotations

import logging
import os
import platform
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.app import plugins
from bot.causes import CAUSES
from bot.causes.declared import causes_of_site
from bot.domain.builtin_playbooks import builtin_playbooks
from bot.domain.contracts import ActingTransport, Clock, Seconds, Transport
from bot.domain.errors import PlaybookError
from bot.domain.node import Node
from bot.library import Library
from bot.probes import PROBES, kernel_log
from bot.probes.formats.kernel_filter import node_filter
from bot.probes.formats.kernel_table import table
from bot.settings import Settings, home_of
from bot.settings.tables import SlackSettings
from bot.surfaces.teams.settings import TeamsSettings

if TYPE_CHECKING:
    from bot.domain.probe import Probe
    from bot.domain.sample import Randomness
    from bot.domain.script_session import ScriptTransport
    from bot.inventory import Inventory
    from bot.transport.ssh_options import Keyring


now: Clock = partial(datetime.now, UTC)


class SteadyClock:
    """A clock that never runs backwards: a system clock that is put back extends nothing.

    Shape: `elapsed` are monotonic seconds. A system clock that is put forward is believed: what expires by that is
    not done, which is the safe side.
    """

    def __init__(self, clock: Clock, elapsed: Seconds) -> None:
        self._clock = clock
        self._elapsed = elapsed
        self._began_at, self._began = clock(), elapsed()

    def __call__(self) -> datetime:
        """Return the time."""
        return max(self._clock(), self._began_at + timedelta(seconds=self._elapsed() - self._began))


def nonce() -> str:
    """A fresh secret for a batch's frames."""
    return secrets.token_hex(12)


def incident_id() -> str:
    """A fresh id for an incident: fifty bits, easy to read out and type (no i, l, o or u)."""
    return "".join(secrets.choice("0123456789abcdefghjkmnpqrstvwxyz") for _ in range(10))


def randomness() -> Randomness:
    """What draws at random where nobody may know what comes."""
    return secrets.SystemRandom()


def library(extra: Sequence[Path] = (), usual: str = "", *, strict: bool = False) -> Library:
    """Load the shipped playbooks and those of further directories; `left_out` are unusable files.

    Shape: `usual` is the name of the default playbook. From then on every text is searched for those directories' own
    forms of secrets too, and their other tables and their causes are added to ours, as are the probes and causes of
    packages that are let in. A cause of a later directory replaces one of the same name in an earlier, as a playbook
    does. What of them cannot be used is left out, and its
    place among the causes says so.

    Raises: PlaybookError when a directory cannot be read, or a form of a secret cannot be used; with `strict` also when
    a cause or another row of a table cannot.
    """
    own_probes, own_causes = plugins.probes_and_causes()
    probes, causes = {**PROBES, **own_probes}, {**CAUSES, **own_causes}
    if extra:
        from bot.app.site_rows import add_site_rows

        causes |= {row.name: row for row in add_site_rows(extra)}
        probes |= {"kernel_log": kernel_log.probe(node_filter(table()))}
        for folder in dict.fromkeys(path.absolute() for path in extra):
            causes |= {cause.name: cause for cause in causes_of_site(folder / "causes", {*CAUSES, *own_causes})}
    found = Library.load([builtin_playbooks(), *extra], probes, causes, ACTIONS, lenient=True, usual=usual)
    if strict and found.rules_left_out:
        raise PlaybookError("\n".join(found.rules_left_out.values()))
    return found


def inventory(path: Path, environment: Mapping[str, str]) -> Inventory:
    """Load an inventory; a cloud in it is asked when its last list is too old.

    Raises: InventoryError when it cannot be used as written.
    """
    from bot.app.listings import listing_cache
    from bot.inventory import Inventory

    return Inventory.load(path, home=home_of(environment), listings=listing_cache(environment, now))


def _keyring(environment: Mapping[str, str]) -> Keyring:
    from bot.transport.ssh_options import Keyring

    return Keyring(home_of(environment) / ".ssh" / "known_hosts", environment.get("SSH_AUTH_SOCK"))


def ssh_transport(environment: Mapping[str, str]) -> ActingTransport:
    """The transport to nodes of an inventory; loads asyncssh."""
    from bot.transport.ssh import SshTransport

    # It warns about each write to a broken connection, which the node's verdict reports already.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    return SshTransport(_keyring(environment), nonce)


def ssh_login(node: Node, environment: Mapping[str, str]) -> str:
    """Return the login by which a node is reached, as an OpenSSH configuration may say; loads asyncssh.

    Raises: MissingFile, as the transport would.
    """
    from bot.transport.ssh_route import route

    return route(node, _keyring(environment))[-1].user


def ssh_scripts(environment: Mapping[str, str]) -> ScriptTransport:
    """Interactive sessions with nodes of an inventory; loads asyncssh."""
    from bot.transport.ssh_script import SshScriptTransport

    return SshScriptTransport(_keyring(environment))


def ssh_key(key: Path, environment: Mapping[str, str]) -> None:
    """Check that a key can be used.

    Raises: MissingFile, with why not.
    """
    _keyring(environment).key_options(key)


def runner_name() -> str:
    """A fresh name for this program among those that share the database; it says where it runs."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", platform.node())[:40] or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(3)}"


def chat_settings(settings: Settings) -> SlackSettings | TeamsSettings:
    """Return the settings of the chat that is set up: where it is used, and how much people may ask."""
    teams = settings.of(TeamsSettings)
    return teams if teams.is_set else settings.slack


def local_transport() -> Transport:
    """The transport to this machine."""
    from bot.transport.local import LocalTransport

    return LocalTransport(nonce)


def this_machine() -> Node:
    """This machine as a node, by host name where that is a valid node name."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()).lstrip("._-")
    return Node(name or "localhost", "localhost")


def sudoers(user: str, extra: Sequence[Path] = ()) -> str:
    """Return the sudoers lines that all playbooks need for reading."""
    from bot.response.execution.sudoers import reading_sudoers_text

    return reading_sudoers_text(user, probes_of_all(extra))


def probes_of_all(extra: Sequence[Path] = ()) -> list[Probe]:
    """Return the probes of all playbooks."""
    return [probe for playbook in library(extra).playbooks for probe in playbook.probes]


_OF_PYTHON = frozenset({"PATH", "LANG", "HOME", "TZ", "TMPDIR"})


def python_environment() -> dict[str, str]:
    """What Python itself needs for a process beside: no token and no way to an agent's keys is handed on."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PYTHON", "LD_", "LC_")) or name in _OF_PYTHON
    }
