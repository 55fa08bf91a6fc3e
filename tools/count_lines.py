"""Counts the lines of code of each program in each style: what is neither blank nor a comment.

A style's program is one file, styles/PROGRAM/STYLE.cpp. Headers that it includes besides the program's problem.hpp,
with the sources of the same name, are its support: code that the style needs and other styles do not. Files count as
clang-format lays them out. Usage: count_lines.py [--output FILE]; writes JSON, without --output to standard output.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = {"problem.hpp"}
SOURCES = (".hpp", ".cpp", ".cu", ".cuh")


def count(path: Path) -> int:
    """Lines of a file with code on them. The sources have no /* */ comments."""
    return sum(bool(re.sub("//.*", "", line).strip()) for line in path.read_text().splitlines())


def support(path: Path) -> list[Path]:
    """The files that a style's program needs for itself."""
    files: list[Path] = []
    for header in re.findall(r'#include "(.*)"', path.read_text()):
        found = next(root / header for root in (ROOT, ROOT / "apps", ROOT / "include") if (root / header).exists())
        if found.name not in SHARED:
            files += [found.with_suffix(suffix) for suffix in SOURCES if found.with_suffix(suffix).exists()]
    return files


def count_styles(programs: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Of each program and style: lines of its file, and of its support."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for problem in sorted(programs.glob("*/problem.hpp")):
        counts[problem.parent.name] = {
            path.stem: {"lines": count(path), "support": sum(count(file) for file in support(path))}
            for path in sorted(problem.parent.glob("*.cpp"))
            if path.stem != "study"
        }
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    text = json.dumps(count_styles(ROOT / "styles"), indent=2) + "\n"
    if output is None:
        print(text, end="")
    else:
        output.write_text(text)


if __name__ == "__main__":
    main()
