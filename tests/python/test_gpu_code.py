"""Where nvcc is found and no GPU answers, GPU code is compiled all the same: some of each kind."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

TREE = ROOT / "build" / "tree"


def test_kernels_of_every_component_are_compiled() -> None:
    """By the name of its agent, which what nvcc made of its kernels has."""
    build = TREE / "build.ninja"
    names = re.findall(r"^build (tests/gpu_code/\S+\.ptx):", build.read_text(), re.MULTILINE) if build.exists() else []
    if not names:
        pytest.skip("this build compiles no GPU code, or all of it")
    compiled = [(TREE / name).read_text() for name in names]
    headers = (file.read_text() for file in (ROOT / "include" / "laneway").rglob("*.hpp"))
    agents = {name for text in headers for name in re.findall(r"^(?:struct|class) (\w*agent)\b[^;]*?\{", text, re.M)}
    assert len(agents) > 10
    left_out = {name for name in agents if not any(f"{len(name)}{name}" in text for text in compiled)}
    assert not left_out, "add a suite or an example to tests/gpu_code/CMakeLists.txt"
