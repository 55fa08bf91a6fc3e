"""Finds the traces in files, directories and archives."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from laneway.errors import UsageError, reason_of
from laneway.file_names import as_path, same_file
from laneway.traces import dumpi_calls, otf2
from laneway.traces.calls import Call
from laneway.traces.dumpi import MAGIC, DumpiFile
from laneway.traces.dumpi_ascii import DumpiAscii
from laneway.traces.dumpi_calls import WANTED, DumpiCalls
from laneway.traces.dumpi_types import Datatypes
from laneway.traces.otf2_calls import Otf2Calls
from laneway.traces.trace import Trace
from laneway.traces.unpack import HEAD, Unpacked, content_head, is_packed

_NUMBERED = re.compile(r"(.+)-(\d{4,9})$")
_OTF2_PARTS = (".def", ".evt")
"""How names of files end that belong to an archive beside its anchor."""
_MOST_PREAMBLE = 4096
_RANK_AND_SIZE = frozenset(("MPI_Comm_rank", "MPI_Comm_size"))
_UNREADABLE = "no trace: expected DUMPI, dumpi2ascii's text or an OTF2 archive, perhaps in a tar archive or compressed"


class _Found(NamedTuple):
    """A file of a trace: its place, what errors call it, and its kind: `dumpi`, `ascii`, `meta` or `otf2`."""

    path: Path
    name: str
    kind: str


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Open the trace in a file, a directory or an archive: DUMPI, binary or as text, or OTF2; plain, gzip, bzip2 or xz,
    also in a tar archive. The files of DUMPI's ranks, in a directory or by their `.meta` file, are one trace.

    Calls are read when they are asked for. Raises UsageError for what is no trace, and for several traces:
    [find_traces][laneway.traces.files.find_traces] opens these.
    """
    found = find_traces([path])
    if len(found) > 1:
        names = ", ".join(each.name for each in found[:4]) + (", ..." if len(found) > 4 else "")
        raise UsageError(f"{path}: {len(found)} traces ({names}), expected one")
    return found[0]


def find_traces(paths: Iterable[str | os.PathLike[str]]) -> list[Trace]:
    """Open all traces in files, directories and archives, in the order of their names. Files of several ranks of one
    run are one trace. Raises UsageError for what holds no trace."""
    files: list[_Found] = []
    unpacked: list[Unpacked] = []
    for each in paths:
        path = as_path(each, "the trace's file name")
        try:
            found = list(_search(path, str(path), unpacked, asked=True))
        except OSError as error:
            raise UsageError(f"{error.filename or path}: {reason_of(error)}") from None
        if not found:
            raise UsageError(f"{path}: {_UNREADABLE}")
        files += found
    traces = [_otf2_trace(each) for each in files if each.kind == "otf2"] + _dumpi_traces(files)
    if not traces:
        raise UsageError(f"{files[0].name}: there are no files of ranks beside it")
    for trace in traces:
        trace.unpacked = unpacked
    return sorted(traces, key=lambda each: each.name)


def is_input(file: Path, given: Iterable[Path]) -> bool:
    """Whether `find_traces(given)` reads a file, whatever its names and links. Beside the traces in a directory other
    files may lie, such as what has been written of them before."""
    return any(
        same_file(file, each) and (each == path or _is_of_trace(each)) for path in given for each in _looked_at(path)
    )


def _looked_at(path: Path) -> list[Path]:
    """The files among which traces are found where `path` is asked for."""
    try:
        if path.is_dir():
            return [each for each in path.rglob("*") if each.is_file()]
        kind = _kind(path) if path.is_file() else None
        if kind == "otf2":
            return [path, path.with_suffix(".def"), *path.with_suffix("").glob("*")]
        return [path, *_beside_meta(path)] if kind == "meta" else [path]
    except OSError:  # which reading it tells
        return [path]


def _is_of_trace(path: Path) -> bool:
    try:
        return path.suffix in _OTF2_PARTS or is_packed(path) or _kind(path) is not None
    except OSError:
        return True


def _search(path: Path, name: str, unpacked: list[Unpacked], asked: bool) -> Iterator[_Found]:
    """The files of traces at a path; others are passed over unless they were asked for."""
    if path.is_dir():
        for each in sorted(path.rglob("*")):
            if each.is_file():
                yield from _search(each, f"{name}/{each.relative_to(path)}", unpacked, asked=False)
    elif path.exists() and not path.is_file():
        raise UsageError(f"{name}: neither a file nor a directory")
    elif is_packed(path):
        if not asked and not _may_hold_traces(path):
            return
        unpacked.append(Unpacked())
        try:
            inside = unpacked[-1].unpack(path, name)
        except UsageError as error:
            if asked:
                raise
            raise UsageError(f"{error}; it was found in what was asked for, and may hold a trace") from None
        members = [each for each in sorted(inside.rglob("*")) if each.is_file()]
        for each in members:
            inner = name if len(members) == 1 else f"{name}/{each.relative_to(inside)}"
            yield from _search(each, inner, unpacked, asked=False)
    elif (kind := _kind(path)) is not None:
        if kind == "meta" and asked:
            for each in _beside_meta(path):
                yield from _search(each, str(Path(name).parent / each.name), unpacked, asked=False)
        yield _Found(path, name, kind)


