"""The command `trace`: what it prints and writes, what it refuses, and broken traces of all kinds."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import tarfile
import time
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import laneway as lw
import pytest
import trace_files as tf
from conftest import ROOT, Run, names
from laneway.traces.unpack import Unpacked, remove_unpacked

SHARED = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "traces" / "mpi-traces.tar.xz"
APPLICATIONS = ("AMG", "BigFFT", "CrystalRouter", "MiniDFT", "MultiGrid")
MUTATIONS = int(os.environ.get("LANEWAY_SEEDS", "300"))
"""Of each file that is broken."""
EXAMPLE, STENCIL = ROOT / "data" / "testtrace.tar.xz", ROOT / "data" / "stencil4d-32.tar.xz"


def test_one_trace_with_all_its_figures(laneway: Run, tmp_path: Path) -> None:
    done = laneway("trace", STENCIL, "--json", "found.json", "--plot", "found.png")
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(done.stdout.split())
    for each in (
        "512 sent, 67,108,864 bytes",
        "512 matched as recorded, 0 otherwise",
        "MPI_Irecv receive 512",
        "131,072 262,143 512 ####",
        "no unexpected messages yes 0 512",
        "no source wildcard not told",
        "posted receives 512 4.35",
        "MPI_Barrier 96 0.00863",
        "67,108,864 131,072 131,072 131,072 100 %",
    ):
        assert each in words
    (found,) = json.loads((tmp_path / "work" / "found.json").read_text())["traces"]
    assert (found["ranks"], found["queues"]["as_recorded"], found["by_call"]["MPI_Send"]["count"]) == (32, 512, 512)
    assert found["wildcards"]["source"] is None
    assert (tmp_path / "work" / "found.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_of_many(laneway: Run, tmp_path: Path) -> None:
    done = laneway("trace", STENCIL, EXAMPLE, "--plot", "found.svg", "--json", "found.json")
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split()[:4] == ["trace", "ranks", "calls", "messages"]
    assert [line.split()[1:4] for line in lines] == [["32", "1,216", "512"], ["4", "36", "4"]]
    assert len(json.loads((tmp_path / "work" / "found.json").read_text())["traces"]) == 2
    assert "<svg" in (tmp_path / "work" / "found.svg").read_text()


def guide_lines() -> dict[str, list[str]]:
    """Of the guide's table, by the names of traces."""
    shown = (ROOT / "docs" / "guides" / "traces.md").read_text().split("```text\n")[1].split("```")[0]
    return {line.split()[0]: line.split() for line in shown.splitlines()}


def test_the_guide_shows_what_the_command_prints(laneway: Run) -> None:
    """Of the traces in its table, those that the repository holds."""
    lines = guide_lines()
    for line in laneway("trace", STENCIL, EXAMPLE).stdout.splitlines():
        assert lines.pop(line.split()[0]) == line.split()
    assert sorted(lines) == [f"{name}.bin" for name in APPLICATIONS]


@pytest.mark.skipif(not SHARED.exists(), reason="shared data not at hand: traces")
def test_the_guide_shows_the_shared_traces(laneway: Run) -> None:
    holder = Unpacked()
    folder = holder.unpack(SHARED, "traces") / "traces"
    files = [folder / f"{name}.bin" for name in APPLICATIONS]
    lines, (_, *printed) = guide_lines(), laneway("trace", *files).stdout.splitlines()
    assert [line.split()[0] for line in printed] == [file.name for file in files]
    for line in printed:
        assert lines[line.split()[0]] == line.split()


def packed_outside(path: Path) -> Path:
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("../outside.bin")
        member.size = 3
        archive.addfile(member, BytesIO(b"abc"))
    return path


