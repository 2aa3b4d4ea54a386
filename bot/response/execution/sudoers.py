"""The rights that a login needs on a node, as sudoers lines: exact commands, no wildcard.

Format: sudoers(5). A command's arguments are compared as a single text, so each character with a meaning in sudoers
is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from bot.domain.action import Action
from bot.domain.errors import UsageError
from bot.domain.probe import Probe
from bot.domain.root_command import FOLDERS, SYSTEM_FOLDERS, in_folders, needs_secure_path, root_ways
from bot.domain.safe_text import one_line
from bot.probes import PROBES
from bot.response.execution.cluster_calls import KUBERNETES

_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}\Z")
# Parentheses and quotes have no meaning in arguments, and visudo refuses them escaped.
_MEANINGFUL = re.compile(r"([\\,:=#!*?\[\]])")
_ESCAPED = r"\\\1"
TIMEOUT = "/usr/bin/timeout"
_PLACES = {"systemctl": FOLDERS, "sysctl": SYSTEM_FOLDERS}  # other programs: by their full path
SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNIT = "unit"  # the argument that names a unit


def reading_sudoers_text(user: str, probes: Iterable[Probe], there: Collection[str] | None = None) -> str:
    """Return a line for each command that may be repeated as root, after a line that says what they are.

    Shape: what needs a `secure_path` is left out; `capture_sudoers_text` has it. `there` are the files that a node has
    (`files_needed`): a command without its program or device has no line then.
    Raises: UsageError when `user` cannot be a login's name.
    """
    check_login_name(user)
    head = f"# Reading only: what {user} may run as root, exactly as written. Check with: visudo -cf FILE"
    return "\n".join((head, _no_lookup(user), *_lines_of(user, probes, False, there))) + "\n"


def root_reading_commands(probes: Iterable[Probe]) -> tuple[tuple[str, ...], ...]:
    """Return every argument list for reading that a node may allow as root, without those that need a `secure_path`."""
    return tuple(sorted({way for _, way in _ways_of(probes, needs_path=False)}))


def _ways_of(probes: Iterable[Probe], needs_path: bool) -> list[tuple[str, tuple[str, ...]]]:
    """Return the argument lists with the probe's name before each, in order."""
    unique = {probe.name: probe for probe in probes}.values()
    ways = {(probe.name, way) for probe in unique for command in probe.commands for way in root_ways(command)}
    return sorted((probe, way) for probe, way in ways if needs_secure_path(way) is needs_path)


