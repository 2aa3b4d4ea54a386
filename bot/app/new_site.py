"""A new site's files: the inventory, the settings, what the chat and the service manager are given."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.builtin_playbooks import shipped_path
from bot.domain.errors import UsageError
from bot.domain.node import is_name
from bot.domain.safe_text import one_line
from bot.response.execution.sudoers import check_login_name

ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9_][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?\Z")
PERSON, GROUP, LOGIN = (
    re.compile(r"[UW][A-Z0-9]{2,}\Z"),
    re.compile(r"S[A-Z0-9]{2,}\Z"),
    re.compile(r"[a-z_][a-z0-9_.-]*\Z"),
)
PUBLIC_KEY = re.compile(r"(?:ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/=]{16,} ?[A-Za-z0-9@._:+ -]*\Z")
ENTRA = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
ENTRA_ID = re.compile(rf"{ENTRA}\Z")
TEAMS_PERSON = re.compile(rf"teams:{ENTRA}/{ENTRA}\Z")
TEAMS_GROUP = re.compile(r"teams:19:[A-Za-z0-9._-]{1,200}@thread\.tacv2\Z")
CHANNEL = {"slack": re.compile(r"[CG][A-Z0-9]{2,}\Z"), "teams": re.compile(r"19:[A-Za-z0-9._-]{1,200}@thread\.tacv2\Z")}
SERVICES = {"systemd": "zombie.service", "compose": "compose.yaml", "kubernetes": "values.yaml"}

_SLACK = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN")  # the secrets that the shipped files of a service name
_LINES = {  # of a secret, and of a setting that only the environment has, in a service's file
    "systemd": ("LoadCredential={0}:/etc/zombie/secrets/{0}\n", "Environment={0}={1}\n"),
    "compose": ("  {0}: {{file: ./secrets/{0}}}\n", '      {0}: "{1}"\n'),
    "kubernetes": (" --from-file={0}", '  {0}: "{1}"\n'),
}
_NO_APP = "THE-APPLICATION-ID"  # what the manifest has in the place of its id
_WHO = {
    "": ((), "Without a chat people approve in the terminal: write a login of this machine, alice."),
    "slack": (
        (PERSON, GROUP),
        "Write a member's Slack ID, U012AB3CD, a user group's, S012AB3CD, or a login of this machine, alice.",
    ),
    "teams": (
        (TEAMS_PERSON, TEAMS_GROUP),
        "Write teams:TENANT/OBJECT, both ids as Entra shows them, teams:19:…@thread.tacv2, or a login of this machine.",
    ),
}
_ROWS = {
    "approvers": re.compile(f"{PERSON.pattern}|{TEAMS_PERSON.pattern}"),
    "approver_groups": re.compile(f"{GROUP.pattern}|{TEAMS_GROUP.pattern}"),
    "terminal_approvers": LOGIN,
}
_ABOUT_SECRETS = """# Secrets of the bot, one a line; a blank one counts as not set.
# Read them with: set -a; . ./zombie.env; set +a
# Keep this file from others and out of version control.
"""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node's SSH server listens."""

    host: str
    port: int = 22