def test_what_is_no_trace(laneway: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "nothing").mkdir()
    packed_outside(tmp_path / "out.tar")
    os.mkfifo(tmp_path / "pipe")
    whole = tf.write_dumpi(tmp_path / "whole.bin", [tf.send(1, 2, 1, 1)]).read_bytes()
    (tmp_path / "cut.bin").write_bytes(whole[:-70])
    (tmp_path / "lone.meta").write_text("numprocs=2\nfileprefix=lone\n")
    (tmp_path / "half.xz").write_bytes(EXAMPLE.read_bytes()[:900])
    anchor = tf.write_otf2(tmp_path / "run", [tf.inside("MPI_Send", 1, 2, (14, (0, 0, 1, 1)))])
    (tmp_path / "run" / "traces" / "0.evt").unlink()
    cases = {
        "absent": "no such file or directory",
        "empty": "no trace: expected DUMPI",
        "text": "no trace: expected DUMPI",
        "nothing": "no trace: expected DUMPI",
        "pipe": "neither a file nor a directory",
        "out.tar": "lies outside of it",
        "cut.bin": "its index is missing, the end may be cut off",
        "lone.meta": "no files of ranks beside it",
        "half.xz": "broken",
        anchor: "incomplete: traces/0.evt is missing",
    }
    for name, words in cases.items():
        done = laneway("trace", tmp_path / name, "--json", "found.json")
        assert (done.returncode, done.stdout) == (2, ""), name
        assert done.stderr.count("\n") == 1
        assert words in done.stderr
        assert str(name) in done.stderr
    assert names(tmp_path / "work") == []


def test_nothing_unpacked_stays(tmp_path: Path) -> None:
    trace = lw.read_trace(EXAMPLE)
    place = trace.unpacked[0].path
    assert place.is_dir()
    remove_unpacked()
    assert not place.exists()
    half = tmp_path / "half.xz"
    half.write_bytes(EXAMPLE.read_bytes()[:900])
    with pytest.raises(lw.UsageError) as caught:
        lw.read_trace(half)
    assert str(caught.value) == f"{half}: broken: the archive ends early"


def test_wrong_outputs(laneway: Run) -> None:
    done = laneway("trace", EXAMPLE, "--plot", "found.txt")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_outputs_replace_no_trace(laneway: Run, tmp_path: Path) -> None:
    trace = tmp_path / "run.tar.xz"
    trace.write_bytes(EXAMPLE.read_bytes())
    (tmp_path / "more").mkdir()
    (tmp_path / "link").symlink_to(trace)
    anchor = tf.write_otf2(tmp_path / "more" / "otf2", [tf.inside("MPI_Send", 1, 2, (14, (0, 0, 1, 1)))])
    (tmp_path / "other").symlink_to(anchor.parent / "traces")
    rank = tf.write_dumpi(tmp_path / "more" / "lone-0000.bin", [tf.send(1, 2, 1, 1)])
    (meta := tmp_path / "more" / "lone.meta").write_text("numprocs=1\nfileprefix=lone\n")
    for words in (
        [trace, "--json", tmp_path / "more" / ".." / trace.name],
        ["replay", trace, "--devices", "cpu:1", "--json", tmp_path / "link"],
        [tmp_path, "--json", trace],
        [tmp_path / "more", "--json", rank],
        [anchor.parent, "--json", tmp_path / "other" / "0.evt"],
        [anchor, "--json", anchor.with_suffix(".def")],
        [anchor, "--json", anchor.parent / "traces" / "0.evt"],
        [meta, "--json", rank],
    ):
        done = laneway("trace", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), words
        assert "cannot be written: the command reads it" in done.stderr
    assert trace.read_bytes() == EXAMPLE.read_bytes()


def test_outputs_replace_those_of_before_beside_the_traces(laneway: Run, tmp_path: Path) -> None:
    (tmp_path / "run.tar.xz").write_bytes(EXAMPLE.read_bytes())
    for words in ([], [], ["replay", "--devices", "cpu:1"]):
        done = laneway("trace", *words, tmp_path, "--json", tmp_path / "found.json")
        assert (done.returncode, done.stderr) == (0, "")
        assert ("replays" in json.loads((tmp_path / "found.json").read_text())) == bool(words)


def test_two_files_of_one_rank(tmp_path: Path) -> None:
    for name in ("run-0001.bin", "run-00001.bin"):
        tf.write_dumpi(tmp_path / name, [tf.send(1, 2, 1, 1)])
    with pytest.raises(lw.UsageError, match="the same rank as"):
        lw.read_trace(tmp_path)


