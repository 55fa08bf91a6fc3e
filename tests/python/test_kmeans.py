"""k-means: scikit-learn's answers, the same bits on any devices, weights, starts, empty clusters, ties, bad input."""

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
    result = lw.kmeans(points, clusters, random_state=3, tol=0, devices=devices)
    assert (result.empties, result.converged) == (0, True)
    start = result.initial.astype(np.float64)
    model = cluster.KMeans(clusters, init=start, n_init=1, tol=0, algorithm="lloyd").fit(points.astype(np.float64))
    assert np.mean(result.labels == model.labels_) > 0.999
    assert result.inertia == pytest.approx(model.inertia_, rel=1e-6)
    assert np.allclose(result.cluster_centers, model.cluster_centers_, atol=1e-3)
    assert result.sizes.tolist() == np.bincount(result.labels, minlength=clusters).tolist()


def test_tolerance_is_that_of_scikit_learn() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    points = lw.generate_blobs(3000, 2, 9, spread=4, double=True)
    rounds = []
    for tolerance in (1e-1, 1e-2, 1e-3, 1e-4, 0):
        result = lw.kmeans(points, 9, init="first", tol=tolerance, devices="cpu:2")
        model = cluster.KMeans(9, init=points[:9], n_init=1, tol=tolerance).fit(points)
        rounds.append((result.n_iter, model.n_iter_))
        assert np.array_equal(result.labels, model.labels_)
    assert all(ours == theirs for ours, theirs in rounds)
    assert len(set(rounds)) >= 4


@pytest.mark.parametrize("devices", [*device_lists(), "checked:1", "checked:3"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_same_bits_on_any_devices(devices: str, kind: type) -> None:
    points = np.random.default_rng(8).normal(size=(400, 3)).astype(kind) * [1e-6, 1, 1e5]
    points = points.astype(kind)
    result = lw.kmeans(points, 10, init="random", n_init=2, max_iter=6, devices=devices, timeout=1000)
    labels, centers = reference.lloyd(points, result.initial, result.n_iter)
    assert (result.labels.dtype, result.cluster_centers.dtype) == (np.int32, kind)
    assert np.array_equal(result.labels, labels)
    assert np.array_equal(result.cluster_centers, centers)
    weights = np.random.default_rng(9).exponential(size=400) * (np.arange(400) % 5 > 0)
    result = lw.kmeans(points, 10, sample_weight=weights, max_iter=6, devices=devices, timeout=1000)
    labels, centers = reference.lloyd(points, result.initial, result.n_iter, weights)
    assert np.array_equal(result.labels, labels)
    assert np.array_equal(result.cluster_centers, centers)
    squares = np.square(points - centers.astype(np.float64)[labels]).sum(axis=1)
    assert result.inertia == pytest.approx(weights @ squares)


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_ties_and_duplicates(devices: str) -> None:
    grid = np.stack(np.meshgrid(np.arange(7), np.arange(7)), axis=-1).reshape(-1, 2).repeat(3, axis=0)
    result = lw.kmeans(grid, 6, init="first", devices=devices)
    assert result.cluster_centers.dtype == np.float64
    assert result.empties > 0  # the first points are three times the same
    check = reference.verify(grid.astype(np.float64), result)
    assert (check.reference, check.mismatches) == ("NumPy Lloyd", 0)


def test_empty_clusters_keep_their_centers() -> None:
    result = lw.kmeans([0.0, 1, 10], 3, init=[[0.4], [500], [9]], devices="cpu:2")
    assert result.labels.tolist() == [0, 0, 2]
    assert result.cluster_centers.tolist() == [[0.5], [500], [10]]
    assert result.sizes.tolist() == [2, 0, 1]
    assert result.empties == result.n_iter == 2


def test_where_centers_start() -> None:
    points = lw.generate_blobs(5000, 2, 10, spread=0.01, seed=2)
    first = lw.kmeans(points, 10, init="first", devices="cpu:1")
    assert np.array_equal(first.initial, points[:10])
    for init in ("random", "k-means++"):
        runs = [lw.kmeans(points, 10, init=init, random_state=seed, devices="cpu:1").initial for seed in (1, 1, 2)]
        assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])
        rows = {tuple(row) for row in points.tolist()}
        assert all(tuple(row) in rows for row in runs[0].tolist())
    # Blobs are so small that k-means++ hits a new one each time, which drawing at random hardly does.
    assert lw.kmeans(points, 10, init="k-means++", devices="cpu:1").inertia < 2 * 5000 * 0.01**2 * 1.1
    assert len(lw.kmeans(np.zeros((5, 2)), 3, init="k-means++", devices="cpu:1").initial) == 3


