"""The documents say what is true: links lead somewhere, options and codes are the command's, examples are the files."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import laneway as lw
import pytest
from conftest import ROOT, Run

FOLDERS = ("docs", "data", "apps", "bench", "styles")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))])
DOCS = ROOT / "docs"
COMMANDS = (DOCS / "reference" / "command.md").read_text()


def squeezed(code: str) -> str:
    """Code without comments and blanks."""
    return "".join(re.sub(r"//.*", "", code).split())


def code_blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)


def prose_of(document: Path) -> str:
    return re.sub(
        r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE
    )  # code may look like a link


def anchors_of(document: Path) -> set[str]:
    """Anchors of a document's headings, as code hosts make them."""
    seen: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#+ (.*)$", prose_of(document), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors


def test_fibonacci_on_a_channel_takes_25_lines() -> None:
    """Figure 4-5 of Orr's thesis: the kernel, and the graph that the host makes and runs."""
    text = (ROOT / "examples" / "channels.cpp").read_text()
    parts = re.findall(
        r"^struct fib \{.*?^\};|lw::channel_graph graph.*?graph\.run\(.*?\);", text, re.MULTILINE | re.DOTALL
    )
    assert len(parts) == 2
    assert len([line for part in parts for line in part.splitlines() if line.strip()]) <= 25


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(document: Path) -> None:
    """The site checks its own; these are the links where the repository is read."""
    wrong = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", prose_of(document)):
        if "://" in target:
            continue
        path = document.parent / target if target else document
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors_of(path)):
            wrong.append(f"{target}#{anchor}" if anchor else target)
    assert wrong == []


@pytest.mark.parametrize(("document", "most_words"), [("README.md", 1200), ("ARCHITECTURE.md", 2500)])
def test_front_pages_are_short(document: str, most_words: int) -> None:
    """What does not fit is a page of its own under docs/."""
    assert len((ROOT / document).read_text().split()) <= most_words


@pytest.mark.parametrize("command", ["sssp", "bfs"])
def test_options(laneway: Run, command: str) -> None:
    offered = set(re.findall(r"--[a-z]+", laneway(command, "--help").stdout)) - {"--help"}
    rows = COMMANDS.split("| option of")[1].split("\n\n")[0].splitlines()
    others = {"sssp": "`bfs` only", "bfs": "`sssp` only"}[command]
    described = set(re.findall(r"--[a-z]+", "\n".join(row for row in rows if others not in row)))
    assert offered == described


def test_commands(laneway: Run) -> None:
    offered = set(re.findall(r"^\W*([a-z]+) {2,}", laneway("--help").stdout.split("Commands")[1], re.MULTILINE))
    described = set(re.findall(r"^\| `laneway ([a-z]+)", COMMANDS, re.MULTILINE))
    assert offered == described


def test_report_is_described() -> None:
    page = (DOCS / "reference" / "python.md").read_text()
    kinds = ((lw.Report, "A `Report`"), (lw.Device, "A `Device`"), (lw.TaskStatistics, "is a `TaskStatistics`"))
    for kind, heading in kinds:
        table = page.split(heading)[1].split("|---|---|\n")[1].split("\n\n")[0]
        described = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
        assert described == {name for name in dir(kind) if not name.startswith("_")}


def test_everything_of_the_package_has_a_place_in_the_reference() -> None:
    page = (DOCS / "reference" / "python.md").read_text()
    shown = {name.split(".")[-1] for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    by_hand = {"Device", "Report", "Sequences", "SimulatedReads", "TaskStatistics", "__version__"}
    errors = {
        name for name in lw.__all__ if isinstance(getattr(lw, name), type) and issubclass(getattr(lw, name), Exception)
    }
    assert {*lw.__all__, *lw.flow.__all__} - shown - by_hand - errors == {"flow"}
    assert all(f"`{name}`" in page for name in by_hand)


def test_cpp_example() -> None:
    example = squeezed((ROOT / "examples" / "histogram.cpp").read_text())
    shown = code_blocks(ROOT / "README.md", "cpp")[0]
    structs = re.findall(r"^struct .*?^};", shown, re.MULTILINE | re.DOTALL)
    assert len(structs) == 2
    for struct in structs:
        assert squeezed(struct) in example
    handler = next(block for block in code_blocks(DOCS / "guides" / "messages.md", "cpp") if "forwards = true" in block)
    assert squeezed(handler) in squeezed((ROOT / "examples" / "one_sided.cpp").read_text())


# Words of the library's own in whose place it has those of the field: passive, sender, queue, termination detection,
# and in names min_ and max_.
REPLACED = (
    "at_rest|run_dry|see_end|keep_up|run_turns|share_out|outbox|post_office|ring_mesh|onward_post|kept_post|proven_words|"
    "reply_desk|transfer_desk|remote_poster|chunk_receiver::(arrived|give_back)|(least|most|usual)_(?!deep|frequent|common)\\w+"
)


def test_words_that_others_have_replaced_do_not_come_back() -> None:
    folders = ("include", "src", "apps", "study", "styles", "examples", "python", "docs/guides", "docs/architecture")
    for folder in folders:
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".hpp", ".cpp", ".cu", ".cuh", ".py", ".md"):
                found = re.search(rf"\b({REPLACED})\b", file.read_text())
                assert found is None, f"{file.relative_to(ROOT)}: {found[0]}"


