"""Counting k-mers over many devices."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway._core import Report, Sequences, SimulatedReads
from laneway.answers import Answer
from laneway.arguments import BUFFER_BYTES, require_real, require_whole
from laneway.arrays import refuse_masked
from laneway.errors import UsageError
from laneway.file_names import PathLike, as_path
from laneway.frames import frame_of
from laneway.workspace import Workspace

if TYPE_CHECKING:
    from pandas import DataFrame

Text = Union[str, bytes]
Item = Union[Text, "os.PathLike[str]", "os.PathLike[bytes]"]
KmerSource = Union[Item, Iterable[Item], Sequences, SimulatedReads]

FILE_NAME = re.compile(r"/|\.(fa|fas|fasta|fna|ffn|faa|frn|fq|fastq|txt|gz|xz|bz2|zip)$", re.IGNORECASE)
"""What no sequence has, and many names of files have."""
LONGEST_FILE_NAME = 4096

GREATEST = 10_000
MEMORY_GIB = 16.0


@dataclass(frozen=True, eq=False)
class KmerCounts(Answer):
    """How often k-mers occur, and the account of the run that counted them.

    Copies look counts up in the same tables; a pickle leaves the tables out, so that what comes of it has no `lookup`
    and is not equal.
    """

    multiplicity: NDArray[np.uint64]
    """Numbers of occurrences that there are, rising. `greatest` + 1 stands for all that are above `greatest`."""
    kmers: NDArray[np.uint64]
    """How many distinct k-mers occur so often, one entry for each of `multiplicity`."""
    total: int
    """K-mers counted, with repetitions."""
    distinct: int
    """K-mers counted, without."""
    checksum: int
    """Of all k-mers and their counts: the same on any devices."""
    slots: int = field(compare=False)
    """Slots of all devices' tables."""
    copy_seconds: float
    """Spreading the sequences over the devices, or making them there."""
    tally_seconds: float
    """Reading the tables for the histogram, after the run."""
    report: Report
    _counted: _core.CountedKmers | None = field(default=None, repr=False, compare=False)
    """The devices' tables, where they are kept."""

    def count(self, kmer: Text) -> int:
        """How often `kmer` occurs, 0 if it does not; UsageError as for `counts_of`."""
        return int(self.counts_of([kmer])[0])

    def counts_of(self, kmers: Iterable[Text]) -> NDArray[np.uint64]:
        """How often each of `kmers` occurs, looked up in the devices' tables.

        Where k-mers were counted as canonical, both of a k-mer and its reverse complement give their one count. Letters
        may have either case. Raises UsageError for what is no k-mer of that length, with its number from 1, and where
        the tables have not been kept. Any thread may call.
        """
        if self._counted is None:
            raise UsageError("the counts are not kept: neither with lookup=False nor in a pickle")
        return self._counted.counts_of([_text_of(kmer) for kmer in kmers])

    def to_pandas(self) -> DataFrame:
        """How many distinct k-mers occur how often, as a pandas data frame. ImportError where there is no pandas."""
        return frame_of({"multiplicity": self.multiplicity, "kmers": self.kmers})

    @property
    def lookup(self) -> bool:
        """Whether `count` and `counts_of` can tell counts: the tables have been kept."""
        return self._counted is not None

    def __eq__(self, other: object) -> bool:
        same = super().__eq__(other)
        return same if same is NotImplemented else same and self.lookup == getattr(other, "lookup", None)

    __hash__ = None

    def __copy__(self) -> KmerCounts:
        return self._with(dict(self.__dict__))

    def __deepcopy__(self, memo: dict[int, Any]) -> KmerCounts:
        own = {name: value for name, value in self.__dict__.items() if name != "_counted"}
        return self._with({**copy.deepcopy(own, memo), "_counted": self._counted})

    def _with(self, fields: dict[str, Any]) -> KmerCounts:
        made = object.__new__(type(self))
        made.__dict__.update(fields)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_counted": None}

    @property
    def load_factor(self) -> float:
        """Share of the tables' slots that are taken."""
        return self.distinct / self.slots

    @property
    def kmers_per_second(self) -> float:
        """Of the run: from packed sequences on the devices to full tables."""
        return self.total / self.report.run_seconds


