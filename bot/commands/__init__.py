"""The terminal's commands: one file a command, and this visible list of them."""

from __future__ import annotations

from bot.commands import audit, check, demo, incidents, lab, nodes, playbooks, serve, settings, sudoers

COMMANDS = (check, demo, lab, serve, nodes, playbooks, incidents, audit, sudoers, settings)
