"""The machines we may reach, and by which names."""

from bot.inventory.inventory import KINDS, Inventory

__all__ = ["KINDS", "Inventory"]
