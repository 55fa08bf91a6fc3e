"""Bodies of tasks as C++ source text: their types, their errors, and what is kept of them on disk."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from laneway import batch, signals
from laneway.pending_file import PendingFile


@pytest.fixture(scope="module")
def pool() -> Iterator[lw.TaskPool]:
    with lw.TaskPool("cpu:2") as made:
        yield made


SCALARS = {
    "float": ("f4", 0.5),
    "double": ("f8", -1e300),
    "std::int8_t": ("i1", -128),
    "std::int16_t": ("i2", 32767),
    "std::int32_t": ("i4", -(2**31)),
    "std::int64_t": ("i8", -(2**63)),
    "std::uint8_t": ("u1", 255),
    "std::uint16_t": ("u2", 65535),
    "std::uint32_t": ("u4", 2**32 - 1),
    "std::uint64_t": ("u8", 2**64 - 1),
    "bool": ("b1", True),
}


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_come_back_as_they_were(pool: lw.TaskPool, name: str) -> None:
    code, value = SCALARS[name]
    body = lw.TaskBody(f"{name} same({name} x) {{ return x; }}")
    assert body.argument_types == (np.dtype(code),)
    assert body.result_type == np.dtype(code)
    got = pool.submit(body, value).result()
    assert got == value
    assert type(got) is type(value)
    many = pool.submit_many(body, np.array([value, 0, value], code)).result()
    assert many.dtype == np.dtype(code)
    assert many.tolist() == np.array([value, 0, value], code).tolist()


def test_arguments_of_different_sizes_lie_as_in_a_struct(pool: lw.TaskPool) -> None:
    body = lw.TaskBody(
        """double mixed(bool a, double b, std::int8_t c, const float& d, std::int16_t e, std::uint64_t f, char g) {
               return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * double(f) + 1000000 * g;
           }"""
    )
    given = (True, 2.0, 3, 4.0, 5, 6, 7)
    assert pool.submit(body, *given).result() == 7654321
    columns = [np.array([value, 0]) for value in given]
    columns[0] = np.array([True, False])
    assert pool.submit_many(body, *columns).result().tolist() == [7654321, 0]
    assert pool.submit_many(body, *columns[:-1], 8).result().tolist() == [8654321, 8000000]


POINT = """
struct point { float x; double y; };
point turned(const point& p, int times) { return times % 2 ? point{float(p.y), p.x} : p; }
"""


def test_structs(pool: lw.TaskPool) -> None:
    kind = np.dtype({"names": ["x", "y"], "formats": ["f4", "f8"], "offsets": [0, 8], "itemsize": 16})
    point = np.array([(1.5, 2.5)], kind)
    plain = lw.TaskBody(POINT)
    assert plain.argument_types[0].itemsize == 16
    assert pool.submit(plain, point[0], 0).result() == point[0].tobytes()
    assert np.frombuffer(pool.submit(plain, point.tobytes(), 1).result(), kind)[0]["x"] == 2.5
    typed = lw.TaskBody(POINT, result=kind)
    assert typed.result_type == kind
    got = pool.submit(typed, point[0], 1).result()
    assert (got["x"], got["y"]) == (2.5, 1.5)
    points = np.array([(i, 2 * i) for i in range(100)], kind)
    many = pool.submit_many(typed, points, np.arange(100)).result()
    assert many["x"].tolist() == [2 * i if i % 2 else i for i in range(100)]
    with pytest.raises(lw.UsageError, match="argument 1 of turned is a struct of 16 bytes, not of 3"):
        pool.submit(plain, b"abc", 1)
    with pytest.raises(lw.UsageError, match="argument 1 of turned is a struct, given as bytes or NumPy's, not 'abc'"):
        pool.submit(plain, "abc", 1)
    with pytest.raises(lw.UsageError, match=r"turned returns V16, which is not the float32 that result= says"):
        lw.TaskBody(POINT, result="f4")


def test_types_of_the_same_name_are_kept_apart(pool: lw.TaskPool) -> None:
    small = lw.TaskBody("struct thing { char a; }; int size(thing t) { return sizeof t; }")
    large = lw.TaskBody("struct thing { double a[9]; }; int size(thing t) { return sizeof t; }")
    assert [pool.submit(small, b"a").result(), pool.submit(large, bytes(72)).result()] == [1, 72]
    assert pool.submit(small, b"a").result() == 1


def test_nothing_given_and_nothing_returned(pool: lw.TaskPool) -> None:
    assert pool.submit(lw.TaskBody("int answer() noexcept { return 42; }")).result() == 42
    nothing = lw.TaskBody("void nothing(int) {}")
    assert nothing.result_type is None
    assert pool.submit(nothing, 1).result() is None
    assert pool.submit_many(nothing, np.arange(10)).result() is None
    assert list(pool.map(nothing, range(5), chunksize=2)) == [None] * 5


def test_what_a_body_throws_is_its_futures(pool: lw.TaskPool) -> None:
    body = lw.TaskBody(
        """#include <stdexcept>
        int positive(int x) {
            if (x == -99) throw 5;
            if (x <= 0) throw std::out_of_range("not positive: " + std::to_string(x) + " ü");
            return x;
        }"""
    )
    futures = [pool.submit(body, x) for x in range(-20, 20)]
    for x, future in zip(range(-20, 20), futures):
        if x > 0:
            assert future.result() == x
        else:
            assert isinstance(future.exception(), lw.TaskError)
            assert str(future.exception()) == f"not positive: {x} ü"
    with pytest.raises(lw.TaskError, match=r"^the body threw what is no std::exception$"):
        pool.submit(body, -99).result()
    given = np.ones(10_000, np.int32)
    given[[7000, 8000]] = -3
    with pytest.raises(lw.TaskError, match=r"^element 7000: not positive: -3"):
        pool.submit_many(body, given).result()
    long = lw.TaskBody("int much(int n) { throw std::runtime_error(std::string(n, 'x')); }")
    assert set(str(pool.submit(long, 100_000).exception())) == {"x"}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("int a() { return 1; }\nint b(int x) { if (x) { return a(); } return 2; }", "b"),
        ('int a() { return 1; } // int b() {}\n/* int c() {} */ const char* text = "int d() {}";', "a"),
        ("int a() { return 1; }\nstruct s { int c() { return 2; } };\nnamespace n { int d() { return 3; } }", "a"),
        ("#define F(x) \\\n  int x() { return 1; }\nauto a() noexcept(true) -> int { return 1; }", "a"),
        ("int a(int (*f)(int) = nullptr) { return 0; } int b();", "a"),
        ("int first() { return 1; } int x = 5; int y{6}; int second() { return x + y; }", "second"),
        ("const char* r = R\"x(} int q() { )x\"; char c = '}';\nint a() { return 1; }", "a"),
    ],
)
def test_the_last_function_is_found(source: str, name: str) -> None:
    from laneway.body_functions import last_function

    assert last_function(source) == name


def test_a_name_chooses(pool: lw.TaskPool) -> None:
    source = "int one() { return 1; }\nnamespace deep { int two() { return 2; } }\nint three() { return 3; }"
    for name, value in (("one", 1), ("deep::two", 2), (None, 3)):
        assert pool.submit(lw.TaskBody(source, name)).result() == value
    for wrong in ("1 + 1", "", 5, "a;b"):
        with pytest.raises(lw.TaskBodyError, match="name must be that of a function"):
            lw.TaskBody(source, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("\nint a(int x) {\n    return y;\n}\n", "body:3:"),
        ("int a(int x) { return x }", "body:1:"),
        ("int a(std::string s) { return 0; }", "trivially copyable"),
        ("int a(const char* s) { return 0; }", "a body takes numbers"),
        ("int a(int& x) { return x; }", "by value or const reference"),
        ("std::vector<int> a() { return {}; }", "a body returns"),
        ("long double a() { return 0; }", "a body returns"),
    ],
)
def test_text_that_does_not_compile(source: str, words: str) -> None:
    with pytest.raises(lw.TaskBodyError) as caught:
        lw.TaskBody(source)
    assert str(caught.value).startswith("the body does not compile")
    assert words in str(caught.value)
    assert issubclass(lw.TaskBodyError, lw.UsageError)


def test_text_that_no_body_can_have() -> None:
    for source, words in (
        ("int f(int x) {\n    return x;\0\n}", "the source of a body has a NUL character, in line 2"),
        ("/*\n*/ namespace laneway_body {}\nint f(int x) { return x; }", "laneway_body, in line 2: names that begin"),
        ("#define laneway_call f\nint f(int x) { return x; }", "laneway_call, in line 1: names that begin"),
    ):
        with pytest.raises(lw.TaskBodyError, match=words):
            lw.TaskBody(source)
    assert lw.TaskBody("// laneway_call\nint f(int x) { return x; }").name == "f"


FUNCTIONS = """int f(int x) { return x; }
/* two
   lines */
