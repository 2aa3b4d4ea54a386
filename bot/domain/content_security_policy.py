"""The content security policy of a page that stands by itself: nothing is fetched, and nothing runs but what it names.

Source: https://www.w3.org/TR/CSP3/#csp-hashes (a policy in a `meta` element has no frame-ancestors and no report-to).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def page_policy(styles: Sequence[str], scripts: Sequence[str], *more: str) -> str:
    """Return the policy of a page with these styles and scripts, word by word as they stand in it.

    Shape: `more` are further directives, such as `img-src data:`.

    Example:
    >>> page_policy(["p{}"], [], "img-src data:").split("; ")[2:]
    ['img-src data:', "base-uri 'none'", "form-action 'none'"]
    """
    named = (("style-src", styles), ("script-src", scripts))
    allowed = [" ".join((word, *map(_hash, texts))) for word, texts in named if texts]
    return "; ".join(("default-src 'none'", *allowed, *more, "base-uri 'none'", "form-action 'none'"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
