"""The documents say what is true: links lead somewhere, options and codes are the command's, examples are the files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, Run

FOLDERS = ("docs", "data", "apps", "bench", "styles")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))])
README = (ROOT / "README.md").read_text()


def squeezed(code: str) -> str:
    """Code without comments and blanks."""
    return "".join(re.sub(r"//.*", "", code).split())


def code_blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(document: Path) -> None:
    prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)  # a lambda in code looks like a link
    targets = re.findall(r"\]\(([^)#\s]+)", prose)
    missing = [target for target in targets if "://" not in target and not (document.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("command", ["sssp", "bfs"])
def test_options(laneway: Run, command: str) -> None:
    offered = set(re.findall(r"--[a-z]+", laneway(command, "--help").stdout)) - {"--help"}
    described = set(re.findall(r"--[a-z]+", README.split("| option of")[1].split("\n\n")[0]))
    assert offered == described


def test_cpp_example() -> None:
    example = squeezed((ROOT / "examples" / "histogram.cpp").read_text())
    shown = README.split("```cpp\n")[1].split("```")[0]
    structs = re.findall(r"^struct .*?^};", shown, re.MULTILINE | re.DOTALL)
    assert len(structs) == 2
    for struct in structs:
        assert squeezed(struct) in example
    handler = next(block for block in code_blocks(ROOT / "README.md", "cpp") if "posts_onward" in block)
    assert squeezed(handler) in squeezed((ROOT / "examples" / "one_sided.cpp").read_text())


def test_page_for_nvshmem_users_shows_programs() -> None:
    """All code of the page stands in a program that is compiled."""
    files = ["examples/one_sided.cpp", "examples/histogram.cpp", "bench/peers/nvshmem_one_sided.cu"]
    programs = [squeezed((ROOT / file).read_text()) for file in files]
    blocks = code_blocks(ROOT / "docs" / "from_nvshmem.md", "cpp")
    assert len(blocks) == 10
    for block in blocks:
        assert any(squeezed(block) in program for program in programs), block


def test_python_example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(README.split("```python\n")[1].split("```")[0], names)
    printed = capsys.readouterr().out.split()
    assert printed[0] == "1440081"
    assert printed[1] == printed[2]
    assert int(printed[3]) == names["result"].distance.of(4) > 0
    assert (printed[4], printed[-1]) == ("[1,", "4]")


def test_python_example_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("networkx")
    example = README.split("```python\n")[2].split("```")[0]
    exec("import laneway as lw\n" + example, {})
    promised = re.findall(r"print\(.*# (.*)", example)
    assert capsys.readouterr().out.splitlines() == promised


def test_design_records_are_listed() -> None:
    index = (ROOT / "docs" / "design" / "README.md").read_text()
    records = sorted(path.name for path in (ROOT / "docs" / "design").glob("0*.md"))
    assert re.findall(r"\((\d{4}-[a-z0-9-]+\.md)\)", index) == records