double f(double x) { return x; }
template <class T>
T g(T x) { return x; }
namespace inner { int h(int x) { return x; } int h(float) { return 0; } }
const char* text = R"(
)";
int last(std::string) { return 0; }
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("f", "f is overloaded, in lines 1 and 4, and a body is one function"),
        ("g", "g, in line 6, is a template, and a body is a function that calls it"),
        ("h", "the text has no function h, which name= asks for: it defines f, g, last"),
        ("none", "the text has no function none, which name= asks for: it defines f, g, last"),
        ("inner::none", "the text has no function inner::none, which name= asks for: it defines f, g, last"),
        ("inner::h", "inner::h is overloaded or a template, and a body is one function"),
        (None, "a body takes numbers of up to 8 bytes, bools and trivially copyable structs, by value or const "),
    ],
)
def test_functions_that_are_no_body(name: str | None, why: str) -> None:
    """One line says why, and the compiler's words follow."""
    with pytest.raises(lw.TaskBodyError) as caught:
        lw.TaskBody(FUNCTIONS, name)
    first, *words = str(caught.value).splitlines()
    assert first.startswith(f"the body does not compile: {why}")
    assert first.endswith(" says:")
    assert any("error" in line for line in words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lw.TaskBody("int x = 5;"), "defines no function"),
        (lambda: lw.TaskBody(""), "defines no function"),
        (lambda: lw.TaskBody(5), "source of a body is text, not int"),  # type: ignore[arg-type]
        (lambda: lw.TaskBody("int a() { return 1; }", flags="-O3"), "flags must be a list of words"),
        (lambda: lw.TaskBody("int a() { return 1; }", flags=["-fno-such-flag"]), "no-such-flag"),
        (lambda: lw.TaskBody("int a() { return 1; }", runs_on="cuda"), "runs_on must be cpu, gpu, all, not 'cuda'"),
        (lambda: lw.TaskBody("int a() { return 1; }", runs_on=["cpu"]), "runs_on must be"),  # type: ignore[arg-type]
        (lambda: lw.TaskBody("int a() { return 1; }", cache=""), "name of the cache's folder is empty"),
    ],
)
def test_wrong_use(call: object, words: str) -> None:
    with pytest.raises(lw.UsageError, match=words):
        call()  # type: ignore[operator]