def test_what_draws_is_a_seed_a_generator_or_nothing() -> None:
    points = lw.generate_blobs(300, 2, 5, double=True, seed=2)

    def starts(random_state: object) -> list[list[float]]:
        return lw.kmeans(points, 5, random_state=random_state, max_iter=1, devices="cpu:1").initial.tolist()

    assert starts(7) == starts(np.random.default_rng(7)) != starts(8)
    assert starts(np.random.RandomState(7)) == starts(np.random.RandomState(7))
    assert starts(None) != starts(None)
    one = np.random.default_rng(1)
    assert starts(one) != starts(one)


def test_seeds_draw_values_whatever_their_order() -> None:
    points = lw.generate_blobs(200, 3, 6, seed=5)
    weights = np.arange(200) % 4
    mixed = np.random.default_rng(3).permutation(200)
    drawn = lw.kmeans(points, 6, sample_weight=weights, devices="cpu:1")
    again = lw.kmeans(points[mixed], 6, sample_weight=weights[mixed], devices="cpu:2")
    repeated = lw.kmeans(points.repeat(weights, axis=0), 6, devices="cpu:1")
    for other in (again, repeated):
        assert np.array_equal(other.initial, drawn.initial)
        assert np.allclose(other.cluster_centers, drawn.cluster_centers, rtol=1e-6)
    assert np.array_equal(again.labels, drawn.labels[mixed])


def test_points_are_drawn_as_often_as_they_weigh() -> None:
    points = np.array([[0.0], [1], [2], [3]])
    for init in ("k-means++", "random"):
        first = [
            lw.kmeans(points, 1, sample_weight=[0, 6, 0, 2], init=init, random_state=seed, devices="cpu:1").initial[
                0, 0
            ]
            for seed in range(200)
        ]
        assert set(first) == {1, 3}
        assert 120 < first.count(1) < 180  # three of four


def test_the_best_of_several_starts() -> None:
    points = lw.generate_blobs(400, 2, 12, spread=0.1, double=True, seed=4)
    one = lw.kmeans(points, 12, init="random", n_init=1, random_state=5, devices="cpu:1")
    most = lw.kmeans(points, 12, init="random", n_init=30, random_state=5, devices="cpu:2")
    assert most.inertia < one.inertia * 0.9  # of the first start, which `one` has as well
    ten = [lw.kmeans(points, 12, init="random", random_state=5, n_init=n, devices="cpu:1") for n in (10, "auto")]
    assert ten[0].inertia == ten[1].inertia
    assert np.array_equal(ten[0].initial, ten[1].initial)
    assert lw.kmeans(points, 12, init="first", n_init=9, devices="cpu:1").inertia == pytest.approx(
        lw.kmeans(points, 12, init=points[:12], devices="cpu:1").inertia
    )


@pytest.mark.parametrize("double", [False, True])
def test_scikit_learn_weighs_alike(double: bool) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    points = lw.generate_blobs(2000, 4, 7, spread=3, double=double, seed=6)
    weights = np.random.default_rng(2).uniform(0, 5, 2000)
    result = lw.kmeans(points, 7, sample_weight=weights, tol=0, devices="cpu:3")
    model = cluster.KMeans(7, init=result.initial.astype(float), n_init=1, tol=0)
    model.fit(points.astype(float), sample_weight=weights)
    assert np.array_equal(result.labels, model.labels_)
    assert result.inertia == pytest.approx(model.inertia_, rel=1e-6)
    assert np.allclose(result.cluster_centers, model.cluster_centers_, atol=1e-4)
    plain = lw.kmeans(points, 7, init=result.initial, tol=0, devices="cpu:3")
    assert not np.allclose(result.cluster_centers, plain.cluster_centers, atol=1e-3)
    check = reference.verify(points, result, weights)
    assert (check.mismatches, check.reference) == (0, "scikit-learn KMeans")
    assert reference.verify(points, result).mismatches > 0  # as if the program had left weights out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number from 1"),
        ({"n_clusters": 1.5}, "n_clusters must be a whole number"),
        ({"n_clusters": 5}, "n_clusters = 5 is more than there are points: n_samples = 4"),
        ({"sample_weight": [1, 1, 1]}, "sample_weight must be one number for each of 4 points"),
        ({"sample_weight": [1, 1, -1, 1]}, "sample_weight of point 3 is -1.0"),
        ({"sample_weight": [1, 1, 1, np.inf]}, "sample_weight of point 4 is inf"),
        ({"sample_weight": [0, 0, 0, 0]}, "sample_weight is zero for all points"),
        ({"sample_weight": [0, 0, 0, 1], "init": "random"}, "needs 2 points whose sample_weight is not 0"),
        ({"n_init": 0}, "n_init must be a whole number from 1"),
        ({"n_init": "best"}, "n_init must be 'auto'"),
        ({"points": [[1, 2], [3, float("nan")]]}, "points: row 2, column 2 is not a number"),
        ({"points": [[1, 2], [-np.inf, 3]]}, "points: row 2, column 1 is infinite"),
        ({"points": []}, "there are no points"),
        ({"points": [["a"]]}, "a matrix of numbers"),
        ({"points": np.zeros((2, 2, 2))}, "not 3-dimensional"),
        ({"points": np.array([[0, 0], [0, 3e19]], dtype=np.float32)}, "column 2 spans so much"),
        ({"init": "best"}, "init must be"),
        ({"init": [[1.0, 2.0]]}, "init must be 2 rows of 2, not 1 of 2"),
        ({"init": [[1, 2], [3, np.nan]]}, "init: row 2, column 2"),
        ({"random_state": -1}, "random_state"),
        ({"tol": -1}, "tol"),
        ({"tol": float("nan")}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"devices": "cpu:x"}, "cpu:x"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], words: str) -> None:
    usual = {"points": [[0, 0], [0, 1], [5, 5], [5, 6]], "n_clusters": 2, "devices": "cpu:2"}
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
        assert file["cluster_centers"].tolist() == [[0, 0.5], [5, 5.5]]
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["points"] == {"path": str(four), "count": 4, "dimensions": 2, "type": "float64"}
    assert report["result"] == {"inertia": 1.0, "sizes": [2, 2]}
    assert report["work"]["converged"] and report["verified"]["mismatches"] == 0


