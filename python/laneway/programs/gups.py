"""Random updates of a distributed table: HPC Challenge RandomAccess."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway._core import GupsCheck, Report
from laneway.answers import Answer
from laneway.arguments import BUFFER_BYTES, require_whole
from laneway.errors import UsageError
from laneway.workspace import Workspace


@dataclass(frozen=True, eq=False)
class GupsResult(Answer):
    """One run of updates. The devices keep the table as long as the result lives."""

    mode: str
    """"hpcc", "free", "binned" or "raw"."""
    words: int
    """Words of 8 bytes in the table, over all devices."""
    updates: int
    """Updates made, over all devices."""
    look_ahead: int | None
    """Most updates that a device held, drawn and not yet applied; None where nothing limits them."""
    rounds: int
    """Times that mode binned swept the table; else 1."""
    refused: int
    """Updates that mode binned applied at once because their log was full; else 0."""
    report: Report
    _table: _core.GupsTable | None = field(repr=False, compare=False)

    @property
    def giga_updates_per_second(self) -> float:
        """10**9 updates a second, over all devices."""
        return self.updates / self.report.run_seconds / 1e9

    @property
    def mean_chunk_bytes(self) -> float:
        """Average size of what travelled at once; 0 where nothing did."""
        chunks = int(self.report.chunks.sum())
        return int(self.report.bytes.sum()) / chunks if chunks else 0.0

    def table(self) -> NDArray[np.uint64]:
        """A copy of the table after the run, all devices' words in order."""
        return self._device_table.words()

    def check(self) -> GupsCheck:
        """Apply all updates again on the devices, without messages, and count the words that differ; HPC Challenge
        allows 1 % of them, Laneway loses none. Raises TimeoutError and DeviceFault as the run does."""
        return self._device_table.check()

    @property
    def _device_table(self) -> _core.GupsTable:
        if self._table is None:
            raise UsageError("the table stays on the devices of the process that ran the updates")
        return self._table

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_table": None}


def gups(
    *,
    mode: str = "free",
    log2_words: int | None = None,
    size: int | None = None,
    updates: int | None = None,
    look_ahead: int = 1024,
    region_bytes: int = 2**21,
    round_updates: int | None = None,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> GupsResult:
    """Update random words of a table that is spread over the devices: `table[a % words] ^= a` for each value a of HPC
    Challenge's random stream, which starts from table[i] = i.

    The table has 2**log2_words words of 8 bytes, or as many as a power of two allows in `size` bytes a device; 2**22
    where neither is given. `updates` is four times the words where it is None. Modes: "hpcc" draws no more than
    `look_ahead` updates a device before they are applied, as HPC Challenge demands; "free" has no such limit; "binned"
    logs arrived updates by regions of `region_bytes`, a power of two, and applies region after region, in rounds of
    `round_updates` a device; "raw" uses remote atomics instead of messages, between devices that share memory.

    `devices`, `seed`, `timeout` (of each launch), `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError
    for wrong arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    workspace = Workspace(devices, seed, timeout, progress, buffer_bytes)  # which lives as long as the table
    try:
        return update_table(workspace, mode, log2_words, size, updates, look_ahead, region_bytes, round_updates)
    except BaseException:
        workspace.close()  # tracebacks live on
        raise


def update_table(
    workspace: Workspace,
    mode: str,
    log2_words: int | None,
    size: int | None,
    updates: int | None,
    look_ahead: int,
    region_bytes: int,
    round_updates: int | None,
) -> GupsResult:
    """`gups` on devices that are there."""
    for name, number, least in (("look_ahead", look_ahead, 1), ("region_bytes", region_bytes, 8)):
        require_whole(name, number, least)
    for name, wanted in (("updates", updates), ("round_updates", round_updates)):
        if wanted is not None:
            require_whole(name, wanted, 1)
    power = _log2_words(log2_words, size, workspace)

    table = _core.GupsTable(
        workspace.core, str(mode), power, updates, look_ahead, region_bytes, round_updates, workspace.options
    )
    run = table.run()
    limit = look_ahead if mode == "hpcc" else None
    return GupsResult(mode, run.words, run.updates, limit, run.rounds, run.refused, run.report, table)


def _log2_words(log2_words: int | None, size: int | None, workspace: Workspace) -> int:
    if log2_words is not None and size is not None:
        raise UsageError("log2_words and size exclude each other")
    if log2_words is not None:
        require_whole("log2_words", log2_words, bits=32)
        return log2_words
    if size is None:
        return 22
    require_whole("size", size, 8)
    return (size // 8 * len(workspace.devices)).bit_length() - 1
