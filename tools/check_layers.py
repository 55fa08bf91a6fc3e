"""Checks that each layer includes only what stands below it, that device code stands where it may, and that only
`transport` turns names of other PEs' memory into pointers.

Reads the sources under include/, src/, apps/ and study/; prints each breach as `file:line: reason`; exit code 1 if
there is one. Usage: check_layers.py [ROOT]
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# What a layer may include besides itself. `comm` and `flow` know the transport concept, never a named transport.
LAYERS: dict[str, set[str]] = {
    "base": set(),
    "simt": {"base"},
    "queue": {"base", "simt"},
    "memory": {"base", "simt", "queue"},
    "transport": {"base", "simt", "queue", "memory"},
    "comm": {"base", "simt", "queue", "memory", "transport"},
    "run": {"base", "simt", "queue", "memory", "transport", "comm"},
    "task": {"base", "simt", "queue", "memory", "transport", "comm", "run"},
    "flow": {"base", "simt", "queue", "memory", "transport", "comm", "run"},
    "input": {"base"},
    "graph": {"base", "input"},
}
TRANSPORT_CONCEPT = {
    "laneway/transport/peer_memory.hpp",
    "laneway/transport/remote_copy.hpp",
    "laneway/transport/remote_ptr.hpp",
    "laneway/transport/symmetric_ring.hpp",
    "laneway/transport/word_channel.hpp",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)[">]')
DEVICE_WORDS = re.compile(
    r"\b(threadIdx|blockIdx|blockDim|gridDim|__CUDA_ARCH__|__syncthreads|__syncwarp|__shfl\w*|__ballot_sync|"
    r"__match_\w+|__global__|__shared__|asm\s+volatile)\b|#\s*include\s+<cuda[_/.]"
)
# The one place where the marker of device functions and the compiler's own headers are chosen.
DEVICE_EXCEPTIONS = {"include/laneway/base/config.hpp"}
# Layers whose lanes reach memory of other PEs through `transport` alone, and what they would reach it by else: an
# address in a PE's part that is not the own one. Bodies and handlers of applications may.
ABOVE_TRANSPORT = {"comm", "run", "task", "flow"}
TABLE_OF_PARTS = re.compile(r"\bbase_of_segment\b|\benv\w*\.segments\b|\benvironment\(\)\.segments\b")
PART_OF_A_PE = re.compile(r"\.at\(\s*ctx_?\s*,\s*[\w.]*pe\b")
NAMED_PART = re.compile(r"(?:\blaneway::|(?<![\w.:>]))(?:address|at)(?=\(\s*ctx_?\s*,)")
# Rings whose words are told at the scope of the PE where both ends lie on it, as those of transport are not.
POINTER_EXCEPTIONS = {"include/laneway/task/service_rings_ref.hpp"}
SOURCES = {".hpp", ".cpp", ".cuh", ".cu"}


def layer_of(path: Path) -> str | None:
    """The layer that a source file belongs to; None for what stands above all layers."""
    parts = path.parts
    name = parts[2] if parts[:2] == ("include", "laneway") else parts[1] if parts[0] == "src" else ""
    return name if name in LAYERS else None


def named_from_root(path: Path, header: str) -> str:
    """A header given relative to the file that includes it, as other files name it."""
    if not header.startswith("."):
        return header
    inside = os.path.normpath(path.parent / header)
    return inside.removeprefix("include/") if inside.startswith("include/") else re.sub("^src/", "laneway/", inside)


def may_include(layer: str | None, header: str) -> str | None:
    """Why a file of `layer` may not include `header`; None where it may."""
    if layer is None or not header.startswith("laneway/"):
        return None
    target = header.split("/")[1]
    if target not in LAYERS:
        return f"{layer} includes {header}, which stands above all layers"
    if target != layer and target not in LAYERS[layer]:
        return f"{layer} may not include {target} ({header})"
    if target == "transport" and layer != "transport" and header not in TRANSPORT_CONCEPT:
        return f"{layer} names a transport of its own ({header})"
    return None


def may_hold_device_code(path: Path) -> bool:
    inside = "/".join(path.parts)
    if path.suffix in (".cu", ".cuh") or inside in DEVICE_EXCEPTIONS:
        return True
    return "/simt/cuda/" in inside or "/transport/" in inside


def count_arguments(text: str, at: int) -> int:
    """Arguments of the call whose parenthesis opens at `at`."""
    depth, arguments = 0, 1
    for letter in text[at:]:
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            break
        arguments += letter == "," and depth == 1
    return arguments


def peer_pointers(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Lines above transport that make a pointer to another PE's memory themselves, and how."""
    if layer_of(path) not in ABOVE_TRANSPORT or path.as_posix() in POINTER_EXCEPTIONS:
        return
    code = re.sub(r"//[^\n]*", "", text)
    found = [*TABLE_OF_PARTS.finditer(code), *PART_OF_A_PE.finditer(code)]
    found += [call for call in NAMED_PART.finditer(code) if count_arguments(code, call.end()) >= 3]
    for match in found:
        yield code.count("\n", 0, match.start()) + 1, match.group(0)


def breaches(root: Path) -> Iterator[str]:
    """Every breach as one line."""
    for folder in ("include", "src", "apps", "study"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            path = file.relative_to(root)
            text = file.read_text()
            for number, how in peer_pointers(path, text):
                yield f"{path}:{number}: {how} gives a pointer to another PE's memory: take remote_address"
            for number, line in enumerate(text.splitlines(), 1):
                include = INCLUDE.match(line)
                header = named_from_root(path, include.group(1)) if include else ""
                reason = may_include(layer_of(path), header)
                if reason is None and folder == "apps" and include and include.group(1).startswith(("src/", "../")):
                    reason = f"apps include public headers only, not {include.group(1)}"
                code = line.split("//")[0]
                if reason is None and not may_hold_device_code(path) and (word := DEVICE_WORDS.search(code)):
                    reason = f"device-specific {word.group(0)} outside simt/cuda, transport and .cu files"
                if reason:
                    yield f"{path}:{number}: {reason}"


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(breaches(root))
    print("\n".join(found) if found else "layers: every include points downwards")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