def files_needed(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the program and the devices without which a command cannot run.

    Example:
    >>> files_needed(("sudo", "-n", "timeout", "-k", "1", "6", "/usr/sbin/nvme", "get-log", "/dev/nvme0n1"))
    ('/usr/sbin/nvme', '/dev/nvme0n1')
    """
    program, *arguments = as_root(argv)
    return tuple(each for each in (program, *arguments) if each.startswith("/dev/" if each != program else "/"))


def as_root(argv: Sequence[str]) -> Sequence[str]:
    """Return the command itself, without sudo and the time limit before it."""
    rest = argv[2:]
    return rest[4:] if rest[:1] == ("timeout",) else rest


def _lines_of(user: str, probes: Iterable[Probe], needs_path: bool, there: Collection[str] | None = None) -> list[str]:
    return [
        f"{user} ALL=(root) NOPASSWD: {TIMEOUT} {_MEANINGFUL.sub(_ESCAPED, ' '.join(way[3:]))}  # {probe}"
        for probe, way in _ways_of(probes, needs_path)
        if there is None or all(file in there for file in files_needed(way))
    ]


def capture_sudoers_text(user: str, rights: Iterable[Sequence[str]]) -> str:
    """Return the lines for these rights of extras and for bpftrace, after a line that says what they are.

    Shape: `secure_path` comes first, because perf searches the caller's PATH for commands that it does not know, and
    bpftrace for what unpacks the kernel's headers.
    Raises: UsageError when `user` cannot be a login's name.
    """
    check_login_name(user)
    head = f"# Profiling: what {user} may record as root, exactly as written. Leave it out where nobody profiles.\n"
    path = _MEANINGFUL.sub(_ESCAPED, SECURE_PATH)
    lines = [f"Defaults:{user} secure_path={path}"]
    for program, *arguments in rights:
        words = _MEANINGFUL.sub(_ESCAPED, " ".join(arguments))
        lines.append(f"{user} ALL=(root) NOPASSWD: {TIMEOUT if program == 'timeout' else program} {words}")
    lines += _lines_of(user, PROBES.values(), needs_path=True)
    return head + "".join(f"{line}\n" for line in lines)


def sudo_rights(
    actions: Iterable[Action], units: Sequence[str], offered: Collection[str], starts: Sequence[str] = ()
) -> tuple[tuple[str, ...], ...]:
    """Return what acting runs as root: all that can be done with each of these units, and what playbooks offer.

    Shape: `starts` are units that may only be started. API calls are not included, because they need no root.
    """
    on_node = [action for action in actions if action.by_calls is None]
    with_units = [action for action in on_node if UNIT in action.targets]
    of_units = [action.rights_of({UNIT: unit}) for unit in units for action in with_units if not action.starts_a_unit]
    of_units += [action.rights_of({UNIT: unit}) for unit in starts for action in with_units if action.starts_a_unit]
    of_node = [action for action in on_node if not action.targets and action.name in offered]
    of_node.sort(key=lambda action: action.in_place_of != "")  # a replacement comes after the action that it replaces
    return tuple(argv for rights in (*of_units, *(action.rights_of({}) for action in of_node)) for argv in rights)


def acting_lines(user: str, rights: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the lines for each command that may be run as root, or the rule that a cluster has to grant.

    Shape: a program has a line for each folder that it may be in; a line without a file allows nothing.
    Raises: UsageError when `user` cannot be a login's name.

    Example:
    >>> acting_lines("zombie", [("systemctl", "disable", "--now", "--", "ecs.service")])
    ('zombie ALL=(root) NOPASSWD: /usr/bin/systemctl disable --now -- ecs.service', \
'zombie ALL=(root) NOPASSWD: /bin/systemctl disable --now -- ecs.service')
    >>> acting_lines("zombie", [("kubernetes", "create", "pods/eviction")])
    ('ClusterRole: - {apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"]}',)
    """
    check_login_name(user)
    return tuple(line for argv in rights for line in _acting_lines_of(user, argv))


def _acting_lines_of(user: str, argv: Sequence[str]) -> tuple[str, ...]:
    if argv[0] == KUBERNETES:
        _, verb, resource = argv
        return (f'ClusterRole: - {{apiGroups: [""], resources: ["{resource}"], verbs: ["{verb}"]}}',)
    ways = in_folders(argv, _PLACES[argv[0]]) if argv[0] in _PLACES else (argv,)
    commands = (f"{program} {_MEANINGFUL.sub(_ESCAPED, ' '.join(arguments))}".rstrip() for program, *arguments in ways)
    return tuple(f"{user} ALL=(root) NOPASSWD: {command}" for command in commands)


def login_that_lacks(node: str, user: str, rights: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Return which login lacks rights, and the lines that would grant them, for a refusal.

    Example:
    >>> login_that_lacks("n1", "zombie", [("/usr/sbin/rngd", "--once")])
    ('login on n1', 'sudoers: zombie ALL=(root) NOPASSWD: /usr/sbin/rngd --once')
    """
    lines = "; ".join(acting_lines(user, rights))
    if all(argv[0] == KUBERNETES for argv in rights):
        return f"login in the cluster of {node}", lines
    return f"login on {node}", f"sudoers: {lines}"


def acting_sudoers_text(user: str, rights: Sequence[Sequence[str]]) -> str:
    """Return the acting lines under a line that says what they are; nothing where there are none."""
    if not rights:
        return ""
    head = f"# Acting: what {user} may change as root, exactly as written. Leave it out where the bot only looks.\n"
    return head + "".join(f"{line}\n" for line in dict.fromkeys((_no_lookup(user), *acting_lines(user, rights))))


def _no_lookup(user: str) -> str:
    # A sudo built `--with-fqdn`, as Debian's is, looks up the node's own name whenever it runs. Where only silent
    # name servers could know it, it waits for them longer than a command may take.
    return f"Defaults:{user} !fqdn"


def check_login_name(user: str) -> None:
    """Raises: UsageError when `user` cannot be a login's name."""
    if not _USER.match(user):
        raise UsageError(f"{one_line(user, 40)!r} is not a login name.", "Use lower-case letters, digits, - and _.")
