"""A library's kernels, allocations and copies beside a pool, which leaves the GPU to them as its lease ends."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes.util import find_library

import laneway as lw
import numpy as np
import pytest
from conftest import GPUS
from laneway.cuda_toolkit import installations, libraries
from numpy.typing import NDArray

pytestmark = pytest.mark.skipif(not GPUS, reason="no GPU")
WIDTH = 256
TO_DEVICE, TO_HOST, AS_IT_IS = 1, 2, 0


class Cublas:
    """Products of matrices on GPU 0, in memory that each call allocates and frees."""

    def __init__(self) -> None:
        folders = [folder for group in installations() for folder in group]
        found = [libraries(name, folders) for name in ("cudart", "cublas")]
        majors = found[0].keys() & found[1].keys()
        names = [str(one[max(majors)]) if majors else find_library(n) for one, n in zip(found, ("cudart", "cublas"))]
        if None in names:
            pytest.skip("cuBLAS is not installed")
        self._cuda, self._blas = (ctypes.CDLL(name) for name in names)
        self._handle = ctypes.c_void_p()
        assert self._blas.cublasCreate_v2(ctypes.byref(self._handle)) == 0

    def product(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        result, size = np.empty_like(a), ctypes.c_size_t(a.nbytes)
        on_gpu = [ctypes.c_void_p() for _ in range(3)]
        for memory in on_gpu:
            assert self._cuda.cudaMalloc(ctypes.byref(memory), size) == 0
        for memory, given in zip(on_gpu, (a, b)):
            assert self._cuda.cudaMemcpy(memory, given.ctypes.data_as(ctypes.c_void_p), size, TO_DEVICE) == 0
        one, zero, n = ctypes.c_double(1), ctypes.c_double(0), len(a)
        first, second, third = on_gpu  # by columns, so that the order of the factors is the other one
        shape = (self._handle, AS_IT_IS, AS_IT_IS, n, n, n, ctypes.byref(one))
        operands = (second, n, first, n, ctypes.byref(zero), third, n)
        assert self._blas.cublasDgemm_v2(*shape, *operands) == 0
        assert self._cuda.cudaMemcpy(result.ctypes.data_as(ctypes.c_void_p), third, size, TO_HOST) == 0
        for memory in on_gpu:
            assert self._cuda.cudaFree(memory) == 0
        return result


@pytest.fixture
def cublas() -> Iterator[Cublas]:
    made = Cublas()
    yield made
    made._blas.cublasDestroy_v2(made._handle)


def test_products_beside_a_pool(cublas: Cublas) -> None:
    """Products come while the pool's program is on the GPU, idle or with tasks; the pool then comes back."""
    random = np.random.default_rng(7)
    with lw.TaskPool("cuda:0") as pool:
        for turn in range(4):
            assert pool.submit("adder", 1.0, 1.0, 10 + turn).result() == sum(range(1, 11 + turn))
            waiting = [pool.submit("spin", 1_000_000) for _ in range(500)] if turn % 2 else []
            a, b = random.random((2, WIDTH, WIDTH))
            assert np.allclose(cublas.product(a, b), a @ b, rtol=1e-12)
            assert all(future.result() >= 1_000_000 for future in waiting)
        assert pool.statistics.failed == 0
