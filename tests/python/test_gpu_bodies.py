"""Bodies of tasks on GPUs: compiled and linked without one, and run where there is one."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import GPUS
from gates import Gate
from laneway import _core, cuda_toolkit, gpu_bodies, standard_headers
from laneway.compiled_files import kept, whole_content
from laneway.cuda_toolkit import Toolkit, toolkit
from laneway.gpu_bodies import GpuBodies, GpuBody, alone, linked, preprocessing

PROGRAM = """
extern "C" __device__ void laneway_call_linked(unsigned, const void*, void*);
extern "C" __global__ void pool(unsigned body, const void* in, void* out) { laneway_call_linked(body, in, out); }
"""
"""Stands in for the pool's program, which only a build with CUDA has."""

SHARED_NAMES = """
#include <cmath>
#include <cstdint>
{start}
static int calls;
int factor = {factor};
struct numbers {{ double a, b; }};
template <class T> T scaled(T x) {{ return x * factor; }}
double body(const numbers& p) {{
    std::array<std::uint32_t, 2> halves{{1, 2}};
    if (++calls == 1) std::printf("%d\\n", calls);
    return scaled(std::max(std::sqrt(4) * {value}, M_PI)) + halves[0] + std::numeric_limits<float>::max();
}}
"""


@pytest.fixture(scope="module")
def tools() -> Toolkit:
    try:
        return toolkit()
    except lw.TaskBodyError as error:
        pytest.skip(str(error))


def body_of(source: str, cache: Path | None = None, entry: str = "body", flags: tuple[str, ...] = ()) -> GpuBody:
    return GpuBody(source, entry, flags, cache, (16, 8))


def seen_by_others(ptx: bytes) -> list[str]:
    """First lines of definitions."""
    return re.findall(r"^[ \t]*\.(?:visible|weak|common)\b.*$", ptx.decode(), re.MULTILINE)


