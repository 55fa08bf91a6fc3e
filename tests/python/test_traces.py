"""Readers and analysis of MPI traces: figures against the publishers' own, and against programs written for them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import signal
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import laneway as lw
import pytest
import trace_files as tf
from conftest import ROOT
from laneway.traces.calls import Completion, Receive, Send
from laneway.traces.dumpi import DumpiFile
from laneway.traces.dumpi_ascii import DumpiAscii
from laneway.traces.dumpi_calls import WANTED
from laneway.traces.matching import Matcher
from laneway.traces.unpack import Unpacked

SHARED = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "traces" / "mpi-traces.tar.xz"
EXAMPLE, STENCIL = ROOT / "data" / "testtrace.tar.xz", ROOT / "data" / "stencil4d-32.tar.xz"


@pytest.fixture(scope="module")
def shared() -> Path:
    """The traces that the repository does not hold, unpacked."""
    if not SHARED.exists():
        pytest.skip("shared data not at hand: traces")
    holder = Unpacked()
    shared.holder = holder  # type: ignore[attr-defined]
    return holder.unpack(SHARED, "traces") / "traces"


@pytest.fixture(scope="module")
def example() -> Path:
    """A run of four ranks, in binary form and rank 0 as text."""
    holder = Unpacked()
    example.holder = holder  # type: ignore[attr-defined]
    return holder.unpack(EXAMPLE, "example")


def test_calls_are_those_that_the_publishers_text_has(example: Path) -> None:
    binary = DumpiFile(example / "testtrace-0000.bin", "binary")
    text = DumpiAscii(example / "testtrace-0000.txt", "text")
    assert binary.type_sizes == text.type_sizes
    assert list(binary.records(WANTED)) == list(text.records(WANTED))


def test_counts_are_those_that_the_tracing_library_kept(example: Path) -> None:
    told = dict(
        line.split(" called ")  # type: ignore[misc]
        for line in (example / "testtrace-0000.txt").read_text().splitlines()
        if " called " in line
    )
    del told["MPI_ALL_FUNCTIONS"]
    expected = {name: int(count.split()[0]) for name, count in told.items() if int(count.split()[0])}
    file = DumpiFile(example / "testtrace-0000.bin", "binary")
    assert file.counts() == expected
    assert Counter(record.name for record in file.records(WANTED)) == expected


def test_four_ranks_in_a_ring() -> None:
    found = lw.analyse_trace(EXAMPLE)
    assert (found.ranks, found.world, found.calls) == (4, 4, 36)
    assert found.messages.by_datatype == {"MPI_INT": 4}
    assert (found.messages.count, found.messages.bytes, found.peers.maximum) == (4, 16, 2)
    assert (found.tags.least, found.tags.greatest, found.wildcards.source) == (1337, 1337, 0)
    assert (found.queues.recorded, found.queues.messages_left, found.queues.receives_left) == (4, 0, 0)


def test_all_receives_of_the_stencil_match_as_recorded() -> None:
    found = lw.analyse_trace(STENCIL)
    assert (found.ranks, found.format) == (32, "otf2")
    calls = {name: each.count for name, each in found.by_call.items()}
    assert calls == {"MPI_Irecv": 512, "MPI_Send": 512, "MPI_Barrier": 96, "MPI_Waitall": 64, "MPI_Init": 32}
    queues = found.queues
    assert (queues.recorded, queues.as_recorded, queues.differing, queues.late) == (512, 512, 0, 0)
    assert (queues.messages_left, queues.receives_left, queues.inferred) == (0, 0, 0)
    assert (found.messages.bytes, found.tags.different) == (512 * 131072, 8)
    pairs = {(each.source, each.dest): each.messages for each in found.messages.by_peer}
    assert {dest: count for (source, dest), count in pairs.items() if source == 0} == {1: 4, 2: 4, 4: 4, 8: 2, 24: 2}
    assert found.wildcards.source is None


def test_the_stencil_against_the_publishers_reader() -> None:
    otf2 = pytest.importorskip("otf2", reason="the otf2 package is not installed")
    holder = Unpacked()
    anchor = next(holder.unpack(STENCIL, "stencil").rglob("*.otf2"))
    expected: Counter[tuple[object, ...]] = Counter()
    with otf2.reader.open(str(anchor)) as trace:
        offset, resolution = trace.definitions.clock_properties.global_offset, trace.timer_resolution
        for location, event in trace.events:
            kind, rank = type(event).__name__, int(location.group.name.split()[-1])
            if kind == "Enter" and event.region.name.startswith("MPI_"):
                expected[rank, event.region.name, (event.time - offset) * 1_000_000_000 // resolution] += 1
            elif kind == "MpiSend":
                expected[rank, "send", event.receiver, event.msg_tag, event.msg_length] += 1
            elif kind == "MpiIrecv":
                expected[rank, "received", event.sender, event.msg_tag, event.msg_length] += 1
    found: Counter[tuple[object, ...]] = Counter()
    trace = lw.read_trace(anchor)
    for rank in trace.ranks:
        for call in trace.calls(rank):
            found[rank, call.name, call.start] += 1
            for each in (*call.first, *call.last):
                if isinstance(each, Send):
                    found[rank, "send", each.dest, each.tag, each.size] += 1
                elif isinstance(each, Completion):
                    found[rank, "received", each.source, each.tag, each.size] += 1
    assert found == expected


def test_summary_of_the_publishers(shared: Path) -> None:
    """Calls, sends, receives, tags, wildcards and posted receives of the table that comes with the traces."""
    for line in (shared / "dumpi_summary.tsv").read_text().splitlines():
        name, *columns = line.split("\t")
        path = shared / Path(name).name
        if not name.startswith("doe_dumpi") or not path.exists():
            continue
        calls, sends, receives, peers, tags, any_source, any_tag, posted = map(int, columns)
        found = lw.analyse_trace(path)
        plain = {call: each.count for call, each in found.by_call.items() if "Sendrecv" not in call}
        assert found.calls == calls
        assert sum(plain.get(f"MPI_{kind}", 0) for kind in ("Send", "Isend", "Rsend")) == sends
        assert sum(plain.get(f"MPI_{kind}", 0) for kind in ("Recv", "Irecv")) == receives
        assert (found.wildcards.source, found.wildcards.tag) == (any_source, any_tag)
        assert receiving(path) == (peers, tags, posted)


def receiving(path: Path) -> tuple[int, int, int]:
    """Sources of receives with wildcards, tags of sends and receives, and most nonblocking receives between two calls
    of MPI_Wait or MPI_Waitall; MPI_Sendrecv aside, as the publishers have it."""
    trace = lw.read_trace(path)
    sources, tags, run, most = set(), set(), 0, 0
    for call in trace.calls(trace.ranks[0]):
        run = 0 if call.name in ("MPI_Wait", "MPI_Waitall") else run
        for each in call.first if "Sendrecv" not in call.name else ():
            if isinstance(each, (Send, Receive)):
                tags.add(each.tag)
            if isinstance(each, Receive):
                run += call.name == "MPI_Irecv"
                sources.add(each.source)
        most = max(most, run)
    return len(sources), len(tags), most


def test_counts_of_shared_traces(shared: Path) -> None:
    """Where a whole run is traced, the tracing library counted as many calls as are in the file."""
    for name in ("BigFFT", "MultiGrid"):
        counts = DumpiFile(shared / f"{name}.bin", name).counts()
        found = {call: each.count for call, each in lw.analyse_trace(shared / f"{name}.bin").by_call.items()}
        assert found == counts


def test_queues_of_one_rank_are_inferred(shared: Path) -> None:
    found = lw.analyse_trace(shared / "AMG.bin")
    assert (found.ranks, found.world) == (1, 27)
    assert found.queues.inferred == found.messages.receives == 386
    assert found.queues.posted.length.maximum == 13
    assert found.unexpected_share is None
    allowed = {each.name: each.allowed for each in found.relaxations}
    assert allowed["no source wildcard"] is True
    assert allowed["no unexpected messages"] is None


def program(seed: int, ranks: int, messages: int) -> list[list[tuple[str, int, int, int, int]]]:
    """Sends and receives of a random program that ends: (what, time, peer, tag, sequence) by rank."""
    choose = random.Random(seed)
    found: list[list[tuple[str, int, int, int, int]]] = [[] for _ in range(ranks)]
    for number in range(messages):
        source, dest, tag = choose.randrange(ranks), choose.randrange(ranks), choose.randrange(3)
        found[source].append(("send", choose.randrange(1, 10_000), dest, tag, number))
        wild = choose.random() < 0.3
        found[dest].append(("post", choose.randrange(1, 10_000), -1 if wild else source, tag, number))
    return [sorted(each, key=lambda event: event[1]) for each in found]


@pytest.mark.parametrize("seed", range(12))
def test_queues_of_random_programs(tmp_path: Path, seed: int) -> None:
    ranks = 4
    events = program(seed, ranks, 150)
    for rank, own in enumerate(events):
        calls = [tf.comm_rank(rank), tf.comm_size(ranks)]
        for what, time, peer, tag, number in own:
            made = tf.isend if what == "send" else tf.irecv
            calls.append(made(time, peer, tag, 2 + number, count=1 + number % 5))
        tf.write_dumpi(tmp_path / f"run-{rank:04}.bin", calls)
    found = lw.analyse_trace(tmp_path)
    matchers = [Matcher() for _ in range(ranks)]
    depths: list[list[int]] = [[], []]
    unexpected = 0
    order = [(time, rank, what, peer, tag) for rank, own in enumerate(events) for what, time, peer, tag, _ in own]
    for _, rank, what, peer, tag in sorted(order, key=lambda each: each[:2]):
        if what == "send":
            depths[0].append(matchers[peer].arrive(rank, tag, "world", 1).depth)
        else:
            search = matchers[rank].post(peer, tag, "world", 1)
            depths[1].append(search.depth)
            unexpected += search.found is not None
    assert found.queues.unexpected_messages == unexpected
    for figures, expected in ((found.queues.posted, depths[0]), (found.queues.unexpected, depths[1])):
        assert figures.depth.count == len(expected)
        assert figures.depth.mean == pytest.approx(sum(expected) / len(expected))
        assert figures.depth.maximum == max(expected)
        assert figures.depth.p90 == sorted(expected)[-(-len(expected) * 90 // 100) - 1]
    assert found.wildcards.source == sum(peer == -1 for _, _, what, peer, _ in order if what == "post")


def test_statuses_are_held_against_the_model(tmp_path: Path) -> None:
    """The second run tells of a receive that it got what was sent later."""
    for name, tags in (("right", (1, 2)), ("wrong", (2, 1))):
        sender = [tf.comm_rank(0), tf.comm_size(2), tf.send(10, 11, 1, 1), tf.send(12, 13, 1, 2)]
        receiver = [tf.comm_rank(1), tf.comm_size(2)]
        receiver += [tf.recv(20 + i, 21 + i, 0, -1, (4, 0, tag)) for i, tag in enumerate(tags)]
        folder = tmp_path / name
        folder.mkdir()
        tf.write_dumpi(folder / "run-0000.bin", sender)
        tf.write_dumpi(folder / "run-0001.bin", receiver)
        queues = lw.analyse_trace(folder).queues
        assert (queues.as_recorded, queues.differing) == ((2, 0) if name == "right" else (0, 2))


def test_relaxations(tmp_path: Path) -> None:
    def allowed(sender: list[tf.Dumpi], receiver: list[tf.Dumpi]) -> dict[str, bool | None]:
        tf.write_dumpi(tmp_path / "run-0000.bin", [tf.comm_rank(0), tf.comm_size(2), *sender])
        tf.write_dumpi(tmp_path / "run-0001.bin", [tf.comm_rank(1), tf.comm_size(2), *receiver])
        return {each.name: each.allowed for each in lw.analyse_trace(tmp_path).relaxations}

    posted = [tf.irecv(1, 0, 1, 2), tf.irecv(2, 0, 2, 3), tf.waitall(30, 31, (2, 3))]
    found = allowed([tf.send(10, 11, 1, 1), tf.send(12, 13, 1, 2)], posted)
    assert set(found.values()) == {True}
    found = allowed([tf.send(10, 11, 1, 1), tf.send(12, 13, 1, 1)], [tf.irecv(1, 0, 1, 2), tf.irecv(2, -1, 1, 3)])
    assert found["no source wildcard"] is False
    assert found["overtaking"] is False
    assert found["no tag wildcard"] is True
    found = allowed([tf.send(1, 2, 1, 1, count=3)], [tf.irecv(5, 0, -1, 2, count=8), tf.waitall(6, 7, (2,))])
    assert found == {
        "no source wildcard": True,
        "no tag wildcard": False,
        "exact length": False,
        "overtaking": True,
        "no unexpected messages": False,
    }


def test_communicators_of_the_program(tmp_path: Path) -> None:
    """Ranks 3, 2, 1, 0 in halves that count backwards, where each sends to the other."""
    for rank in range(4):
        split = {"oldcomm": tf.WORLD, "color": rank % 2, "key": -rank, "newcomm": 4 + rank}
        calls = [tf.comm_rank(rank), tf.comm_size(4), tf.Dumpi("MPI_Comm_split", 5, 6, split)]
        duplicate = {"oldcomm": 4 + rank, "newcomm": 9}
        calls += [tf.Dumpi("MPI_Comm_dup", 7, 8, duplicate)]
        other = 1 if rank >= 2 else 0
        calls += [tf.irecv(20, other, 1, 2, comm=9), tf.isend(30 + rank, other, 1, 3, comm=9)]
        calls += [tf.waitall(40, 41, (2, 3), ((4, other, 1), (0, 0, 0)))]
        tf.write_dumpi(tmp_path / f"run-{rank:04}.bin", calls)
    found = lw.analyse_trace(tmp_path)
    assert (found.queues.recorded, found.queues.as_recorded, found.queues.differing) == (4, 4, 0)
    assert found.peers.maximum == 1
    assert (found.messages.communicators, found.messages.by_communicator) == (2, {"others": 4})


def test_every_way_to_end_requests(tmp_path: Path) -> None:
    """One rank, whose partner is not traced: a receive leaves the queue when its request ends."""
    status = ((4, 1, 1),)
    calls = [tf.comm_rank(0), tf.comm_size(2), *(tf.irecv(1 + i, 1, i, 2 + i) for i in range(8))]
    ends = [
        ("MPI_Test", {"request": 2, "flag": 0, "status": ()}),
        ("MPI_Test", {"request": 2, "flag": 1, "status": status}),
        ("MPI_Waitany", {"count": 2, "requests": (3, 4), "index": 1, "status": status}),
        ("MPI_Waitsome", {"count": 2, "requests": (3, 5), "outcount": 1, "indices": (1,), "statuses": status}),
        ("MPI_Testall", {"count": 1, "requests": (3,), "flag": 1, "statuses": status}),
        ("MPI_Testany", {"count": 2, "requests": (6, 7), "index": 0, "flag": 1, "status": status}),
        ("MPI_Cancel", {"request": 7}),
        ("MPI_Wait", {"request": 7, "status": ((0, 0, 0, 1),)}),
        ("MPI_Cancel", {"request": 8}),  # too late
        ("MPI_Wait", {"request": 8, "status": status}),
    ]
    calls += [tf.Dumpi(name, 20 + i, 20 + i, fields) for i, (name, fields) in enumerate(ends)]
    persistent = {"count": 2, "datatype": tf.INT, "source": 1, "tag": 5, "comm": tf.WORLD, "request": 20}
    calls += [tf.Dumpi("MPI_Recv_init", 40, 40, persistent)]
    for time in (41, 43):
        calls += [tf.Dumpi("MPI_Start", time, time, {"request": 20}), tf.wait(time + 1, time + 1, 20, (8, 1, 5))]
    path = tf.write_dumpi(tmp_path / "alone.bin", calls)
    found = lw.analyse_trace(path)
    assert found.messages.receives == 10
    assert (found.queues.inferred, found.queues.receives_left) == (8, 1)
    assert found.queues.posted.length.maximum == 8


def test_functions_of_the_program_are_passed_over(tmp_path: Path) -> None:
    own = [tf.Dumpi(f"function {way}", 1, 1, {"function": 1 << 40}) for way in ("enter", "exit")]
    path = tf.write_dumpi(tmp_path / "own.bin", [own[0], tf.send(1, 2, 1, 1), own[1], tf.send(3, 4, 1, 1)])
    assert {name: each.count for name, each in lw.analyse_trace(path).by_call.items()} == {"MPI_Send": 2}


def test_types_that_the_program_makes(tmp_path: Path) -> None:
    vector = {"count": 3, "blocklength": 2, "stride": 9, "oldtype": tf.INT, "newtype": 30}
    struct = {"count": 2, "lengths": (1, 2), "indices": (0, 8), "oldtypes": (30, 14), "newtype": 31}
    sent = {"count": 2, "dest": 1, "tag": 0, "comm": tf.WORLD}
    calls = [
        tf.Dumpi("MPI_Type_vector", 1, 1, vector),
        tf.Dumpi("MPI_Type_struct", 2, 2, struct),
        tf.Dumpi("MPI_Send", 3, 3, {**sent, "datatype": 31}),
        tf.Dumpi("MPI_Send", 4, 4, {**sent, "datatype": 77}),
    ]
    found = lw.analyse_trace(tf.write_dumpi(tmp_path / "types.bin", calls)).messages
    assert (found.bytes, found.unknown_bytes) == (2 * (24 + 16), 1)
    assert found.by_datatype == {"user-defined": 2}


def test_otf2_receives_get_their_source_when_they_end(tmp_path: Path) -> None:
    """Rank 1 posts two receives and ends them the other way round; a third is cancelled."""
    sends = [
        *tf.inside("MPI_Send", 100, 110, (14, (1, 0, 7, 300))),
        *tf.inside("MPI_Send", 120, 130, (14, (1, 0, 8, 4))),
    ]
    receives = [
        *tf.inside("MPI_Irecv", 10, 11, (17, (1,))),
        *tf.inside("MPI_Irecv", 12, 13, (17, (2,))),
        *tf.inside("MPI_Irecv", 14, 15, (17, (3,))),
        *tf.inside("compute", 20, 30),
        *tf.inside("MPI_Wait", 200, 210, (19, (0, 0, 8, 4, 2)), (19, (0, 0, 7, 300, 1)), (21, (3,))),
    ]
    found = lw.analyse_trace(tf.write_otf2(tmp_path / "run", [sends, receives], regions={1: 40, 2: 1}))
    assert (found.queues.recorded, found.queues.as_recorded, found.queues.receives_left) == (2, 2, 0)
    assert {name: each.count for name, each in found.by_call.items()} == {"MPI_Irecv": 3, "MPI_Send": 2, "MPI_Wait": 1}
    assert (found.in_flight.maximum, found.tags.greatest, found.messages.bytes) == (3, 8, 304)


def test_otf2_clocks_are_corrected(tmp_path: Path) -> None:
    """The clock of rank 1 is 1,000 ticks behind at first and 1,200 at the end."""
    events = [tf.inside("MPI_Send", 100, 200, (14, (1, 0, 7, 1))), tf.inside("MPI_Recv", 500, 600, (18, (0, 0, 7, 1)))]
    path = tf.write_otf2(tmp_path / "run", events, clocks=[(), ((0, 1000), (1000, 1200))])
    trace = lw.read_trace(path)
    (call,) = trace.calls(1)
    assert (call.start, call.stop) == (1600, 1720)
    assert lw.analyse_trace(trace).queues.unexpected_messages == 1


def test_otf2_of_many_chunks(tmp_path: Path) -> None:
    events = [event for i in range(500) for event in tf.inside("MPI_Send", 10 * i, 10 * i + 5, (14, (0, 0, i % 9, i)))]
    found = lw.analyse_trace(tf.write_otf2(tmp_path / "run", [events]))
    assert (found.messages.count, found.messages.bytes, found.tags.different) == (500, sum(range(500)), 9)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "tar", "tar.gz", "tar.xz", "folder", "meta"])
def test_ways_to_keep_traces(tmp_path: Path, example: Path, kind: str) -> None:
    source = example / "testtrace-0001.bin"
    target = tmp_path / f"run.bin.{kind}"
    if kind in ("gz", "bz2", "xz"):
        opener = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}[kind]
        with opener(target, "wb") as file:
            file.write(source.read_bytes())
    elif kind.startswith("tar"):
        with tarfile.open(target, "w:" + kind[4:]) as archive:
            for each in sorted(example.iterdir()):
                archive.add(each, f"deep/er/{each.name}")
    else:
        target = example if kind == "folder" else example / "testtrace.meta"
    trace = lw.read_trace(target)
    several = kind not in ("gz", "bz2", "xz")
    assert trace.ranks == ((0, 1, 2, 3) if several else (1,))
    assert (trace.world, trace.complete) == (4, several)
    assert sum(1 for rank in trace.ranks for _ in trace.calls(rank)) == 9 * len(trace.ranks)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_files_beside_traces_are_passed_over(
    tmp_path: Path, example: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pack(b"p sp 3 1\na 1 2 3\n" * 1000)
    (tmp_path / "run.bin").write_bytes((example / "testtrace-0001.bin").read_bytes())
    (tmp_path / "whole.gr.gz").write_bytes(whole)
    (tmp_path / "broken.gr.gz").write_bytes(whole + b"junk")
    monkeypatch.setattr(Unpacked, "unpack", lambda *_: pytest.fail("it is unpacked"))
    assert lw.read_trace(tmp_path).ranks == (1,)


@pytest.mark.parametrize("content", ["trace", "archive", "nothing that can be told"])
def test_a_broken_file_that_may_hold_a_trace_is_told(tmp_path: Path, example: Path, content: str) -> None:
    source = example / "testtrace-0001.bin"
    (tmp_path / "run.bin").write_bytes(source.read_bytes())
    broken = tmp_path / "other.gz"
    if content == "archive":
        with tarfile.open(broken, "w:gz") as archive:
            archive.add(source, "run.bin")
    else:
        broken.write_bytes(gzip.compress(source.read_bytes()))
    whole = broken.read_bytes()
    broken.write_bytes(whole[:5] if content == "nothing that can be told" else whole[: len(whole) // 2])
    words = r"other.gz: broken: .*; it was found in what was asked for, and may hold a trace$"
    with pytest.raises(lw.UsageError, match=words):
        lw.read_trace(tmp_path)
    with pytest.raises(lw.UsageError, match=r"other.gz: broken: [^;]*$"):
        lw.read_trace(broken)


def test_unpacked_files_go_with_the_trace() -> None:
    trace = lw.read_trace(EXAMPLE)
    place = trace.unpacked[0].path
    assert place.is_dir()
    del trace
    assert not place.exists()


def test_signals_leave_no_unpacked_files() -> None:
    program = (
        "from laneway import signals; signals.end_on_signals()\n"
        "import sys; from laneway.traces.files import read_trace\n"
        "trace = read_trace(sys.argv[1]); print(trace.unpacked[0].path, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(STENCIL)]
    started = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    place = Path(started.stdout.readline().strip())
    assert place.is_dir()
    started.send_signal(signal.SIGTERM)
    _, errors = started.communicate(timeout=60)
    assert (started.returncode, errors) == (143, "laneway: ended by SIGTERM\n")
    assert not place.exists()


def test_rank_0_is_that_of_its_file(tmp_path: Path) -> None:
    """Also where another rank's file is seen first."""
    for rank in (2, 0):
        tf.write_dumpi(tmp_path / f"run-{rank:04}.bin", [tf.comm_rank(rank), tf.comm_size(3), tf.send(1, 2, 1, 1)])
    trace = lw.find_traces([tmp_path / "run-0002.bin", tmp_path / "run-0000.bin"])[0]
    assert trace.ranks == (0, 2)
    assert [call.rank for call in trace.calls(0)] == [0, 0, 0]
    assert [time for time, _, _ in trace.in_order()] == sorted(time for time, _, _ in trace.in_order())


def test_several_traces(tmp_path: Path) -> None:
    for name in ("a", "b"):
        tf.write_dumpi(tmp_path / f"{name}.bin", [tf.send(1, 2, 1, 1)])
    assert [Path(each.name).name for each in lw.find_traces([tmp_path])] == ["a.bin", "b.bin"]
    with pytest.raises(lw.UsageError, match=r"2 traces \(.*a\.bin, .*b\.bin\), expected one"):
        lw.read_trace(tmp_path)
