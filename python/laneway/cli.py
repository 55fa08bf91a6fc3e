"""The `laneway` command."""

from __future__ import annotations

from laneway.signals import end_on_signals  # `from laneway import` would load all of it


def main() -> None:
    """Entry point: exit code 0, 2 for wrong use or input, 1 for a failed run, 128 and a signal's number; no traceback.

    All else is loaded only after signals are caught: that takes most of the time of a short run.
    """
    end_on_signals()
    from laneway.invocation import run

    run()


if __name__ == "__main__":
    main()
