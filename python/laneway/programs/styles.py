"""Programs written in five styles of sending small messages from GPU code, measured side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from statistics import median
from typing import Callable

from laneway import _core
from laneway.arguments import BUFFER_BYTES, job_options, require_whole
from laneway.errors import UsageError

PROGRAMS = ("gups", "kmer", "pagerank")
STYLES = ("coprocessor", "direct", "coalesced", "coalesced_aggregated", "laneway")


@dataclass(frozen=True)
class StyleRun:
    """One program in one style; its result was that of the reference in every run."""

    program: str
    """"gups", "kmer" or "pagerank"."""
    style: str
    """"coprocessor", "direct", "coalesced", "coalesced_aggregated" or "laneway"."""
    messages: int
    """Messages of a run, those to the own device too."""
    seconds: tuple[float, ...]
    """Of each run, on the host's clock."""
    lines: int
    """Lines of code of the program in this style, without input, check and what is in `support`."""
    support: int
    """Lines of code that the style needs besides: an exchange, a block-wide sort, a division of work."""

    @property
    def messages_per_second(self) -> float:
        """Of the median run."""
        return self.messages / median(self.seconds)


def compare_styles(
    programs: Iterable[str] = PROGRAMS,
    *,
    log2_messages: int | None = None,
    runs: int = 3,
    devices: str = "",
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: Callable[[str], None] = lambda _: None,
) -> list[StyleRun]:
    """Run each program in each style (Orr 2016, sections 3.1 and 5.5.2) on the same input, and check every result.

    A run has about 2**log2_messages messages a device, 8 to 30: 26 on GPUs and 18 on CPU devices where it is None. Of
    each style one run warms up and `runs` are measured. `devices`, `timeout`, of each launch, and `buffer_bytes` are
    those of `sssp`; devices must share memory, and checked ones are refused. `progress` is told what runs next. Raises
    UsageError for wrong arguments, TimeoutError and DeviceFault for a failed run or a wrong result.
    """
    if not hasattr(_core, "open_style_study"):
        raise UsageError(
            "this build of laneway has no styles: `make test` builds them, "
            "and so does `pip install . -Ccmake.define.LANEWAY_STYLES=ON`"
        )
    programs = list(programs)
    for program in programs:
        if program not in PROGRAMS:
            raise UsageError(f"program must be one of {', '.join(PROGRAMS)}, not {program}")
    require_whole("runs", runs, 1, bits=31)
    job = job_options(devices, 1, timeout, False, buffer_bytes)
    if log2_messages is None:
        # A job without a list takes every GPU, else one CPU device a core.
        names = _core.parse_devices(devices)
        log2_messages = 26 if names[0].startswith("cuda") else 18
    require_whole("log2_messages", log2_messages, 8, bits=31)
    counts = json.loads(resources.files("laneway").joinpath("style_lines.json").read_text())
    found = []
    for program in programs:
        progress(f"{program}: input and reference")
        study = _open(program, log2_messages, job)
        for style in STYLES:
            progress(f"{program}: {style}")
            seconds = _measure(study, style, runs)
            found.append(StyleRun(program, style, study.messages, tuple(seconds), **counts[program][style]))
    return found


def _open(program: str, log2_messages: int, job: _core.Options) -> _core.StyleStudy:
    return _core.open_style_study(program, log2_messages, job)


def _measure(study: _core.StyleStudy, style: str, runs: int) -> list[float]:
    return study.measure(style, runs)
