"""What operations of traces send: sizes, volume and datatypes of messages and collectives, against figures that are
computed here from the calls' arguments."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
import trace_files as tf
from conftest import ROOT, Run
from laneway.traces.dumpi import DumpiFile
from laneway.traces.unpack import Unpacked

SHARED = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "traces" / "mpi-traces.tar.xz"
EXAMPLE, STENCIL = ROOT / "data" / "testtrace.tar.xz", ROOT / "data" / "stencil4d-32.tar.xz"
MESSAGES = ("Send", "Rsend", "Isend", "Sendrecv_replace")
MESSAGE_CALLS = (*MESSAGES, "Recv", "Irecv", "Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall")
COLLECTIVES = ("Alltoallv", "Reduce", "Bcast", "Allreduce", "Allgather", "Barrier")
NAMES = {5: "MPI_BYTE", 4: "MPI_UNSIGNED_CHAR", 9: "MPI_INT", 11: "MPI_LONG", 14: "MPI_DOUBLE", 19: "MPI_PACKED"}
BYTES = {"MPI_UNSIGNED_CHAR": 1, "MPI_INT": 4, "MPI_LONG": 8, "MPI_DOUBLE": 8}
INT, DOUBLE = 9, 14


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    if not SHARED.exists():
        pytest.skip("shared data not at hand: traces")
    holder = Unpacked()
    yield holder.unpack(SHARED, "traces") / "traces"


def least_of_share(sizes: list[int], percent: int) -> int:
    """The least number that so many do not exceed."""
    return sorted(sizes)[max(-(-len(sizes) * percent // 100), 1) - 1]


@pytest.mark.parametrize("name", ["AMG", "BigFFT", "CrystalRouter", "MiniDFT", "MultiGrid"])
def test_operations_of_shared_traces(shared: Path, name: str) -> None:
    """Counts, elements, datatypes and seconds of each operation, and bytes of types whose size MPI's names tell."""
    elements: dict[str, list[int]] = defaultdict(list)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    nanoseconds: Counter[str] = Counter()
    wanted = frozenset(f"MPI_{each}" for each in (*MESSAGES, *COLLECTIVES))
    for call, start, stop, fields in DumpiFile(shared / f"{name}.bin", name).records(wanted):
        plain = call.removeprefix("MPI_")
        if plain not in (*MESSAGE_CALLS, *COLLECTIVES):
            continue
        operation = call if plain in COLLECTIVES else "point-to-point"
        nanoseconds[operation] += stop - start
        if plain in MESSAGES or plain in COLLECTIVES[:-1]:
            counts = [fields[each] for each in ("count", "sendcount") if each in fields] or fields["sendcounts"]
            elements[operation].append(sum(counts))
            kind = fields["datatype"] if "datatype" in fields else fields["sendtype"]
            types[operation][NAMES.get(kind, "user-defined")] += 1
    found = lw.analyse_trace(shared / f"{name}.bin").operations
    assert {each for each, sent in found.items() if sent.count} == {*elements} | ({"MPI_Barrier"} & {*nanoseconds})
    for operation, sizes in elements.items():
        sent = found[operation]
        assert (sent.count, sent.elements, sent.unknown_elements) == (len(sizes), sum(sizes), 0), operation
        assert sent.by_datatype == types[operation]
        spread = sent.element_sizes
        shares = [least_of_share(sizes, percent) for percent in (50, 90, 99)]
        assert [spread.median, spread.p90, spread.p99, spread.maximum] == [*shares, max(sizes)]
        assert sum(each.count for each in sent.by_elements) == len(sizes)
        assert sent.seconds == pytest.approx(nanoseconds[operation] / 1e9)
        if set(types[operation]) <= set(BYTES) and len(types[operation]) == 1:
            assert sent.bytes == sum(sizes) * BYTES[next(iter(types[operation]))]


def test_the_example_by_the_publishers_text() -> None:
    """Of rank 0, whose calls are there as text; all four do the same."""
    holder = Unpacked()
    text = (holder.unpack(EXAMPLE, "example") / "testtrace-0000.txt").read_text()
    expected: dict[str, Counter[str]] = defaultdict(Counter)
    for body in re.finditer(r"^(MPI_\w+) entering(.*?)^\1 returning", text, re.MULTILINE | re.DOTALL):
        counts = re.findall(r"^int count=(\d+)$", body[2], re.MULTILINE)
        types = re.findall(r"^MPI_Datatype datatype=\d+ \((\w+)\)$", body[2], re.MULTILINE)
        if counts and types and "recv" not in body[1].lower():
            name = "point-to-point" if "send" in body[1] else body[1]
            expected[name][types[0]] += 1
            expected[name]["elements"] += int(counts[0])
    assert expected
    found = lw.analyse_trace(EXAMPLE).operations
    assert {name for name, each in found.items() if each.by_datatype} == set(expected)
    for name, told in expected.items():
        elements = 4 * told.pop("elements")
        assert found[name].elements == elements
        assert found[name].by_datatype == {each: 4 * count for each, count in told.items()}


