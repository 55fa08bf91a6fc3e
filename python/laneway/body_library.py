"""Source text of bodies, compiled into shared libraries that are kept on disk."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from laneway import signals
from laneway.body_functions import why_no_body
from laneway.body_wrapper import CALL, DESCRIBE, wrapped
from laneway.compiled_files import keep, key_of, whole_content
from laneway.errors import SystemError, TaskBodyError, UsageError, reason_of

FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared")
COMPILERS = ("c++", "g++", "clang++")
LABEL = "body"
"""What the compiler's messages call the user's text."""


class Library(NamedTuple):
    """A loaded one."""

    handle: ctypes.CDLL
    content: bytes


_KEPT: dict[int, Library] = {}
"""Loaded libraries by the address of what devices call: they stay, as tasks may call them as long as the process
lives."""


@dataclass(frozen=True)
class BodyTypes:
    """What the compiler says of a body."""

    address: int
    """Of the function that devices call."""
    input_bytes: int
    """Of all arguments, one behind the other as in a struct."""
    result: str
    """Type code as NumPy's, "f8" for instance; "V0" for none."""
    inputs: tuple[tuple[str, int], ...]
    """Type code and offset of each argument."""


class CompilerError(Exception):
    """A compiler does not take the text."""

    def __init__(self, compiler: str, words: str) -> None:
        super().__init__(f"{compiler} says:\n{words}")
        self.words = words


def load_body(source: str, entry: str, flags: tuple[str, ...], cache: Path | None) -> BodyTypes:
    """Compile the source unless that has been done before, and load it. Raises TaskBodyError where it does not compile,
    SystemError where there is no temporary folder for that; a warning where it cannot be kept."""
    compiler = find_compiler()
    if "clang" not in version_of(compiler):  # GCC would let bodies share what their types of the same name have
        flags = ("-fno-gnu-unique", *flags)
    text = wrapped(source, entry, LABEL)
    key = key_of(text, version_of(compiler), *compiler, *FLAGS, *flags, _native(compiler, flags))

    def compile_to(made: Path) -> None:
        try:
            _compile(text, compiler, flags, made)
        except CompilerError as error:
            why = why_no_body(source, entry, error.words, LABEL)
            raise TaskBodyError(f"the body does not compile{f': {why}' if why else ''}; {error}") from None

    library = None if cache is None else cache / f"{key}.so"
    if library is not None and whole_content(library) is not None:  # one that was cut off would crash whoever loads it
        try:
            return _loaded(library)
        except TaskBodyError:
            pass  # damaged: it is made again
    with _folder_for("body.so") as made:
        compile_to(made)
        if library is None or not keep(library, made.read_bytes()):
            return _loaded(made)
    try:
        return _loaded(library)
    except TaskBodyError:
        library.unlink(missing_ok=True)
        raise


@contextmanager
def _folder_for(name: str) -> Iterator[Path]:
    """A file of this name in a temporary folder that goes with it. SystemError where there can be none."""
    try:
        holder = tempfile.TemporaryDirectory(prefix="laneway-")
    except OSError as error:
        raise SystemError(f"no temporary folder for a body to compile: {reason_of(error)}") from None
    with holder as folder:
        file = Path(folder) / name
        here = {folder, str(file)}
        signals.temporaries.update(here)
        try:
            yield file
        finally:
            signals.temporaries.difference_update(here)


def find_compiler() -> tuple[str, ...]:
    """The command that compiles C++: the variable CXX, or the system's."""
    try:
        chosen = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise TaskBodyError(f"the variable CXX is no command: {error}") from None
    for name in [chosen[0]] if chosen else COMPILERS:
        path = shutil.which(name)
        if path is not None:
            return (path, *chosen[1:])
    named = f"CXX names {chosen[0]!r}, which is none" if chosen else f"{', '.join(COMPILERS)} are not there"
    raise TaskBodyError(f"a TaskBody needs a C++ compiler: {named}")


@cache
def version_of(compiler: tuple[str, ...]) -> str:
    """What tells the compiler apart from an older or newer one at the same place."""
    return _run(compiler, "--version").stdout


def _native(compiler: tuple[str, ...], flags: tuple[str, ...]) -> str:
    """What `-march=native` and the like mean on this machine, as folders may be shared between machines; empty where
    no flag says so."""
    if not any(flag.endswith("=native") for flag in (*compiler, *flags)):
        return ""
    return _run(compiler, *flags, "-dM", "-E", "-x", "c++", "-", text="").stdout


def _run(compiler: tuple[str, ...], *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [*compiler, *arguments]
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise TaskBodyError(f"the compiler {compiler[0]} cannot be started: {reason_of(error)}") from None


def cache_folder() -> Path | None:
    """The user's own folder for compiled bodies; None where there can be none that is nobody else's to write to."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = (Path(base) if base.startswith("/") else Path.home() / ".cache") / "laneway" / "bodies"
        return own_folder(folder)
    except (OSError, RuntimeError, UsageError):
        return None


def own_folder(folder: Path) -> Path:
    """The folder, made if it is not there. UsageError where others may write to it: what lies in it is run."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise UsageError(f"{folder}: cannot keep compiled bodies: {reason_of(error)}") from None
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(f"{folder}: cannot keep compiled bodies: others may write to it")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{folder}: cannot keep compiled bodies: permission denied")
    return folder


def _compile(text: str, compiler: tuple[str, ...], flags: tuple[str, ...], library: Path) -> None:
    done = _run(compiler, *FLAGS, *flags, "-x", "c++", "-", "-o", str(library), text=text)
    words = done.stderr.rstrip()
    if done.returncode != 0:
        raise CompilerError(Path(compiler[0]).name, words or f"nothing, and ends with exit status {done.returncode}")
    if not library.exists():  # a compiler that only looks at the text
        raise CompilerError(Path(compiler[0]).name, words or "nothing, and writes no library")


def _loaded(path: Path) -> BodyTypes:
    try:
        library = ctypes.CDLL(str(path))
        describe = getattr(library, DESCRIBE)
    except (OSError, AttributeError) as error:
        raise TaskBodyError(f"the compiled body cannot be loaded: {error}") from None
    describe.restype = ctypes.c_char_p
    bytes_, result, *inputs = describe().decode().split()
    address = _kept(library, path.read_bytes())
    pairs = tuple(zip(inputs[::2], map(int, inputs[1::2])))
    return BodyTypes(address, int(bytes_), result, pairs)


def _kept(library: ctypes.CDLL, content: bytes) -> int:
    """Address of what devices call."""
    address = ctypes.cast(getattr(library, CALL), ctypes.c_void_p).value
    assert address is not None, "functions are somewhere"
    _KEPT[address] = Library(library, content)
    return address


def content_at(address: int) -> bytes:
    """The library whose body has this address in this process, for another process to load."""
    return _KEPT[address].content


def load_content(content: bytes) -> int:
    """Load a library of another process; the address of its body here."""
    descriptor = os.memfd_create("laneway-body", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    # It stays open: the loader takes two libraries of one name for the same.
    return _kept(ctypes.CDLL(f"/proc/self/fd/{descriptor}"), content)
