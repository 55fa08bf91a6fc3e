"""The files that a command writes. A command that succeeds writes all of them; one that fails leaves none behind."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from laneway import _core, signals
from laneway.account import printable
from laneway.errors import UsageError
from laneway.file_names import same_file
from laneway.pending_file import PendingFile
from laneway.summary import Summary


@dataclass
class Outputs:
    """Files that the user asked for; each is None or a path."""

    result: Path | None
    report: Path | None
    plot: Path | None
    timeline: Path | None = None
    result_ending: str = ""
    """What the result's name must end in, if not in anything."""
    _files: dict[Path, PendingFile] = field(default_factory=dict, init=False)
    _stack: ExitStack = field(default_factory=ExitStack, init=False)

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
        if self.result is not None and self.result_ending not in ("", self.result.suffix.lower()):
            raise UsageError(f"{self.result}: the result's name must end in {self.result_ending}")
        self._stack = stack
        for path in (self.result, self.report, self.plot, self.timeline):
            if path is not None:
                self.add(path)

    def add(self, path: Path) -> None:
        """The same for one more file, which `Account.files` writes."""
        self.require_spared(path)
        pending = self._files[path] = PendingFile(path)
        self._stack.callback(pending.discard)  # before there is anything to discard: a signal may come in between
        pending.open()

    def require_spared(self, path: Path) -> None:
        """UsageError where an output would replace `path`, whatever their names and links."""
        for output in self._files:
            if same_file(path, output):
                raise UsageError(
                    f"{output}: cannot be written: it is another file of this command, {printable(str(path))}"
                )

    def write(self, summary: Summary) -> None:
        """Write all of them but for the timeline, which goes on, to their temporary names."""
        if self.result is not None:
            self._files[self.result].fill(summary.account.write_output)
        if self.report is not None:
            self._files[self.report].fill(lambda file: file.write_text(json.dumps(summary.as_json(), indent=2) + "\n"))
        if self.plot is not None:
            from laneway.plot import draw

            kind = self.plot.suffix.lower().lstrip(".")
            self._files[self.plot].fill(lambda file: draw(summary, file, kind))
        for path, write in summary.account.files.items():
            self._files[path].fill(write)

    def commit(self, timeline: _core.Timeline | None) -> None:
        """Write the timeline and put all files in place; from there on no signal ends the command."""
        if self.timeline is not None and timeline is not None:
            self._files[self.timeline].fill(lambda file: file.write_bytes(timeline.json()))
        signals.point_of_no_return()
        for pending in self._files.values():
            pending.commit()
