"""The floors: which room may import which, who may import a third-party package, what enters only at the top."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module

BESIDE = {"domain"}  # what the parts of the second floor may see: never each other
MAY_IMPORT: dict[str, set[str]] = {
    "domain": set(),
    "probes": BESIDE,
    "transport": BESIDE,
    "library": BESIDE,
    "sources": BESIDE,
    "settings": BESIDE,
    "inventory": BESIDE,
    "ledger": BESIDE,
    "engine": {"domain", "ledger"},
    "actions": {"domain", "probes"},
    "causes": {"domain", "probes", "library"},  # the language of their files
    # its stores alone are named as they are: nothing else implements them; the rest is handed in as contracts
    "response": {"domain", "probes", "causes", "actions", "library", "ledger"},
    "view": {"domain", "response"},
    "chat": {"domain", "ledger", "response", "view", "seats"},  # it knows what the chats of extras are
    "surfaces": {"domain", "ledger", "sources", "response", "view", "chat", "seats"},
    "demo": {"domain", "probes", "sources", "response"},  # probes say what a healthy node answers
    "lab": {"domain", "sources", "response"},
}
EVERYTHING = set(MAY_IMPORT)
MAY_IMPORT |= {
    "seats": {"domain"},
    "app": EVERYTHING | {"seats"},
    "commands": EVERYTHING | {"seats", "app"},
    "extras": EVERYTHING | {"seats", "app", "commands"},  # and of each other what they need (`_of_another`)
    "__main__": EVERYTHING | {"seats", "app", "commands"},
    "__init__": set(),
}

LIBRARY = ["bot/library.py", "bot/library_*.py", "bot/library/*"]
SSH = ["bot/transport/ssh*.py", "bot/transport/ssh/*", "bot/demo/*"]
TEAMS = ["bot/surfaces/teams/*"]
SLACK = ["bot/surfaces/slack.py", "bot/surfaces/slack_*.py", "bot/surfaces/slack/*"]
KUBERNETES = ["bot/transport/kubernetes.py"]
EDGES = ["bot/sources/*", "bot/surfaces/pagerduty*.py", "bot/extras/history/monitoring_store.py"]
MAY_USE: dict[str, list[str]] = {
    "asyncssh": SSH,
    "tenacity": [*SSH, *SLACK, *EDGES],
    "lightkube": KUBERNETES,
    "httpx2": KUBERNETES,  # lightkube's own HTTP client
    "msgspec": KUBERNETES,  # the errors of its reader
    "yaml": [*LIBRARY, *KUBERNETES],
    "re2": LIBRARY,
    "pydantic": LIBRARY,
    "pydantic_core": [*LIBRARY, "bot/surfaces/document.py"],
    "slack_bolt": SLACK,
    "slack_sdk": SLACK,
    "aiohttp": [
        *SLACK,
        *TEAMS,
        "bot/surfaces/web.py",
        "bot/surfaces/web_limits.py",
        "bot/surfaces/hooks.py",
        "bot/surfaces/metrics.py",
        "bot/extras/mcp/http.py",
        "bot/demo/*",
    ],
    "aiohappyeyeballs": ["bot/transport/tcp.py"],
    "httpx": [*EDGES, *TEAMS],
    "jwt": TEAMS,
    "mcp": ["bot/extras/mcp/server.py", "bot/extras/mcp/http.py"],
    "prometheus_client": ["bot/surfaces/metrics.py"],
    "sqlalchemy": ["bot/ledger/*", "bot/extras/*/store.py"],
    "boto3": ["bot/inventory/ec2_instances.py"],
    "botocore": ["bot/inventory/ec2_instances.py"],
    "dask": ["bot/extras/fleet/dask_*.py"],
    "distributed": ["bot/extras/fleet/dask_*.py"],
    "PIL": ["bot/view/core_picture.py", "bot/surfaces/teams/icons.py", "bot/extras/profiles/*_picture.py"],
    "shtab": ["bot/commands/completion.py"],
    "jsonschema": ["bot/demo/slack/validation.py"],  # of a checkout; without it the demo checks no blocks
}

READS_THE_LIST = "bot/app/extras.py"  # of the extras' doors

# What enters at the top and is handed down, so that a test can hand in another.
ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.getenvb"}
CLOCK = {"datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"}
CLOCK |= {"time.time", "time.time_ns", "time.localtime", "time.gmtime"}
RANDOMNESS = {"os.urandom", "uuid.uuid1", "uuid.uuid4", "random", "secrets"}
ONLY_IN: list[tuple[str, set[str], set[str]]] = [
    ("the environment is read", ENVIRONMENT, {"app", "settings", "__main__"}),
    ("the clock is read", CLOCK, {"app", "__main__"}),
    ("randomness is drawn", RANDOMNESS, {"app", "__main__"}),
]

# Rooms of plain values and functions: their tests need nothing, because they touch nothing.
PURE = {"domain", "probes", "causes", "actions"}
TOUCHING = {"asyncio", "http", "multiprocessing", "signal", "socket", "sqlite3", "subprocess", "tempfile", "threading"}
TOUCHING |= {"time", "urllib"}

NO_NAMES = {"utils", "util", "helpers", "helper", "base", "common", "misc"}


@dataclass(frozen=True, slots=True)
class Violation:
    """One line that stands on the wrong floor."""

    path: str
    line: int
    says: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.says}"


def room_of(path: str) -> str:
    """Return the room a file of the program belongs to.

    Example: `room_of("bot/probes/cpu.py") == "probes"`, `room_of("bot/library_models.py") == "library"`
    """
    first = path.split("/")[1].removesuffix(".py")
    return "library" if first.startswith("library_") else first


def violations(path: str, source: str) -> Iterator[Violation]:
    """Read one file of the program and yield every line of it that breaks a floor."""
    room, nodes = room_of(path), list(ast.walk(ast.parse(source, path)))
    if room not in MAY_IMPORT:
        yield Violation(path, 1, f"no floor is known for {room}: say in {__name__} what it may import")
        return
    if (stem := path.rsplit("/", 1)[-1].removesuffix(".py")) in NO_NAMES:
        yield Violation(path, 1, f"{stem} says nothing: name the file after what is in it")
    for line, module in sorted(_imports(path, nodes)):
        if says := _import_says(path, room, module):
            yield Violation(path, line, says)
    for line, name in sorted(_names(nodes)):
        for what, names, rooms in ONLY_IN:
            if room not in rooms and (name in names or name.split(".")[0] in names):
                yield Violation(path, line, f"{name}: {what} in {', '.join(sorted(rooms))} only; have it handed in")


def _import_says(path: str, room: str, module: str) -> str:
    top, _, rest = module.partition(".")
    if top == "bot":
        other = room_of(f"bot/{rest.replace('.', '/')}") if rest else "__init__"
        if other == "extras":
            return _of_an_extra(path, room, module)
        if other in (room, "__init__") or other in MAY_IMPORT[room]:
            return ""
        return f"{room} must not import {other}"
    if top in sys.stdlib_module_names:
        return f"{room} touches nothing, and {top} does" if room in PURE and top in TOUCHING else ""
    if room == "domain":
        return f"domain holds to the standard library, and {top} is not in it"
    if top not in MAY_USE:
        return f"no importer is named for {top}: say in {__name__} who may use it"
    if any(fnmatch(path, pattern) for pattern in MAY_USE[top]):
        return ""
    return f"{top} is for {', '.join(MAY_USE[top])}"


def _of_an_extra(path: str, room: str, module: str) -> str:
    """The core knows no extra but by the list of their doors; an extra knows those that it needs."""
    if room != "extras":
        return "" if (path, module) == (READS_THE_LIST, "bot.extras") else f"{room} must not import extras"
    own, other = path.split("/")[2], [*module.split(".")[2:], ""][0]
    if other in ("", own) or other in import_module(f"bot.extras.{own}").EXTRA.needs:
        return ""
    return f"{own} must not import {other}: its door does not say that it needs it"


def _imports(path: str, nodes: list[ast.AST]) -> set[tuple[int, str]]:
    """Every module imported anywhere in the file, also inside functions, for types only, and by name at run time."""
    found = set()
    package = path.removesuffix(".py").split("/")[:-1]
    for node in nodes:
        match node:
            case ast.Import(names=names):
                found |= {(node.lineno, alias.name) for alias in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                start = package[: len(package) - level + 1] if level else []
                whole = ".".join([*start, *([module] if module else [])])
                # `from bot import probes` imports a room
                found |= {(node.lineno, f"bot.{alias.name}" if whole == "bot" else whole) for alias in names}
            case ast.Call(
                func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(name)), *_]
            ) if called in ("import_module", "__import__"):
                found.add((node.lineno, name))
    return found


def _names(nodes: list[ast.AST]) -> set[tuple[int, str]]:
    """Every dotted name the file uses, under its full name however it was imported."""
    full = {}
    found = set()
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    full[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
                    found.add((node.lineno, alias.name))
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    full[alias.asname or alias.name] = f"{module}.{alias.name}"
                    found.add((node.lineno, f"{module}.{alias.name}"))
    for node in nodes:
        if isinstance(node, ast.Attribute):
            first, *rest = _dotted(node)
            if first in full:
                found.add((node.lineno, ".".join([full[first], *rest])))
    return found


def _dotted(node: ast.expr) -> list[str]:
    """The parts of `a.b.c`; the first is empty where it is no name."""
    if isinstance(node, ast.Attribute):
        return [*_dotted(node.value), node.attr]
    return [node.id if isinstance(node, ast.Name) else ""]
