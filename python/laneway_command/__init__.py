"""The first lines of the `laneway` command. SIGINT, which Python would answer with a traceback from now on, waits until
the package can answer it.

A package of its own, as whatever is in `laneway` is run behind that package's own first lines, which scripts run too.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps in enums, which take a while to load

_before = _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGINT})


def main() -> None:
    """Entry point, that of `laneway.cli`."""
    from laneway.cli import main as command

    command({_signal.SIGINT} - _before)
