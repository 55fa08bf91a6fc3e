"""Timelines: files that keep the rules of Chrome's trace event format, true to the report, and the page of one."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import laneway as lw
import pytest
from conftest import COMMAND, Run, names
from laneway.timelines.page import page
from laneway.timelines.recorded import read_timeline

Trace = dict[str, Any]


def check_rules(trace: Trace) -> None:
    """What the format asks for: of each thread, times do not fall and spans nest; counters that count only grow."""
    last: dict[tuple[int, int], float] = {}
    open_spans: dict[tuple[int, int], list[int]] = defaultdict(list)
    counted: dict[tuple[int, str], int] = {}
    named = {event["pid"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    for event in trace["traceEvents"]:
        assert event["ph"] in ("X", "C", "M")
        assert {"name", "ts", "pid", "tid"} <= event.keys()
        assert event["pid"] in named
        if event["ph"] == "M":
            continue
        place = event["pid"], event["tid"]
        assert event["ts"] >= last.get(place, 0)
        last[place] = event["ts"]
        if event["ph"] == "X":
            begin, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
            assert end >= begin
            ends = open_spans[place]
            while ends and ends[-1] <= begin:
                ends.pop()
            assert not ends or end <= ends[-1], event
            ends.append(end)
        elif event["name"] in ("messages", "bytes sent"):
            for series, value in event["args"].items():
                assert value >= counted.get((event["pid"], series), 0)
                counted[event["pid"], series] = value


def sum_of(trace: Trace, counter: str, series: str) -> int:
    """What a counter of all PEs has come to."""
    ends = {e["pid"]: e["args"][series] for e in trace["traceEvents"] if e["ph"] == "C" and e["name"] == counter}
    return sum(ends.values())


def runs_in(trace: Trace) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = trace["otherData"]["runs"]
    return runs


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "recorded.json"
    with lw.timeline(path):
        lw.gups(log2_words=12, devices="cpu:2")
    return path


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_the_command_writes_a_valid_timeline(laneway: Run, tmp_path: Path, devices: str) -> None:
    done = laneway(
        "gups", "--log2-words", 8, "--devices", devices, "--timeline", "t.json", "--json", "r.json", "--verify"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^timeline +\d+ runs?, [\d,]+ samples, [\d,]+ lasting waits$", done.stdout, re.MULTILINE)
    trace = json.loads((tmp_path / "work" / "t.json").read_text())
    check_rules(trace)
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    (run,) = (each for each in runs_in(trace) if each["totals"]["posted"])  # others number and verify the words
    for name in ("posted", "carried", "served"):
        assert run["totals"][name] == report["messages"][name]
    assert sum(pe["served"] for pe in run["pes"]) == report["messages"]["served"]
    assert sum_of(trace, "messages", "served") == sum(run["totals"]["served"] for run in runs_in(trace))
    assert sum_of(trace, "messages", "sent") == sum(run["totals"]["carried"] for run in runs_in(trace))
    assert sum_of(trace, "bytes sent", "bytes") == sum(run["totals"]["bytes"] for run in runs_in(trace))
    assert {pe["clock"] for pe in run["pes"]} == {"virtual" if devices.startswith("checked") else "host"}
    phases = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "phases"]
    assert phases == ["running", "verifying", "writing the outputs"]
    assert trace["otherData"]["notes"]["program"] == "gups"


def test_trace_is_the_same_option(laneway: Run, small: Path, tmp_path: Path) -> None:
    done = laneway("sssp", small, "--source", 1, "--devices", "cpu:2", "--trace", "t.json")
    assert (done.returncode, done.stderr) == (0, "")
    trace = json.loads((tmp_path / "work" / "t.json").read_text())
    check_rules(trace)
    named = {e["name"] for e in trace["traceEvents"] if e.get("cat") in ("phases", "parts")}
    assert {"reading the graph", "running", "opening the devices", "bringing input to the devices"} <= named


def test_without_the_option_there_is_none(laneway: Run, tmp_path: Path) -> None:
    done = laneway("gups", "--log2-words", 8, "--devices", "cpu:2")
    assert done.returncode == 0
    assert "timeline" not in done.stdout
    assert names(tmp_path / "work") == []


def test_the_environment_names_a_file(tmp_path: Path) -> None:
    environment = {**os.environ, "LANEWAY_TIMELINE": str(tmp_path / "all.json")}
    words = [str(COMMAND), "gups", "--log2-words", "8", "--devices", "cpu:2"]
    subprocess.run(words, env=environment, check=True, capture_output=True, timeout=60)
    trace = json.loads((tmp_path / "all.json").read_text())
    check_rules(trace)
    assert sum(bool(run["totals"]["posted"]) for run in runs_in(trace)) == 1


def test_several_runs_of_a_session_follow_each_other(tmp_path: Path) -> None:
    with lw.timeline(tmp_path / "t.json"), lw.Session(devices="cpu:2") as session:
        served = [session.gups(log2_words=8, updates=n).report.served for n in (100, 5000, 1)]
    trace = json.loads((tmp_path / "t.json").read_text())
    check_rules(trace)
    assert [run["totals"]["served"] for run in runs_in(trace) if run["totals"]["posted"]] == served
    assert sum_of(trace, "messages", "served") == sum(served)
    ends = [(run["begin_ns"], run["end_ns"]) for run in runs_in(trace)]
    assert all(one[1] <= other[0] for one, other in zip(ends, ends[1:]))
    assert len(trace["otherData"]["jobs"]) == 1


def test_calls_outside_of_the_block_are_not_in_it(tmp_path: Path) -> None:
    lw.gups(log2_words=8, devices="cpu:2")
    with lw.timeline(tmp_path / "t.json"):
        lw.gups(log2_words=8, devices="cpu:2")
    lw.gups(log2_words=8, devices="cpu:2")
    trace = json.loads((tmp_path / "t.json").read_text())
    assert sum(bool(run["totals"]["posted"]) for run in runs_in(trace)) == 1


def test_a_block_that_raises_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(lw.UsageError, match="mode"), lw.timeline(tmp_path / "t.json"):
        lw.gups(mode="none", devices="cpu:2")
    assert names(tmp_path) == []
    with (
        pytest.raises(lw.UsageError, match=r"t\.json: cannot be written"),
        lw.timeline(tmp_path / "no/folder/t.json"),
    ):
        raise AssertionError("it is refused before anything runs")
    with pytest.raises(lw.UsageError, match="must be str, bytes or a path, not int"), lw.timeline(3):  # type: ignore[arg-type]
        raise AssertionError


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    words = [str(COMMAND), "gups", "--log2-words", "20", "--updates", str(2**40), "--devices", "cpu:2"]
    started = subprocess.Popen([*words, "--timeline", "t.json"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not names(tmp_path) and started.poll() is None:
        time.sleep(0.001)
    started.send_signal(signal.SIGINT)
    assert started.communicate(timeout=60)[1].endswith("laneway: interrupted\n")
    assert (started.returncode, names(tmp_path)) == (130, [])


class Page(HTMLParser):
    """What a page would load, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.loads: list[str] = []
        self.pictures = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.pictures += tag == "svg"
        assert tag not in ("script", "link", "img", "iframe")
        for name, value in attributes:
            if name in ("src", "href", "xlink:href") and not (value or "").startswith("#"):
                self.loads.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def test_the_page_of_a_timeline(laneway: Run, tmp_path: Path) -> None:
    laneway("gups", "--log2-words", 14, "--devices", "cpu:3", "--timeline", "t.json", "--json", "r.json")
    done = laneway("report", "t.json", "-o", "t.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"t\.html: \d+ runs? on 3 PEs\n", done.stdout)
    html = (tmp_path / "work" / "t.html").read_text()
    shown = Page()
    shown.feed(html)
    assert shown.loads == []
    assert "@import" not in html
    assert shown.pictures >= 3
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    for word in ("Messages in flight, and work open", "Messages served a second", "Phases of the host", "Machine"):
        assert word in shown.words
    assert f"{report['messages']['served']:,}" in shown.words
    assert {"running", "PE 2 (cpu:2)", "gups", "log2_words"} & set(shown.words) >= {"running", "PE 2 (cpu:2)", "gups"}
    ids = re.findall(r'id="([^"]*)"', html)
    clips = [
        name
        for name in ids
        if not re.fullmatch(
            r"(figure|axes|patch|text|xtick|ytick|line2d|legend|matplotlib|"
            r"FillBetweenPolyCollection|PolyCollection|LineCollection|"
            r"QuadMesh|PathCollection)(\.axis)?_\d+",
            name,
        )
    ]
    assert len(clips) == len(set(clips)), "marks and clips of different pictures have names of their own"


def test_a_page_without_a_name_is_beside_its_timeline(laneway: Run, tmp_path: Path, recorded: Path) -> None:
    folder = tmp_path / "work" / "far"
    folder.mkdir()
    for name, made in (("run.json", "run.html"), ("run.1.json", "run.1.html"), ("run", "run.html")):
        (folder / name).write_bytes(recorded.read_bytes())
        done = laneway("report", f"far/{name}")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"far/{made}: ")
        assert names(folder) == sorted([name, made]), "and nothing in the folder that the command starts in"
        assert (folder / name).read_bytes() == recorded.read_bytes()
        (folder / name).unlink()
        (folder / made).unlink()


