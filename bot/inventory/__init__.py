"""The machines we may reach, and by which names."""

from bot.inventory.inventory import Inventory

__all__ = ["Inventory"]
