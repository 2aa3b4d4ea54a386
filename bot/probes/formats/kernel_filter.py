"""What a node keeps of its kernel's log: an awk program, so that a log of any length is sent as a few lines.

Source: `playbooks/tables/kernel-log.toml`. The node only filters the log, by the literals of the rows; what a line
means is decided where it is parsed. The newest lines of each ring are kept, and no single one before them: what a line
means, its neighbours say. Where a ring lost lines, the log's last line says since when it is whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from bot.probes.formats.kernel_table import SITES_RING, KernelLogRow, KernelTable, own_table
from bot.probes.formats.log_burst import COUNT, PERIOD, SUM, TELL, UNCOUNT

MOST_OF_A_SORT = 80
WHOLE = "-- whole --"  # ends the log, and begins the lines that the kernel calls errors
GRAVE = "-- grave --"  # begins those that it calls critical or worse
BEFORE = "-- before --"  # begins the errors of an hour half a day ago
LEVELS_END = "-- levels --"  # ends them all: without it none counts, for a part of them may lack a habit
BEFORE_SECONDS = (12 * 3600, 13 * 3600)  # ours: a fault that wakes somebody is not that old, and a habit has no age

BEGUN = "-- begun "  # before the first line of a dump that nothing is said before
APART_SECONDS = 5
_BOOT_SECONDS = 60  # ours: a log that begins so soon is whole; a ring may lose the very first lines of a large machine

# After the log come the lines that the kernel itself calls errors. Those that no sort knows are kept too, but for
# habits: those of every healthy kernel, and those of this machine, which wrote the same half a day ago. Each line of
# the answer whose level is known begins with it, as in the kernel's own buffer.
_FUNCTIONS = (
    'function says(t) { sub(/^\\[[^]]*\\](\\[[^]]*\\])? ([^ ]+ kernel: )?/, "", t); return t } '
    'function shape(t, i, r) { t = says(t); i = index(substr(t, 1, 80), ": "); '
    'r = substr(t, i + 1, 40); gsub(/[0-9a-f]+/, "#", r); return substr(t, 1, i) r } '
)
# The device that a driver could not start: what is said of it later, and is no failure, takes the line back.
_UNSTARTED = (
    "function device() { match($0, /[0-9a-f]+:[0-9a-f]+:[0-9a-f]+[.][0-9]/); return substr($0, RSTART, RLENGTH) } "
    "function alive(d) { for (d in off) if (index($0, d)) { delete s[off[d]]; delete off[d]; dead-- } } "
)
# What is no line with a time. The journal prints the further lines of a message so: they belong to its first, and take
# its place. Those of lines that are thrown away at once go with them.
_TIMELESS = (
    f'$0 < "[" {{ if ($0 == "{WHOLE}") {{ w = 3; next }} if (w && $0 == "{GRAVE}") {{ w = 2; next }} '
    f'if (w && $0 == "{BEFORE}") {{ w = 1; next }} if (w && $0 == "{LEVELS_END}") {{ w = 4; next }} '
    'if (o == "journal" && /^[ \\t]/) { if (w ? w == 1 || !fresh : n != seen) next; '
    f"if (w) {{ last = g[h]; delete e[last]; h-- }} else {{ n--; {UNCOUNT} }} "
    'sub(/^[ \\t]+/, " "); $0 = substr(last, 1, 900) $0 } } '
)
_LEVELS = (
    "w { if (w == 1) { before[shape($0)]; next } "
    'l = w; if (sub(/^kern +:(emerg|alert|crit) *: /, "")) l = 2; else sub(/^kern +:err *: /, ""); '
    "fresh = !($0 in e); if (fresh) g[++h] = $0; e[$0] = l; next } "
)
_TELL_UNLISTED = 'for (; j <= h && {until}; j++) if ((n + j) in s) print "<" e[g[j]] ">" g[j]; '


def awk_pattern(has: str) -> str:
    """Return the awk pattern of a literal; a * in it is anything.

    Example:
    >>> awk_pattern("XFS (*hut"), awk_pattern("I/O error")
    ('XFS [(].*hut', 'I.O error')
    """
    return "".join(".*" if sign == "*" else _awk_sign(sign) for sign in has)


def _awk_sign(sign: str) -> str:
    if sign.isalnum() or sign in " :,_#=<>-%@~;&!":
        return sign
    if sign == "[":
        return r"\["
    return f"[{sign}]" if sign in "(){}.+?|$" else "."  # within a shell's quotes, and between slashes


def _rows_pattern(rows: Iterable[KernelLogRow]) -> str:
    """Return the awk pattern of what rows ask for, each literal once."""
    return "|".join(
        dict.fromkeys(literal for row in rows for literal in (*map(awk_pattern, row.has), row.node) if literal)
    )


def _needed_literals(pattern: str) -> str:
    """Return what no line without it has, of an awk pattern: in each of its ways what follows the last `.*`."""
    ways, depth, way = [], 0, ""
    for sign in pattern:
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            ways.append(way)
            way = ""
        else:
            way += sign
    needed = []
    for each in (*ways, way):
        after = each.rpartition(".*")[2]
        needed.append(after if after.count("(") == after.count(")") and len(after) > 3 else each)
    return "|".join(dict.fromkeys(needed))


_PIECE = 6  # characters: shorter ones are in too many lines, and of longer ones there are too many, by measure


def _pieces(has: str, common: str) -> frozenset[str]:
    """Return the pieces of a literal of which a line with it has each, without those that touch a common word."""
    pieces = set[str]()
    for part in has.split("*"):
        words = {at for word in re.finditer(common, part) for at in range(*word.span())}
        starts = range(max(1, len(part) - _PIECE + 1))
        pieces.update(part[at : at + _PIECE] for at in starts if words.isdisjoint(range(at, at + _PIECE)))
    return frozenset(pieces or {max(has.split("*"), key=len)})


def _first_asked(table: KernelTable) -> tuple[str, ...]:
    """Return patterns of which every line of a row has one: the failing words, few pieces, and the rows' own patterns.

    Most lines have none, and cost no more. The piece that most literals share is taken first.
    """
    rows = (*table.rows, *table.of_sites)
    nodes = dict.fromkeys(_needed_literals(row.node) for row in rows if row.node and not row.fails)
    literals = dict.fromkeys(has for row in rows for has in row.has)
    left = [
        _pieces(has, table.common)
        for has in literals
        if not any(re.search(table.failing, part) for part in has.split("*"))
    ]
    taken: list[str] = []
    while left:
        shared = Counter(chain.from_iterable(left))
        taken.append(max(zip(shared.values(), shared, strict=True))[1])
        left = [pieces for pieces in left if taken[-1] not in pieces]
    return table.failing, "|".join(map(awk_pattern, taken)), "|".join(nodes)


def ring_patterns(table: KernelTable) -> tuple[tuple[str, str], ...]:
    """Return awk's patterns of each ring, but for lines that come in runs: ours, then that of a site's.

    Shape: the second is for lines with a word of failure, and one of them may be empty.
    """
    rings = [[row for row in table.rows if row.ring == ring and not row.run] for ring in table.rings]
    return tuple(
        (_rows_pattern(row for row in rows if not row.fails), _rows_pattern(row for row in rows if row.fails))
        for rows in ([*rings, table.of_sites] if table.of_sites else rings)
    )


def _question(named: str, failing: str) -> str:
    return " || ".join([*([f"t ~ /{named}/"] if named else []), *([f"bad && t ~ /{failing}/"] if failing else [])])


def node_filter(table: KernelTable) -> str:
    """Return the program for the rows of a table; `o` is where the log comes from, for its last line."""
    packets = _rows_pattern(row for row in table.rows if row.run)
    run = max(row.run for row in table.rows)
    first, *others = _first_asked(table)
    named = (*table.rings, SITES_RING)
    starts = next(row for row in table.rows if row.kind == "unstarted")
    unstarted, widest = named.index(starts.ring) + 1, len(table.rings)
    # Of the widest ring are words of many healthy machines: what was printed half a day ago as well, give or take an
    # hour or two, is a habit of this one.
    unsay = (
        f"for (i = 1; i <= n; i++) if ((i in s) && of[i] == {widest}) {{ "
        "t = shape(s[i]); a = int(substr(s[i], 2) / 3600); "
        "if ((t in before) || ((t, a - 12) in spoke) || ((t, a - 13) in spoke)) delete s[i] } "
    )
    begun = "|".join(table.begun)
    unlisted = (
        'if (w != 4) { h = 0; split("", e) } '
        "for (i in s) if (s[i] in e) p[s[i]]; "
        "for (j = 1; j <= h; j++) { a = substr(g[h], 2) - substr(g[j], 2); "
        f"if (a >= {BEFORE_SECONDS[0]} && a <= {BEFORE_SECONDS[1]}) before[shape(g[j])] }} "
        "for (j = 1; j <= h; j++) if (!(g[j] in p) && !(e[g[j]] == 3 && (shape(g[j]) in before)) && "
        f"says(g[j]) !~ /^({'|'.join(table.habits)})/) {{ s[n + j] = g[j]; of[n + j] = 0 }} "
    )
    # The newest come first.
    thin = (
        f"for (i = n + h; i; i--) if (i in s) {{ c = of[i]; if (++kept[c] > {MOST_OF_A_SORT}) {{ "
        "if (!(c in lost)) lost[c] = int(substr(s[i], 2)) + 1; delete s[i]; x++ } } "
    )
    # What the kernel calls errors is asked of the journal by itself, and may reach further back than other lines.
    reach = (
        "first = from; if (h && substr(g[1], 2) + 0 < from) first = int(substr(g[1], 2)); "
        "if (lost[0] > first) first = lost[0] < from ? lost[0] : from; "
        f'late = from > {_BOOT_SECONDS} ? ", from " from " s, errors from " first " s" : ""; '
        f'split("{" ".join(named)}", named, " "); '
        'for (c = 1; c in named; c++) if (c in lost) late = late ", " named[c] " from " lost[c] " s"; '
    )
    return (
        f"{_FUNCTIONS}{_UNSTARTED}{_TIMELESS}{_LEVELS}"
        f"{{ n++; c = 0; if (n == 1) from = int(substr($0, 2)); {PERIOD}; if (b != y || n == 1) {{ {SUM} y = b; "
        f"if ((n == 1 || substr($0, 2) - substr(last, 2) > {APART_SECONDS}) && "
        f"says($0) ~ /{begun}/) begun[said++ % {MOST_OF_A_SORT}] = $0 }} {COUNT} }} "
        f"/(kernel: |\\] )({'|'.join(table.ordinary)})|{'|'.join(table.ordinary_anywhere)}/ {{ f = 0; next }} "
        # Without the host's name, which may have such a word as well.
        "{ last = $0; seen = n; "
        f't = o == "journal" ? substr($0, index($0, " kernel: ")) : $0; bad = t ~ /{first}/ }} '
        "dead && !bad { alive() } "
        f"!bad && {' && '.join(f't !~ /{words}/' for words in others)} {{ f = 0; next }} "
        f"{{ if (/{packets}/) {{ if (++f <= {run}) c = 1 }} else {{ f = 0; "
        + "; else ".join(f"if ({_question(*words)}) c = {at}" for at, words in enumerate(ring_patterns(table), start=1))
        + " } } "
        f"c == {unstarted} && /{_rows_pattern([starts])}/ {{ "
        'd = device(); if (d != "") { if (!(d in off)) dead++; off[d] = n } } '
        f"c == {widest} {{ spoke[shape($0), int(substr($0, 2) / 3600)] }} "
        "c { of[n] = c; s[n] = $0 } "
        f"END {{ if (w && n) {{ {unsay}{unlisted}{thin}j = 1; for (i = 1; i <= n; i++) if (i in s) {{ "
        + _TELL_UNLISTED.format(until="substr(g[j], 2) + 0 <= substr(s[i], 2) + 0")
        + 'print (s[i] in e ? "<" e[s[i]] ">" : "") s[i] } '
        + _TELL_UNLISTED.format(until="1")
        + f'{TELL}; for (i in begun) print "{BEGUN}" begun[i]; {reach}'
        + 'print "-- " o ": " n " lines, " x + 0 " left out" late " --" } }'
    )


FILTER = node_filter(own_table())