def test_text_in_a_page_is_text(recorded: Path) -> None:
    trace = json.loads(recorded.read_text())
    trace["otherData"]["notes"]["program"] = "<script>alert(1)</script>"
    recorded.write_text(json.dumps(trace))
    html = page(read_timeline(recorded))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_dollars_in_names_begin_no_formula(recorded: Path) -> None:
    trace = json.loads(recorded.read_text())
    for event in trace["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "process_name" and event["pid"] == 1:
            event["args"]["name"] = "PE 0 ($\\frac$)"
    recorded.write_text(json.dumps(trace))
    assert "PE 0 ($\\frac$)" in page(read_timeline(recorded))


BAD = {
    "empty": b"",
    "blank": b" \n",
    "binary": b"\x89PNG\r\n\x1a\n\xff\xfe",
    "words": b"hello",
    "number": b"3",
    "list": b"[]",
    "other": b'{"traceEvents": [{"ph": "B", "ts": 1, "pid": 0, "tid": 0, "name": "x"}]}',
    "deep": b"[" * 100_000,
    "version": b'{"otherData": {"format": "laneway timeline", "version": 2}, "traceEvents": []}',
    "bare": b'{"otherData": {"format": "laneway timeline", "version": 1}}',
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_timeline_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(BAD[name])
    with pytest.raises(lw.UsageError, match="timeline") as refused:
        read_timeline(path)
    assert "\n" not in str(refused.value)


def test_the_command_refuses_in_one_line(laneway: Run, tmp_path: Path, recorded: Path) -> None:
    work = tmp_path / "work"
    (work / "cut.json").write_bytes(recorded.read_bytes()[:-100])
    for words in (
        ("cut.json", "-o", "t.html"),
        ("cut.json",),
        ("none.json", "-o", "t.html"),
        (".", "-o", "t.html"),
        (".",),
        (recorded, "-o", "t.txt"),
        (recorded, "-o", "no/folder/t.html"),
    ):
        done = laneway("report", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    (work / "both.html").write_bytes(recorded.read_bytes())
    for words in (("both.html", "-o", "both.html"), ("both.html",)):
        done = laneway("report", *words)
        assert (done.returncode, "the command reads it" in done.stderr) == (2, True)
    assert (work / "both.html").read_bytes() == recorded.read_bytes()
    assert names(work) == ["both.html", "cut.json"]


def test_damaged_timelines_are_refused_or_drawn(recorded: Path) -> None:
    """Whatever stands in the place of a value: UsageError, or a page."""
    draw = random.Random(5)
    whole = recorded.read_text()
    strange: list[Any] = [None, -1, 1e400, 2**70, "x", [], {}, True, 0.5, {"name": []}]
    refused = 0
    for round_ in range(300):
        trace = json.loads(whole)
        kinds = {kind: [each for each in trace["traceEvents"] if (each["ph"] == "M") == kind] for kind in (True, False)}
        trace["traceEvents"] = kinds[True] + draw.sample(kinds[False], min(20, len(kinds[False])))
        here: Any = trace
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = draw.choice(keys)
            if isinstance(here[key], (dict, list)) and draw.random() < 0.85:
                here = here[key]
                continue
            if isinstance(here, dict) and draw.random() < 0.3:
                del here[key]
            else:
                here[key] = draw.choice(strange)
            break
        text = json.dumps(trace)
        recorded.write_text(text if round_ % 10 else text[: draw.randrange(len(text))])
        try:
            found = read_timeline(recorded)
            if round_ % 50 == 1:
                page(found)
        except lw.UsageError as error:
            assert "\n" not in str(error)
            refused += 1
    assert 50 < refused < 300
    trace = json.loads(whole)
    trace["traceEvents"].append({"ph": "X", "pid": 0, "name": "a", "ts": 0, "dur": 1, "cat": "stream ", "args": {}})
    recorded.write_text(json.dumps(trace))
    with pytest.raises(lw.UsageError, match="damaged"):
        read_timeline(recorded)
