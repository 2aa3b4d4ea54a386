"""What a node says before its reboot where nothing is at work that it would cut off."""

from bot.actions.reboot import CutOff
from bot.probes import unfinished

_LOOK, _STARTING = (command.argv for command in CutOff().looks({}))


def nothing_at_work(argv: tuple[str, ...]) -> str | None:
    """Return the answer to what is read again just before a reboot; None for any other command."""
    if argv == _LOOK:
        return unfinished.PROBE.example["look"]
    return "-- end of units --\n" if argv == _STARTING else None
