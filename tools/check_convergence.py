"""Checks GPU code for collectives of a warp that may miss lanes.

A function that lanes of a warp call together may come back to them at different times, if they take several ways in it
and call further functions there. ptxas takes lanes that went into a call together for lanes that come out of it
together, so that a vote or a shuffle right behind the call has no barrier of its own, and misses those that come later
(docs/design/0105-lanes-leave-calls-apart.md). Prints each such place as `function -> what it calls: instruction`; exit
code 1 if there is one. `laneway::reconverging` mends it.

Usage: check_convergence.py FILE...

A file is an object, a library or a program with GPU code, or what nvdisasm prints. cuobjdump and nvdisasm must be in
PATH: they are part of the CUDA toolkit, and of the packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FUNCTION = re.compile(r"\.text\.(\S+):$")
LABEL = re.compile(r"\s*(\.L_x_\d+):")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
REGION = re.compile(r"BSSY(?:\.RECONVERGENT)? B\d+, `\((\.L_x_\d+)\)")
CALL = re.compile(r"\bCALL\S* `\((\S+?)\)")
BRANCH = re.compile(r"\b(?:BRA|JMP)\b(?!\.DIV)[^`]*`\((\.L_x_\d+)\)")
# Behind these all lanes of the warp are together, or are waited for, or the way ends.
MEETING = re.compile(r"BRA\.DIV|WARPSYNC|BSYNC|BRX|^(?:RET\b|EXIT)|VOTEU\.ANY|MATCH\.ANY")
COLLECTIVE = re.compile(r"\b(VOTE|SHFL|MATCH\.ALL|REDUX|VOTEU\.ALL)\b")


def functions_of(listing: str) -> dict[str, list[str]]:
    """The lines of each function: instructions, and labels, which begin with a dot."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for text in listing.splitlines():
        if begins := FUNCTION.match(text):
            lines = found.setdefault(begins.group(1), [])
        elif label := LABEL.match(text):
            lines.append(label.group(1))
        elif instruction := INSTRUCTION.search(text):
            lines.append(instruction.group(1))
    return found


def labels_of(lines: list[str]) -> dict[str, int]:
    return {line: at for at, line in enumerate(lines) if line.startswith(".")}


def calls_of(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """What a function calls, and whether it does so where its lanes may have taken several ways."""
    place = labels_of(lines)
    regions = [(at, place.get(m.group(1), 0)) for at, line in enumerate(lines) if (m := REGION.search(line))]
    for at, line in enumerate(lines):
        if call := CALL.search(line):
            yield call.group(1), any(begin < at < end for begin, end in regions)


def leave_apart(functions: dict[str, list[str]]) -> set[str]:
    """Functions that lanes may leave apart: they call others on one of several ways, or one that lanes leave apart."""
    calls = {name: list(calls_of(lines)) for name, lines in functions.items()}
    apart = {name for name, called in calls.items() if any(inside for _, inside in called)}
    while more := {n for n, called in calls.items() if n not in apart and any(other in apart for other, _ in called)}:
        apart |= more
    return apart


def collective_behind(lines: list[str], place: dict[str, int], at: int) -> str:
    """The first collective on a way behind a call, before anything that brings lanes together; none: empty."""
    ways, seen = [at + 1], set[int]()
    while ways:
        at = ways.pop()
        while at < len(lines) and at not in seen:
            seen.add(at)
            line = lines[at]
            if MEETING.search(line):
                break
            if COLLECTIVE.search(line):
                return line
            if branch := BRANCH.search(line):
                ways += [place[branch.group(1)]] if branch.group(1) in place else []
                if not line.startswith("@"):
                    break
            at += 1
    return ""


def breaches(listing: str) -> Iterator[str]:
    """Calls of such functions with a collective behind them before anything that brings lanes together."""
    functions = functions_of(listing)
    apart = leave_apart(functions)
    for name, lines in functions.items():
        place = labels_of(lines)
        for at, line in enumerate(lines):
            call = CALL.search(line)
            if call is None or (call.group(1) in functions and call.group(1) not in apart):
                continue
            if missed := collective_behind(lines, place, at):
                yield f"{name} -> {call.group(1)}: {missed}"


def listings_of(path: Path) -> Iterator[str]:
    """What nvdisasm prints for the GPU code of a file."""
    if path.read_bytes()[:4] not in (b"\x7fELF", b"!<ar"):
        yield path.read_text()
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cuobjdump", "-xelf", "all", path.resolve()], cwd=folder, check=True, capture_output=True)
        for code in sorted(Path(folder).iterdir()):
            yield subprocess.run(["nvdisasm", "-c", code], check=True, capture_output=True, text=True).stdout


def main(files: list[str]) -> int:
    try:
        found = [breach for file in files for listing in listings_of(Path(file)) for breach in breaches(listing)]
    except FileNotFoundError as missing:
        print(f"check_convergence.py: {missing.filename}: not found", file=sys.stderr)
        return 2
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