def test_bodies_are_linked_into_a_program_and_kept(
    tools: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two with functions, variables and templates of the same names."""
    program = tools.compile(PROGRAM, "program", 90)
    texts = [
        SHARED_NAMES.format(factor=2, start="using namespace std;", value="exp(p.a) * pow(p.b, 2)"),
        SHARED_NAMES.format(factor=3, start="#include <complex>", value="std::abs(std::exp(std::complex(p.a, p.b)))"),
    ]
    bodies = [body_of(text, tmp_path) for text in texts]
    code = linked(program, bodies, 90)
    assert code.startswith(b"\x7fELF")
    for name in ("pool", "laneway_call_linked", bodies[0].symbol, bodies[1].symbol):
        assert b"\0" + name.encode() + b"\0" in code, "a symbol of it"
    assert bodies[0].symbol != bodies[1].symbol
    for body in bodies:
        assert seen_by_others(body.ptx(90)) == [f".visible .func {body.symbol}("]

    made: list[int] = []
    real = Toolkit.link

    def link(tools: Toolkit, inputs: dict[str, bytes], architecture: int) -> tuple[bytes, str]:
        made.append(architecture)
        return real(tools, inputs, architecture)

    monkeypatch.setattr(Toolkit, "compile", lambda *_: pytest.fail("it is kept"))
    monkeypatch.setattr(Toolkit, "link", lambda *_: pytest.fail("it is kept"))
    bodies = [body_of(text, tmp_path) for text in texts]
    assert linked(program, bodies, 90) == code
    (file,) = tmp_path.glob("*.cubin")
    assert len(list(tmp_path.glob("*.ptx"))) == 2
    os.truncate(file, 999)
    monkeypatch.undo()
    monkeypatch.setattr(Toolkit, "link", link)
    assert linked(program, bodies, 90) == code, "what is damaged is made again"
    assert made == [90]
    assert whole_content(file) == code


def test_messages_tell_the_line(tools: Toolkit) -> None:
    with pytest.raises(lw.TaskBodyError) as caught:
        body_of("\ndouble body(double x, double y) {\n    if (x < 0) throw 5;\n    return z;\n}\n").ptx(90)
    first, *words = str(caught.value).splitlines()
    assert first == "the body does not compile for GPUs; NVRTC says:"
    assert any(line.startswith("body(3): error:") and "exception" in line for line in words)
    assert any(line.startswith('body(4): error: identifier "z"') for line in words)


def test_names_of_other_letters(tools: Toolkit) -> None:
    with pytest.raises(lw.TaskBodyError, match="compile for GPUs: line 2 has a name with letters that are not ASCII"):
        GpuBody("// ä\nint größe(int x) { return x; }", "größe", (), None, (4, 4)).ptx(90)


def test_what_cannot_be_linked(tools: Toolkit) -> None:
    with pytest.raises(cuda_toolkit.CudaCompilerError, match=r"nvJitLink says:\n.*laneway_call_linked.*'the program'"):
        tools.link({"the program": tools.compile(PROGRAM, "program", 90)}, 90)
    with pytest.raises(cuda_toolkit.CudaCompilerError, match="NVRTC says:"):
        tools.compile(PROGRAM, "program", 12)


def test_the_linker_is_not_believed(tools: Toolkit) -> None:
    """After an error it says of others that they are none, as of what it calls a warning."""
    program = tools.compile(PROGRAM, "program", 90)
    newer = re.sub(rb"^\.version .*$", b".version 99.9", program, flags=re.MULTILINE)
    for given, text, message in (
        (newer, "return n;", r"Unsupported \.version 99\.9"),
        (program, "return other(n);", r"'(_Z5otheri|other\(int\))' in 'body f'"),
        (program, "return n < 2 ? n : f(n - 1) + f(n - 2);", "the body f calls itself, or"),
    ):
        with pytest.raises(lw.TaskBodyError, match=message):
            linked(given, [compiled(tools, text)], 90)
    assert linked(program, [compiled(tools, "return n;")], 90)


def compiled(tools: Toolkit, text: str) -> GpuBody:
    """Without headers, which take longest."""
    body = GpuBody(text, "f", (), None, (4, 4))
    functions = f"int other(int);\nint f(int n) {{ {text} }}\n"
    call = f'extern "C" void {body.symbol}(const void* in, void* out) {{ *(int*)out = f(*(const int*)in); }}'
    body.made[90] = alone(tools.compile(functions + call, "body", 90), body.symbol)
    return body


def test_bodies_keep_all_to_themselves(tools: Toolkit) -> None:
    """Also kernels and shared memory, and what is called as if it were a body."""
    text = """
    #define APART extern "C" __attribute__((noinline))
    APART void laneway_body_h(int* x) { *x *= 2; }
    #ifdef __CUDA_ARCH__
    __shared__ int scratch[4];
    __global__ void kernel(int* x) { *x = 2; }
    #endif
    int body(int x) { laneway_body_h(&x); return x; }
    """
    body = GpuBody(text, "body", (), None, (4, 4))
    assert seen_by_others(body.ptx(90)) == [f".visible .func {body.symbol}("]
    program = tools.compile(PROGRAM, "program", 90)
    with pytest.raises(lw.TaskBodyError, match="the body body is defined 2 times in the pool's program for GPUs"):
        linked(program, [body, body], 90)


def test_what_was_compiled_is_used_again(tools: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    body = body_of("struct two { double a, b; }; double body(two x) { return x.a; }", folder)
    first = body.ptx(90)
    shutil.rmtree(folder)
    monkeypatch.setattr(Toolkit, "compile", lambda *_: pytest.fail("it has been compiled"))
    assert body.ptx(90) == first
    monkeypatch.setattr(Toolkit, "compile", lambda *_: first)
    with pytest.warns(RuntimeWarning, match="is not kept"):
        assert body_of(body.source, folder).ptx(90) == first, "nothing can be kept where there is no folder"
    folder.mkdir()
    for _ in range(2):
        body_of(body.source, folder).ptx(90)
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setitem(standard_headers.HEADERS, "cmath", "")
    body_of(body.source, folder).ptx(90)
    assert len(list(folder.iterdir())) == 2, "of other headers"


@pytest.mark.parametrize("lacks", ["nvrtc", "nvJitLink", "headers"])
def test_a_machine_without_the_toolkit(lacks: str, tools: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    real = cuda_toolkit.libraries
    monkeypatch.setattr(cuda_toolkit, "libraries", lambda name, among: {} if name == lacks else real(name, among))
    monkeypatch.setattr(cuda_toolkit, "find_library", lambda _: None)
    if lacks == "headers":
        monkeypatch.setattr(cuda_toolkit, "_standard_library", lambda _: "")
    wanted = "the headers of CUDA's C" if lacks == "headers" else "NVRTC and nvJitLink of one CUDA version"
    with pytest.raises(
        lw.TaskBodyError, match=f"a TaskBody on GPUs needs {wanted}.*which are not there: set CUDA_HOME"
    ):
        toolkit.__wrapped__()


def test_a_toolkit_is_of_one_version(tools: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of others, and what cannot be read or loaded, are passed over."""

    def part(folder: str, *names: str, headers: bool = False) -> None:
        (tmp_path / folder / "lib").mkdir(parents=True)
        for name in names:
            (tmp_path / folder / "lib" / name).write_bytes(b"no library")
        if headers:
            (tmp_path / folder / "include/cuda/std").mkdir(parents=True)
            (tmp_path / folder / "include/cuda/std/type_traits").touch()

    part("site/nvidia/cuda_nvrtc", "libnvrtc.so.12")
    part("home", "libnvrtc.so.13", "libnvJitLink.so.13", headers=True)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for home in ("home", "loop", "x" * 300, "\udcff"):
        monkeypatch.setenv("CUDA_HOME", str(tmp_path / home))
        found = toolkit.__wrapped__()
        assert (found.version, found.folders) == (tools.version, tools.folders)
    part("old", "libnvrtc.so.12", "libnvJitLink.so.12", headers=True)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "old"))
    monkeypatch.setattr(_core, "linkable_pool", lambda: b"")
    before = [choice for choice in cuda_toolkit._choices() if "so.12" in choice[0]]
    assert [Path(name).parent.parent for name in before[0][:2]] == [tmp_path / "old"] * 2
    built = b"// Cuda compilation tools, release 13.0, V13.0.88"
    monkeypatch.setattr(_core, "linkable_pool", lambda: built)
    assert not [choice for choice in cuda_toolkit._choices() if "so.12" in choice[0]]


