"""Links from an incident to other sites: the templates of `[links]`, such as a dashboard's with `{node}` in it."""

from __future__ import annotations

import re

# `from` and `until` enclose the incident's beginning, in milliseconds, as Grafana, Pyroscope and Parca take them.
BLANKS = ("node", "cause", "incident", "page", "from", "until")
LONGEST = 1000
_BLANK = re.compile(r"\{([^{}]*)\}")
# The host is written out: text from an alert or a node must not decide where a click leads.
_MACHINE = r"(?:https://[A-Za-z0-9.-]+|http://(?:127\.0\.0\.1|localhost))"
_ADDRESS = re.compile(_MACHINE + r"(?::\d{1,5})?(?:[/?#][\x21\x23-\x3b\x3d\x3f-\x7e]*)?\Z")


def link_template_fault(template: str) -> str:
    """Return what is wrong with a link's template; empty if nothing is. Plain http is allowed only to this machine.

    Example:
    >>> link_template_fault("https://grafana.example/d/node?var-node={node}")
    ''
    >>> link_template_fault("http://grafana.example/")
    'should be a single https:// address with its host written out'
    >>> link_template_fault("http://127.0.0.1:8092/page/incidents/{page}")
    ''
    >>> link_template_fault("http://127.0.0.1.example/") != ""
    True
    >>> link_template_fault("https://grafana.example/{host}")
    'holds {host}; what can be filled in is {node}, {cause}, {incident}, {page}, {from}, {until}'
    """
    if len(template) > LONGEST or _ADDRESS.match(template) is None:
        return "should be a single https:// address with its host written out"
    unknown = [blank for blank in _BLANK.findall(template) if blank not in BLANKS]
    if unknown:
        return f"holds {{{unknown[0]}}}; what can be filled in is {', '.join(f'{{{blank}}}' for blank in BLANKS)}"
    return ""


def blanks_of(template: str) -> tuple[str, ...]:
    """Return the blanks of a template, in its order.

    Example:
    >>> blanks_of("https://wiki.example/{cause}?n={node}")
    ('cause', 'node')
    """
    return tuple(_BLANK.findall(template))
