"""The machines that may be reached, and their names."""

from bot.inventory.inventory import KINDS, Inventory

__all__ = ["KINDS", "Inventory"]
