"""What calls leave behind in the process: nothing, however many they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

MIB = 2**20

SCRIPT = """
import resource, sys
import laneway as lw

def resident():
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * resource.getpagesize()

devices, calls = sys.argv[1], int(sys.argv[2])
graph = lw.generate_kronecker(8, 2000, seed=1)
after = []
for _ in range(calls):
    lw.bfs(graph, 0, devices=devices)
    after.append(resident())
print(after[min(9, calls - 1)], after[-1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def measure(devices: str, calls: int) -> tuple[int, int, int]:
    """Resident bytes after the tenth and the last call, and at their peak."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, devices, str(calls)], check=True, capture_output=True, text=True
    )
    tenth, last, peak = map(int, done.stdout.split())
    return tenth, last, peak


def test_a_thousand_calls_take_no_more_than_ten() -> None:
    tenth, last, _ = measure("cpu:16", 1000)
    assert last < 1.1 * tenth + 4 * MIB, f"{tenth / MIB:.0f} MiB after ten calls, {last / MIB:.0f} after a thousand"


def test_as_many_devices_as_there_may_be_fit_into_memory() -> None:
    *_, peak = measure("cpu:256", 2)
    assert peak < 1500 * MIB, f"{peak / MIB:.0f} MiB"
