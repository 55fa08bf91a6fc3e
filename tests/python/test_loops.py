"""Loops in C++ sources go through what lives as long as they do."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("include", "src", "apps", "study", "styles", "bench", "python/src", "examples")

# In C++20 `for (x : f().part)` destroys what f() returns before the loop begins. An element of it, by index or by
# front() and the like, does not keep it either.
DANGLING = re.compile(r"for \([^;{}]*? : [^;{}]*\w\([^;{}()]*\)(\[[^\]]*\]|\.(front|back|at|value)\([^()]*\))\.\w+\)")


@pytest.mark.parametrize(
    "loop, dangles",
    [
        ("for (const auto n : counters.copy_out(pe)[0].arrived) {", True),
        ("for (auto& x : made().front().parts) {", True),
        ("for (const auto n : found[0].arrived) {", False),
        ("for (const auto n : counters.copy_out(pe)) {", False),
    ],
)
def test_examples_are_told_apart(loop: str, dangles: bool) -> None:
    assert bool(DANGLING.search(loop)) == dangles


def test_loops_outlive_nothing() -> None:
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.[ch]*")]
    assert len(sources) > 500
    found = [f"{path}: {loop[0]}" for path in sources for loop in DANGLING.finditer(path.read_text())]
    assert found == []