def test_flags_of_the_preprocessor_are_those_of_gpus_too() -> None:
    given = ("-O3", "-DN=5", "-I", "/some where", "-march=native", "-UM", "-Wall", "-D", "X")
    assert preprocessing(given) == ["-DN=5", "-I/some where", "-UM", "-DX"]
    assert body_of("x", flags=("-DN=5",)).symbol != body_of("x").symbol


def test_kept_files_are_whole(tmp_path: Path) -> None:
    for damage in (b"", b"x", b"content" + bytes(32)):
        assert kept(tmp_path, "file", lambda: b"content") == b"content"
        assert kept(tmp_path, "file", lambda: pytest.fail("it is kept")) == b"content"
        (tmp_path / "file").write_bytes(damage)
        assert whole_content(tmp_path / "file") is None
    assert kept(None, "file", lambda: b"other") == b"other"


class TwoKinds:
    """A core whose GPUs are of two kinds, and refuse what `refuses` says."""

    def __init__(self) -> None:
        self.linked: list[tuple[dict[int, int], dict[int, bytes]]] = []
        self.refuses = False

    def architectures(self) -> list[int]:
        return [80, 90]

    def link(self, numbers: dict[int, int], code: dict[int, bytes]) -> None:
        if self.refuses:
            raise lw.Error("no memory")
        self.linked.append((numbers, code))


