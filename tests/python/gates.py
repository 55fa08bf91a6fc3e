"""Bodies that hold a worker up until the test lets it go on, and that tell in which order they run."""

from __future__ import annotations

import laneway as lw
import numpy as np

WAIT = """
#include <atomic>
#include <thread>
std::uint32_t wait_at(std::uint64_t address) {
    auto& word = *reinterpret_cast<std::atomic<std::uint32_t>*>(address);
    while (word.load() == 0) std::this_thread::yield();
    return word.load();
}
"""
COUNT = """
#include <atomic>
std::uint32_t count(std::uint64_t address) {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(address)->fetch_add(1);
}
"""


class Word:
    """A number that bodies and the test share."""

    def __init__(self) -> None:
        self._array = np.zeros(1, np.uint32)
        self.address = int(self._array.ctypes.data)

    @property
    def value(self) -> int:
        return int(self._array[0])

    def set(self, value: int = 1) -> None:
        self._array[0] = value


class Gate(Word):
    """Closed until `open`, which the end of its context is, too."""

    def __init__(self) -> None:
        super().__init__()
        self.body = lw.TaskBody(WAIT)

    def open(self) -> None:
        self.set()

    def hold(self, pool: lw.TaskPool, count: int = 1) -> list[lw.task_future.TaskFuture]:
        """Futures of tasks that wait at the gate."""
        return [pool.submit(self.body, self.address) for _ in range(count)]  # type: ignore[misc]

    def fill(self, pool: lw.TaskPool) -> list[lw.task_future.TaskFuture]:
        """So many that the devices take no other: what is submitted now is on the host until the gate opens."""
        futures = self.hold(pool)
        while True:
            futures += self.hold(pool)
            if not futures[-1].running():
                return futures

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()