def small_traces(folder: Path) -> Iterator[Path]:
    """Files to break: DUMPI in both forms, and the files of an OTF2 archive."""
    calls = [
        tf.comm_rank(0),
        tf.comm_size(1),
        tf.Dumpi("MPI_Init", 0, 1, {"argv": (b"program", b"-x")}),
        tf.irecv(2, 0, 1, 2),
        tf.send(3, 4, 0, 1),
        tf.waitall(5, 6, (2,), ((4, 0, 1),)),
        tf.Dumpi(
            "MPI_Alltoall", 7, 8, {"sendcount": 2, "sendtype": 9, "recvcount": 2, "recvtype": 9, "comm": tf.WORLD}
        ),
        tf.Dumpi("MPI_Alltoallw", 9, 9, {"commsize": 1, "comm": tf.WORLD, **dict.fromkeys(LISTS, (1,))}),
    ]
    folder.mkdir()
    yield tf.write_dumpi(folder / "small.bin", calls)
    text = folder / "small.txt"
    text.write_text(TEXT)
    yield text
    events = [
        *tf.inside("MPI_Irecv", 1, 2, (17, (1,))),
        *tf.inside("MPI_Send", 3, 4, (14, (0, 0, 7, 300))),
        *tf.inside("MPI_Wait", 5, 6, (19, (0, 0, 7, 300, 1))),
        *tf.inside("MPI_Allreduce", 7, 8, (tf.COLLECTIVE_END, (11, 0, 0, 8, 8))),
    ]
    anchor = tf.write_otf2(folder / "run", [events], clocks=[((0, 5), (9, 6))])
    yield anchor
    yield folder / "run" / "traces.def"
    yield folder / "run" / "traces" / "0.evt"
    yield folder / "run" / "traces" / "0.def"


LISTS = ("sendcounts", "senddispls", "sendtypes", "recvcounts", "recvdispls", "recvtypes")
TEXT = """version=1.0.0
starttime=Thu Feb  3 16:05:56 2011
MPI_Irecv entering at walltime 12.000000001, cputime 0.007712000 seconds in thread 0.
int count=1
MPI_Datatype datatype=9 (MPI_INT)
int source=0
int tag=7
MPI_Comm comm=2 (MPI_COMM_WORLD)
MPI_Request request=[2]
MPI_Irecv returning at walltime 12.000000009, cputime 0.007716000 seconds in thread 0.
MPI_Wait entering at walltime 13.000000001, cputime 0.007712000 seconds in thread 0.
MPI_Request request=[2]
MPI_Status status=[{bytes=4, cancelled=0, source=0, tag=7, error=0}]
MPI_Wait returning at walltime 13.000000009, cputime 0.007716000 seconds in thread 0.
"""


def test_small_traces_are_whole(tmp_path: Path) -> None:
    for path in small_traces(tmp_path / "whole"):
        if path.suffix in (".bin", ".txt", ".otf2"):
            found = lw.analyse_trace(path)
            assert found.messages.receives == 1


def mutated(content: bytes, choose: random.Random) -> bytes:
    """Bytes changed, cut, doubled, or replaced by others that are often limits."""
    changed = bytearray(content)
    for _ in range(choose.choice((1, 1, 2, 5))):
        at = choose.randrange(len(changed)) if changed else 0
        what = choose.randrange(6)
        if what == 0:
            changed[at : at + 1] = bytes([choose.randrange(256)])
        elif what == 1:
            del changed[at:]
        elif what == 2:
            changed[at : at + 4] = choose.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"))
        elif what == 3:
            del changed[at : at + choose.randrange(1, 9)]
        elif what == 4:
            changed[at:at] = changed[at : at + choose.randrange(1, 40)]
        elif changed:
            changed[at] ^= 1 << choose.randrange(8)
    return bytes(changed)


def packed_traces(folder: Path) -> Iterator[Path]:
    """Files to break that hold others: archives, plain and compressed, a compressed file, and that of a run's ranks."""
    inside = list(small_traces(folder / "inside"))
    for kind in ("", "gz", "xz"):
        path = folder / f"small.tar.{kind}"
        with tarfile.open(path, f"w:{kind}") as archive:  # type: ignore[call-overload]
            archive.add(inside[0], "run-0001.bin")
            archive.add(inside[2].parent, "run")
        yield path
    lone = folder / "small.bin.gz"
    lone.write_bytes(gzip.compress(inside[0].read_bytes()))
    yield lone
    for rank in range(2):
        shutil.copy(inside[0], folder / f"run-{rank:04}.bin")
    meta = folder / "run.meta"
    meta.write_text("hostname=node1\nnumprocs=2\nusername=someone\nstartime=1\nfileprefix=run\nversion=1\n")
    yield meta


