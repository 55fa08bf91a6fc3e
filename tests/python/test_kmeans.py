"""k-means: scikit-learn's answers, the same bits on any devices, empty clusters, ties, bad input."""

from __future__ import annotations

import dataclasses
import gzip
import json
import lzma
import sys
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run, device_lists, names
from laneway.references import kmeans as reference
from test_bad_input import assert_refused

CSV = "x,y\n0,0\n0,1  # near\n\n5,5\n5,6\n"


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """Four points in two pairs."""
    path = tmp_path / "four.csv"
    path.write_text(CSV)
    return path


@pytest.mark.parametrize("devices", device_lists())
@pytest.mark.parametrize(("dimensions", "clusters"), [(1, 3), (2, 8), (300, 5), (7, 30)])
@pytest.mark.parametrize("double", [False, True])
def test_scikit_learn(devices: str, dimensions: int, clusters: int, double: bool) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    points = lw.generate_blobs(2000, dimensions, clusters, spread=3, double=double, seed=4)
    result = lw.kmeans(points, clusters, init_seed=3, devices=devices)
    assert (result.empties, result.converged) == (0, True)
    start = result.initial.astype(np.float64)
    model = cluster.KMeans(clusters, init=start, n_init=1, tol=0, algorithm="lloyd").fit(points.astype(np.float64))
    assert np.mean(result.labels == model.labels_) > 0.999
    assert result.inertia == pytest.approx(model.inertia_, rel=1e-6)
    assert np.allclose(result.centroids, model.cluster_centers_, atol=1e-3)
    assert result.sizes.tolist() == np.bincount(result.labels, minlength=clusters).tolist()


def test_tolerance_is_that_of_scikit_learn() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    points = lw.generate_blobs(3000, 2, 9, spread=4, double=True)
    rounds = []
    for tolerance in (1e-1, 1e-2, 1e-3, 1e-4, 0):
        result = lw.kmeans(points, 9, init="first", tolerance=tolerance, devices="cpu:2")
        model = cluster.KMeans(9, init=points[:9], n_init=1, tol=tolerance).fit(points)
        rounds.append((result.rounds, model.n_iter_))
        assert np.array_equal(result.labels, model.labels_)
    assert all(ours == theirs for ours, theirs in rounds)
    assert len(set(rounds)) >= 4