def test_floats_that_are_too_large_are_told_as_such(pool: lw.TaskPool) -> None:
    same = lw.TaskBody("float same(float x) { return x; }")
    with pytest.raises(
        lw.UsageError, match=r"argument 1 of same is a float of 32 bits, which 1e\+300 is too large for"
    ):
        pool.submit(same, 1e300)
    with pytest.raises(lw.UsageError, match=r"argument 1 of same must be float32: element 1 is 1e\+300"):
        pool.submit_many(same, [1.0, 1e300])
    assert np.isinf(pool.submit_many(same, [float("inf")]).result()).all()


@pytest.fixture
def counting_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that writes a line for each time that it compiles; the file of lines."""
    log, script = tmp_path / "log", tmp_path / "cxx"
    log.touch()
    real = shutil.which("c++") or shutil.which("g++")
    script.write_text(f'#!/bin/sh\ncase "$*" in *--version*) ;; *) echo "$@" >> {log} ;; esac\nexec {real} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", f"{script} -DFROM_CXX=7")
    return log


def compiled(log: Path) -> int:
    return len(log.read_text().splitlines())


def test_what_was_compiled_is_kept(counting_compiler: Path, tmp_path: Path, pool: lw.TaskPool) -> None:
    cache = tmp_path / "cache"
    source = "int value() { return FROM_CXX; }"
    for _ in range(3):
        assert pool.submit(lw.TaskBody(source, cache=cache)).result() == 7
    assert compiled(counting_compiler) == 1
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    lw.TaskBody(source + "\n", cache=cache)
    lw.TaskBody(source, cache=cache, flags=["-O1"])
    assert compiled(counting_compiler) == 3
    assert len(list(cache.iterdir())) == 3
    assert all(path.suffix == ".so" for path in cache.iterdir())
    with pytest.raises(lw.TaskBodyError):
        lw.TaskBody("int value() { return nothing; }", cache=cache)
    assert len(list(cache.iterdir())) == 3, "a failure leaves nothing"


def test_what_was_compiled_for_another_cpu_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "cxx"
    script.touch(0o755)
    monkeypatch.setenv("CXX", f"{script} -mtune=native")
    source = "int value() { return 7; }"
    for define, libraries in (("A", 1), ("A", 1), ("B", 2)):  # what `native` brings with it
        script.write_text(f'#!/bin/sh\nexec c++ "$@" -D{define}\n')
        lw.TaskBody(source, cache=tmp_path / "cache")
        assert len(list((tmp_path / "cache").iterdir())) == libraries


def test_batches_go_on_after_one_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "#include <unistd.h>\ndouble nap(double s) { usleep(unsigned(s * 1e6)); return s; }"
    monkeypatch.setattr(batch, "_pools", {})
    with monkeypatch.context() as hasty:
        hasty.setattr(batch, "TaskPool", partial(lw.TaskPool, timeout=0.5))
        with pytest.raises(lw.TimeoutError):
            lw.run_batch(source, np.array([3.0]), name="nap", devices="cpu:1")
    (failed,) = batch._pools.values()
    until = time.monotonic() + 60
    while "closed" not in repr(failed) and time.monotonic() < until:  # the call may end a moment before its pool
        time.sleep(0.01)
    assert lw.run_batch(source, np.array([0.0]), name="nap", devices="cpu:1").tolist() == [0.0]
    for wrong in ({"devices": ["cpu:1"]}, {"devices": 5}):
        with pytest.raises(lw.UsageError, match="devices must be text"):
            lw.run_batch(source, np.array([0.0]), **wrong)  # type: ignore[arg-type]


def test_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for damage in (lambda path: None, lambda path: path.write_bytes(b"no library"), lambda path: os.truncate(path, 99)):
        done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, env=environment)
        assert (done.stdout, done.stderr) == ("2.5\n", "")
        (library,) = (tmp_path / "laneway" / "bodies").iterdir()
        damage(library)


def test_the_default_folder_is_the_users(
    counting_compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    folder = tmp_path / "xdg" / "laneway" / "bodies"
    source = "int a() { return 1; }"
    lw.TaskBody(source)
    lw.TaskBody(source)
    assert compiled(counting_compiler) == 1
    assert len(list(folder.iterdir())) == 1
    folder.chmod(0o777)  # others could leave libraries there
    lw.TaskBody(source)
    assert compiled(counting_compiler) == 2
    with pytest.raises(lw.UsageError, match="others may write to it"):
        lw.TaskBody(source, cache=folder)
    with pytest.raises(lw.UsageError, match="cannot keep compiled bodies"):
        lw.TaskBody(source, cache=counting_compiler)


def test_a_full_disk_behind_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: lw.TaskPool) -> None:
    def fill(self: PendingFile, write: object) -> None:
        raise self._refused(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    monkeypatch.setattr(PendingFile, "fill", fill)
    with pytest.warns(
        RuntimeWarning, match="is not kept for the next run: .*so: cannot be written: no space left"
    ) as told:
        body = lw.TaskBody("int value() { return 41; }", cache=tmp_path)
    assert told[0].filename == __file__
    assert pool.submit(body).result() == 41
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_what_was_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(signals.temporaries)
    lw.TaskBody("int value() { return 42; }", cache=tmp_path / "cache")
    with pytest.raises(lw.TaskBodyError, match="nothing, and writes no library"):
        lw.TaskBody("int value() { return 43; }", cache=tmp_path / "cache", flags=["-fsyntax-only"])
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert len(list((tmp_path / "cache").iterdir())) == 1
    assert signals.temporaries == before
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(lw.SystemError, match="no temporary folder for a body to compile: no such file"):
        lw.TaskBody("int value() { return 44; }", cache=tmp_path / "cache")


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O3")
    with pytest.raises(lw.TaskBodyError, match="needs a C\\+\\+ compiler: CXX names 'no-such-compiler', which is none"):
        lw.TaskBody("int a() { return 1; }")
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(lw.TaskBodyError, match="are not there"):
        lw.TaskBody("int a() { return 1; }")


@pytest.mark.skipif(shutil.which("clang++") is None, reason="clang++ is not installed")
def test_clang(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pool: lw.TaskPool) -> None:
    monkeypatch.setenv("CXX", "clang++")
    source = """#ifdef __clang__
    int which(int x) { if (x < 0) throw std::runtime_error("negative"); return 5; }
    #endif"""
    body = lw.TaskBody(source, cache=tmp_path)
    assert pool.submit(body, 1).result() == 5
    with pytest.raises(lw.TaskError, match="negative"):
        pool.submit(body, -1).result()
    monkeypatch.delenv("CXX")
    with pytest.raises(lw.TaskBodyError):
        lw.TaskBody(source, cache=tmp_path)