@dataclass(frozen=True, slots=True)
class NewSite:
    """What a site answers to `zombie init`.

    Shape: the nodes are `nodes`, those of an OpenSSH configuration, of EC2 in `regions` or of a Kubernetes `context`;
    `chat` is slack, teams or empty; `teams_app` and `teams_tenant` are the ids of the bot's registration in Entra.
    `people` may approve: Slack ids of members (U…) and groups (S…), people and groups of Teams (teams:…), or logins of
    this machine.
    """

    nodes: Mapping[str, Address] = field(default_factory=dict)
    ssh_config: Path | None = None
    regions: tuple[str, ...] = ()
    context: str = ""
    user: str = "zombie"
    key: str = "zombie_key"
    chat: str = ""
    teams_app: str = ""
    teams_tenant: str = ""
    alerts_channel: str = ""
    pagerduty: bool = False
    people: tuple[str, ...] = ()
    service: str = ""

    def files(self) -> dict[str, str]:
        """Return the files' texts by their names; none holds a secret."""
        files = {"inventory.toml": self._inventory(), "zombie.toml": self._settings()}
        if named := {**self._environment(), **dict.fromkeys(self._secrets(), "")}:
            files["zombie.env"] = _ABOUT_SECRETS + "".join(f"{name}={value}\n" for name, value in named.items())
        if self.chat == "slack":
            files["slack-manifest.yaml"] = shipped_text("docs/slack-manifest.yaml")
        if self.chat == "teams":
            manifest = shipped_text("docs/teams-manifest.json")
            files["teams-app/manifest.json"] = manifest.replace(_NO_APP, self.teams_app or _NO_APP)
        if self.service:
            files[SERVICES[self.service]] = self._service()
        return files

    def pictures(self) -> dict[str, bytes]:
        """Return what the chat's app is given beside its manifest, by the files' names."""
        if self.chat != "teams":
            return {}
        from bot.surfaces.teams.icons import color, outline

        return {"teams-app/color.png": color(), "teams-app/outline.png": outline()}

    def _inventory(self) -> str:
        lines = ["# The machines that may be reached. Paths are relative to this file.", "[ssh]"]
        if self.ssh_config is not None:
            lines += [
                f"config = {_toml_string(str(self.ssh_config))}  # its Host names are nodes, with their users and keys"
            ]
        else:
            lines += [
                f"user = {_toml_string(self.user)}",
                f"key = {_toml_string(self.key)}",
                'known_hosts = "known_hosts"',
            ]
        for name, address in self.nodes.items():
            lines += ["", f"[nodes.{_toml_string(name)}]", f"address = {_toml_string(address.host)}"]
            lines += [f"port = {address.port}"] if address.port != 22 else []
            lines += ['# labels = { az = "us-east-1a", role = "gpu" }  # any names: zombie check role=gpu']
        if self.regions:
            lines += ["", "[ec2]", f"regions = {_toml_list(self.regions)}"]
            lines += ['# filters = { "tag:team" = ["ml"] }  # as of EC2\'s DescribeInstances']
        if self.context:
            lines += ["", "[kubernetes]", f"context = {_toml_string(self.context)}"]
        return "\n".join(lines) + "\n"

    def _settings(self) -> str:
        lines = ["# Settings; zombie settings lists them all, with the values in force. Secrets do not belong here."]
        if self.alerts_channel:
            lines += ["", f"[{self.chat}]", f"alerts_channel = {_toml_string(self.alerts_channel)}"]
        rows = {key: [who for who in self.people if form.match(who)] for key, form in _ROWS.items()}
        lines += [
            "",
            "# Who may say yes to a plan; nobody else, and nobody to what they asked for themselves.",
            "[policy]",
        ]
        lines += [f"{key} = {_toml_list(who)}" for key, who in rows.items() if who] or ['# approvers = ["U012AB3CD"]']
        lines += [
            "",
            "# What may be stopped, disabled or masked. Nothing else ever is; without a unit the bot only reads.",
        ]
        lines += ["[act]", '# units = ["ecs.service"]']
        return "\n".join(lines) + "\n"

    def _secrets(self) -> tuple[str, ...]:
        of_chat = {"slack": _SLACK, "teams": ("TEAMS_APP_SECRET",)}.get(self.chat, ())
        return (*of_chat, *(("PAGERDUTY_API_TOKEN", "PAGERDUTY_WEBHOOK_SECRETS") if self.pagerduty else ()))

    def _environment(self) -> dict[str, str]:
        """What is no secret, and no file of settings has; blank where it is not known yet."""
        teams = {"TEAMS_APP_ID": self.teams_app, "TEAMS_TENANT": self.teams_tenant} if self.chat == "teams" else {}
        return {**teams, **({"PAGERDUTY_FROM": ""} if self.pagerduty else {})}

    def _service(self) -> str:
        """The shipped file of the service, with what this site's chat and alerts need in the place of Slack's."""
        secret, setting = _LINES[self.service]
        of_slack, ours = ([secret.format(name) for name in names] for names in (_SLACK, self._secrets()))
        settings = "".join(setting.format(*each) for each in self._environment().items())
        text = shipped_text(f"deploy/{SERVICES[self.service]}")
        for line in ours:
            text = text.replace(f"#{line}", "")  # an example, which is now in force
        text = text.replace("".join(of_slack), "".join(ours))
        if self.service == "systemd":
            return text.replace("StateDirectory=", f"{settings}StateDirectory=", 1)
        if self.service == "compose":
            listed, instead = (f"[{', '.join((*names, ''))}" for names in (_SLACK, self._secrets()))
            text = text.replace(listed, instead).replace("    build: ..\n", "    image: zombie\n")
            return text.replace("      ZOMBIE_DATABASE_URL", f"{settings}      ZOMBIE_DATABASE_URL", 1)
        if not ours:  # a Secret that nobody makes would keep the pod from starting
            text = re.sub(r"#   kubectl .* zombie-tokens.*\n", "", text)
            text = text.replace(
                "tokens:\n  existing", "# tokens: # of a chat or of alerts, as ALERTMANAGER_TOKEN\n#   existing"
            )
        settings = f"environment:\n{settings}" if settings else ""
        if self.chat == "teams":
            settings += 'ingress:\n  host: ""  # the name that Teams posts to, https://NAME/teams/messages\n'
        return text.replace("# Two bots", f"{settings}# Two bots", 1)


