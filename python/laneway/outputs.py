"""The files that a command writes: all of them, or none."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from laneway.errors import UsageError, reason_of
from laneway.pending_file import PendingFile
from laneway.summary import Summary


@dataclass
class Outputs:
    """Files that the user asked for; each is None or a path."""

    result: Path | None
    report: Path | None
    plot: Path | None
    _files: dict[Path, PendingFile] = field(default_factory=dict, init=False)

    @property
    def need_progress(self) -> bool:
        """Whether one of them shows samples of the run."""
        return self.report is not None or self.plot is not None

    def open(self, stack: ExitStack) -> None:
        """Find out, before any work is done, whether all can be written; raises UsageError if not. The stack's end
        removes what was not written."""
        if self.plot is not None:
            from laneway.plot import check_format

            check_format(self.plot)
        for path in (self.result, self.report, self.plot):
            if path is not None:
                self.require_spared(path)
                pending = self._files[path] = PendingFile(path)
                stack.callback(pending.discard)  # before there is anything to discard: a signal may come in between
                pending.open()

    def require_spared(self, path: Path) -> None:
        """UsageError where an output would replace `path`, whatever their names and links."""
        for output in self._files:
            if os.path.realpath(path) == os.path.realpath(output):
                raise UsageError(f"{output}: cannot be written: another file of this command has the same name")

    def write(self, summary: Summary) -> None:
        """Write all of them, then put all in place."""
        try:
            if self.result is not None:
                summary.account.write_output(self._files[self.result].temporary)
            if self.report is not None:
                self._files[self.report].temporary.write_text(json.dumps(summary.as_json(), indent=2) + "\n")
            if self.plot is not None:
                from laneway.plot import draw

                draw(summary, self._files[self.plot].temporary, self.plot.suffix.lower().lstrip("."))
            for pending in self._files.values():
                pending.commit()
        except OSError as error:
            raise UsageError(f"the outputs cannot be written: {reason_of(error)}") from None
