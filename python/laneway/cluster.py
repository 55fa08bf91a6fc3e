"""k-means as an estimator of scikit-learn, which must be installed: `pip install 'laneway[sklearn]'`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted, validate_data

from laneway.arguments import BUFFER_BYTES
from laneway.arrays import refuse_masked
from laneway.programs.kmeans import MAX_ITER, TOL, kmeans, nearest_centers
from laneway.programs.kmeans_init import RandomState
from laneway.workspace import Workspace

KINDS = [np.float64, np.float32]


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """`laneway.kmeans` with scikit-learn's interface: for pipelines, grid searches and whatever takes an estimator.

    The parameters are those of `laneway.kmeans`: `random_state` draws where centers start, as in scikit-learn; `seed`
    only orders the lanes of checked devices. After `fit`: `cluster_centers_`, a row a cluster; `labels_`, int32, a
    point each; `inertia_`; `n_iter_`; `n_features_in_`. What scikit-learn's KMeans does in another way: an empty
    cluster keeps its center, k-means++ draws one candidate a center, sparse matrices are refused, and with the same
    `random_state`, 0 unless given, the clusters are the same to the bit on any `devices`.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | ArrayLike = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = MAX_ITER,
        tol: float = TOL,
        random_state: RandomState = 0,
        devices: str = "",
        seed: int = 1,
        timeout: float = 60.0,
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.devices = devices
        self.seed = seed
        self.timeout = timeout
        self.buffer_bytes = buffer_bytes

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> KMeans:  # noqa: N803
        """Find the clusters of the rows of `X`, each as often as `sample_weight` says; `y` is not looked at."""
        refuse_masked("X", X)  # scikit-learn takes what a mask hides
        points = validate_data(self, X, dtype=KINDS, order="C")
        result = kmeans(points, sample_weight=sample_weight, **self.get_params(deep=False))
        self.cluster_centers_: NDArray[Any] = result.cluster_centers
        self.labels_: NDArray[np.int32] = result.labels
        self.inertia_ = result.inertia
        self.n_iter_ = result.n_iter
        self._n_features_out = len(result.cluster_centers)
        return self

    def fit_predict(
        self,
        X: ArrayLike,  # noqa: N803
        y: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.int32]:
        """`fit`, and the labels of `X`."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(
        self,
        X: ArrayLike,  # noqa: N803
        y: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """`fit`, and the distances of `X` to the centers."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:  # noqa: N803
        """Cluster of the nearest center for each row; for the rows of `fit` these are `labels_`."""
        return self._nearest(X, None)[0]

    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """Minus the inertia of `X`: the sum of its rows' squared distances to their nearest centers."""
        return -self._nearest(X, sample_weight)[1]

    def transform(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Distance of each row to each center."""
        distances: NDArray[Any] = euclidean_distances(self._rows(X), self.cluster_centers_)
        return distances

    def _rows(self, given: ArrayLike) -> NDArray[Any]:
        check_is_fitted(self)
        refuse_masked("X", given)
        rows: NDArray[Any] = validate_data(self, given, reset=False, dtype=self.cluster_centers_.dtype, order="C")
        return rows

    def _nearest(self, given: ArrayLike, sample_weight: ArrayLike | None) -> tuple[NDArray[np.int32], float]:
        rows = self._rows(given)
        with Workspace(self.devices, self.seed, self.timeout, False, self.buffer_bytes) as workspace:
            return nearest_centers(workspace, rows, self.cluster_centers_, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
