"""What calls leave behind in the process: nothing, however many they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

KIB, MIB = 2**10, 2**20

# What malloc has given out is the same to some KiB under any load, so that few calls show what each keeps; what the
# process has resident shows what is mapped by other means, to some 100 KiB where no huge pages come and go.
MEASURES = """
import ctypes, resource, sys
import laneway as lw
import numpy as np

class Mallinfo2(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Mallinfo2
PR_SET_THP_DISABLE = 41
libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)

def taken():
    info = libc.mallinfo2()
    with open("/proc/self/statm") as status:
        return info.uordblks + info.hblkhd, int(status.read().split()[1]) * resource.getpagesize()
"""

CALLS = """
devices, calls = sys.argv[1], int(sys.argv[2])
graph = lw.generate_kronecker(8, 2000, seed=1)
after = []
for _ in range(calls):
    lw.bfs(graph, 0, devices=devices)
    after.append(taken())
print(*after[min(9, calls - 1)], *after[-1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""

ROUNDS = """
graph = lw.generate_kronecker(9, 4000, seed=1)
points = np.random.default_rng(1).random((200, 3))
atoms = lw.Atoms(0, np.array([[0.0, 6]] * 3), np.arange(1, 4), np.diag([1.0, 2, 3]), np.eye(3))
graphs, all_programs = [], []
with lw.Session(devices="cpu:4") as session:
    for i in range(100):
        session.sssp(graph, i % 50)
        session.pagerank(graph, tol=0.1)
        session.bfs(graph, i % 50)
        graphs.append((*taken(), sum(session.held_bytes)))
    for i in range(100):
        session.indegree(lw.generate_grid(9, 9, seed=i))
        session.kmeans(points, 3)
        session.kmer("GATTACA" * 9, 5)
        session.md(atoms, 3, replicas=2)
        session.sssp(graph, i % 50)
        all_programs.append((*taken(), sum(session.held_bytes)))
    assert session.graphs == [graph]
for measured in (graphs, all_programs):
    print(*measured[19], *measured[-1])
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def measure(script: str, *arguments: object) -> list[list[int]]:
    """The lines of numbers that a script prints in a process of its own."""
    command = [sys.executable, "-c", MEASURES + script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_a_hundred_calls_take_no_more_than_ten() -> None:
    (allocated, resident, allocated_after, resident_after), _ = measure(CALLS, "cpu:16", 100)
    assert (allocated_after - allocated) / 90 < KIB
    assert (resident_after - resident) / 90 < 12 * KIB


def test_as_many_devices_as_there_may_be_fit_into_memory() -> None:
    *_, (peak,) = measure(CALLS, "cpu:256", 2)
    assert peak < 1500 * MIB, f"{peak / MIB:.0f} MiB"


def test_memory_of_a_session_is_constant_over_a_hundred_rounds() -> None:
    graphs, all_programs = measure(ROUNDS)
    for allocated, resident, _, allocated_after, resident_after, _ in (graphs, all_programs):
        assert (allocated_after - allocated) / 80 < 2 * KIB
        assert (resident_after - resident) / 80 < 40 * KIB
    assert graphs[2] == graphs[5]
    assert all_programs[5] < all_programs[2] + MIB  # the table of symmetric arrays has had to grow