def parse_named_node(text: str) -> tuple[str, Address]:
    """Parse `NAME=HOST[:PORT]`, or a host alone, which is its own name.

    Raises: UsageError.
    """
    name, sign, where = text.strip().partition("=")
    found = ADDRESS.match(where if sign else name)
    if found is None:
        raise UsageError(
            f"“{one_line(text, 80)}” is not a node.", "Write node-123=10.0.0.7, or node-123.example.com:2222"
        )
    host, port = found["host"].strip("[]"), int(found["port"] or 22)
    name = name if sign else host.partition(".")[0] if not host[0].isdigit() else host
    if not is_name(name):
        raise UsageError(f"“{one_line(name, 80)}” is not a node's name.", "Write node-123=10.0.0.7")
    if not 0 < port < 65536:
        raise UsageError(f"{port} is no port.", "Ports are 1 to 65535.")
    return name, Address(host, port)


def parse_approver(text: str, chat: str = "", tenant: str = "") -> str:
    """Parse who may approve: of the chat a person or a group, or a login of this machine.

    Shape: of a person in Teams the object id will do, where the `tenant` is known.
    Raises: UsageError.
    """
    who, is_object = text.strip(), ENTRA_ID.match(text.strip().lower())
    if is_object and chat == "teams" and tenant:
        return f"teams:{tenant}/{who.lower()}"
    forms, write = _WHO[chat]
    if is_object or not any(form.match(who) for form in (*forms, LOGIN)):
        raise UsageError(f"“{one_line(text, 60)}” names nobody who could approve.", write)
    return who


def parse_channel(text: str, chat: str = "slack") -> str:
    """Parse the id of a channel; nothing means none. Raises: UsageError."""
    if text.strip() and not CHANNEL[chat].match(text.strip()):
        where = {
            "slack": "It stands in the channel's About: C012AB3CD",
            "teams": "It is in the channel's link, percent-encoded there: 19:…@thread.tacv2",
        }
        raise UsageError(f"“{one_line(text, 60)}” is not the ID of a channel.", where[chat])
    return text.strip()


def entra_id(text: str) -> str:
    """Parse an id of Entra, of an application or a tenant; nothing means that there is none yet. Raises: UsageError."""
    found = text.strip().lower()
    if found and not ENTRA_ID.match(found):
        raise UsageError(
            f"“{one_line(text, 60)}” is no id of Entra.", "The registration's page has it: 0a1b2c3d-0000-4000-8000-…"
        )
    return found


def shipped_text(name: str) -> str:
    """Return a file of `deploy/` or `docs/` that comes with the program."""
    return shipped_path(f"_deploy/{Path(name).name}", name).read_text("utf-8")


