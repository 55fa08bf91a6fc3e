"""Bodies that hold a worker up until the test lets it go on, and that tell in which order they run."""

from __future__ import annotations

import itertools
import os
import tempfile

import laneway as lw
import numpy as np

WORDS = 4096
FILE = tempfile.NamedTemporaryFile(prefix="laneway-words-")  # noqa: SIM115 - as long as the tests
FILE.truncate(4 * WORDS)
os.environ["LANEWAY_TEST_WORDS"] = FILE.name

WORD = f"""
#include <fcntl.h>
#include <sys/mman.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
std::atomic<std::uint32_t>& word(std::uint64_t place) {{
    static void* const words = mmap(nullptr, {4 * WORDS}, PROT_READ | PROT_WRITE, MAP_SHARED,
                                    open(std::getenv("LANEWAY_TEST_WORDS"), O_RDWR), 0);
    return static_cast<std::atomic<std::uint32_t>*>(words)[place];
}}
"""
WAIT = f"""{WORD}
std::uint32_t wait_at(std::uint64_t place) {{
    while (word(place).load() == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return word(place).load();
}}
"""
COUNT = f"{WORD} std::uint32_t count(std::uint64_t place) {{ return word(place).fetch_add(1); }}"

_all = np.memmap(FILE.name, np.uint32, "r+")
_places = itertools.count()


class Word:
    """A number that bodies and the test share, in whatever process bodies run."""

    def __init__(self) -> None:
        self.place = next(_places)

    @property
    def value(self) -> int:
        return int(_all[self.place])

    def set(self, value: int = 1) -> None:
        _all[self.place] = value


class Gate(Word):
    """Closed until `open`, which the end of its context is, too."""

    def __init__(self) -> None:
        super().__init__()
        self.body = lw.TaskBody(WAIT)

    def open(self) -> None:
        self.set()

    def hold(self, pool: lw.TaskPool, count: int = 1) -> list[lw.task_future.TaskFuture]:
        """Futures of tasks that wait at the gate."""
        return [pool.submit(self.body, self.place) for _ in range(count)]  # type: ignore[misc]

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