AT_ONCE = """
import laneway as lw
body = lw.TaskBody("double half(double x) { return x / 2; }")
with lw.TaskPool("cpu:1") as pool:
    print(pool.submit(body, 5).result())
"""


def test_processes_that_compile_at_once_do_not_collide(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", AT_ONCE]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(4)]
    assert [process.communicate(timeout=100)[0] for process in started] == ["2.5\n"] * 4
    assert len(list((tmp_path / "laneway" / "bodies").iterdir())) == 1


def test_bodies_say_which_devices_run_them(pool: lw.TaskPool) -> None:
    text = "int twice(int x) { return 2 * x; }"
    on_cpu, on_gpu = (pickle.loads(pickle.dumps(lw.TaskBody(text, runs_on=where))) for where in ("cpu", "gpu"))
    assert (lw.TaskBody(text).runs_on, on_cpu.runs_on, on_gpu.runs_on) == ("all", "cpu", "gpu")
    assert pool.submit(on_cpu, 3).result() == 6
    assert pool.submit_many(on_cpu, np.arange(4), after=pool.submit(on_cpu, 1)).result().tolist() == [0, 2, 4, 6]
    for call in (
        lambda: pool.submit(on_gpu, 3),
        lambda: pool.submit_many(on_gpu, np.arange(4)),
        lambda: pool.map(on_gpu, range(4), chunksize=2),
    ):
        with pytest.raises(lw.UsageError) as caught:
            call()
        assert str(caught.value) == "the body twice runs on GPUs only, and the pool has none"
    assert list(pool.map(on_cpu, range(3))) == [0, 2, 4], "the pool goes on"


def test_bodies_are_pickled_as_their_text(pool: lw.TaskPool) -> None:
    body = lw.TaskBody("int a(int x) { return x; }\nint b(int x) { return -x; }", "a")
    twin = pickle.loads(pickle.dumps(body))
    assert pool.submit(twin, 5).result() == 5
    assert repr(twin) == "<laneway.TaskBody: a>"


def test_threads_that_bring_batches_share_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU a second one would wait for the first."""
    made: list[str] = []
    together = threading.Barrier(4)

    class CountedPool(lw.TaskPool):
        def __init__(self, devices: str) -> None:
            made.append(devices)
            time.sleep(0.05)  # time for the others to look
            super().__init__(devices)

    monkeypatch.setattr(batch, "TaskPool", CountedPool)
    monkeypatch.setattr(batch, "_pools", {})

    def bring(number: float) -> list[float]:
        together.wait(60)
        return lw.run_batch("double twice(double x) { return 2 * x; }", np.array([number]), devices="cpu:1").tolist()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(bring, range(4))) == [[0], [2], [4], [6]]
    assert made == ["cpu:1"]
    for pool in batch._pools.values():
        pool.shutdown()
