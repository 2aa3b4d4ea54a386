"""`zombie init`: five questions, the files that a new site needs, and the first verdict."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.commands import options
from bot.domain.errors import UsageError

if TYPE_CHECKING:
    from bot.app.new_site import Address, NewSite
    from bot.domain.node import Node

HOST_KEY_LIMIT = timedelta(seconds=5)
MOST_KEYS_AT_ONCE = 50
NOBODY = "nobody"  # may approve
SOURCES = {"file": "node", "openssh": "ssh_config", "ec2": "ec2", "kubernetes": "kubernetes"}  # and their options

EXAMPLES = """examples:
  zombie init                                              asks, then writes the files into this folder
  zombie init --node node-123=10.0.0.7 --user zombie --chat slack --approver U012AB3CD --pagerduty no
  zombie init --ssh-config ~/.ssh/config --chat none       the nodes of an OpenSSH configuration
  zombie init --kubernetes prod --chat teams --teams-app 0a1b2c3d-… --teams-tenant 9f8e7d6c-…

What is there already is never written over. Exit status: 0 a node was read; else that of zombie check.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "init",
        "five questions, a new site's files, and the first verdict",
        "Ask where the nodes are, by which login they are read, and who may approve; each answer has a default, may be "
        "given as an option, and is checked at once. Then write inventory.toml, zombie.toml, known_hosts and what "
        "the chat and the service manager need, run zombie doctor, and check one node. No secret is asked for.",
        EXAMPLES,
        group="start here",
    )
    where = parser.add_argument_group("where the nodes come from").add_mutually_exclusive_group()
    where.add_argument(
        "--node", action="append", type=_node, metavar="NAME=HOST", help="a node, with :PORT if it is not 22; repeat"
    )
    where.add_argument(
        "--ssh-config", type=_existing_file, metavar="FILE", help="the Host names of an OpenSSH configuration"
    )
    where.add_argument(
        "--ec2", action="append", type=_single_word, metavar="REGION", help="the instances of an AWS region; repeat"
    )
    where.add_argument(
        "--kubernetes",
        type=_single_word,
        metavar="CONTEXT",
        help="the nodes of a cluster, by a context of the kubeconfig",
    )
    where.add_argument("--from", choices=tuple(SOURCES), help=argparse.SUPPRESS)  # the first question's own answers
    parser.add_argument("--user", type=_login_name, metavar="NAME", help="the login on the nodes (default: zombie)")
    parser.add_argument("--key", type=Path, metavar="FILE", help="its key, made if not there (default: zombie_key)")
    parser.add_argument("--accept-host-keys", action="store_true", help="trust the keys that the nodes show, unasked")
    parser.add_argument(
        "--chat", choices=("slack", "teams", "none"), help="where people ask (default: none, the terminal)"
    )
    parser.add_argument("--teams-app", type=_entra_id, metavar="ID", help="the application id of the bot in Entra")
    parser.add_argument("--teams-tenant", type=_entra_id, metavar="ID", help="the id of the tenant")
    parser.add_argument("--alerts-channel", type=str, metavar="C…", help="the channel for cards of alerts")
    parser.add_argument("--pagerduty", choices=("yes", "no"), help="whether PagerDuty's alerts are read (default: no)")
    parser.add_argument(
        "--approver", action="append", type=str, metavar="WHO", help="who may approve: U…, S… or a login; repeat"
    )
    parser.add_argument("--service", choices=("systemd", "compose", "kubernetes", "none"), help="what runs it")
    parser.add_argument("--directory", type=Path, default=Path(), metavar="DIR", help="where to write (default: here)")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.app.new_site import write_new

    questions = Questions(arguments, sys.stdin.isatty() and sys.stdout.isatty())
    folder: Path = arguments.directory
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", f"mkdir {folder}")
    try:
        site = answers(arguments, questions)
    except (KeyboardInterrupt, EOFError):
        print("\nNothing was written.")
        return 130
    print(*write_new(folder, {**site.files(), **site.pictures()}), sep="\n")
    arguments.inventory, arguments.config = folder / "inventory.toml", folder / "zombie.toml"
    nodes = options.inventory(arguments, options.settings(arguments)).nodes
    if not nodes:
        raise UsageError("The inventory names no node.", f"Look at {arguments.inventory}, then: zombie nodes")
    if site.ssh_config is None:
        _trust_host_keys(folder / "known_hosts", nodes, questions, arguments.accept_host_keys)
        _write_login(folder, site.user, _login_key(folder, site), nodes[0], questions)
    else:
        from bot.app.factories import ssh_login

        _write_login(folder, ssh_login(nodes[0], arguments.environ), "", nodes[0], questions)
    status = _run_doctor_and_check(arguments, nodes[0].name)
    _tell_next(site, nodes[0].name if status == 4 else "")
    return status


