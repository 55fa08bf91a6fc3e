"""Arguments that other libraries refuse in words of their own, or not at all: here each is a UsageError of one line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest
from conftest import Run
from laneway.programs import kmeans as kmeans_module
from laneway.programs.forkjoin_study import study_forkjoin
from laneway.programs.messaging_study import study_messaging
from laneway.programs.service_study import study_service

POINTS = np.arange(20.0).reshape(10, 2)
NO_TEXT = "\udcff"  # what Python makes of the byte 0xff in an argument
NO_BYTE = "\ud800"


def counts() -> lw.KmerCounts:
    return lw.kmer("ACGTACGT", 3, devices="cpu:1")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lw.kmeans(POINTS, 2, devices=NO_TEXT), "device"),
        (lambda: lw.kmeans(POINTS, 2, devices=NO_BYTE), "device"),
        (lambda: lw.gups(mode=NO_TEXT, devices="cpu:1"), "mode"),
        (lambda: lw.read_graph("x.gr", format=NO_TEXT), "format '.*' is none of dimacs"),
        (lambda: lw.kmer(NO_TEXT, 3), "sequence 1, letter 1: .* belongs in no sequence"),
        (lambda: lw.kmer(["ACGT", "AC" + NO_BYTE], 3), "sequence 2, letter 3: .* belongs in no sequence"),
        (lambda: lw.kmer("AC\0GT", 3), "letter 3: .* belongs in no sequence"),
        (lambda: counts().count("AC" + NO_TEXT), "k-mer 1: .* is no base"),
    ],
)
def test_texts_that_are_no_utf8(call: Callable[[], object], words: str) -> None:
    with pytest.raises(lw.UsageError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("option", ["--devices", "--format"])
def test_options_that_are_no_utf8(laneway: Run, small: Path, option: str) -> None:
    done = laneway("sssp", small, "--source", 1, option, os.fsdecode(b"cpu\xff"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "cpu" in done.stderr and "incompatible" not in done.stderr


NAMES: list[tuple[Any, str]] = [
    ("x\0y", "has a null character"),
    (b"x\0y", "has a null character"),
    ("", "is empty"),
    (b"", "is empty"),
    (5, "must be str, bytes or a path, not int"),
    (NO_BYTE, "has letters that no file's name has"),
]


@pytest.mark.parametrize(("name", "words"), NAMES)
def test_names_of_no_file(name: Any, words: str) -> None:
    for call in (
        lambda: lw.read_graph(name),
        lambda: lw.read_graph("x.gr", cache=name),
        lambda: lw.write_graph(lw.generate_grid(2, 2), name),
        lambda: lw.read_points(name),
        lambda: lw.write_points(POINTS, name),
        lambda: lw.read_atoms(name),
        lambda: lw.read_sequences(name),
        lambda: lw.read_trace(name),
        lambda: lw.timeline(name).__enter__(),
    ):
        with pytest.raises(lw.UsageError, match=words):
            call()


def test_names_in_bytes(small: Path, tmp_path: Path) -> None:
    assert lw.read_graph(os.fsencode(small)).arcs == 8
    lw.write_points(POINTS, os.fsencode(tmp_path / "p.npy"))
    assert np.array_equal(lw.read_points(os.fsencode(tmp_path / "p.npy")), POINTS)


def test_a_sequence_that_can_be_no_files_name() -> None:
    aligned = "ACGT" * 63 + "-" * 4  # longer than names may be
    assert lw.kmer(aligned, 3, devices="cpu:1") == lw.kmer([aligned], 3, devices="cpu:1")
    assert lw.kmer(aligned, 3, devices="cpu:1").total == 250
    assert lw.kmer(["ACGT", aligned], 3, devices="cpu:1").total == 252


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lw.kmeans([[1, 2], [3]], 1), "points"),
        (lambda: lw.kmeans(POINTS, 2, sample_weight=[[1, 2], [3]]), "sample_weight"),
        (lambda: lw.kmeans(POINTS, 2, init=[[1, 2], [3]]), "init"),
        (lambda: lw.kmeans(POINTS, 2, progress="x"), "progress must be False or True, not 'x'"),
        (lambda: lw.kmeans(POINTS, 2, progress=np.zeros(3)), "progress must be False or True"),
        (lambda: study_service(devices=5), "devices must be a list"),  # type: ignore[arg-type]
        (lambda: study_messaging(devices=["cpu:2"]), "devices must be a list"),  # type: ignore[arg-type]
        (lambda: study_forkjoin(devices=5), "devices must be a list"),  # type: ignore[arg-type]
        (lambda: lw.pagerank(lw.generate_grid(2, 2), nstart=[[1, 2], [3]]), "nstart"),
        (lambda: lw.bfs(lw.generate_grid(2, 2), 0, partition=[[1, 2], [3]]), "partition"),
        (lambda: lw.generate_grid(2, 2, keep="x"), "keep must be a number"),
        (lambda: lw.generate_kronecker(4, 8, symmetric="x"), "symmetric must be False or True"),
        (lambda: lw.generate_blobs(2, 2, 2, spread="x"), "spread must be a number"),
        (lambda: lw.simulate_reads(1000, coverage="x"), "coverage must be a number"),
        (lambda: lw.simulate_reads(1000, coverage=1e300), r"coverage 1e\+300 is not above 0"),
        (lambda: lw.simulate_reads(1000, error_rate="x"), "error_rate must be a number"),
        (lambda: lw.kmer("ACGT", 3, memory_gib="x"), "memory_gib must be a number"),
        (lambda: lw.read_graph("x.gr", format=5), "format must be a name such as 'metis', not 5"),
    ],
)
def test_values_of_another_kind(call: Callable[[], object], words: str) -> None:
    with pytest.raises(lw.UsageError, match=words):
        call()


def test_points_that_change_after_they_were_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    points, weights = POINTS.copy(), np.ones(10)
    expected = lw.kmeans(points, 2, sample_weight=weights, devices="cpu:2")
    compiled = kmeans_module._core.kmeans

    def changed(*arguments: Any) -> Any:
        points[:] = weights[:] = np.nan
        return compiled(*arguments)

    monkeypatch.setattr(kmeans_module._core, "kmeans", changed)
    assert lw.kmeans(points, 2, sample_weight=weights, devices="cpu:2") == expected