def test_numbers_of_bodies_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that wait have them, while the program with another body takes over."""
    monkeypatch.setattr(gpu_bodies, "linked", lambda _, bodies, kind: f"{kind}{[b.source for b in bodies]}".encode())
    core = TwoKinds()
    bodies = GpuBodies(core)
    bodies.require(body_of("a"), 1000)
    bodies.require(body_of("a"), 1000)
    assert core.linked == [({1000: 0}, {80: b"80['a']", 90: b"90['a']"})]
    core.refuses = True
    with pytest.raises(lw.Error, match="no memory"):
        bodies.require(body_of("b"), 2000)
    core.refuses = False
    bodies.require(body_of("c"), 3000)
    assert core.linked[-1] == ({1000: 0, 3000: 1}, {80: b"80['a', 'c']", 90: b"90['a', 'c']"})
    bodies.require(body_of("a"), 4000)
    assert core.linked[-1] == ({1000: 0, 3000: 1, 4000: 0}, {}), "the same text, loaded twice"


def test_a_process_that_takes_anothers_place_gets_the_bodies() -> None:
    square = lw.TaskBody("double square(double x) { return x * x; }")
    with lw.TaskPool("cpu:1", isolate=True) as pool:
        core: Any = pool._keeper.core
        assert core.architectures() == []
        core.link({square.address: 0}, {90: b"code, which CPU devices do not look at"})
        first = core._process
        assert first.linked is core._linked
        assert first.bodies == {square.address}
        os.kill(first.process.pid, signal.SIGKILL)
        assert pool.submit(square, 3.0).result() == 9
        assert core._process is not first
        assert core._process.linked is core._linked


def given_at(gate: Gate, pool: lw.TaskPool) -> Any:
    """A task that a device has until the gate opens."""
    (future,) = gate.hold(pool)
    while not (future.running() or future.done()):
        time.sleep(0.01)  # between two looks
    return future


def test_a_take_over_gives_up_for_long_tasks() -> None:
    """The pool, whose deadline renews itself as short ones get done, outlives them and the wait for them. Its process
    answers meanwhile, which it must within the deadline."""
    square = lw.TaskBody("double square(double x) { return x * x; }")
    stop = threading.Event()
    seen: list[object] = []

    def others() -> None:
        try:
            while not stop.is_set():
                seen.append(pool.submit("adder", 1.0, 1.0, 10).result())
        except BaseException as error:
            seen.append(error)

    with lw.TaskPool("cpu:2", timeout=2, isolate=True) as pool:
        core: Any = pool._keeper.core
        thread = threading.Thread(target=others)
        thread.start()
        try:
            with Gate() as gate:
                long = given_at(gate, pool)
                with pytest.raises(lw.TimeoutError, match=r"devices are not done with their tasks after 2 s"):
                    core.link({square.address: 0}, {90: b"code"})
                time.sleep(2.4)  # so the task takes longer than two deadlines
                assert not long.done()
            assert long.result() == 1
            core.link({square.address: 0}, {90: b"code"})
        finally:
            stop.set()
            thread.join()
        assert set(seen) == {55.0}


def test_a_worker_answers_while_it_links() -> None:
    square = lw.TaskBody("double square(double x) { return x * x; }")
    refusals: list[Exception] = []
    with lw.TaskPool("cpu:1", isolate=True) as pool:
        core: Any = pool._keeper.core

        def link() -> None:
            try:
                core.link({square.address: 0}, {90: b"code"})
            except lw.Error as error:
                refusals.append(error)

        def linking() -> threading.Thread:
            """What the worker is told and asked from now on comes behind the order to link."""
            before = core._linked
            thread = threading.Thread(target=link)
            thread.start()
            while thread.is_alive() and (core._linked is before or core._process.linked is not core._linked):
                time.sleep(0.001)  # between two looks
            thread.join(0.1)
            assert thread.is_alive(), "it waits for the task that the device has"
            return thread

        with Gate() as gate:
            long = given_at(gate, pool)
            thread = linking()
            waiting, later = pool.submit(square, 3.0), pool.submit("adder", 1.0, 1.0, 10)
            assert later.cancel()
            assert long.running()
        thread.join()
        assert waiting.result() == 9
        assert not refusals

        core.link({}, {90: b"other code"})
        before = core._linked
        with Gate() as gate:
            long = given_at(gate, pool)
            thread = linking()
            os.kill(core._process.process.pid, signal.SIGKILL)
            thread.join()
            (refusal,) = refusals
            assert isinstance(refusal, lw.TaskWorkerDied)
            assert "before its GPUs had the body" in str(refusal)
            assert core._linked is before
        assert pool.submit(square, 5.0).result() == 25
        assert long.result() == 1, "in the process that took the other's place"


on_gpus = pytest.mark.skipif(not GPUS, reason="no GPU")
KINDS = ["cuda:0", "cuda:0,cpu:2", *([f"cuda:0-{GPUS - 1}"] if GPUS > 1 else [])]


@on_gpus
@pytest.mark.parametrize("devices", KINDS)
@pytest.mark.parametrize("isolate", [False, True])
def test_gpus_run_bodies(devices: str, isolate: bool, tools: Toolkit) -> None:
    square = lw.TaskBody("double square(double x) { return x * x; }")
    mean = lw.TaskBody("struct pair { float a; int b; }; pair mean(pair p, double w) { return {p.a * float(w), p.b}; }")
    nothing = lw.TaskBody("void nothing() {}")
    values = np.arange(100_000.0)
    pairs = np.zeros(1000, np.dtype([("a", "f4"), ("b", "i4")], align=True))
    pairs["a"], pairs["b"] = np.arange(1000), np.arange(1000) * 7
    with lw.TaskPool(devices, isolate=isolate) as pool:
        assert [pool.submit(square, x).result() for x in range(100)] == [x * x for x in range(100)]
        assert np.array_equal(pool.submit_many(square, values).result(), values**2)
        found = pool.submit_many(mean, pairs, 0.5).result().view(pairs.dtype)
        assert np.array_equal(found["a"], pairs["a"] / 2)
        assert np.array_equal(found["b"], pairs["b"])
        assert pool.submit(nothing).result() is None
        assert list(pool.map(square, range(10), chunksize=4)) == [x * x for x in range(10)]
        assert pool.statistics.failed == 0


@on_gpus
def test_programs_take_over_while_tasks_come(tools: Toolkit) -> None:
    """None is lost, and each is done by its own body."""
    with lw.TaskPool("cuda:0") as pool:
        stop = threading.Event()
        sums: list[Any] = []
        thrown: list[BaseException] = []

        def submit() -> None:
            try:
                while not stop.is_set():
                    sums.append(pool.submit("adder", 1.0, 1.0, 10))
            except BaseException as error:
                thrown.append(error)

        other = threading.Thread(target=submit)
        other.start()
        for factor in range(2, 6):
            before = len(sums)
            body = lw.TaskBody(f"int times(int x) {{ return {factor} * x; }}")
            assert np.array_equal(pool.submit_many(body, np.arange(999)).result(), factor * np.arange(999))
            assert len(sums) > before, "others submit meanwhile"
        stop.set()
        other.join()
        assert not thrown
        assert {future.result() for future in sums} == {55.0}


@on_gpus
def test_text_that_only_the_host_takes(tools: Toolkit) -> None:
    text = "int body(int x) {\n    std::vector<int> all(x);\n    return int(all.size());\n}"
    with lw.TaskPool("cuda:0") as pool:
        with pytest.raises(lw.TaskBodyError, match=r"does not compile for GPUs; NVRTC says:\nbody\(2\): error"):
            pool.submit(lw.TaskBody(text), 5)
        square = lw.TaskBody("double square(double x) { return x * x; }")
        assert pool.submit(square, 5.0).result() == 25.0, "the pool goes on"


@on_gpus
def test_a_crash_of_the_gpu_is_contained(tools: Toolkit) -> None:
    """Nothing finished is lost, the task that crashes fails after its second try, and the pool goes on."""
    crash = lw.TaskBody("int crash(int x) { if (x == 13) *reinterpret_cast<volatile int*>(8) = 1; return x; }")
    with lw.TaskPool("cuda:0", isolate=True) as pool:
        finished = [pool.submit(crash, x) for x in range(10)]
        assert [future.result() for future in finished] == list(range(10))
        with pytest.raises(lw.TaskWorkerDied):
            pool.submit(crash, 13).result()
        assert np.array_equal(
            pool.submit_many(crash, np.arange(14, 1000, dtype=np.int32)).result(), np.arange(14, 1000)
        )
        assert [future.result() for future in finished] == list(range(10))
