"""What the documentation site adds to the pages: links that lead out of docs/, and the references."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from conftest import ROOT

pytest.importorskip("mkdocs", reason="the packages of the site are not installed: make docs")
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools" / "site")]
run_tests = importlib.import_module("run_tests")
outside = importlib.import_module("outside")
command_reference = importlib.import_module("command_reference")
cpp_reference = importlib.import_module("cpp_reference")


def rewritten(uri: str, markdown: str) -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=uri))
    return outside.on_page_markdown(markdown, page, None, None)


@pytest.mark.parametrize(
    ("uri", "link", "expected"),
    [
        ("index.md", "docs/guides/messages.md", "guides/messages.md"),
        ("index.md", "docs/design/", "design/README.md"),
        ("index.md", "ARCHITECTURE.md#layers", "architecture/index.md#layers"),
        ("index.md", "docs/images/scaling.png", "images/scaling.png"),
        ("guides/messages.md", "../../README.md#in-c", "../index.md#in-c"),
        ("guides/messages.md", "../../examples/draw_work.cpp", "../source/examples/draw_work.cpp.md"),
        ("programs/kmer.md", "table.hpp", "../source/apps/kmer/table.hpp.md"),
        ("programs/kmer.md", "../../docs/design/0018-requests-of-a-multiprocessor.md", None),
        ("study/styles.md", "gups", "../source/styles/gups.md"),
        ("tutorial.md", "guides/debugging.md#gdb", "guides/debugging.md#gdb"),
        ("tutorial.md", "https://example.org/README.md", "https://example.org/README.md"),
        ("tutorial.md", "no_such_page.md", "no_such_page.md"),
    ],
)
def test_links_lead_to_pages_of_the_site(uri: str, link: str, expected: str | None) -> None:
    expected = expected or "../design/0018-requests-of-a-multiprocessor.md"
    assert rewritten(uri, f"see [it]({link}).") == f"see [it]({expected})."


def test_code_is_left_alone() -> None:
    code = "```cpp\nauto f = [&](README.md) {};\n```\n"
    assert rewritten("index.md", code) == code
    assert rewritten("index.md", f"{code}[x](LICENSE)\n{code}") == f"{code}[x](source/LICENSE.md)\n{code}"


def test_folders_become_lists() -> None:
    found = outside.linked_sources(["styles/README.md"])
    assert {"styles/gups", "styles/gups/direct.cpp", "tools/count_lines.py"} <= found
    assert "- [`direct.cpp`](gups/direct.cpp.md)" in outside.source_page("styles/gups")
    assert "~~~~~~ cpp" in outside.source_page("styles/gups/direct.cpp")


def test_the_check_fails_at_links_that_lead_nowhere(tmp_path: Path) -> None:
    """--quiet would silence the warnings that --strict counts."""
    command = [sys.executable, "-m", *run_tests.checks()["documents"]]
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: test\nvalidation: {links: {anchors: warn}}\n")
    for link, code in (("#here", 0), ("#there", 1), ("other.md", 1)):
        (tmp_path / "docs" / "index.md").write_text(f"# Here\n\n[link]({link})\n")
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr


def test_command_line_is_described() -> None:
    """In a process of its own, as the commands are loaded without the compiled module."""
    script = "import command_reference as c; print('\\n'.join(c.described(c.application(), 'laneway', 2)))"
    environment = {"PYTHONPATH": str(ROOT / "tools" / "site")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "## laneway sssp\n" in done.stdout
    assert "## laneway generate kronecker\n" in done.stdout
    for command in ("trace [OPTIONS] FILE... | replay FILE...", "trace replay [OPTIONS] FILE..."):
        assert f"\nlaneway {command}\n" in done.stdout, "a command that has files or another command behind it"
    assert "laneway sssp data/USA-road-d.NY.gr.gz --source 1\n" in done.stdout
    assert "| 268435456 |" in done.stdout, "the default of --buffer-bytes is the library's"


HEADER = """
/// A thing.
class thing {
public:
    /// Takes at most `n` things; throws usage_error for more.
    template <class T>
    int take(int n, const T& from = {}) const;
    thing(const thing&) = delete;
    int size = 3;  ///< how many
private:
    int hidden_ = 0;
};
/// What things are.
enum class kind { small, large };
"""


@pytest.fixture
def documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if cpp_reference.doxygen() is None:
        pytest.skip("Doxygen is not installed")
    (tmp_path / "include" / "laneway").mkdir(parents=True)
    (tmp_path / "include" / "laneway" / "thing.hpp").write_text(f"namespace laneway {{{HEADER}}}\n")
    monkeypatch.setattr(cpp_reference, "ROOT", tmp_path)
    cpp_reference.on_pre_build(None)
    return cpp_reference


def test_names_become_documentation(documented: ModuleType) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="reference/things.md"))
    text = documented.on_page_markdown("[`laneway::thing`](../include/laneway/thing.hpp)\n", page, None, None)
    assert "A thing." in text
    assert "template <class T>\nint take(int n, const T& from = {}) const;" in text
    assert "Takes at most `n` things; throws usage\\_error for more." in text
    assert "int size = 3;" in text
    assert "hidden_" not in text
    assert "delete" not in text
    text = documented.on_page_markdown("[`laneway::kind`](../include/laneway/thing.hpp)\n", page, None, None)
    assert "enum class kind {\n    small,\n    large,\n};" in text


def test_a_name_that_no_header_has_is_a_warning(documented: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="reference/things.md"))
    place = "[`laneway::thong`](../include/laneway/thing.hpp)"
    with caplog.at_level(logging.WARNING):
        assert documented.on_page_markdown(place, page, None, None) == place
    assert "laneway::thong is in no header" in caplog.text
