"""Replays of traces on devices, held against the sequential model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import laneway as lw
import pytest
from conftest import ROOT, Run
from laneway.arguments import BUFFER_BYTES
from laneway.traces.calls import ANY_SOURCE, ANY_TAG
from laneway.traces.device_replay import EventReplay
from laneway.workspace import Workspace

EXAMPLE, STENCIL = ROOT / "data" / "testtrace.tar.xz", ROOT / "data" / "stencil4d-32.tar.xz"


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_the_stencil_matches_as_the_model_has_it(devices: str) -> None:
    found = lw.replay_trace(STENCIL, devices=devices)
    assert (found.messages, found.receives, found.queues, found.matches) == (512, 512, 32, 512)
    assert found.differing == 0
    assert found.seconds > 0


@pytest.fixture(scope="module")
def workspace() -> Iterator[Workspace]:
    with Workspace("cpu:2", 1, 60, False, BUFFER_BYTES) as opened:
        yield opened


@pytest.mark.parametrize(("seed", "batch"), [(0, 1000), (1, 1000), (2, 100), (3, 10), (4, 3)])
def test_random_calls_with_withdrawals(workspace: Workspace, seed: int, batch: int) -> None:
    choose = random.Random(seed)
    replay = EventReplay(workspace, 60, batch)
    matchers = [replay.matcher(rank) for rank in range(3)]
    waiting: list[tuple[int, int]] = []
    events = 0
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
                waiting.append((rank, found.ticket))
        else:
            rank, ticket = waiting.pop(choose.randrange(len(waiting)))
            found = matchers[rank].withdraw(ticket)
            assert found.found is None or found.found.startswith("receive")
            events -= found.found is not None
        kept = sum(len(each.posted) + len(each.unexpected) for each in matchers)
        assert len(replay) <= kept + 2 * batch
    result = replay.result()
    assert result.differing == 0
    assert result.matches > 50
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
    done = laneway("trace", STENCIL, EXAMPLE, "--replay", "--devices", "cpu:2", "--json", "found.json")
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["trace", "messages", "receives", "queues", "matches", "differing", "depth", "time"]
    assert [line.split()[1:6] for line in lines] == [["512", "512", "32", "512", "0"], ["4", "4", "4", "4", "0"]]
    replays = json.loads((tmp_path / "work" / "found.json").read_text())["replays"]
    assert [each["differing"] for each in replays] == [0, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--devices", "cpu:2"), "--devices: only a --replay runs on devices"),
        (("--replay", "--plot", "a.png"), "--plot: a replay has no picture"),
        (("--replay", "--devices", "gpu"), "gpu"),
        (("--replay", "--timeout", "0"), "timeout must be a positive number"),
    ],
)
def test_wrong_options(laneway: Run, options: tuple[str, ...], words: str) -> None:
    done = laneway("trace", EXAMPLE, *options)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