class Questions:
    """The answers that the options give; the rest is asked in a terminal, and is the default where there is none."""

    def __init__(self, arguments: argparse.Namespace, asks: bool) -> None:
        self._given = arguments
        self._options = {name: action for action in arguments.parser._actions for name in action.option_strings}
        self.asks = asks
        self.chat = self.tenant = ""

    def ask(self, option: str, question: str, default: str) -> Any:
        """Return what an option says; without it ask, until the answer is one that the option would take.

        Raises: UsageError where what is given does not fit the other answers.
        """
        action = self._options[option]
        if (given := getattr(self._given, action.dest)) is not None:
            return self._checked_answer(option, given)
        many = isinstance(action, argparse._AppendAction)
        question += f" ({', '.join(action.choices)})" if action.choices else ""
        while self.asks:
            try:
                said = self._checked_answer(option, self._parsed(action, self._typed(question, default), many))
                if option == "--node":
                    _try_node(said)
                return said
            except UsageError as no:
                print(f"  {no.sentence} {no.try_next}".rstrip())
        return self._checked_answer(option, self._parsed(action, default, many))

    def _checked_answer(self, option: str, said: Any) -> Any:
        """Look at an answer by those before it, and whether there are nodes where somebody says that they are."""
        from bot.app.new_site import parse_approver, parse_channel

        match option:
            case "--approver":
                return tuple(parse_approver(who, self.chat, self.tenant) for who in said if who not in ("", NOBODY))
            case "--alerts-channel":
                return parse_channel(said, self.chat)
            case "--ssh-config":
                self._list_nodes(ssh_config=said)
            case "--ec2":
                said = tuple(said)
                self._list_nodes(regions=said)
            case "--kubernetes":
                self._list_nodes(context=said)
        return said

    def _list_nodes(self, **place: Any) -> None:
        import tempfile

        from bot.app.factories import inventory
        from bot.app.new_site import NewSite

        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / "inventory.toml"
            draft.write_text(NewSite(**place).files()["inventory.toml"], "utf-8")
            known = inventory(draft, self._given.environ)
        if not known.nodes:
            why = next((each.complaint for each in known.listings if each.complaint), "")
            raise UsageError(f"There are no nodes: {why}." if why else "There are no nodes.", "Name another place.")
        print(f"   {known.says}")

    def confirms(self, question: str) -> bool:
        """Ask for a yes; where nobody can be asked there is none."""
        return self.asks and self._typed(f"{question} (yes, no)", "no").lower() in ("y", "yes")

    @staticmethod
    def _typed(question: str, default: str) -> str:
        return input(f"{question} [{default}] ").strip() or default

    @staticmethod
    def _parsed(action: argparse.Action, text: str, many: bool) -> Any:
        if action.choices is not None:
            found = [each for each in action.choices if each.startswith(text.lower())]
            if len(found) != 1:
                raise UsageError(f"Write one of: {', '.join(action.choices)}.")
            return found[0]
        parse: Any = action.type
        return [parse(word) for word in text.split() or [""]] if many else parse(text)


