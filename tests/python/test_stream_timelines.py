"""Timelines of dataflows: what streams did and links held, in the file and on the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run
from laneway.timelines.page import page
from laneway.timelines.recorded import read_timeline
from test_timeline import Trace, check_rules


def spans_of(trace: Trace, kind: str) -> list[Trace]:
    return [event for event in trace["traceEvents"] if event.get("cat") == f"stream {kind}"]


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_the_filter_tells_what_streams_do(laneway: Run, tmp_path: Path, devices: str) -> None:
    np.save(tmp_path / "values.npy", np.arange(300_000, dtype=np.int32))
    words = ["filter", tmp_path / "values.npy", "x % 3 == 0", "--devices", devices, "--timeline", "t.json"]
    done = laneway(*words, "--json", "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^timeline .* [\d,]+ operations of streams$", done.stdout, re.MULTILINE)
    trace = json.loads((tmp_path / "work" / "t.json").read_text())
    check_rules(trace)
    in_, out = 1_200_000, 400_000
    assert sum(event["args"]["bytes"] for event in spans_of(trace, "copy")) == in_ + out
    assert sum(event["args"]["bytes"] for event in spans_of(trace, "packet")) == in_ + out
    assert {event["pid"] for event in spans_of(trace, "kernel")} <= {1, 2, 3}
    assert all(re.fullmatch(r"copy, message \d+ from byte \d+", event["name"]) for event in spans_of(trace, "copy"))
    done = laneway("report", "t.json", "-o", "t.html")
    assert (done.returncode, done.stderr) == (0, "")
    html = (tmp_path / "work" / "t.html").read_text()
    assert "Streams of dataflows" in html and "buffers of link router" in html
    assert "Messages in flight" not in html, "there are none"


def test_links_in_python_are_told(tmp_path: Path) -> None:
    sent = np.arange(1000, dtype=np.float32)
    with lw.timeline(tmp_path / "t.json"), lw.flow.Context("cpu:2", timeout=20) as ctx:
        link = lw.flow.Link(ctx.host, ctx.devices[1], packet_bytes=400, buffers=2)
        link.send(sent)
        link.shutdown()
        parts = [segment.array(np.float32) for segment in link]
        assert np.array_equal(np.concatenate(parts), sent)
    trace = json.loads((tmp_path / "t.json").read_text())
    check_rules(trace)
    assert len([event for event in spans_of(trace, "packet") if event["pid"] == 2]) == 10
    assert "link host" in page(read_timeline(tmp_path / "t.json"))
    assert trace["otherData"]["jobs"] == [["cpu:0", "cpu:1"]]


def test_runs_and_dataflows_share_a_timeline(tmp_path: Path) -> None:
    with lw.timeline(tmp_path / "t.json"), lw.Session(devices="cpu:2") as session:
        session.gups(log2_words=8)
        session.filter(np.arange(10_000), "x > 5")
    trace = json.loads((tmp_path / "t.json").read_text())
    check_rules(trace)
    assert spans_of(trace, "kernel")
    html = page(read_timeline(tmp_path / "t.json"))
    assert "Messages in flight" in html and "Streams of dataflows" in html
