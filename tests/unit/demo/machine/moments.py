"""Moments of simulated nodes, for tests."""

from datetime import UTC, datetime, timedelta

from bot.demo.machine.state import Moment, State

BEGAN_AT = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)


def moment(state: State, after: float = 0.0) -> Moment:
    """Return the moment so many seconds after the simulation began."""
    return Moment(state.uptime + after, BEGAN_AT + timedelta(seconds=after))