def _may_hold_traces(packed: Path) -> bool:
    """Whether a packed file is worth unpacking where nobody has asked for it. One that is too damaged to tell is: a
    trace must not be left out without a word."""
    head = content_head(packed)
    return head is None or _kind_of(head, Path(packed.stem).suffix) is not None


def _beside_meta(path: Path) -> list[Path]:
    """The files that may be those of the ranks of a `.meta` file."""
    others = sorted(path.parent.iterdir())
    return [each for each in others if each.stem.startswith(path.stem) and each.is_file() and each.suffix != ".meta"]


def _kind(path: Path) -> str | None:
    with path.open("rb") as file:
        return _kind_of(file.read(HEAD), path.suffix)


def _kind_of(head: bytes, suffix: str) -> str | None:
    """The kind of a file that begins so."""
    if head.startswith(MAGIC):
        return "dumpi"
    if head[2:7] == b"OTF2\0":
        return "otf2"
    if head.startswith(b"version=") and b"starttime=" in head:
        return "ascii"
    return "meta" if suffix == ".meta" and b"numprocs=" in head else None


def _dumpi_traces(files: list[_Found]) -> list[Trace]:
    groups: dict[tuple[Path, str, str], dict[int | None, _Found]] = {}
    worlds: dict[tuple[Path, str], int] = {}
    for each in files:
        if each.kind == "meta":
            worlds[each.path.parent, each.path.stem] = _meta_ranks(each)
        elif each.kind in ("dumpi", "ascii"):
            numbered = _NUMBERED.match(each.path.stem)
            prefix, rank = (numbered[1], int(numbered[2])) if numbered else (each.path.stem, None)
            ranks = groups.setdefault((each.path.parent, prefix, each.kind), {})
            if rank in ranks and ranks[rank] != each:
                raise UsageError(f"{each.name}: the same rank as {ranks[rank].name}")
            ranks[rank] = each
    found = []
    for (parent, prefix, kind), members in groups.items():
        if kind == "ascii" and (parent, prefix, "dumpi") in groups:
            continue  # the same calls once more
        found.append(_dumpi_trace(kind, members, worlds.get((parent, prefix))))
    return found


def _dumpi_trace(kind: str, members: dict[int | None, _Found], world: int | None) -> Trace:
    reader = DumpiFile if kind == "dumpi" else DumpiAscii
    files = {rank: reader(each.path, each.name) for rank, each in members.items()}
    first = next(iter(files.values()))
    own, size = _preamble(first)
    numbers = {own if rank is None else rank: file for rank, file in files.items()}
    ranks = {rank: partial(_dumpi_calls, file, rank) for rank, file in numbers.items()}
    if world is None:
        world = size
    name = first.name
    if len(files) > 1:
        folder = Path(name).parent
        name = str(folder / str(_NUMBERED.sub(r"\1", Path(name).stem)))
    known = (dumpi_calls.WORLD, dumpi_calls.SELF)
    return Trace(name, "dumpi" if kind == "dumpi" else "dumpi_ascii", ranks, world, known)


def _dumpi_calls(file: DumpiFile | DumpiAscii, rank: int) -> Iterator[Call]:
    return DumpiCalls(rank, Datatypes(file.type_sizes)).of(file.records(WANTED))


def _preamble(file: DumpiFile | DumpiAscii) -> tuple[int, int | None]:
    """The rank that a trace is of, 0 where it does not tell, and how many there are."""
    rank, size = None, None
    for count, record in enumerate(file.records(_RANK_AND_SIZE)):
        if record.fields.get("comm") == dumpi_calls.WORLD:
            rank = record.fields.get("rank", rank)
            size = record.fields.get("size", size)
        if count == _MOST_PREAMBLE or (rank is not None and size is not None):
            break
    return rank or 0, size


def _meta_ranks(meta: _Found) -> int:
    found = re.search(r"^numprocs=(\d{1,9})\s*$", meta.path.read_text(errors="replace"), re.MULTILINE)
    if found is None or int(found[1]) == 0:
        raise UsageError(f"{meta.name}: broken: no number of ranks")
    return int(found[1])


def _otf2_trace(found: _Found) -> Trace:
    archive = otf2.Archive(found.path, found.name)
    ranks = {rank: partial(_otf2_calls, archive, rank) for rank in range(len(archive.ranks))}
    fixed = archive.communicators()
    names = {number: archive.communicator_name(number) for number in fixed}
    return Trace(found.name, "otf2", ranks, len(ranks), (-1, -1), fixed, names, wildcards_recorded=False)


def _otf2_calls(archive: otf2.Archive, rank: int) -> Iterator[Call]:
    return Otf2Calls(archive, rank).calls()