def collective(name: str, **fields: Any) -> tf.Dumpi:
    return tf.Dumpi(f"MPI_{name}", 1, 2, {"comm": tf.WORLD, "root": 0, "op": 0, **fields})


def gathered(rank: int, count: int, **more: Any) -> dict[str, Any]:
    return {"commrank": rank, "commsize": 4, "sendcount": count, "sendtype": INT, **more}


def scattered(rank: int, **more: Any) -> dict[str, Any]:
    return {"commrank": rank, "commsize": 4, "recvcount": 9, "recvtype": INT, **more}


FOUR = {"commsize": 4, "recvcounts": (9, 9, 9, 9), "displs": (0, 0, 0, 0), "recvtype": INT}
WIDE = {"sendcounts": (1, 2, 3, 4), "senddispls": (0,) * 4, "recvcounts": (9,) * 4, "recvdispls": (0,) * 4}
CALLS: list[tuple[tf.Dumpi, int, int]] = [
    (collective("Bcast", count=3, datatype=INT), 3, 12),
    (collective("Reduce", count=5, datatype=DOUBLE), 5, 40),
    (collective("Allreduce", count=7, datatype=INT), 7, 28),
    (collective("Scan", count=2, datatype=DOUBLE), 2, 16),
    (collective("Exscan", count=1, datatype=DOUBLE), 1, 8),
    (collective("Gather", **gathered(0, 2, recvcount=8, recvtype=DOUBLE)), 2, 8),
    (collective("Gather", **gathered(1, 6)), 6, 24),
    (collective("Gatherv", **gathered(1, 4), recvtype=INT), 4, 16),
    (collective("Scatter", **scattered(0, sendcount=5, sendtype=DOUBLE)), 20, 160),
    (collective("Scatter", **scattered(1)), 0, 0),
    (collective("Scatterv", **scattered(0, sendtype=INT, sendcounts=(1, 2, 3, 5), displs=(0,) * 4)), 11, 44),
    (collective("Scatterv", **scattered(1, sendtype=INT)), 0, 0),
    (collective("Allgather", sendcount=3, sendtype=INT, recvcount=9, recvtype=DOUBLE), 3, 12),
    (collective("Allgatherv", sendcount=6, sendtype=DOUBLE, **FOUR), 6, 48),
    (collective("Alltoall", sendcount=5, sendtype=INT, recvcount=9, recvtype=DOUBLE), 20, 80),
    (collective("Alltoallv", commsize=4, sendtype=DOUBLE, recvtype=INT, **WIDE), 10, 80),
    (collective("Alltoallw", commsize=4, sendtypes=(INT, INT, DOUBLE, DOUBLE), recvtypes=(INT,) * 4, **WIDE), 10, 68),
    (collective("Reduce_scatter", commsize=4, recvcounts=(1, 1, 2, 2), datatype=DOUBLE), 6, 48),
]


def test_what_each_collective_sends(tmp_path: Path) -> None:
    """Of a rank among four, by the arguments of its calls."""
    calls = [tf.comm_rank(0), tf.comm_size(4), *(call for call, _, _ in CALLS), collective("Barrier")]
    found = lw.analyse_trace(tf.write_dumpi(tmp_path / "all.bin", calls))
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for call, elements, size in CALLS:
        for at, number in enumerate((1, elements, size)):
            expected[call.name][at] += number
    sent = {name: [each.count, each.elements, each.bytes] for name, each in found.operations.items()}
    assert sent.pop("MPI_Barrier") == [1, 0, 0] and sent.pop("point-to-point") == [0, 0, 0]
    assert sent == expected
    assert found.operations["MPI_Barrier"].byte_sizes.count == 0, "it has no sizes"
    assert found.operations["MPI_Alltoallw"].by_datatype == {"several": 1}
    assert found.operations["MPI_Gather"].by_datatype == {"MPI_INT": 2}
    assert (found.volume.elements, found.volume.bytes) == tuple(sum(each[at] for each in CALLS) for at in (1, 2))
    sizes = [each.bytes for each in found.operations.values()][1:]
    assert sizes == sorted(sizes, reverse=True)


