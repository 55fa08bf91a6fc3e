"""The study of messages: which runs it makes, what it writes and draws, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import laneway as lw
import pytest
from conftest import Run
from laneway.messaging_peers import read_peers
from laneway.messaging_plot import COLORS, PEERS
from laneway.programs.messaging_study import MODELS, UNOFFERED

PEER = {
    "benchmark": "messaging",
    "devices": "cpu:0-1",
    "model": "other library",
    "pattern": "ping-pong",
    "width": "block",
    "groups": 1,
    "bytes": 64,
    "messages": 40,
    "seconds": 4e-4,
    "median_ns": 20000.0,
    "p90_ns": 21000.0,
    "p99_ns": 22000.0,
}


def test_every_model_carries_every_pattern() -> None:
    runs = lw.study_messaging(bytes=[8, 2048], rounds=20, devices="cpu:2")
    sizes = {"rate": (8,)}
    patterns = ("ping-pong", "rate", "stream", "n-to-1", "all-to-all")
    pairs = [(p, m) for p in patterns for m in MODELS if (m, p) != UNOFFERED]
    expected = [(p, m, size) for p, m in pairs for size in sizes.get(p, (8, 2048))]
    assert [(run.pattern, run.model, run.bytes) for run in runs] == expected, "a CPU device has one lane: one rate"
    for run in runs:
        assert run.messages == (40 if run.pattern == "ping-pong" else 20)
        assert run.bytes_per_second == run.bytes * run.messages_per_second > 0
        if run.round_trip_ns is None:
            assert run.messages_per_second == run.messages / run.seconds
        else:
            median, most, nearly_all = run.round_trip_ns
            assert 0 < median <= most <= nearly_all
            assert run.half_trip_ns == median / 2


def test_rates_stop_where_all_lanes_send() -> None:
    runs = lw.study_messaging(["put"], patterns=["rate"], lanes=[0, 1, 5, 1000], rounds=3, devices="checked:2")
    groups = [run.groups for run in runs]
    assert groups[:2] == [1, 5] and 5 < groups[2] < 1000 and len(groups) == 3
    assert all(run.messages == 3 * run.groups and run.width == "lane" for run in runs)


def test_long_messages_have_fewer_rounds_and_groups_their_own() -> None:
    (long,) = lw.study_messaging(["two-sided"], patterns=["stream"], bytes=[1 << 20], rounds=100, devices="cpu:2")
    assert long.messages == 10
    (run,) = lw.study_messaging(
        ["store"], patterns=["n-to-1"], bytes=[8], rounds=4, groups=3, width="lane", devices="checked:3"
    )
    assert (run.groups, run.messages) == (3, 3 * 2 * 4)


@pytest.mark.parametrize(
    "arguments",
    [
        {"models": ["mpi"]},
        {"patterns": ["ring"]},
        {"models": ["unordered"], "patterns": ["n-to-1"]},
        {"width": "grid"},
        {"bytes": [0]},
        {"bytes": [12]},
        {"bytes": [2**26 + 8]},
        {"lanes": [-1]},
        {"groups": -1},
        {"rounds": 0},
        {"window": 0},
        {"window": 17},
        {"engines": 3},
        {"devices": "cpu:1"},
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(lw.UsageError, match=next(iter(arguments))):
        lw.study_messaging(**{"devices": "cpu:2", **arguments})  # type: ignore[arg-type]


def test_the_command_writes_what_it_measured_and_what_stands_beside(laneway: Run, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "peers.json").write_text(json.dumps({"bench": "random updates"}) + "\n\n" + json.dumps(PEER) + "\n")
    more = json.dumps({**PEER, "width": "lane", "groups": 2})
    with (work / "peers.json").open("a") as peers:
        peers.write(more + "\n")
    options = ["--devices", "cpu:2", "--rounds", 20, "--bytes", 64, "--width", "block"]
    options += ["--patterns", "ping-pong", "--patterns", "stream"]
    done = laneway("study", "messaging", *options, "--beside", "peers.json", "--json", "m.json", "--plot", "m.svg")
    assert (done.returncode, done.stderr) == (0, "")
    table = done.stdout.splitlines()
    assert table[1].split() == ["pattern", *MODELS, "other", "library", "other", "library,", "2", "lanes"]
    assert table[2].startswith("ping-pong") and table[2].count(" 10 µs") == 2, "half of 20"
    assert table[3].startswith("stream") and table[3].count("B/s") == len(MODELS)
    report = json.loads((work / "m.json").read_text())
    assert report["devices"] == ["cpu:0", "cpu:1"]
    points = [(run["pattern"], run["model"]) for run in report["runs"]]
    own = [(pattern, model) for pattern in ("ping-pong", "stream") for model in MODELS]
    assert points == [*own, ("ping-pong", "other library"), ("ping-pong", "other library, 2 lanes")]
    rates = [run["messages_per_second"] for run in report["runs"][-2:]]
    assert rates == pytest.approx([1e5, 1e5]), "by the median, and by all groups' time"
    drawn = (work / "m.svg").read_text()
    assert "bandwidth, one to one" in drawn and "other library" in drawn and "all to all" not in drawn


def test_every_model_has_a_color_of_its_own() -> None:
    assert len(set(COLORS.values())) == len(MODELS) and set(COLORS) == set(MODELS)
    assert not set(COLORS.values()) & set(PEERS)


def test_names_of_libraries_are_shown_as_they_are(laneway: Run, tmp_path: Path) -> None:
    (tmp_path / "work" / "peers.json").write_text(json.dumps({**PEER, "model": "[/red] $_{^"}) + "\n")
    options = ["--models", "put", "--patterns", "ping-pong", "--bytes", 64, "--rounds", 3, "--width", "block"]
    done = laneway("study", "messaging", "--devices", "cpu:2", *options, "--beside", "peers.json", "--plot", "m.svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].endswith(" put  [/red] $_{^")
    assert (tmp_path / "work" / "m.svg").is_file()


def test_of_runs_of_the_same_the_last_counts(tmp_path: Path) -> None:
    rows = [PEER, {**PEER, "bytes": 8}, {**PEER, "median_ns": 16000.0}]
    (tmp_path / "peers.json").write_text("\n".join(map(json.dumps, rows)))
    found = read_peers(tmp_path / "peers.json", "cpu:0-1")
    assert [(run.bytes, run.half_trip_ns) for run in found] == [(64, 8000.0), (8, 10000.0)]


@pytest.mark.parametrize("output", ["--json", "--plot"])
def test_outputs_do_not_replace_what_stands_beside(laneway: Run, tmp_path: Path, output: str) -> None:
    peers = tmp_path / "work" / "peers.json.svg"
    peers.write_text(json.dumps(PEER))
    (tmp_path / "work" / "link.svg").symlink_to(peers)
    done = laneway("study", "messaging", "--devices", "cpu:2", "--beside", peers, output, "link.svg")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "link.svg: cannot be written: the command reads it" in done.stderr
    assert json.loads(peers.read_text()) == PEER


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("", "no measurement of messages"),
        ("{", "no measurement"),
        ("[1]", "no measurement"),
        (json.dumps({**PEER, "devices": "cuda:0-1"}), "measured on cuda:0-1, not on cpu:0-1"),
        (json.dumps({**PEER, "seconds": 0}), "no measurement of messages"),
        (json.dumps({**PEER, "pattern": "ring"}), "no measurement of messages"),
        (json.dumps({**PEER, "width": "grid"}), "no measurement of messages"),
        (json.dumps({**PEER, "seconds": float("nan")}), "no measurement of messages"),
        (json.dumps({**PEER, "bytes": float("inf")}), "no measurement: cannot convert float infinity"),
        (json.dumps({**PEER, "seconds": 10**400}), "no measurement: int too large"),
        ("[" * 100_000, "no measurement: maximum recursion depth"),
        (json.dumps({**PEER, "model": "put"}), "'put' is no name of another library"),
        (json.dumps({**PEER, "model": "a\nb"}), "is no name of another library"),
        (json.dumps({key: value for key, value in PEER.items() if key != "p99_ns"}), "no measurement: 'p99_ns'"),
    ],
)
def test_files_that_cannot_stand_beside_are_refused(laneway: Run, tmp_path: Path, text: str | None, said: str) -> None:
    work = tmp_path / "work"
    if text is not None:
        (work / "peers.json").write_text(text)
    done = laneway("study", "messaging", "--devices", "cpu:2", "--beside", "peers.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and len(done.stderr.splitlines()) == 1
