"""The pages for beginners are carried out word by word: programs are compiled, commands run, output is compared."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, lock_of

TREE = ROOT / "build" / "tree"
PAGES = ("tutorial", "guides/debugging")

# A block of code, and the name of its file where the line above it gives one.
BLOCK = re.compile(r"(?:^[^\n]*?`([\w.]+)`[^\n`]*:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A file to be written or commands to be run, and what they print."""

    language: str
    name: str
    text: str
    output: str | None = None


def steps_of(page: str) -> list[Step]:
    """What a page has its reader do, in order."""
    steps: list[Step] = []
    for name, language, text in BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text()):
        if language == "text":
            before = steps.pop()
            assert before.language == "sh" and before.output is None, text
            steps.append(Step("sh", "", before.text, text))
        else:
            steps.append(Step(language, name, text))
    return steps


def has_tree() -> bool:
    """Whether there is a library for CPU devices to install, which saves a minute of compiling it."""
    if not (TREE / "liblaneway.a").exists():
        return False
    cache = (TREE / "CMakeCache.txt").read_text()
    has_gpu_code = "LANEWAY_CUDA:STRING=ON" in cache or (
        "LANEWAY_CUDA:STRING=AUTO" in cache and "CMAKE_CUDA_COMPILER:" in cache
    )
    return not has_gpu_code


def spare_minutes(command: str) -> str:
    """The commands that build the library, or the package: tried without compiling where both are there."""
    if command == "cmake --build build/library --target laneway -j2\n":
        return 'cmake --build "$TRIED" --target laneway -j2 -- -n > /dev/null\n'
    if command.startswith("cmake -S . -B build/library "):
        return command.replace("build/library", '"$TRIED"').rstrip("\n") + " > /dev/null\n"
    if command.startswith("cmake --install build/library "):
        # No other test changes the tree meanwhile.
        return f"flock {lock_of('the build tree')} {command.replace('build/library', str(TREE)).rstrip()} > /dev/null\n"
    return command


def script_of(steps: list[Step], files: Path) -> str:
    """One shell runs a page, as one reader does."""
    lines = [f"cd {ROOT}\n"]
    for number, step in enumerate(steps):
        if step.language == "sh":
            commands = step.text.splitlines(keepends=True)
            lines += [f"echo '@@ {number}'\n", *map(spare_minutes if has_tree() else str, commands), 'echo "@@ $?"\n']
        else:
            (files / str(number)).write_text(step.text)
            lines.append(f"cp {files / str(number)} {step.name}\n")
    return "".join(lines)


def carry_out(steps: list[Step], home: Path) -> dict[int, tuple[str, int]]:
    """Output and exit code of each step of commands."""
    files = home / ".files"
    files.mkdir(exist_ok=True)
    script = script_of(steps, files)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(home), "PATH": path, "TRIED": str(home / ".tried")}
    deps = ROOT / "build" / "deps" / "usr"  # where the system lacks zlib or xz
    if deps.exists():
        environment |= {"LIBRARY_PATH": str(deps / "lib" / "x86_64-linux-gnu"), "CMAKE_PREFIX_PATH": str(deps)}
    done = subprocess.run(
        ["bash"],
        input=script,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    found = re.findall(r"^@@ (\d+)\n(.*?)^@@ (\d+)$", done.stdout, re.MULTILINE | re.DOTALL)
    return {int(number): (output, int(code)) for number, output, code in found}


def matches(output: str, expected: str) -> bool:
    """Whether this is the output, where "..." stands for any text."""
    pattern = ".*?".join(re.escape(part) for part in expected.rstrip("\n").split("..."))
    return re.fullmatch(pattern, output.rstrip("\n"), re.DOTALL) is not None


def test_pages(tmp_path: Path) -> None:
    """One after the other, as the second works with what the first installs."""
    for page in PAGES:
        for tool in ("g++", "cmake", *(("gdb",) if page == "guides/debugging" else ())):
            if shutil.which(tool) is None:
                pytest.skip(f"{page}: {tool} is not installed")
        steps = steps_of(page)
        found = carry_out(steps, tmp_path)
        for number, step in enumerate(steps):
            if step.language != "sh":
                continue
            output, code = found[number]
            if step.output is None:
                assert code == 0, f"{page}: {step.text}\n{output}"
            else:
                assert matches(output, step.output), f"{page}: {step.text}\nprints\n{output}\nand not\n{step.output}"


def test_every_block_is_carried_out() -> None:
    for page in PAGES:
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert len(BLOCK.findall(text)) == text.count("\n```") / 2
        assert {step.language for step in steps_of(page)} <= {"sh", "cpp", "cmake", "python"}
        assert all(step.name for step in steps_of(page) if step.language != "sh")


def test_words_of_faults_are_the_librarys() -> None:
    page = (ROOT / "docs" / "guides" / "debugging.md").read_text().split("## What a fault says")[1]
    table = page.split("| words | mean |")[1].split("\n\n")[0]
    words = [re.sub("^deadline passed while ", "", row) for row in re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)]
    source = "".join((ROOT / "include" / "laneway" / "base" / name).read_text() for name in ("status.hpp", "fault.hpp"))
    assert len(words) >= 10
    assert [each for each in words if f'"{each}' not in source] == []