def test_what_the_trace_does_not_tell_is_counted(tmp_path: Path) -> None:
    to_each = {"sendcount": 5, "sendtype": INT, "recvcount": 5, "recvtype": INT, "comm": 7}
    asked = tf.Dumpi("MPI_Comm_size", 3, 3, {"comm": 7, "size": 3})
    calls = [collective("Alltoall", **to_each), asked, collective("Alltoall", **to_each)]
    calls += [collective("Bcast", count=2, datatype=99)]
    found = lw.analyse_trace(tf.write_dumpi(tmp_path / "some.bin", calls)).operations
    unknown = found["MPI_Alltoall"]
    assert (unknown.count, unknown.elements, unknown.unknown_elements) == (2, 15, 1), "before its size is asked for"
    assert (unknown.bytes, unknown.unknown_bytes, unknown.byte_sizes.count) == (60, 1, 1)
    own = found["MPI_Bcast"]
    assert (own.elements, own.bytes, own.unknown_bytes, own.by_datatype) == (2, 0, 1, {"user-defined": 1})


def test_collectives_of_otf2(tmp_path: Path) -> None:
    """They tell bytes alone; one without an event tells nothing."""
    ranks = [
        [
            *tf.inside("MPI_Allreduce", 10, 20, (tf.COLLECTIVE_END, (11, 0, 0, 64, 64))),
            *tf.inside("MPI_Allreduce", 30, 40, (tf.COLLECTIVE_END, (11, 0, 0, 16, 16))),
            *tf.inside("MPI_Allreduce", 50, 60),
            *tf.inside("MPI_Barrier", 70, 75, (tf.COLLECTIVE_END, (0, 0, 0, 0, 0))),
        ]
    ]
    found = lw.analyse_trace(tf.write_otf2(tmp_path / "run", ranks))
    sent = found.operations["MPI_Allreduce"]
    assert (sent.count, sent.bytes, sent.unknown_bytes, sent.unknown_elements) == (3, 80, 1, 3)
    assert (sent.byte_sizes.maximum, sent.by_datatype) == (64, {})
    assert found.operations["MPI_Barrier"].unknown_bytes == 0
    assert sum(found.timeline.collective_bytes) == 80


def random_run(folder: Path, seed: int) -> tuple[list[tuple[int, int, int]], int, list[int]]:
    """Two ranks that send and all-reduce at random times, up to so late that bins double: time, bytes and whether it
    is a collective; the first time; and the time of each rank from its first call to its last."""
    choose = random.Random(seed)
    sent, spans = [], []
    for rank in range(2):
        times = sorted(choose.sample(range(1, 40_000), 300))
        calls = []
        for time in times:
            count, as_collective = choose.randrange(1, 2000), choose.random() < 0.5
            if as_collective:
                fields = {"count": count, "datatype": INT, "op": 0, "comm": tf.WORLD}
                calls.append(tf.Dumpi("MPI_Allreduce", time, time, fields))
            else:
                calls.append(tf.send(time, time, 1 - rank, 1, count=count))
            sent.append((time, 4 * count, int(as_collective)))
        tf.write_dumpi(folder / f"run-{rank:04}.bin", calls)
        spans.append(times[-1] - times[0])
    return sent, min(time for time, _, _ in sent), spans