def test_guide_to_components_shows_a_program() -> None:
    example = squeezed((ROOT / "examples" / "tally.cpp").read_text())
    blocks = code_blocks(DOCS / "guides" / "components.md", "cpp")
    assert len(blocks) == 7
    for block in blocks[3:]:  # the first are about using several
        assert squeezed(block) in example, block


FIRST_PROGRAMS = {"triggers": "first_trigger", "remote_queue": "first_remote_queue", "service": "first_service"}


@pytest.mark.parametrize(("guide", "example"), FIRST_PROGRAMS.items())
def test_guides_begin_with_a_short_program_and_what_it_prints(guide: str, example: str) -> None:
    """CMake compiles it, and ctest compares what it prints with the same words."""
    page = (DOCS / "guides" / f"{guide}.md").read_text()
    begin = page[: page.index("\n## ")]
    assert re.findall(r"^```(\w+)$", begin, re.MULTILINE)[:2] == ["cpp", "text"]
    whole = (ROOT / "examples" / f"{example}.cpp").read_text()
    shown = code_blocks(DOCS / "guides" / f"{guide}.md", "cpp")[0]
    assert shown == whole[whole.index("#include") :]
    what_matters = re.split(r"^#include.*\n", shown, flags=re.MULTILINE)[-1].split("} catch")[0]
    lines = [line for line in re.sub(r"//.*", "", what_matters).splitlines() if line.strip(" {};")]
    assert len(lines) <= 20
    printed = code_blocks(DOCS / "guides" / f"{guide}.md", "text")[0]
    tests = (ROOT / "examples" / "CMakeLists.txt").read_text()
    expected = re.search(rf'expect_output\(example\.{example}\.\S+ \S+ "\^(.*)\$"\)', tests)
    assert expected is not None and expected[1].replace(r"\n", "\n") == printed
    program = ROOT / "build" / "tree" / "examples" / example
    if program.exists():  # not where an installed package is tested
        done = subprocess.run([program, "cpu:2"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_guide_to_remote_queues_shows_a_program() -> None:
    example = squeezed((ROOT / "examples" / "remote_queue.cpp").read_text())
    for line in code_blocks(DOCS / "guides" / "remote_queue.md", "cpp")[1].splitlines():
        assert squeezed(line) in example, line


def test_guide_to_sessions_shows_a_program() -> None:
    example = squeezed((ROOT / "examples" / "word_count.cpp").read_text())
    shown = code_blocks(DOCS / "guides" / "sessions.md", "cpp")[0]
    lines = shown.splitlines()
    assert squeezed(lines[0]) in example
    for call in re.findall(r"session\.\w+\(", shown):
        assert call in example


def test_page_for_nvshmem_users_shows_programs() -> None:
    """All code of the page stands in a program that is compiled."""
    files = ["examples/one_sided.cpp", "examples/histogram.cpp", "bench/peers/nvshmem_one_sided.cu"]
    programs = [squeezed((ROOT / file).read_text()) for file in files]
    blocks = code_blocks(DOCS / "guides" / "from_nvshmem.md", "cpp")
    assert len(blocks) == 10
    for block in blocks:
        assert any(squeezed(block) in program for program in programs), block


def test_python_example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The README's, with which the guide begins as well."""
    monkeypatch.chdir(ROOT)
    example = code_blocks(ROOT / "README.md", "python")[0]
    assert code_blocks(DOCS / "guides" / "python.md", "python")[0] == example
    names: dict[str, object] = {}
    exec(example, names)
    printed = capsys.readouterr().out.split()
    assert printed[0] == "1440081"
    assert printed[1] == printed[2]
    assert int(printed[3]) == names["result"].distance.of(4) > 0
    assert (printed[4], printed[-1]) == ("[1,", "4]")


def test_python_example_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("networkx")
    example = code_blocks(DOCS / "guides" / "python.md", "python")[1]
    exec("import laneway as lw\n" + example, {})
    promised = re.findall(r"print\(.*# (.*)", example)
    assert promised
    assert capsys.readouterr().out.splitlines() == promised


def test_guide_to_triggers_shows_a_program() -> None:
    files = ("triggers.cpp", "outside_triggers.cpp")
    example = "".join(squeezed((ROOT / "examples" / name).read_text()) for name in files)
    blocks = code_blocks(DOCS / "guides" / "triggers.md", "cpp")
    assert len(blocks) == 6
    del blocks[3]  # about what waits for the end
    for line in "\n".join(blocks[1:]).splitlines():  # the first is a program of its own
        assert squeezed(line.split("//")[0]) in example, line


def test_guide_to_dataflow_shows_a_program() -> None:
    example = squeezed((ROOT / "examples" / "filter.cpp").read_text())
    blocks = [*code_blocks(DOCS / "guides" / "dataflow.md", "cpp"), code_blocks(ROOT / "README.md", "cpp")[1]]
    assert len(blocks) == 8
    del blocks[6]  # about groups
    del blocks[3:5]  # about strides and pieces
    for line in "\n".join(blocks).splitlines():
        assert squeezed(line) in example, line


def test_guide_from_mpi_shows_a_program() -> None:
    example = squeezed((ROOT / "examples" / "ring.cpp").read_text())
    blocks = code_blocks(DOCS / "guides" / "from_mpi.md", "cpp")
    assert len(blocks) == 4
    assert all(known in blocks[0] for known in ("ctx.local_rank() != 0", "me = ", "next = ", "token = "))
    for line in "\n".join(blocks).splitlines():
        assert squeezed(line) in example, line


def test_guide_to_work_items_shows_a_program() -> None:
    example = squeezed((ROOT / "examples" / "work_items.cpp").read_text())
    blocks = code_blocks(DOCS / "guides" / "work_items.md", "cpp")
    assert len(blocks) == 3
    del blocks[2]  # about items that idle PEs take
    for block in blocks:
        assert squeezed(block) in example


def test_guide_to_tasks_shows_programs(capsys: pytest.CaptureFixture[str]) -> None:
    guide = DOCS / "guides" / "tasks.md"
    sources = ("examples/tasks.cpp", "examples/fork_join.cpp", "tests/c_tasks/kernels.cpp")
    program = "".join(squeezed((ROOT / source).read_text()) for source in sources)
    shown = code_blocks(guide, "cpp")
    assert len(shown) == 5
    for block in shown:
        assert squeezed(block) in program, block
    example = "".join(code_blocks(guide, "python"))
    exec(example, {})
    promised = re.findall(r"print\(.*\)  # (.*)", example)
    assert len(promised) == 16
    assert capsys.readouterr().out.splitlines() == promised


def test_many_task_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(code_blocks(DOCS / "manytask.md", "python")[0], {})
    told = [line.split(": ") for line in capsys.readouterr().out.splitlines()]
    assert [devices for devices, _ in told] == ["cpu:1", "cpu:2"]
    assert all(float(efficiency) > 0 for _, efficiency in told)  # how much depends on what else the machine does


def test_guide_to_channels_shows_programs() -> None:
    examples = ("channels", "channels_remote", "channels_service", "continuations")
    sources = [
        *(f"examples/{name}.cpp" for name in examples),
        *(f"tests/unit/task/channel_{name}_suite.hpp" for name in ("block", "graph", "scheduling", "service")),
        "tests/unit/task/channel_graph_test.cpp",
        "tests/unit/run/work_together_suite.hpp",
    ]
    program = "".join(squeezed((ROOT / source).read_text()) for source in sources)
    shown = code_blocks(DOCS / "guides" / "channels.md", "cpp")
    assert len(shown) == 21
    for block in shown:
        assert squeezed(block) in program, block


def test_design_records_are_listed() -> None:
    index = (DOCS / "design" / "README.md").read_text()
    records = sorted(path.name for path in (DOCS / "design").glob("0*.md"))
    assert re.findall(r"\((\d{4}-[a-z0-9-]+\.md)\)", index) == records


def test_records_of_measurements_are_listed() -> None:
    listed = (DOCS / "measurements.md").read_text()
    records = sorted((ROOT / "bench" / "results").iterdir())
    assert [record.name for record in records if record.name not in listed] == []
