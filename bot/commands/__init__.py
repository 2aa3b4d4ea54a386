"""The terminal's commands: a file per command, and this visible list of them."""

from __future__ import annotations

from bot.commands import (
    audit,
    brake,
    check,
    demo,
    doctor,
    incidents,
    lab,
    nodes,
    playbooks,
    prune,
    release,
    remediate,
    replay,
    route,
    serve,
    settings,
    sudoers,
    undo,
    watch,
    why,
)

COMMANDS = (
    check,
    replay,
    why,
    demo,
    lab,
    serve,
    nodes,
    playbooks,
    incidents,
    remediate,
    watch,
    undo,
    release,
    brake,
    audit,
    prune,
    route,
    sudoers,
    settings,
    doctor,
)