@pytest.mark.parametrize("devices", [*device_lists(), "checked:1", "checked:3"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_same_bits_on_any_devices(devices: str, kind: type) -> None:
    points = np.random.default_rng(8).normal(size=(400, 3)).astype(kind) * [1e-6, 1, 1e5]
    points = points.astype(kind)
    result = lw.kmeans(points, 10, init="random", max_rounds=6, devices=devices, timeout=1000)
    labels, centroids = reference.lloyd(points, result.initial, result.rounds)
    assert result.centroids.dtype == kind
    assert np.array_equal(result.labels, labels)
    assert np.array_equal(result.centroids, centroids)


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_ties_and_duplicates(devices: str) -> None:
    grid = np.stack(np.meshgrid(np.arange(7), np.arange(7)), axis=-1).reshape(-1, 2).repeat(3, axis=0)
    result = lw.kmeans(grid, 6, init="first", devices=devices)
    assert result.centroids.dtype == np.float64
    assert result.empties > 0  # the first points are three times the same
    check = reference.verify(grid.astype(np.float64), result)
    assert (check.reference, check.mismatches) == ("NumPy Lloyd", 0)


def test_empty_clusters_keep_their_centroids() -> None:
    result = lw.kmeans([0.0, 1, 10], 3, init=[[0.4], [500], [9]], devices="cpu:2")
    assert result.labels.tolist() == [0, 0, 2]
    assert result.centroids.tolist() == [[0.5], [500], [10]]
    assert result.sizes.tolist() == [2, 0, 1]
    assert result.empties == result.rounds == 2


def test_where_centroids_start() -> None:
    points = lw.generate_blobs(5000, 2, 10, spread=0.01, seed=2)
    first = lw.kmeans(points, 10, init="first", devices="cpu:1")
    assert np.array_equal(first.initial, points[:10])
    for init in ("random", "k-means++"):
        runs = [lw.kmeans(points, 10, init=init, init_seed=seed, devices="cpu:1").initial for seed in (1, 1, 2)]
        assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])
        rows = {tuple(row) for row in points.tolist()}
        assert all(tuple(row) in rows for row in runs[0].tolist())
    # Blobs are so small that k-means++ hits a new one each time, which drawing at random hardly does.
    assert lw.kmeans(points, 10, init="k-means++", devices="cpu:1").inertia < 2 * 5000 * 0.01**2 * 1.1
    assert len(lw.kmeans(np.zeros((5, 2)), 3, init="k-means++", devices="cpu:1").initial) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"clusters": 0}, "clusters must be a whole number from 1"),
        ({"clusters": 1.5}, "clusters must be a whole number"),
        ({"clusters": 5}, "5 clusters are more than there are points: 4"),
        ({"points": [[1, 2], [3, float("nan")]]}, "points: row 2, column 2 is not a number"),
        ({"points": [[1, 2], [-np.inf, 3]]}, "points: row 2, column 1 is infinite"),
        ({"points": []}, "there are no points"),
        ({"points": [["a"]]}, "a matrix of numbers"),
        ({"points": np.zeros((2, 2, 2))}, "not 3-dimensional"),
        ({"points": np.array([[0, 0], [0, 3e19]], dtype=np.float32)}, "column 2 spans so much"),
        ({"init": "best"}, "init must be"),
        ({"init": [[1.0, 2.0]]}, "init must be 2 rows of 2, not 1 of 2"),
        ({"init": [[1, 2], [3, np.nan]]}, "init: row 2, column 2"),
        ({"init_seed": -1}, "init_seed"),
        ({"tolerance": -1}, "tolerance"),
        ({"tolerance": float("nan")}, "tolerance"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"devices": "cpu:x"}, "cpu:x"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], words: str) -> None:
    usual = {"points": [[0, 0], [0, 1], [5, 5], [5, 6]], "clusters": 2, "devices": "cpu:2"}
    with pytest.raises(lw.UsageError) as caught:
        lw.kmeans(**{**usual, **arguments})
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:2", "checked:2"])
def test_command(laneway: Run, four: Path, tmp_path: Path, devices: str) -> None:
    options = ["--verify", "--output", "c.npz", "--json", "r.json", "--plot", "r.svg"]
    done = laneway("kmeans", four, "-k", 2, "--init", "first", "--devices", devices, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 of 2 dimensions, float64" in done.stdout and "verified" in done.stdout and "yes" in done.stdout
    with np.load(tmp_path / "work" / "c.npz") as file:
        assert file["labels"].tolist() == [0, 0, 1, 1]
        assert file["centroids"].tolist() == [[0, 0.5], [5, 5.5]]
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["points"] == {"path": str(four), "count": 4, "dimensions": 2, "type": "float64"}
    assert report["result"] == {"inertia": 1.0, "sizes": [2, 2]}
    assert report["work"]["converged"] and report["verified"]["mismatches"] == 0


def test_start_from_a_file(laneway: Run, four: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "start.npy", np.array([[5.0, 5], [0, 0]]))
    done = laneway("kmeans", four, "-k", 2, "--init", tmp_path / "start.npy", "--devices", "cpu:1", "--output", "c.npz")
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "work" / "c.npz") as file:
        assert file["labels"].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("scikit_learn", [True, False])