def files_to_break(folder: Path) -> list[tuple[Path, Path]]:
    """Each with what is then opened."""
    files = list(small_traces(folder))
    anchor = files[2]
    whole = [(path, path if number < 3 else anchor) for number, path in enumerate(files)]
    return whole + [(path, path) for path in packed_traces(folder)]


@pytest.mark.parametrize("which", range(11))
def test_broken_traces_are_refused_or_read(tmp_path: Path, which: int) -> None:
    """No mutation of a trace leads to another exception than UsageError, takes long, or takes much memory."""
    path, opened = files_to_break(tmp_path / "broken")[which]
    whole = path.read_bytes()
    choose = random.Random(f"broken {which}")
    refused = 0
    tracemalloc.start()
    try:
        for number in range(MUTATIONS):
            path.write_bytes(mutated(whole, choose))
            begin = time.process_time()
            try:
                for trace in lw.find_traces([opened]):
                    lw.analyse_trace(trace)
            except lw.UsageError as error:
                assert "\n" not in str(error)
                refused += 1
            except Exception as error:
                pytest.fail(f"mutation {number}: {type(error).__name__}: {error}")
            assert time.process_time() - begin < 5, f"mutation {number} takes long"
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert refused > MUTATIONS // 15


@pytest.mark.parametrize("which", [0, 2, 3, 4])
def test_traces_that_are_cut_off(tmp_path: Path, which: int) -> None:
    """At every length of a binary file, what is left is refused."""
    path = list(small_traces(tmp_path / "cut"))[which]
    whole = path.read_bytes()
    opened = path if which < 3 else path.parents[which > 3] / "traces.otf2"
    least = 46 if which == 2 else len(whole) - 1  # of the anchor only the settings at its begin are read
    for length in range(0, least, 1 + least // 150):
        path.write_bytes(whole[:length])
        with pytest.raises(lw.UsageError):
            lw.analyse_trace(opened)


def test_archives_that_end_in_their_headers(tmp_path: Path) -> None:
    for path in packed_traces(tmp_path):
        whole = path.read_bytes()
        for length in range(40 if path.suffix != ".meta" else 9):
            path.write_bytes(whole[:length])
            with pytest.raises(lw.UsageError):
                lw.read_trace(path)


def long_trace(folder: Path, form: str, calls: int) -> Path:
    """Of one rank: messages to itself, each received before the next."""
    folder.mkdir()
    if form == "otf2":
        events = []
        for i in range(0, calls, 2):
            events += tf.inside("MPI_Send", 10 * i, 10 * i + 5, (14, (0, 0, i % 9, 64)))
            events += tf.inside("MPI_Recv", 10 * i + 10, 10 * i + 15, (18, (0, 0, i % 9, 64)))
        return tf.write_otf2(folder / "run", [events])
    if form == "text":
        head, _, body = TEXT.replace("source=0", "source=1").partition("MPI_Irecv")  # which is not traced
        path = folder / "long.txt"
        later = (("MPI_Irecv" + body).replace("walltime 1", f"walltime {i}") for i in range(calls // 2))
        path.write_text(head + "".join(later))
        return path
    pairs = ((tf.send(4 * i, 4 * i + 1, 0, i % 9), tf.recv(4 * i + 2, 4 * i + 3, 0, i % 9)) for i in range(calls // 2))
    return tf.write_dumpi(folder / "long.bin", [call for pair in pairs for call in pair])


@pytest.mark.parametrize("form", ["dumpi", "text", "otf2"])
def test_memory_does_not_grow_with_a_trace(tmp_path: Path, form: str) -> None:
    """Of a trace three times as long, whose file has grown by far more than what may come on top."""
    most, sizes = [], []
    for calls in (200, 4_000, 12_000):  # the first one also takes what is made once
        path = long_trace(tmp_path / f"{calls}-{len(most)}", form, calls)
        tracemalloc.start()
        try:
            assert sum(each.count for each in lw.analyse_trace(path).by_call.values()) == calls
            most.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        sizes.append((path.parent / "traces" / "0.evt" if form == "otf2" else path).stat().st_size)
    assert sizes[2] > sizes[1] + (1 << 18)
    assert most[2] < most[1] + (1 << 15)