_NODE_SCRIPT = """#!/bin/sh
# Makes the login that zombie reads this node with: as root, `sh node-setup.sh`. It may be run again, after an upgrade
# too. `sh node-setup.sh --remove` takes the lines and the key away, and the login where this script made it.
# Its last line begins with "changed" where it changed something; deploy/ansible asks for that.
set -eu
user={user}
key='{key}'
made_here='reads this node for zombie'
lines=/etc/sudoers.d/zombie-$user
home=$(getent passwd "$user" | cut -d: -f6)
changed=
[ "$(id -u)" = 0 ] || {{ echo "run this as root" >&2; exit 1; }}
as_login() {{ # in the login's own home only the login writes: a link that it made there would lead root anywhere
    su -s /bin/sh "$user" -c "set -eu; umask 077; cd; key='$key'; keys=.ssh/authorized_keys; $1" </dev/null
}}
ended() {{
    echo "${{changed:+changed:}}${{changed:-$1}}"
    exit
}}

if [ "${{1-}}" = --remove ]; then
    [ ! -e "$lines" ] || {{ rm -f "$lines"; changed="$changed lines"; }}
    if [ "$(getent passwd "$user" | cut -d: -f5)" = "$made_here" ]; then
        userdel --remove "$user" 2>/dev/null || userdel "$user"
        changed="$changed login"
    elif [ -n "$home" ] && [ -n "$key" ]; then # somebody else's login: only the key goes
        changed="$changed$(as_login 'grep -qxF "$key" $keys 2>/dev/null || exit 0
            rest=$(grep -vxF "$key" $keys || true); printf "%s\\n" "$rest" >$keys; echo " key"')"
    fi
    ended "nothing was here"
fi

# '*': no password fits, yet the login is not locked, which an sshd without PAM would refuse.
if [ -z "$home" ]; then
    useradd --system --create-home --shell /bin/sh --password '*' --comment "$made_here" "$user"
    changed="$changed login"
fi
for group in adm systemd-journal; do # who may read the kernel's log, where the distribution has them
    getent group "$group" >/dev/null || continue
    id -nG "$user" | tr ' ' '\n' | grep -qx "$group" || {{ usermod -aG "$group" "$user"; changed="$changed $group"; }}
done
[ -z "$key" ] || changed="$changed$(as_login 'mkdir -p .ssh; grep -qxF "$key" $keys 2>/dev/null && exit 0
    printf "%s\\n" "$key" >>$keys; chmod 600 $keys; echo " key"')"

command -v visudo >/dev/null || {{
    echo "sudo is not installed, so what only root may read, such as the kernel's log, stays unread," >&2
    echo "and the verdict is UNKNOWN: install sudo here, and run this again" >&2
    ended "nothing to change"
}}
draft=$(mktemp)
trap 'rm -f "$draft"' EXIT
# Only the lines whose program and device are here; timeout(1) and its four words stand before the program. What is set
# for the login (Defaults) names no program, and stays.
while IFS= read -r line; do
    command=${{line##* NOPASSWD: /usr/bin/timeout -k }}
    set -f; set -- $command; set +f
    shift 2
    there=yes
    for word in "$@"; do
        case $word in "$1" | /dev/*) [ -e "$word" ] || there= ;; '#') break ;; esac
    done
    [ -z "$there" ] || printf '%s\\n' "$line"
done >"$draft" <<'LINES'
{lines}LINES
visudo -cqf "$draft"
cmp -s "$draft" "$lines" || {{ install -m 440 "$draft" "$lines"; changed="$changed lines"; }}
echo "$user may read as root: $(grep -c NOPASSWD "$lines") commands"
ended "nothing to change"
"""


def node_script(user: str, key: str, lines: str, is_authority: bool = False) -> str:
    """Return the script that makes the login on a node: account, key, groups and sudoers lines; it takes them away too.

    Shape: `key` is a line of authorized_keys; empty where the login has its way in already. Of an SSH certificate
    authority (`is_authority`), whoever brings a certificate for `user` is let in. `lines` are those for reading
    (`sudoers`).
    Raises: UsageError when `user` cannot be a login's name, or `key` is no public key.
    """
    check_login_name(user)
    if key and PUBLIC_KEY.match(key) is None:
        raise UsageError("That is not the public half of a key.", "It is one line, like: ssh-ed25519 AAAA… name")
    if is_authority:
        key = f'cert-authority,principals="{user}" {key}'
    rules = "".join(f"{line}\n" for line in lines.splitlines() if not line.startswith("#"))
    return _NODE_SCRIPT.format(user=user, key=key, lines=rules)


def public_key(path: Path) -> str:
    """Return the line of a public key's file.

    Raises: UsageError when it cannot be read.
    """
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as no:
        raise UsageError(f"{path} cannot be read: {no}.", "Name the public half: zombie_key.pub") from no


def write_new(folder: Path, files: Mapping[str, str | bytes]) -> list[str]:
    """Write files that are not there yet, and leave what is there as it is; return a line that says so for each."""
    lines = []
    for name, said in files.items():
        path, data = folder / name, said if isinstance(said, bytes) else said.encode()
        path.parent.mkdir(exist_ok=True)
        try:
            with path.open("xb") as file:
                path.chmod(0o600 if name.endswith(".env") else 0o644)
                file.write(data)
            lines.append(f"wrote {path}")
        except FileExistsError:
            same = path.read_bytes() == data
            lines.append(
                f"{path} is there already"
                + ("" if same else ", and differs: it is left as it is; to begin anew, move it away")
            )
    return lines


def _toml_string(text: str) -> str:
    """A TOML basic string: JSON's escapes are among its own, but for U+007F."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_list(texts: tuple[str, ...] | list[str]) -> str:
    return f"[{', '.join(_toml_string(each) for each in texts)}]"