def test_wrong_results_are_found(scikit_learn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if scikit_learn:
        pytest.importorskip("sklearn.cluster")
    else:
        monkeypatch.setitem(sys.modules, "sklearn.cluster", None)  # as if it were not installed
    points = lw.generate_blobs(300, 2, 3, seed=9)
    result = lw.kmeans(points, 3, devices="cpu:2")
    check = reference.verify(points, result)
    assert (check.mismatches, check.reference) == (0, "scikit-learn KMeans" if scikit_learn else "NumPy Lloyd")
    labels = result.labels.copy()
    labels[[7, 9]] = (labels[[7, 9]] + 1) % 3
    check = reference.verify(points, dataclasses.replace(result, labels=labels))
    assert check.mismatches == 2
    assert check.first_mismatch == f"point 8 is in cluster {result.labels[7]}, not in {labels[7]}"
    moved = result.centroids.copy()
    moved[2, 1] += 0.01
    assert reference.verify(points, dataclasses.replace(result, centroids=moved)).mismatches == 1
    check = reference.verify(points, dataclasses.replace(result, inertia=result.inertia * 1.001))
    assert check.mismatches == 1 and "inertia" in check.first_mismatch


FILES = {
    "p.npy": lambda path, points: np.save(path, points),
    "p.npz": lambda path, points: np.savez(path, points=points, other=np.zeros(3)),
    "q.npz": lambda path, points: np.savez(path, something=points),
    "p.csv": lambda path, points: np.savetxt(path, points, delimiter=",", header="a,b"),
    "p.txt": lambda path, points: np.savetxt(path, points),
    "p.csv.gz": lambda path, points: path.write_bytes(gzip.compress(b"1.5,2\n3,4\n")),
    "p.xz": lambda path, points: path.write_bytes(lzma.compress(b"# two\n1.5 2\n\n3\t4\n")),
}


@pytest.mark.parametrize("name", FILES)
def test_reading(tmp_path: Path, name: str) -> None:
    FILES[name](tmp_path / name, np.array([[1.5, 2], [3, 4]]))
    read = lw.read_points(tmp_path / name)
    assert read.tolist() == [[1.5, 2], [3, 4]]
    assert read.dtype == np.float64
    np.save(tmp_path / "narrow.npy", np.array([1, 2], dtype=np.float32))
    assert lw.read_points(tmp_path / "narrow.npy").shape == (2, 1)
    assert lw.read_points(tmp_path / "narrow.npy").dtype == np.float32


BROKEN = {
    "empty.csv": (b"", "no points"),
    "titles.csv": (b"x,y\n", "no points"),
    "words.csv": (b"1,2\n3,four\n", "four"),
    "ragged.csv": (b"1,2\n3\n", "columns"),
    "nan.csv": (b"1,2\n3,nan\n", "row 2, column 2 is not a number"),
    "noise.csv": (bytes(range(256)) * 4, ""),
    "short.npy": (b"\x93NUMPY\x01\x00", ""),
    "short.npz": (b"PK\x03\x04 nothing more", ""),
    "short.csv.gz": (gzip.compress(b"1,2\n" * 5000)[:-9], ""),
    "short.xz": (lzma.compress(b"1,2\n" * 5000)[:-9], ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file(laneway: Run, tmp_path: Path, name: str) -> None:
    content, word = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    done = laneway("kmeans", tmp_path / name, "-k", 1, "--devices", "cpu:1", "--json", "r.json", "--output", "c.npz")
    assert_refused(done, name, word)
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize("content", ["pickle", "two arrays", "complex"])
def test_arrays_that_are_no_points(laneway: Run, tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.npy"
    with path.open("wb") as file:
        if content == "pickle":
            np.save(file, np.array([{}], dtype=object), allow_pickle=True)
        elif content == "complex":
            np.save(file, np.array([[1j]]))
        else:
            np.savez(file, a=np.zeros(2), b=np.zeros(2))
    assert_refused(laneway("kmeans", path, "-k", 1, "--devices", "cpu:1"), "a.npy")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-k", 0], "clusters"),
        (["-k", 5], "5 clusters are more than there are points: 4"),
        ([], "clusters"),
        (["-k", 2, "--init", "best"], "best"),
        (["-k", 2, "--init", "four.csv"], "4 of 2"),
        (["-k", 2, "--tolerance", "nan"], "tolerance"),
        (["-k", 2, "--max-rounds", 0], "max_rounds"),
        (["-k", 2, "--output", "four.csv"], "four.csv"),
    ],
)
def test_wrong_option(laneway: Run, four: Path, tmp_path: Path, arguments: list[object], word: str) -> None:
    four.rename(tmp_path / "work" / "four.csv")
    assert_refused(laneway("kmeans", "four.csv", "--devices", "cpu:1", *arguments), word)
    assert names(tmp_path / "work") == ["four.csv"]
    assert (tmp_path / "work" / "four.csv").read_text() == CSV


def test_failed_run(laneway: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", lw.generate_blobs(20000, 10, 50))
    done = laneway("kmeans", tmp_path / "p.npy", "-k", 50, "--devices", "cpu:2", "--timeout", 1e-4, "--output", "c.npz")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize("name", ["b.npy", "b.npz", "b.csv"])
def test_generate_blobs(laneway: Run, tmp_path: Path, name: str) -> None:
    done = laneway("generate", "blobs", 50, 3, 4, "--spread", 0.5, "--seed", 6, "--output", name)
    assert (done.returncode, done.stderr) == (0, "")
    made = lw.generate_blobs(50, 3, 4, spread=0.5, seed=6)
    assert made.dtype == np.float32
    assert np.array_equal(lw.read_points(tmp_path / "work" / name).astype(np.float32), made)
    assert lw.generate_blobs(50, 3, 4, double=True).dtype == np.float64
    assert names(tmp_path / "work") == [name]


@pytest.mark.parametrize("arguments", [[0, 1, 1], [1, 0, 1], [1, 1, 0], [9, 1, 1, "--spread", "-1"]])
def test_impossible_blobs(laneway: Run, tmp_path: Path, arguments: list[object]) -> None:
    assert_refused(laneway("generate", "blobs", *arguments, "--output", "b.npy"))
    assert_refused(laneway("generate", "blobs", 3, 1, 1, "--output", "b.gif"), "b.gif")
    assert names(tmp_path / "work") == []
