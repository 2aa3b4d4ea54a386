"""The actions on a node: a file for each, and this table of all."""

from __future__ import annotations

from bot.actions.cordon import ACTION as CORDON
from bot.actions.disable_unit import ACTION as DISABLE_UNIT
from bot.actions.drain import ACTION as DRAIN
from bot.actions.drop_caches import ACTION as DROP_CACHES
from bot.actions.mask_unit import ACTION as MASK_UNIT
from bot.actions.reboot import ACTION as REBOOT
from bot.actions.restore_unit import ACTION as RESTORE_UNIT
from bot.actions.start_unit import ACTION as START_UNIT
from bot.actions.uncordon import ACTION as UNCORDON

ACTIONS = {
    action.name: action
    for action in (
        DISABLE_UNIT,
        MASK_UNIT,
        START_UNIT,
        DROP_CACHES,
        CORDON,
        DRAIN,
        UNCORDON,
        REBOOT,
        RESTORE_UNIT,
    )
}