def test_weights_from_a_file(laneway: Run, four: Path, tmp_path: Path) -> None:
    (tmp_path / "weights.csv").write_text("1\n3\n1\n0\n")
    options = ["-k", 2, "--init", "first", "--devices", "cpu:2", "--sample-weight", tmp_path / "weights.csv"]
    done = laneway("kmeans", four, *options, "--verify", "--output", "c.npz")
    assert (done.returncode, done.stderr) == (0, "")
    with np.load(tmp_path / "work" / "c.npz") as file:
        assert file["cluster_centers"].tolist() == [[0, 0.75], [5, 5]]
    (tmp_path / "weights.csv").write_text("1,1\n3,1\n1,1\n0,1\n")
    assert_refused(laneway("kmeans", four, *options), "weights.csv: has 2 numbers a row")


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
    moved = result.cluster_centers.copy()
    moved[2, 1] += 0.01
    assert reference.verify(points, dataclasses.replace(result, cluster_centers=moved)).mismatches == 1
    check = reference.verify(points, dataclasses.replace(result, inertia=result.inertia * 1.001))
    assert check.mismatches == 1 and "inertia" in check.first_mismatch
    moved[2, 1] = np.nan
    assert reference.verify(points, dataclasses.replace(result, cluster_centers=moved)).mismatches == 1


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


def test_options_of_starting(laneway: Run, tmp_path: Path) -> None:
    points = lw.generate_blobs(200, 2, 5, double=True, seed=4)
    np.save(tmp_path / "p.npy", points)
    words = ["--init", "random", "--n-init", 4, "--random-state", 5, "--max-iter", 7, "--tol", 0.01, "--json", "r.json"]
    done = laneway("kmeans", tmp_path / "p.npy", "--n-clusters", 5, *words, "--devices", "cpu:2")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    options = {"init": "random", "n_init": 4, "random_state": 5, "max_iter": 7, "tol": 0.01}
    expected = lw.kmeans(points, 5, **options, devices="cpu:1")
    assert (report["result"]["inertia"], report["work"]["n_iter"]) == (expected.inertia, expected.n_iter)
    assert {**report["init"], "max_iter": report["max_iter"], "tol": report["tol"]} == {
        "method": "random",
        **{name: value for name, value in options.items() if name != "init"},
    }


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
        (["-k", 0], "--n-clusters must"),
        (["-k", 5], "n_clusters = 5 is more than there are points: n_samples = 4"),
        ([], "n-clusters"),
        (["-k", 2, "--init", "best"], "best"),
        (["-k", 2, "--init", "four.csv"], "4 of 2"),
        (["-k", 2, "--tol", "nan"], "tol"),
        (["-k", 2, "--n-init", 0], "--n-init must"),
        (["-k", 2, "--random-state", -1], "--random-state must"),
        (["-k", 2, "--sample-weight", "missing.npy"], "missing.npy"),
        (["-k", 2, "--max-iter", 0], "--max-iter must"),
        (["-k", 2, "--output", "clusters.csv"], "clusters.csv: the result's name must end in .npz"),
        (["-k", 2, "--json", "four.csv"], "four.csv"),
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