def answers(arguments: argparse.Namespace, questions: Questions) -> NewSite:
    """Return what the options say, and ask for the rest; nothing is written yet.

    Raises: UsageError where nobody can be asked for a node.
    """
    from bot.app.new_site import NewSite

    given: dict[str, Any] = {}
    kind = next((name for name in SOURCES if getattr(arguments, SOURCES[name]) is not None), "")
    if not kind and not questions.asks:
        raise UsageError(
            "Which nodes? Nobody can be asked here.", "zombie init --node NAME=HOST; see zombie init --help"
        )
    kind = kind or questions.ask("--from", "1. Where do the nodes come from?", "file")
    if kind == "file":
        given["nodes"] = dict(questions.ask("--node", "   Nodes, as NAME=HOST[:PORT], by spaces?", ""))
    elif kind == "openssh":
        given["ssh_config"] = questions.ask("--ssh-config", "   Which configuration?", "~/.ssh/config")
    elif kind == "ec2":
        given["regions"] = questions.ask("--ec2", "   Which regions, by spaces?", "us-east-1")
    else:
        given["context"] = questions.ask("--kubernetes", "   Which context of the kubeconfig?", "")
    if kind != "openssh":
        given["user"] = questions.ask("--user", "2. Which login reads them?", "zombie")
        given["key"] = str(questions.ask("--key", "   Its key (made if it is not there)?", "zombie_key").expanduser())
    chat = questions.ask("--chat", "3. Where do people ask?", "none")
    given["chat"] = questions.chat = chat = "" if chat == "none" else chat
    if chat == "teams":
        given["teams_app"] = questions.ask("--teams-app", "   Application id of the bot in Entra, or nothing?", "")
        given["teams_tenant"] = questions.tenant = questions.ask("--teams-tenant", "   Its tenant, or nothing?", "")
    if chat:
        given["alerts_channel"] = questions.ask("--alerts-channel", "   ID of the channel for alerts, or nothing?", "")
    given["pagerduty"] = questions.ask("--pagerduty", "4. Are PagerDuty's alerts read?", "no") == "yes"
    who = {"slack": "U…, S… or a login", "teams": "object ids of Entra, or a login"}.get(chat, "a login")
    nobody = NOBODY if chat else getpass.getuser()
    given["people"] = questions.ask("--approver", f"5. Who may approve, by spaces ({who})?", nobody)
    service = questions.ask("--service", "   What shall run it?", "none")
    given["service"] = "" if service == "none" else service
    return NewSite(**given)


def _node(text: str) -> Any:
    from bot.app.new_site import parse_named_node

    return parse_named_node(text)


def _try_node(typed: Sequence[tuple[str, Address]]) -> None:
    """Raises: UsageError where a node that was typed does not answer; one given as an option may come up later."""
    import asyncio

    from bot.transport.ssh_host_key import fetch_host_keys

    places = [(at.host, at.port) for _, at in typed]
    keys = asyncio.run(fetch_host_keys(places, HOST_KEY_LIMIT, MOST_KEYS_AT_ONCE))
    for (name, at), key in zip(typed, keys, strict=True):
        if isinstance(key, OSError):
            raise UsageError(
                f"{name}: no SSH server answers at {at.host}, port {at.port}: {key}.",
                "Correct the host or the port. (zombie init --node NAME=HOST takes one that is not up yet.)",
            )


def _login_name(text: str) -> str:
    from bot.response.execution.sudoers import check_login_name

    check_login_name(text.strip())  # now: the script for the node refuses others, once the first files are there
    return text.strip()


def _entra_id(text: str) -> str:
    from bot.app.new_site import entra_id

    return entra_id(text)


def _single_word(text: str) -> str:
    if len(text.split()) != 1:
        raise UsageError("Write one word.")
    return text


def _existing_file(text: str) -> Path:
    found = Path(text).expanduser().absolute()
    if not found.is_file():
        raise UsageError(f"There is no file {found}.")
    return found


def _login_key(folder: Path, site: NewSite) -> str:
    """Make the login's key where there is none; return its public half."""
    from bot.transport.ssh_host_key import read_public_key, write_new_key

    key = folder / site.key
    if key.exists():
        return read_public_key(key)
    public = write_new_key(key, f"{site.user}@zombie")
    print(f"wrote {key} and {key}.pub")
    return public


