"""The terminal's commands: one file a command, and this visible list of them."""

from __future__ import annotations

from bot.commands import audit, check, demo, incidents, nodes, playbooks, serve, settings, sudoers

COMMANDS = (check, demo, serve, nodes, playbooks, incidents, audit, sudoers, settings)
