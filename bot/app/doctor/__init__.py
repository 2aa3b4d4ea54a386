"""`doctor`: everything that a serving bot leans on, looked at. Sources and surfaces say themselves what there is."""

from bot.app.doctor.doctor import Doctor

__all__ = ["Doctor"]