def _trust_host_keys(known: Path, nodes: Sequence[Node], questions: Questions, unasked: bool) -> None:
    """Fetch the host keys that are not known yet, show their fingerprints, and write those that are confirmed."""
    import asyncio

    from bot.domain.node import known_hosts_name
    from bot.transport.ssh_host_key import ShownHostKey, fetch_host_keys

    written = known.read_text("utf-8") if known.exists() else ""
    names = [line.split(maxsplit=1)[0] for line in written.splitlines() if line.strip()]
    new = [node for node in nodes if known_hosts_name(node.address, node.port or 22) not in names]
    places = [(node.address, node.port or 22) for node in new]
    keys = asyncio.run(fetch_host_keys(places, HOST_KEY_LIMIT, MOST_KEYS_AT_ONCE))
    shown: list[ShownHostKey] = []
    for node, key in zip(new, keys, strict=True):
        if isinstance(key, OSError):
            print(f"  {node.name}: no host key from {node.address}, port {node.port or 22}: {key}")
            print("    If that is wrong, correct its `address` or `port` in inventory.toml; then: zombie init again")
        else:
            print(f"  {node.name}: {key.kind} {key.fingerprint}")
            shown.append(key)
    if not shown:
        return
    print("Compare with what each node's own console says:")
    print(*(f"  ssh-keygen -lf {file}" for file in dict.fromkeys(key.file for key in shown)), sep="\n")
    if unasked or questions.confirms(
        "Is this key right?" if len(shown) == 1 else f"Are these {len(shown)} keys right?"
    ):
        with known.open("a", encoding="utf-8") as file:
            file.writelines(f"{key.line}\n" for key in shown)
        print(f"wrote {known}")
    else:
        print("No key was written. The bot trusts no host that is not in known_hosts.")
        print("To be asked again: zombie init, with the same answers.")


def _write_login(folder: Path, user: str, public: str, node: Node, questions: Questions) -> None:
    """Write the script that makes the login on a node, and wait until it was run."""
    import shlex

    from bot.app.factories import sudoers
    from bot.app.new_site import node_script, write_new

    print(*write_new(folder, {"node-setup.sh": node_script(user, public, sudoers(user))}))
    port = ["-p", str(node.port)] if public and node.port not in (None, 22) else []
    ssh = ["ssh", *port, node.address if public else node.name]
    run, script = f"{shlex.join(ssh)} sudo sh -s", shlex.quote(str(folder / "node-setup.sh"))
    makes = "makes the login on a node, with its key and" if public else f"gives {user} on a node"
    print(
        f"It {makes} the lines of sudoers that it reads by. Look at it, then run it\n"
        "on each node, in this folder from another terminal, by a login of yours that may use sudo (without the\n"
        "word sudo where it is root's). Without sudo on the node the kernel's log stays unread: UNKNOWN.\n\n"
        f"  {run} <{script}\n\n"
        "To take all of it away again:\n\n"
        f"  {run} -- --remove <{script}\n\n"
        "On many nodes: a role of Ansible runs this script; deploy/ansible of a clone, or of a release's sources.\n"
    )
    if questions.asks:
        input("Press Enter once that is done. ")


def _run_doctor_and_check(arguments: argparse.Namespace, name: str) -> int:
    """Run doctor, then check one node; return 0 where the node was read."""
    files = ["--inventory", str(arguments.inventory), "--config", str(arguments.config)]
    status = 0
    for words in (["doctor", *files], ["check", name, *files]):
        print(f"\n$ zombie {' '.join(words)}", flush=True)
        called = arguments.command_line("zombie", arguments.extras, words[0]).parse_args(words)
        called.environ, called.extras, called.command_line = arguments.environ, arguments.extras, arguments.command_line
        status = called.run(called)
    return status if status in (2, 4) else 0


def _tell_next(site: NewSite, unreached: str) -> None:
    print("\nNext:")
    if unreached:
        print(f"  {unreached}: if node-setup.sh did not run there yet, do that; then: zombie check {unreached}")
    if site.chat == "slack":
        print("  Slack: make an app from slack-manifest.yaml, install it, and put its two tokens into zombie.env.")
    if site.chat == "teams":
        print("  Teams: put your organisation's name and pages into teams-app/manifest.json, pack the folder, and add")
        print("         the package to the organisation's catalogue: docs/teams.md")
        print("           python3 -m zipfile -c teams-app.zip teams-app/*")
        print("         Into zombie.env: TEAMS_APP_SECRET. An id that you did not know goes there, too, into the")
        print("         manifest, and into the service's file.")
    if site.pagerduty:
        print("  PagerDuty: a user's API token and a webhook's secret, into zombie.env: docs/pagerduty.md")
    if site.chat or site.pagerduty:
        print("  set -a; . ./zombie.env; set +a; zombie doctor; zombie serve --inventory inventory.toml")
    if site.service and not (site.chat or site.pagerduty):
        print("  Without a chat and PagerDuty zombie serve wants other alerts, or it ends at once: docs/alerts.md")
    if site.service:
        print("  The service's file says in its first lines where it goes: docs/serving.md")
    print("  To act: name units under [act] in zombie.toml; until then the bot only reads.")
