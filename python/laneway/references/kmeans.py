"""Reference answers of k-means."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway.programs.kmeans import KmeansResult
from laneway.verification import Verification, compare

CHUNK_POINTS = 1 << 14


def verify(points: NDArray[Any], result: KmeansResult) -> Verification:
    """Compare labels, centroids and inertia with scikit-learn's, from the same centroids and over as many rounds.

    NumPy's answer decides where scikit-learn is missing, where it would have moved empty clusters away, and where it
    differs: its distances are rounded in another way, so that a tie may send it elsewhere.
    """
    try:
        check = _verify_by_scikit_learn(points, result) if result.empties == 0 else None
    except ImportError:
        check = None
    if check is not None and check.mismatches == 0:
        return check
    return _verify_by_numpy(points, result)


def lloyd(points: NDArray[Any], initial: NDArray[Any], rounds: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Labels and centroids after so many rounds, by the rules of the program: sums of whole numbers, the lower of
    equally near clusters, distances summed from the first column to the last."""
    middle, scale = _fix_columns(points)
    fixed = np.rint((points.astype(np.float64) - middle) * scale).astype(np.int64)
    centroids = initial.copy()
    for _ in range(rounds):
        labels = _nearest(points, centroids)
        sums = np.zeros(centroids.shape, dtype=np.int64)
        np.add.at(sums, labels, fixed)
        members = np.bincount(labels, minlength=len(centroids))
        held = members > 0
        centroids[held] = sums[held] / members[held, np.newaxis] / scale + middle
    return _nearest(points, centroids), centroids


def _nearest(points: NDArray[Any], centroids: NDArray[Any]) -> NDArray[np.uint32]:
    labels = np.empty(len(points), dtype=np.uint32)
    for first in range(0, len(points), CHUNK_POINTS):
        part = points[first : first + CHUNK_POINTS]
        squares = np.zeros((len(part), len(centroids)), dtype=points.dtype)
        for column in range(points.shape[1]):
            squares += np.square(part[:, column, np.newaxis] - centroids[:, column])
        labels[first : first + CHUNK_POINTS] = np.argmin(squares, axis=1)
    return labels


def _fix_columns(points: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Middle and scale of each column, as apps/kmeans/columns.hpp has them."""
    least, most = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    middle = least / 2 + most / 2
    reach = np.maximum(most - middle, middle - least)
    power = np.frexp(reach)[1] - 1
    scale = np.ldexp(1.0, np.minimum(60 - len(points).bit_length() - power, 1000))
    return middle, np.where(reach > 0, scale, 1.0)


def _verify_by_numpy(points: NDArray[Any], result: KmeansResult) -> Verification:
    start = time.perf_counter()
    labels, centroids = lloyd(points, result.initial, result.rounds)
    seconds = time.perf_counter() - start
    return _compare("NumPy Lloyd", seconds, result, labels, labels != result.labels, centroids, points, allowed=0.0)


def _verify_by_scikit_learn(points: NDArray[Any], result: KmeansResult) -> Verification:
    from sklearn.cluster import KMeans

    wide = points.astype(np.float64)  # float32 sums of many points are too coarse
    initial = result.initial.astype(np.float64)
    model = KMeans(len(initial), init=initial, n_init=1, max_iter=result.rounds, tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer different points than clusters
        start = time.perf_counter()
        labels = model.fit(wide).labels_
        seconds = time.perf_counter() - start
    allowed = (1e-5 if points.dtype == np.float32 else 1e-10) * float(np.linalg.norm(np.ptp(wide, axis=0)))
    wrong = labels != result.labels
    ours, theirs = (
        np.linalg.norm(wide[wrong] - model.cluster_centers_[which[wrong]], axis=1) for which in (result.labels, labels)
    )
    wrong[wrong] = np.abs(ours - theirs) > allowed  # the others are equally near
    return _compare("scikit-learn KMeans", seconds, result, labels, wrong, model.cluster_centers_, points, allowed)


def _compare(
    reference: str,
    seconds: float,
    result: KmeansResult,
    labels: NDArray[Any],
    wrong_labels: NDArray[np.bool_],
    centroids: NDArray[Any],
    points: NDArray[Any],
    allowed: float,
) -> Verification:
    """Labels, then coordinates of centroids, which may be `allowed` apart, then the inertia."""
    wrong_centroids = np.abs(centroids - result.centroids).ravel() > allowed
    inertia = _inertia(points, centroids, labels)
    wrong_inertia = not np.isclose(inertia, result.inertia, rtol=1e-5, atol=allowed**2 * len(points))

    def describe(place: int) -> str:
        if place < len(labels):
            return f"point {place + 1} is in cluster {labels[place]}, not in {result.labels[place]}"
        place -= len(labels)
        if place < centroids.size:
            row, column = divmod(place, centroids.shape[1])
            expected, found = centroids[row, column], result.centroids[row, column]
            return f"centroid {row} has {expected} in column {column + 1}, not {found}"
        return f"the inertia is {inertia}, not {result.inertia}"

    wrong = np.concatenate([wrong_labels, wrong_centroids, [wrong_inertia]])
    return compare(reference, seconds, "labels and coordinates", wrong, describe)


def _inertia(points: NDArray[Any], centroids: NDArray[Any], labels: NDArray[Any]) -> float:
    total = 0.0
    for first in range(0, len(points), CHUNK_POINTS):
        part = slice(first, first + CHUNK_POINTS)
        total += float(np.square(points[part].astype(np.float64) - centroids[labels[part]]).sum())
    return total
