"""Reference answers of k-means."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway.programs.kmeans import KmeansResult
from laneway.verification import Verification, compare

CHUNK_POINTS = 1 << 14
WEIGHT_STEP = 2.0**-60


def verify(
    points: NDArray[Any], result: KmeansResult, sample_weight: NDArray[np.float64] | None = None
) -> Verification:
    """Compare labels, centers and inertia with scikit-learn's, from the same centers and over as many rounds.

    NumPy's answer decides where scikit-learn is missing, where it would have moved empty clusters away, and where it
    differs: its distances are rounded in another way, so that a tie may send it elsewhere.
    """
    try:
        check = _verify_by_scikit_learn(points, result, sample_weight) if result.empties == 0 else None
    except ImportError:
        check = None
    if check is not None and check.mismatches == 0:
        return check
    return _verify_by_numpy(points, result, sample_weight)


def lloyd(
    points: NDArray[Any], initial: NDArray[Any], rounds: int, sample_weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Labels and centers after so many rounds, by the rules of the program: sums of whole numbers, the lower of
    equally near clusters, distances summed from the first column to the last."""
    weights = None if sample_weight is None else _scale_weights(sample_weight)
    middle, scale = _fix_columns(points, len(points) if weights is None else 1)
    steps = (points.astype(np.float64) - middle) * scale
    fixed = np.rint(steps if weights is None else steps * weights[:, np.newaxis]).astype(np.int64)
    sizes = np.ones(len(points), dtype=np.int64) if weights is None else (weights / WEIGHT_STEP).astype(np.int64)
    centers = initial.copy()
    for _ in range(rounds):
        labels = _nearest(points, centers)
        sums = np.zeros(centers.shape, dtype=np.int64)
        np.add.at(sums, labels, fixed)
        members = np.zeros(len(centers), dtype=np.int64)
        np.add.at(members, labels, sizes)
        held = members > 0
        size = members[held, np.newaxis] * (1 if weights is None else WEIGHT_STEP)
        centers[held] = sums[held] / size / scale + middle
    return _nearest(points, centers), centers


def _scale_weights(sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """As apps/kmeans/columns.hpp has them."""
    weights = np.ldexp(sample_weight, 1 - np.frexp(sample_weight.max())[1])
    weights = np.ldexp(weights, 1 - np.frexp(np.cumsum(weights)[-1])[1])
    return np.asarray(np.rint(weights / WEIGHT_STEP) * WEIGHT_STEP)


def _nearest(points: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.int32]:
    labels = np.empty(len(points), dtype=np.int32)
    for first in range(0, len(points), CHUNK_POINTS):
        part = points[first : first + CHUNK_POINTS]
        squares = np.zeros((len(part), len(centers)), dtype=points.dtype)
        for column in range(points.shape[1]):
            squares += np.square(part[:, column, np.newaxis] - centers[:, column])
        labels[first : first + CHUNK_POINTS] = np.argmin(squares, axis=1)
    return labels


def _fix_columns(points: NDArray[Any], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Middle and scale of each column, as apps/kmeans/columns.hpp has them."""
    least, most = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    middle = least / 2 + most / 2
    reach = np.maximum(most - middle, middle - least)
    power = np.frexp(reach)[1] - 1
    scale = np.ldexp(1.0, np.minimum(60 - count.bit_length() - power, 1000))
    return middle, np.where(reach > 0, scale, 1.0)


def _verify_by_numpy(
    points: NDArray[Any], result: KmeansResult, sample_weight: NDArray[np.float64] | None
) -> Verification:
    start = time.perf_counter()
    labels, centers = lloyd(points, result.initial, result.n_iter, sample_weight)
    seconds = time.perf_counter() - start
    answer = _Answer("NumPy Lloyd", seconds, labels, centers, _inertia(points, centers, labels, sample_weight))
    return _compare(answer, result, labels != result.labels, 0.0, 0.0)


def _verify_by_scikit_learn(
    points: NDArray[Any], result: KmeansResult, sample_weight: NDArray[np.float64] | None
) -> Verification:
    from sklearn.cluster import KMeans

    wide = points.astype(np.float64)  # float32 sums of many points are too coarse
    initial = result.initial.astype(np.float64)
    model = KMeans(len(initial), init=initial, n_init=1, max_iter=result.n_iter, tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer different points than clusters
        start = time.perf_counter()
        labels = model.fit(wide, sample_weight=sample_weight).labels_
        seconds = time.perf_counter() - start
    allowed = (1e-5 if points.dtype == np.float32 else 1e-10) * float(np.linalg.norm(np.ptp(wide, axis=0)))
    wrong = labels != result.labels
    ours, theirs = (
        np.linalg.norm(wide[wrong] - model.cluster_centers_[which[wrong]], axis=1) for which in (result.labels, labels)
    )
    wrong[wrong] = ~(np.abs(ours - theirs) <= allowed)  # the others are equally near
    inertia = _inertia(points, model.cluster_centers_, labels, sample_weight)
    answer = _Answer("scikit-learn KMeans", seconds, labels, model.cluster_centers_, inertia)
    weight = len(points) if sample_weight is None else float(sample_weight.sum())
    return _compare(answer, result, wrong, allowed, allowed**2 * weight)


@dataclass(frozen=True)
class _Answer:
    reference: str
    seconds: float
    labels: NDArray[Any]
    centers: NDArray[Any]
    inertia: float


def _compare(
    answer: _Answer, result: KmeansResult, wrong_labels: NDArray[np.bool_], allowed: float, allowed_inertia: float
) -> Verification:
    """Labels, then coordinates of centers, which may be `allowed` apart, then the inertia."""
    labels, centers, inertia = answer.labels, answer.centers, answer.inertia
    wrong_centers = ~(np.abs(centers - result.cluster_centers).ravel() <= allowed)  # also what is no number
    wrong_inertia = not np.isclose(inertia, result.inertia, rtol=1e-5, atol=allowed_inertia)

    def describe(place: int) -> str:
        if place < len(labels):
            return f"point {place + 1} is in cluster {labels[place]}, not in {result.labels[place]}"
        place -= len(labels)
        if place < centers.size:
            row, column = divmod(place, centers.shape[1])
            expected, found = centers[row, column], result.cluster_centers[row, column]
            return f"center {row} has {expected} in column {column + 1}, not {found}"
        return f"the inertia is {inertia}, not {result.inertia}"

    wrong = np.concatenate([wrong_labels, wrong_centers, [wrong_inertia]])
    return compare(answer.reference, answer.seconds, "labels and coordinates", wrong, describe)


def _inertia(
    points: NDArray[Any], centers: NDArray[Any], labels: NDArray[Any], sample_weight: NDArray[np.float64] | None
) -> float:
    total = 0.0
    for first in range(0, len(points), CHUNK_POINTS):
        part = slice(first, first + CHUNK_POINTS)
        squares = np.square(points[part].astype(np.float64) - centers[labels[part]]).sum(axis=1)
        total += float((squares if sample_weight is None else squares * sample_weight[part]).sum())
    return total
