"""KMeans as an estimator of scikit-learn."""

from __future__ import annotations

import pickle
import subprocess
import sys

import laneway as lw
import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator


@pytest.mark.parametrize(
    "model",
    [lw.KMeans(devices="cpu:1"), lw.KMeans(3, init="random", n_init=3, tol=0, devices="cpu:2")],
    ids=["as it is", "random starts"],
)
def test_check_estimator(model: lw.KMeans) -> None:
    equivalent = "check_sample_weight_equivalence_on_dense_data"
    random = model.init == "random"  # draws in the order of the points, so not as from repeated ones
    outcomes = check_estimator(model, on_skip=None, expected_failed_checks={equivalent: "drawn"} if random else None)
    passed = {each["check_name"] for each in outcomes if each["status"] == "passed"}
    assert len(passed) > 40
    assert random or equivalent in passed


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_it_is_the_function(kind: type) -> None:
    points = lw.generate_blobs(500, 3, 6, double=True, seed=3).astype(kind)
    weights = np.arange(500) % 3
    model = lw.KMeans(6, random_state=4, devices="cpu:2").fit(points, sample_weight=weights)
    result = lw.kmeans(points, 6, sample_weight=weights, random_state=4, devices="cpu:1")
    assert np.array_equal(model.cluster_centers_, result.cluster_centers)
    assert (model.cluster_centers_.dtype, model.labels_.dtype) == (kind, np.int32)
    assert np.array_equal(model.labels_, result.labels)
    assert (model.inertia_, model.n_iter_, model.n_features_in_) == (result.inertia, result.n_iter, 3)
    # One point at a time, so that there are more clusters than points.
    assert [int(model.predict(point[np.newaxis])[0]) for point in points[:20]] == model.labels_[:20].tolist()
    assert np.array_equal(model.predict(points), model.labels_)
    assert model.score(points, sample_weight=weights) == -model.inertia_
    assert model.score(points, sample_weight=2 * weights) == -2 * model.inertia_
    assert model.score(points) != -model.inertia_
    distances = model.transform(points)
    assert (distances.shape, distances.dtype) == ((500, 6), kind)
    assert np.array_equal(distances.argmin(axis=1), model.labels_)
    assert model.get_feature_names_out().tolist() == [f"kmeans{cluster}" for cluster in range(6)]


def test_among_other_estimators() -> None:
    points = lw.generate_blobs(300, 2, 4, spread=0.1, double=True, seed=8)
    pipeline = make_pipeline(StandardScaler(), lw.KMeans(4, devices="cpu:1"))
    labels = pipeline.fit_predict(points)
    assert np.array_equal(pickle.loads(pickle.dumps(pipeline)).predict(points), labels)
    fresh = clone(pipeline[-1])
    assert not hasattr(fresh, "labels_") and fresh.get_params()["n_clusters"] == 4


def test_wrong_parameters_are_told_by_fit() -> None:
    for wrong in (
        {"n_clusters": 0},
        {"tol": -1},
        {"init": "best"},
        {"n_init": 0},
        {"max_iter": 0},
        {"devices": "cpu:x"},
    ):
        model = lw.KMeans(**{"n_clusters": 2, "devices": "cpu:1", **wrong})
        with pytest.raises(lw.UsageError):
            model.fit(np.zeros((5, 2)))


def test_it_is_listed() -> None:
    assert "KMeans" in dir(lw)


def test_only_the_class_needs_scikit_learn() -> None:
    program = """
import sys
import laneway as lw
assert "sklearn" not in sys.modules
sys.modules["sklearn"] = None  # as if it were not installed
lw.kmeans([[0.0], [1.0]], 1, devices="cpu:1")
try:
    lw.KMeans
except ImportError as error:
    print(error)
assert "kmeans" in dir(lw) and "KMeans" not in dir(lw)
assert not hasattr(lw, "no_such_name")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "laneway.KMeans needs scikit-learn: pip install 'laneway[sklearn]'\n"
