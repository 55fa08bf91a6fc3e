"""Wrong distances are found; a failed or interrupted run leaves nothing behind."""

from __future__ import annotations

import dataclasses
import os
import pty
import signal
import subprocess
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import COMMAND, SMALL_DISTANCES, names, rest_of
from laneway.arguments import BUFFER_BYTES
from laneway.commands import paths
from laneway.commands.graph_input import with_graph
from laneway.job import run_job
from laneway.outputs import Outputs
from laneway.references import paths as references

RIGHT = lw.sssp


def sssp(*arguments: object, **options: object) -> lw.Result:
    """A program that gets the last distance wrong."""
    result = RIGHT(*arguments, **options)
    wrong = result.distance.values.copy()
    wrong[-1] += 1
    return dataclasses.replace(result, distance=lw.VertexArray(wrong, result.distance.numbering))


@pytest.mark.parametrize("scipy_can", [True, False])
def test_mismatches_are_named(small: Path, scipy_can: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "_scipy_can", lambda *_: scipy_can)
    graph = lw.read_graph(small)
    right = np.array(SMALL_DISTANCES)
    assert references.verify(graph, [1], right, unit_weights=False).mismatches == 0
    right[2:4] = 9
    check = references.verify(graph, [1], right, unit_weights=False)
    assert check.mismatches == 2
    assert check.first_mismatch == "vertex 3 is at 4, not at 9"
    assert ("SciPy" in check.reference) == scipy_can


def test_wrong_answer_fails_and_writes_nothing(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lw, "sssp", sssp)
    body = with_graph(paths.sssp, weights_used=True)
    flags = dict.fromkeys(("directed", "undirected", "unweighted", "no_priorities", "no_fused"), False)
    reading = {"graph": str(small), "cache": None, "format": None, "ids": None, **flags}
    outputs = Outputs(tmp_path / "d.npz", tmp_path / "r.json", tmp_path / "r.svg")
    with pytest.raises(lw.Error, match=r"1 distances differ from .*: vertex 6 is at -1, not at 0"):
        run_job(
            "sssp",
            lambda job: body(
                job, **reading, source=["1"], delta=None, partition=None, predecessors=False, method="asynchronous"
            ),
            devices="cpu:1",
            seed=1,
            timeout=60.0,
            buffer_bytes=BUFFER_BYTES,
            verify=True,
            outputs=outputs,
        )
    assert names(tmp_path) == ["small.gr"]


def test_interrupt_ends_the_command_at_once(new_york: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = [COMMAND, "sssp", new_york, "--source", "1", "--devices", "checked:3", "--json", "r.json"]
    command = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = ""
    while "running" not in shown:
        shown += os.read(ours, 4096).decode(errors="replace")
    command.send_signal(signal.SIGINT)
    assert command.wait(timeout=20) == 130
    shown += rest_of(ours)
    os.close(ours)
    assert "laneway: interrupted" in shown
    assert "Traceback" not in shown
    assert names(tmp_path) == []
