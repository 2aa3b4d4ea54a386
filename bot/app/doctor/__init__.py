"""`doctor` checks everything that a serving bot needs. Sources and surfaces declare their own checks."""

from bot.app.doctor.doctor import Doctor

__all__ = ["Doctor"]