@pytest.mark.parametrize("seed", range(4))
def test_volume_over_time(tmp_path: Path, seed: int) -> None:
    sent, first, spans = random_run(tmp_path, seed)
    found = lw.analyse_trace(tmp_path)
    timeline = found.timeline
    assert timeline.bin_ns > 1_000
    expected = np.zeros((2, len(timeline.bytes)), dtype=np.int64)
    for time, size, as_collective in sent:
        expected[as_collective, (time - first) * 1000 // timeline.bin_ns] += size
    assert list(timeline.bytes) == expected[0].tolist()
    assert list(timeline.collective_bytes) == expected[1].tolist()
    assert list(timeline.bytes_per_second) == pytest.approx((expected.sum(axis=0) * 1e9 / timeline.bin_ns).tolist())
    total = sum(size for _, size, _ in sent)
    assert (found.volume.bytes, found.volume.elements) == (total, total // 4)
    last = max(time for time, _, _ in sent)
    assert found.volume.of_run.bytes == pytest.approx(total * 1e6 / (last - first))
    assert found.volume.of_rank.elements == pytest.approx(total / 4 * 1e6 / sum(spans))
    assert found.volume.of_communication.bytes == 0, "calls took no time"


@pytest.mark.parametrize("seed", range(2))
def test_rates_of_messages_and_of_collectives(tmp_path: Path, seed: int) -> None:
    """In intervals of the clock in which a rank does any, of the ranks together."""
    for rank in range(2):  # a time tells the rank: rank 0 has the even ones
        choose = random.Random(f"{seed} {rank}")
        times = [2 * time + rank for time in sorted(choose.sample(range(50_000), 400))]
        reduces = {"count": 1, "datatype": INT, "op": 0, "comm": tf.WORLD}
        calls = [
            tf.Dumpi("MPI_Allreduce", time, time, reduces) if time % 3 else tf.send(time, time, 1 - rank, 1)
            for time in times
        ]
        tf.write_dumpi(tmp_path / f"run-{rank:04}.bin", calls, seconds=0)
    found = lw.analyse_trace(tmp_path)
    for rates, is_message in ((found.rates, True), (found.collective_rates, False)):
        for rate in rates:
            counts: Counter[tuple[int, int]] = Counter()
            for rank in range(2):
                choose = random.Random(f"{seed} {rank}")
                for time in (2 * time + rank for time in choose.sample(range(50_000), 400)):
                    if (time % 3 == 0) == is_message:
                        counts[rank, time * 1000 // rate.interval_ns] += 1
            expected = sorted(counts.values())
            assert (rate.counts.count, rate.counts.maximum) == (len(expected), expected[-1])
            assert rate.counts.median == least_of_share(expected, 50)
            assert rate.counts.mean == pytest.approx(sum(expected) / len(expected))


def test_volume_of_the_time_in_communication(tmp_path: Path) -> None:
    """Two messages of 8 bytes, by a rank that communicates for 20 of its 100 microseconds."""
    start = tf.Dumpi("MPI_Comm_rank", 0, 5, {"comm": tf.WORLD, "rank": 0})
    calls = [start, tf.send(10, 25, 1, 1, count=2), tf.send(95, 100, 1, 1, count=2)]
    volume = lw.analyse_trace(tf.write_dumpi(tmp_path / "one.bin", calls)).volume
    assert (volume.of_communication.elements, volume.of_communication.bytes) == pytest.approx((4 / 20e-6, 16 / 20e-6))
    assert (volume.of_rank.bytes, volume.of_run.bytes) == pytest.approx((16 / 100e-6, 16 / 100e-6))


def test_tables_json_and_pictures(laneway: Run, tmp_path: Path) -> None:
    rank = [tf.comm_rank(0), tf.comm_size(4), *(call for call, _, _ in CALLS), tf.send(3, 5, 1, 1, count=100)]
    path = tf.write_dumpi(tmp_path / "all.bin", rank)
    done = laneway("trace", path, "--json", "found.json", "--plot", "found.svg")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    total = sum(size for _, _, size in CALLS) + 400
    assert any(line.startswith(f"volume {total:,} bytes with collectives; ") for line in lines)
    assert f"MPI_Scatter 2 2e-06 20 0 20 20 160 0 160 160 {100 * 160 / total:.0f} %" in lines
    assert f"point-to-point 1 2e-06 100 100 100 100 400 400 400 400 {100 * 400 / total:.0f} %" in lines
    assert "MPI_INT 1 100 % 10 56 %" in lines
    rates = [line.split(" #")[0] for line in lines if " ms " in line]
    assert rates[1] == f"0.001 ms 0 0 {total - 400} {total - 400} M" and rates[3] == "0.003 ms 1 400 0 400 M"
    (found,) = json.loads((tmp_path / "work" / "found.json").read_text())["traces"]
    assert found["operations"]["MPI_Scatter"]["byte_sizes"]["maximum"] == 160
    assert found["volume"]["bytes"] == total
    timeline = found["timeline"]
    assert sum(timeline["bytes_per_second"]) * timeline["bin_ns"] / 1e9 == pytest.approx(total)
    drawn = (tmp_path / "work" / "found.svg").read_text()
    for title in (
        "Elements by operation",
        "Volume and time by operation",
        "Datatypes by operation",
        "Volume over time",
    ):
        assert title in drawn
    assert laneway("trace", path, STENCIL, "--plot", "many.svg").returncode == 0
    drawn = (tmp_path / "work" / "many.svg").read_text()
    for title in ("Elements by operation", "Volume by operation", "Datatypes, %", "Bytes/s of a rank"):
        assert title in drawn


def test_pictures_of_next_to_nothing(laneway: Run, tmp_path: Path) -> None:
    empty = tf.write_dumpi(tmp_path / "empty.bin", [tf.comm_rank(0)])
    for files in ([empty], [empty, empty], [empty, STENCIL]):
        done = laneway("trace", *files, "--plot", "found.svg")
        assert (done.returncode, done.stderr) == (0, "")


def test_the_guide_shows_what_the_command_prints(laneway: Run, shared: Path) -> None:
    blocks = (ROOT / "docs" / "guides" / "traces.md").read_text().split("```text\n")[1:]
    (shown,) = (block.split("```")[0] for block in blocks if block.startswith("operation"))
    assert shown in laneway("trace", shared / "MiniDFT.bin").stdout
