"""The actions on a node: a file for each, the verbs of systemctl in one, and this table of all."""

from __future__ import annotations

from bot.actions.cordon import ACTION as CORDON
from bot.actions.drain import ACTION as DRAIN
from bot.actions.drop_caches import ACTION as DROP_CACHES
from bot.actions.reboot import ACTION as REBOOT
from bot.actions.uncordon import ACTION as UNCORDON
from bot.actions.unit_verbs import ACTIONS as UNIT_VERBS
from bot.actions.unit_verbs import BRING_BACK

ACTIONS = {action.name: action for action in (*UNIT_VERBS, DROP_CACHES, CORDON, DRAIN, UNCORDON, REBOOT, BRING_BACK)}
