"""A call to a Kubernetes cluster's API, as a line that people approve and programs send.

Defined in: the Kubernetes API's concepts (resource paths, verbs); https://kubernetes.io/docs/reference/using-api/
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"(GET|POST|PATCH) (/[!-~]+)(?: (\{.*\}))?\Z")
_REMARK = "  # "
_BLANK = re.compile(r"\\\{(namespace|name|uid)\\\}")
_NAME = "[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_FILLS = {"namespace": _NAME, "name": _NAME, "uid": "[A-Za-z0-9-]{1,64}"}


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP method, a path, and a JSON body if it has one."""

    verb: str
    path: str
    body: str = ""

    @classmethod
    def of(cls, line: str) -> Call:
        """Return the call written in a line; a remark after it is ignored.

        Raises: ValueError when it is not a call.

        Example:
        >>> Call.of('PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":true}}').path
        '/api/v1/nodes/n1'
        """
        found = _LINE.match(line.partition(_REMARK)[0])
        if found is None:
            raise ValueError(f"{line[:80]!r} is not a call of an API")
        return cls(found.group(1), found.group(2), found.group(3) or "")


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """An API's answer: its status, its body, and whether the body was cut at its limit."""

    status: int
    body: str = ""
    cut: bool = False

    @property
    def is_done(self) -> bool:
        """True when the API did what was asked."""
        return 200 <= self.status < 300


def with_remark(line: str, remark: str) -> str:
    """Return a call's line with a remark for the reader."""
    return f"{line}{_REMARK}{remark}"


def is_as_approved(line: str, command: str) -> bool:
    """True when a line is what was approved: the same text, or the same with plain names in its blanks.

    Example:
    >>> is_as_approved("GET /api/v1/namespaces/ray", "GET /api/v1/namespaces/{namespace}  # each")
    True
    >>> is_as_approved("GET /api/v1/namespaces/ray/../../x", "GET /api/v1/namespaces/{namespace}")
    False
    """
    approved = re.escape(command.partition(_REMARK)[0])
    return re.fullmatch(_BLANK.sub(lambda blank: _FILLS[blank.group(1)], approved), line) is not None
