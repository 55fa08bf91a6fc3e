"""One run of a program from the command line, from its options to its outputs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, TypeVar

from laneway import _core
from laneway.account import Account
from laneway.arguments import RunOptions, job_options
from laneway.errors import Error
from laneway.outputs import Outputs
from laneway.phases import Phases
from laneway.recording import note_summary
from laneway.summary import Summary
from laneway.terminal import show
from laneway.watching import TIMELINE

T = TypeVar("T")


class Job:
    """What a command's body is given: the options that all programs take, and the way to its input files."""

    def __init__(self, options: RunOptions, outputs: Outputs, phases: Phases, verify: bool | str) -> None:
        self.options = options
        self.looks_at_result = bool(verify) or outputs.result is not None
        """Whether all values of the result are verified or written."""
        self.reference = verify if isinstance(verify, str) else None
        """The file that the result is compared with, of commands whose --verify names one."""
        self.load_seconds: float | None = None
        self._outputs = outputs
        self._phases = phases

    def load(self, what: str, paths: Sequence[str | Path], read: Callable[[], T]) -> T:
        """Read an input, which consists of the files `paths`, and take the time; UsageError where an output of this
        command would replace one of them."""
        for path in paths:
            self._outputs.require_spared(Path(path))
        self._phases.read(f"reading the {what}", max(map(Path, paths), key=_size))
        start = time.perf_counter()
        content = read()
        self.load_seconds = (self.load_seconds or 0.0) + time.perf_counter() - start
        self._phases.run("running")
        return content

    def prepare(self, path: Path) -> None:
        """Find out, before the run, whether a file of the command's own can be written: `Account.files` does it."""
        self._outputs.add(path)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def run_job(
    name: str,
    body: Callable[[Job], Account],
    *,
    devices: str,
    seed: int,
    timeout: float,
    buffer_bytes: int,
    verify: bool | str,
    outputs: Outputs,
) -> None:
    """Run the body of the command `name`, verify, write the outputs and print the table.

    What can be refused is refused before the run. Raises Error where the result differs from the reference.
    """
    timeline = None if outputs.timeline is None else _core.Timeline()
    options = RunOptions(
        devices=devices, seed=seed, timeout=timeout, progress=outputs.need_progress, buffer_bytes=buffer_bytes
    )
    job_options(**options)
    _core.parse_devices(devices)
    with ExitStack() as stack:
        outputs.open(stack)
        stack.callback(TIMELINE.reset, TIMELINE.set(timeline))
        with Phases() as phases:
            job = Job(options, outputs, phases, verify)
            phases.run("running")  # until it reads something
            account = body(job)
            if verify:
                phases.enter("verifying")
            check = account.verify() if verify else None
            summary = Summary(name, account, job.load_seconds, check, None if timeline is None else timeline.count())
            if check is None or not check.mismatches:
                phases.enter("writing the outputs")
                outputs.write(summary)
        if check is None or not check.mismatches:
            if timeline is not None:
                note_summary(timeline, summary, {"timeout": f"{timeout:g} s", "seed": str(seed)})
            outputs.commit(timeline)
        if check is not None and check.mismatches:
            show(summary.as_table(), summary.title)
            raise Error(f"{check.mismatches} {check.compared} differ from {check.reference}: {check.first_mismatch}")
    show(summary.as_table(), summary.title)
