"""Replays of traces on devices, held against the sequential model."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import laneway as lw
import pytest
import trace_files as tf
from conftest import ROOT, Run
from laneway.arguments import BUFFER_BYTES
from laneway.traces.calls import ANY_SOURCE, ANY_TAG
from laneway.traces.device_replay import EventReplay
from laneway.traces.unpack import Unpacked
from laneway.workspace import Workspace

SHARED = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "traces" / "mpi-traces.tar.xz"
EXAMPLE, STENCIL = ROOT / "data" / "testtrace.tar.xz", ROOT / "data" / "stencil4d-32.tar.xz"


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_the_stencil_matches_as_the_model_has_it(devices: str) -> None:
    found = lw.replay_trace(STENCIL, devices=devices)
    assert (found.messages, found.receives, found.queues, found.matches) == (512, 512, 32, 512)
    assert (found.differing, found.inferred, found.left_out) == (0, 0, 0)
    assert (found.as_recorded, found.otherwise) == (512, 0)
    assert found.seconds > 0


@pytest.mark.skipif(not SHARED.exists(), reason="shared data not at hand: traces")
def test_shared_traces_are_replayed_whole() -> None:
    """The stencil as it is recorded; of single ranks every receive, by the message that its end tells of."""
    holder = Unpacked()
    folder = holder.unpack(SHARED, "traces") / "traces"
    stencil = lw.replay_trace(folder / "tracer_stencil4d_otf2", devices="cpu:2")
    assert (stencil.matches, stencil.as_recorded, stencil.otherwise, stencil.inferred) == (512, 512, 0, 0)
    for name in ("AMG", "BigFFT", "CrystalRouter", "MiniDFT", "MultiGrid"):
        path = folder / f"{name}.bin"
        queues = lw.analyse_trace(path).queues
        found = lw.replay_trace(path, devices="cpu:2")
        assert (found.differing, found.left_out, found.inferred) == (0, 0, queues.inferred), name
        assert found.matches == queues.inferred + queues.recorded - queues.messages_left, name


def one_rank(folder: Path, ends: Sequence[int]) -> Path:
    """A rank whose peers are not traced: receives from any rank and from rank 1, which end in this order."""
    statuses = {2: (4, 2, 5), 3: (4, 1, 5)}
    calls = [tf.comm_rank(0), tf.comm_size(3), tf.irecv(1, -1, 5, 2), tf.irecv(2, 1, 5, 3)]
    calls += [tf.wait(10 * i + 10, 10 * i + 11, request, statuses[request]) for i, request in enumerate(ends)]
    return tf.write_dumpi(folder / "run-0000.bin", calls)


def test_messages_of_untraced_ranks_come_when_their_receives_end(tmp_path: Path) -> None:
    found = lw.replay_trace(one_rank(tmp_path, (2, 3)), devices="checked:2")
    assert (found.messages, found.receives, found.matches) == (2, 2, 2)
    assert (found.inferred, found.left_out, found.differing) == (2, 0, 0)


def test_a_message_that_an_earlier_receive_would_take_is_left_out(tmp_path: Path) -> None:
    """It came after that of the receive from any rank, which is known only later."""
    found = lw.replay_trace(one_rank(tmp_path, (3, 2)), devices="checked:2")
    assert (found.messages, found.receives, found.matches) == (1, 1, 1)
    assert (found.inferred, found.left_out, found.differing) == (1, 1, 0)


def test_statuses_that_say_otherwise_are_told(laneway: Run, tmp_path: Path) -> None:
    tf.write_dumpi(
        tmp_path / "run-0000.bin", [tf.comm_rank(0), tf.comm_size(2), *(tf.send(t, t, 1, 5) for t in (1, 2))]
    )
    ends = [tf.wait(20 + request, 20 + request, request, (2 * request, 0, 5)) for request in (2, 3)]
    receives = [tf.irecv(10 + request, 0, 5, request) for request in (2, 3)]
    tf.write_dumpi(tmp_path / "run-0001.bin", [tf.comm_rank(1), tf.comm_size(2), *receives, *ends])
    found = lw.replay_trace(tmp_path, devices="cpu:1")
    assert (found.matches, found.differing, found.as_recorded, found.otherwise) == (2, 0, 1, 1)
    done = laneway("trace", "replay", tmp_path, "--devices", "cpu:1")
    assert (done.returncode, "1 of 2" in done.stdout) == (0, True)


@pytest.fixture(scope="module")
def workspace() -> Iterator[Workspace]:
    with Workspace("cpu:2", 1, 60, False, BUFFER_BYTES) as opened:
        yield opened


@pytest.mark.parametrize(("seed", "batch"), [(0, 1000), (1, 1000), (2, 100), (3, 10), (4, 3)])
def test_random_calls_with_withdrawals(workspace: Workspace, seed: int, batch: int) -> None:
    choose = random.Random(seed)
    replay = EventReplay(workspace, 60, batch)
    matchers = [replay.matcher(rank) for rank in range(3)]
    waiting: list[tuple[int, int, int, int, str]] = []
    events = inferred = 0
    for number in range(400):
        rank, communicator = choose.randrange(3), choose.choice("ab")
        source, tag = choose.randrange(3), 1000 * choose.randrange(3)
        if choose.random() < 0.45:
            found = matchers[rank].arrive(source, tag, communicator, f"message {number}")
            assert found.found is None or found.found.startswith("receive")
            events += 1
        elif choose.random() < 0.8 or not waiting:
            source, tag = choose.choice((source, ANY_SOURCE)), choose.choice((tag, ANY_TAG))
            found = matchers[rank].post(source, tag, communicator, f"receive {number}")
            assert found.found is None or found.found.startswith("message")
            events += 1
            if found.found is None:
                waiting.append((rank, found.ticket, source, tag, communicator))
        else:
            rank, ticket, source, tag, communicator = waiting.pop(choose.randrange(len(waiting)))
            source = choose.randrange(3) if source == ANY_SOURCE else source
            tag = 1000 * choose.randrange(3) if tag == ANY_TAG else tag
            comes = choose.random() < 0.7
            first = matchers[rank].first_posted(source, tag, communicator) == ticket
            end = partial(matchers[rank].infer, ticket, source, tag, communicator)
            found = end() if comes else matchers[rank].withdraw(ticket)
            assert found.found is None or found.found.startswith("receive")
            if found.found is not None:
                events += 1 if comes and first else -1
                inferred += comes and first
        kept = sum(len(each.posted) + len(each.unexpected) for each in matchers)
        assert len(replay) <= kept + 2 * batch
    result = replay.result()
    assert result.differing == 0
    assert result.matches > 50
    assert result.inferred == inferred > 5
    assert result.messages + result.receives == events


def test_a_model_that_differs_is_told(workspace: Workspace) -> None:
    replay = EventReplay(workspace, 60)
    matcher = replay.matcher(0)
    for _ in range(2):
        matcher.post(0, 0, "world", "receive")
    for _ in range(2):
        matcher.arrive(0, 0, "world", "message")
    replay.match(0, 3)
    replay.match(1, 2)
    assert replay.result().differing == 4


def test_the_command(laneway: Run, tmp_path: Path) -> None:
    done = laneway("trace", "replay", STENCIL, EXAMPLE, "--devices", "cpu:2", "--json", "found.json")
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split() == [
        "trace",
        "messages",
        "receives",
        "queues",
        "inferred",
        "matches",
        "differing",
        "as",
        "recorded",
        "depth",
        "time",
        "matches/s",
    ]
    assert [line.split()[1:7] for line in lines] == [
        ["512", "512", "32", "0", "512", "0"],
        ["4", "4", "4", "0", "4", "0"],
    ]
    assert "512 of 512" in lines[0]
    replays = json.loads((tmp_path / "work" / "found.json").read_text())["replays"]
    assert [each["differing"] for each in replays] == [0, 0]
    for each in replays:
        assert each["matches_per_second"] == pytest.approx(each["matches"] / each["seconds"])
    assert (replays[0]["as_recorded"], replays[0]["otherwise"]) == (512, 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((EXAMPLE, "--devices", "cpu:2"), "No such option: --devices"),
        (("replay", EXAMPLE, "--plot", "a.png"), "No such option: --plot"),
        (("replay", EXAMPLE, "--devices", "gpu"), "gpu"),
        (("replay", EXAMPLE, "--timeout", "0"), "timeout must be a positive number"),
        (("replay",), "Missing argument 'FILE...'"),
        (("./replay",), "replay: no such file or directory"),
    ],
)
def test_wrong_options(laneway: Run, options: tuple[str | Path, ...], words: str) -> None:
    done = laneway("trace", *options)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
