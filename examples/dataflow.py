"""Counts the words of a text by length: the host streams lines to workers, and a policy in Python sends what each of
them finds to the worker that owns the length.

Usage: dataflow.py [FILE [DEVICES]]     DEVICES as "cpu:4" or "cuda:0,cpu:1"; empty: every GPU,
else one CPU device a core.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import laneway as lw
import numpy as np
from numpy.typing import NDArray

LONGEST = 30  # words that are longer count as this long
PACKET = 4096

Counts = NDArray[np.int64]


def count_lengths(text: NDArray[np.uint8]) -> Counts:
    """How many words have each length; words are parts between blanks."""
    ends = np.flatnonzero(np.r_[text, [32]] <= 32)
    lengths = np.diff(np.r_[-1, ends]) - 1
    return np.bincount(np.minimum(lengths[lengths > 0], LONGEST), minlength=LONGEST + 1)


def by_length(packet: lw.flow.Packet, _: lw.flow.Endpoint, owners: Sequence[lw.flow.Endpoint]) -> int:
    """A policy: counts of length n, whose tag is n, belong to owner n modulo their number."""
    return packet.tag % len(owners)


def find(pieces: lw.flow.Link, found: lw.flow.Link) -> None:
    """Count the words of each piece, and send the counts on, one by one."""
    for piece in pieces:
        counts = count_lengths(piece.array())
        for length in np.flatnonzero(counts):
            found.send(counts[length : length + 1], tag=int(length))
    found.shutdown()


def add_up(found: lw.flow.Link, totals: Counts) -> None:
    """Each owner has lengths of its own, so that no two add to the same total."""
    for count in found:
        totals[count.tag] += count.array(np.int64)[0]


def pieces_of(text: bytes) -> list[NDArray[np.uint8]]:
    """The text in pieces that fit a packet and do not cut words."""
    pieces, begin = [], 0
    while begin < len(text):
        end = begin + PACKET
        if end < len(text):
            end = max(text.rfind(b" ", begin, end), text.rfind(b"\n", begin, end)) + 1 or end
        pieces.append(np.frombuffer(text[begin:end], np.uint8))
        begin = end
    return pieces


def main(path: str = __file__, devices: str = "") -> None:
    text = Path(path).read_bytes()
    totals = np.zeros(LONGEST + 1, np.int64)
    with lw.flow.Context(devices) as ctx:
        scatter, exchange = lw.flow.Router(ctx, "available", "scatter"), lw.flow.Router(ctx, by_length, "exchange")
        feed = lw.flow.Link(ctx.host, scatter)
        for device in ctx.devices:
            pieces, found = lw.flow.Link(scatter, device, packet_bytes=PACKET), lw.flow.Link(device, exchange)
            owned = lw.flow.Link(exchange, ctx.add_endpoint(device, "owner"), packet_bytes=8, buffers=64)
            ctx.start_worker(find, pieces, found)
            ctx.start_worker(add_up, owned, totals)
        for piece in pieces_of(text):
            feed.send(piece)
        feed.shutdown()
        ctx.join()
    for length in np.flatnonzero(totals):
        print(f"{totals[length]:6,} words of {length}{' or more' if length == LONGEST else ''}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except (lw.Error, OSError) as error:
        sys.exit(f"dataflow.py: {error}")
