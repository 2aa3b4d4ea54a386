"""Bundles: an incident with its proof in a file, which another person verifies without its database."""

from __future__ import annotations

from bot.seats import Extra

EXTRA = Extra(
    "bundles",
    "writing an incident with its proof into a file, and verifying that",
    commands={
        "verify": "bot.extras.bundles.verify_command",
        "incidents export": "bot.extras.bundles.export_command",
        "audit verify FILE": "bot.extras.bundles.audit_command",
    },
)