def kmer(
    source: KmerSource,
    k: int,
    *,
    canonical: bool = True,
    greatest: int = GREATEST,
    distinct: int | None = None,
    memory_gib: float = MEMORY_GIB,
    lookup: bool = True,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> KmerCounts:
    """Count the k-mers of `source`, and look up how often given ones occur: `kmer("GATTACA", 3).count("ATT")`.

    A str or bytes is a sequence, and a path (`pathlib.Path`, any `os.PathLike`) a FASTA or FASTQ file, plain, gzip or
    xz; `source` is one of them, or several of one kind, or what `read_sequences` or `simulate_reads` gives.

    A k-mer is `k` bases in a row, 1 to 63, within one sequence; letters other than ACGT, of either case, end it.
    With `canonical` a k-mer and its reverse complement count as one. K-mers that occur more than `greatest` times share
    the last entry of the histogram. `distinct` is how many distinct k-mers are expected at most and sizes the tables:
    None takes the number of k-mers in `source`. No device's table takes more than `memory_gib`; a table that is full
    ends the run with DeviceFault. The tables stay on the devices while the result does, for `count` and `counts_of`;
    with `lookup=False` they are gone with the run.

    `devices`, `seed`, `timeout`, `buffer_bytes` and `progress` are as for `sssp`. Raises UsageError for wrong
    arguments, for files that are missing or broken, naming the line, for letters that belong in no sequence, naming the
    place, and for sequences without a k-mer.
    """
    workspace = Workspace(devices, seed, timeout, progress, buffer_bytes)  # which lives as long as the tables
    try:
        return count_kmers(workspace, source, k, canonical, greatest, distinct, memory_gib, lookup)
    except BaseException:
        workspace.close()  # tracebacks live on
        raise


def count_kmers(
    workspace: Workspace,
    source: KmerSource,
    k: int,
    canonical: bool,
    greatest: int,
    distinct: int | None,
    memory_gib: float,
    lookup: bool,
) -> KmerCounts:
    """`kmer` on devices that are there."""
    options = kmer_options(k, canonical, greatest, distinct, memory_gib, workspace.options)
    sequences = _sequences_of(source)
    counted = _core.CountedKmers(workspace.core, sequences, options)
    raw = counted.run()
    histogram = raw.take_histogram()
    multiplicity = np.flatnonzero(histogram).astype(np.uint64)
    return KmerCounts(
        multiplicity,
        histogram[multiplicity],
        raw.total,
        raw.distinct,
        raw.checksum,
        raw.slots,
        raw.copy_seconds,
        raw.tally_seconds,
        raw.report,
        counted if lookup else None,
    )


def _sequences_of(source: KmerSource) -> Sequences | SimulatedReads:
    if isinstance(source, (Sequences, SimulatedReads)):
        return source
    if not isinstance(source, (str, bytes, os.PathLike, Iterable)):
        raise UsageError(
            "the source must be sequences (str or bytes), paths (pathlib.Path), or what read_sequences or "
            f"simulate_reads gives, not {type(source).__name__}"
        )
    items = [source] if isinstance(source, (str, bytes, os.PathLike)) else list(source)
    refuse_masked("sequences", items)
    paths = [item for item in items if isinstance(item, os.PathLike)]
    if paths and len(paths) < len(items):
        raise UsageError("the source must be paths or sequences, not both")
    if paths:
        return read_sequences(paths)
    for item in items:
        _require_no_file_name(item)
    sequences = Sequences()
    sequences.add([item for item in items if not isinstance(item, os.PathLike)])
    return sequences


def _require_no_file_name(text: Item) -> None:
    """UsageError for a str that must mean a file."""
    if not isinstance(text, str) or len(text) > LONGEST_FILE_NAME or set(text.upper()) <= set("ACGTN"):
        return
    if FILE_NAME.search(text) or os.path.isfile(text):  # noqa: PTH113 - pathlib raises for what can be no name
        raise UsageError(f"{text!r} looks like a file, but a str is a sequence: give pathlib.Path({text!r})")


def _text_of(kmer: Text) -> str:
    if not isinstance(kmer, (str, bytes)):
        raise UsageError(f"a k-mer must be str or bytes, not {type(kmer).__name__}")
    return kmer if isinstance(kmer, str) else kmer.decode("latin-1")


def read_sequences(paths: PathLike | Iterable[PathLike]) -> Sequences:
    """The sequences of one or several FASTA or FASTQ files, packed; UsageError for one that is missing or broken.

    Here a str is a path, and so are bytes. `add` of what this gives takes sequences from memory.
    """
    sequences = Sequences()
    for path in paths if isinstance(paths, Iterable) and not isinstance(paths, (str, bytes, os.PathLike)) else [paths]:
        add_sequences(sequences, path)
    return sequences


def add_sequences(sequences: Sequences, path: PathLike) -> None:
    """Append a file's sequences."""
    sequences.read(str(as_path(path, "the file name of sequences")))  # as GraphFile does it


def simulate_reads(
    genome_length: int, *, coverage: float = 10.0, read_length: int = 100, error_rate: float = 0.0, seed: int = 1
) -> SimulatedReads:
    """Reads of a random genome of `genome_length` bases, made on the devices that count their k-mers.

    On average `coverage` reads lie over each base; half of the reads are of the other strand, and a base is read
    as one of the three others with probability `error_rate`. The same `seed` gives the same reads.
    """
    require_whole("genome_length", genome_length, 1)
    require_whole("read_length", read_length, 1, bits=32)
    require_whole("seed", seed)
    require_real("coverage", coverage)
    require_real("error_rate", error_rate)
    return SimulatedReads(genome_length, coverage, read_length, error_rate, seed)


def kmer_options(
    k: int, canonical: bool, greatest: int, distinct: int | None, memory_gib: float, job: _core.Options
) -> _core.KmerOptions:
    """The compiled part's view of the arguments; UsageError where one of them is wrong."""
    require_whole("k", k, 1, bits=6)
    require_whole("greatest", greatest, 1)
    if distinct is not None:
        require_whole("distinct", distinct, 1)
    require_real("memory_gib", memory_gib)
    if not 0 < memory_gib < 2**20:
        raise UsageError(f"memory_gib must be a positive number of GiB below 2**20, not {memory_gib}")
    return _core.KmerOptions(k, bool(canonical), greatest, distinct or 0, int(memory_gib * 2**30), job)
