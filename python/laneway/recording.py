"""What devices do over time, for Perfetto and `laneway report`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from laneway import _core
from laneway.file_names import as_path
from laneway.pending_file import PendingFile
from laneway.watching import TIMELINE

if TYPE_CHECKING:
    from laneway.summary import Summary


@contextmanager
def timeline(path: str | os.PathLike[str]) -> Iterator[None]:
    """Write what devices do within the block to a file, as the option `--timeline` of the command does.

        with lw.timeline("run.json"):
            result = lw.sssp(graph, source=1, devices="cpu:4")

    It takes the calls of the block's own thread, and the sessions and pools of tasks that are opened in it, as long as
    it lasts. The file is in Chrome's trace event format: Perfetto opens it, and `laneway report run.json` makes a page
    of it. It appears when the block ends well; where the block raises, there is none. A block within another one has a
    file of its own, and what it does is not in the other's. Raises UsageError for a name that cannot be written, before
    anything runs.
    """
    with PendingFile(as_path(path, "the timeline's file name")) as file:
        collected = _core.Timeline()
        collecting = TIMELINE.set(collected)
        try:
            yield
        finally:
            TIMELINE.reset(collecting)
        collected.note("laneway", _core.version)
        file.fill(lambda name: name.write_bytes(collected.json()))
        file.commit()


def note_summary(collected: _core.Timeline, summary: Summary, parameters: Mapping[str, str]) -> None:
    """Tell with the timeline of a command's run what the command was, and what came out."""
    notes = {"program": summary.program, "subject": summary.account.subject, "result": summary.account.headline}
    notes |= {"laneway": _core.version, **parameters}
    for name, value in summary.account.fields.items():
        if isinstance(value, (str, int, float, bool)) and name not in notes:
            notes[name] = value if isinstance(value, str) else json.dumps(value)
    for name, value in notes.items():
        collected.note(name, str(value))
