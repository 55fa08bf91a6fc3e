"""Analyses of traces as tables: all figures of one, or a line for each of many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from laneway.plot import short_number
from laneway.traces import volume_tables
from laneway.traces.device_replay import TraceReplay
from laneway.traces.histogram import Distribution, SizeClass
from laneway.traces.relaxations import Relaxation
from laneway.traces.result import PeerTraffic, TraceAnalysis
from laneway.traces.timeline import Rate

NOT_TOLD = "-"
_BAR = 40
_MOST_PEERS = 10
"""Pairs of ranks that are shown; --json has all."""


def many(found: Iterable[TraceAnalysis]) -> Table:
    """The table of Klenk 2017, chapter 4, with queues, wildcards and relaxations: a line for each trace."""
    table = Table(box=None, pad_edge=False)
    table.add_column("trace")
    for column in (
        *("ranks", "calls", "messages", "MPI", "admin", "comm", "unexp.", "nonbl. s/r", "peers"),
        *("posted", "depth", "unexp. q.", "depth", "any src", "any tag"),
    ):
        table.add_column(column, justify="right")
    table.add_column("may drop")
    for each in found:
        table.add_row(escape(short_name(each.name)), *_row(each))
    return table


def replays(found: Iterable[tuple[str, TraceReplay]]) -> Table:
    """Replays on devices: a line for each trace."""
    table = Table(box=None, pad_edge=False)
    table.add_column("trace")
    for column in (
        *("messages", "receives", "queues", "inferred", "matches", "differing", "as recorded"),
        *("depth", "time", "matches/s"),
    ):
        table.add_column(column, justify="right")
    for name, each in found:
        compared = each.as_recorded + each.otherwise
        table.add_row(
            escape(short_name(name)),
            *(f"{count:,}" for count in (each.messages, each.receives, each.queues, each.inferred)),
            *(f"{count:,}" for count in (each.matches, each.differing)),
            f"{each.as_recorded:,} of {compared:,}" if compared else NOT_TOLD,
            f"{each.mean_depth:.2f}/{each.max_depth}",
            f"{1e3 * each.seconds:.2f} ms",
            short_number(each.matches_per_second),
        )
    return table


def _row(each: TraceAnalysis) -> Iterator[str]:
    queues, shares, messages = each.queues, each.shares, each.messages
    yield _ranks(each)
    yield f"{each.calls:,}"
    yield f"{messages.count:,}"
    yield from (_percent(share) for share in (shares.mpi, shares.administration, shares.communication))
    yield _percent(each.unexpected_share)
    yield f"{_percent(messages.nonblocking_sends)}/{_percent(messages.nonblocking_receives)}"
    yield f"{each.peers.mean:.0f}"
    yield from (_mean_and_most(figures) for figures in (queues.posted.length, queues.posted.depth))
    if queues.recorded:
        yield from (_mean_and_most(figures) for figures in (queues.unexpected.length, queues.unexpected.depth))
    else:
        yield from (NOT_TOLD, NOT_TOLD)
    yield from (NOT_TOLD if count is None else f"{count:,}" for count in (each.wildcards.source, each.wildcards.tag))
    yield ", ".join(_SHORT[relaxation.name] for relaxation in each.relaxations if relaxation.allowed) or NOT_TOLD


_SHORT = {
    "no source wildcard": "source",
    "no tag wildcard": "tag",
    "exact length": "length",
    "overtaking": "order",
    "no unexpected messages": "unexpected",
}


def one(found: TraceAnalysis) -> Iterator[tuple[str, Table]]:
    """All figures of one trace: titles and tables."""
    yield short_name(found.name), _overview(found)
    yield "calls", _calls(found)
    if any(each.count for each in found.operations.values()):
        yield "what each operation sends", volume_tables.operations(found.operations)
    if any(each.by_datatype for each in found.operations.values()):
        yield "datatypes of messages and of collective calls", volume_tables.datatypes(found.operations)
    if found.messages.count:
        yield "messages by size in bytes", _sizes(found.messages.by_bytes)
        yield "messages by peer, most first", _peers(found.messages.by_peer)
        yield "messages of a rank in intervals", _rates(found.rates)
    if found.collective_rates[0].counts.count:
        yield "collective calls of a rank in intervals", _rates(found.collective_rates)
    if found.volume.bytes:
        yield "volume over time", volume_tables.over_time(found.timeline)
    if found.messages.receives:
        yield "queues of a rank", _queues(found)
        yield "what a matching engine may drop", _relaxations(found.relaxations)


def _overview(found: TraceAnalysis) -> Table:
    messages, shares, queues = found.messages, found.shares, found.queues
    table = Table(box=None, pad_edge=False, show_header=False)
    unknown = f", {messages.unknown_bytes:,} of unknown size" if messages.unknown_bytes else ""
    rows = [
        ("ranks", f"{_ranks(found)} ({found.format})"),
        ("time", f"{found.seconds:.6g} s from the first call to the last"),
        ("in MPI", f"{_percent(shares.mpi)}, of that administration {_percent(shares.administration)}"),
        ("communication", f"{_percent(shares.communication)} of the time from the first such call to the last"),
        ("messages", f"{messages.count:,} sent, {messages.bytes:,} bytes{unknown}"),
        ("receives", f"{messages.receives:,}"),
        ("volume", _volume(found)),
        (
            "nonblocking",
            f"{_percent(messages.nonblocking_sends)} of sends, {_percent(messages.nonblocking_receives)} of receives",
        ),
        ("peers", f"mean {found.peers.mean:.1f}, most {found.peers.maximum:,}"),
        ("tags", f"{found.tags.different:,} different, {found.tags.least:,} to {found.tags.greatest:,}"),
        ("communicators", f"{messages.communicators:,}: {_counts(messages.by_communicator)}" if messages.count else ""),
        ("wildcards", _wildcards(found)),
        ("arrivals", f"{queues.recorded:,} recorded, {queues.inferred:,} inferred from ends of receives"),
        ("unexpected", _percent(found.unexpected_share)),
        ("by the statuses", f"{queues.as_recorded:,} matched as recorded, {queues.differing:,} otherwise"),
        ("left over", f"{queues.messages_left:,} messages, {queues.receives_left:,} receives; {queues.late:,} late"),
    ]
    for name, value in rows:
        table.add_row(name, escape(value or NOT_TOLD))
    return table


def _volume(found: TraceAnalysis) -> str:
    volume = found.volume
    each = [f"{short_number(rate.bytes)}B/s" for rate in (volume.of_run, volume.of_rank, volume.of_communication)]
    return f"{volume.bytes:,} bytes with collectives; {each[0]} in all, {each[1]} a rank, {each[2]} as it communicates"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _wildcards(found: TraceAnalysis) -> str:
    wildcards = found.wildcards
    if wildcards.source is None:
        return "the trace does not tell"
    return (
        f"{wildcards.source:,} any source, {wildcards.tag:,} any tag, {wildcards.both:,} both; "
        f"{wildcards.probes:,} in probes"
    )


def _calls(found: TraceAnalysis) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("function")
    table.add_column("kind")
    for column in ("calls", "seconds", "elements", "bytes"):
        table.add_column(column, justify="right")
    for name, each in found.by_call.items():
        sent = [f"{number:,}" if number else "" for number in (each.elements, each.bytes)]
        table.add_row(name, each.kind, f"{each.count:,}", f"{each.seconds:.3g}", *sent)
    return table


def _sizes(classes: tuple[SizeClass, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("least", "most", "messages"):
        table.add_column(column, justify="right")
    table.add_column("")
    most = max(each.count for each in classes)
    for each in classes:
        bar = "#" * max(1, round(_BAR * each.count / most))
        table.add_row(f"{each.least:,}", f"{each.most:,}", f"{each.count:,}", bar)
    return table


def _peers(pairs: tuple[PeerTraffic, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("from", "to", "messages", "bytes"):
        table.add_column(column, justify="right")
    for each in pairs[:_MOST_PEERS]:
        of = f" of {each.communicator}" if each.communicator else ""
        table.add_row(f"{each.source:,}", f"{each.dest:,}{of}", f"{each.messages:,}", f"{each.bytes:,}")
    if len(pairs) > _MOST_PEERS:
        table.add_row("", f"{len(pairs) - _MOST_PEERS:,} more")
    return table


def _rates(rates: tuple[Rate, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("interval", "mean", "median", "99 %", "most", "median a second"):
        table.add_column(column, justify="right")
    for rate in rates:
        each = rate.counts
        interval = f"{rate.interval_ns // 1000:,} µs"
        figures = (f"{each.mean:.1f}", f"{each.median:,}", f"{each.p99:,}", f"{each.maximum:,}")
        table.add_row(interval, *figures, f"{rate.median_per_second:,.0f}")
    return table


def _queues(found: TraceAnalysis) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for column in ("searches", "mean", "median", "90 %", "99 %", "most"):
        table.add_column(column, justify="right")
    posted, unexpected = found.queues.posted, found.queues.unexpected
    rows: list[tuple[str, Distribution]] = [("posted receives", posted.length), ("  search depth", posted.depth)]
    if found.queues.recorded:
        rows += [("unexpected messages", unexpected.length), ("  search depth", unexpected.depth)]
    rows.append(("requests in flight", found.in_flight))
    for name, each in rows:
        figures = (f"{each.median:,}", f"{each.p90:,}", f"{each.p99:,}", f"{each.maximum:,}")
        table.add_row(name, f"{each.count:,}", f"{each.mean:.2f}", *figures)
    return table


def _relaxations(found: tuple[Relaxation, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("rule", "allowed", "against", "of", "assertion of MPI 4"):
        table.add_column(column, justify="right" if column in ("against", "of") else "left")
    for each in found:
        allowed = "not told" if each.allowed is None else "yes" if each.allowed else "no"
        table.add_row(each.name, allowed, f"{each.against:,}", f"{each.of:,}", each.assertion)
    return table


def short_name(name: str) -> str:
    """The name of the file, with its directory where that tells more."""
    path = Path(name)
    return f"{path.parent.name}/{path.name}" if path.suffix == ".otf2" and path.parent.name else path.name


def _ranks(found: TraceAnalysis) -> str:
    if found.world is None:
        return f"{found.ranks:,} of ?"
    return f"{found.ranks:,}" if found.ranks == found.world else f"{found.ranks:,} of {found.world:,}"


def _percent(share: float | None) -> str:
    if share is None:
        return NOT_TOLD
    return f"{100 * share:.0f} %"


def _mean_and_most(each: Distribution) -> str:
    return f"{each.mean:.1f}/{each.maximum:,}" if each.count else NOT_TOLD
