"""Bodies of tasks on GPUs: source text, compiled by NVRTC and linked into the pool's program by nvJitLink. Both results
are kept on disk."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from laneway import _core
from laneway.body_functions import why_no_body, why_not_ascii
from laneway.body_wrapper import dispatcher, wrapped_for_gpu
from laneway.compiled_files import kept, key_of
from laneway.cuda_toolkit import CudaCompilerError, Toolkit, compile_options, link_options, toolkit
from laneway.errors import TaskBodyError
from laneway.standard_headers import HEADERS

LABEL = "body"
"""What the compiler's messages call the user's text."""
_PREPROCESSING = ("-D", "-I", "-U")
_SHARED = rb"^\.(?:visible|weak|common)[ \t]+(?=\.(?:func|entry|global|const|shared)\b)(?!\.func[ \t]+%s\()"
"""Marks of what others see, but for one function's."""
_UNKNOWN_STACK = "cannot be statically determined"
"""In what nvJitLink says of a kernel that calls itself, or what it does not know."""


@dataclass(frozen=True)
class GpuBody:
    """What a GPU needs to know of a `TaskBody`."""

    source: str
    entry: str
    flags: tuple[str, ...]
    cache: Path | None
    sizes: tuple[int, int]
    """Bytes of all arguments, and of the result."""
    made: dict[int, bytes] = field(default_factory=dict, compare=False, repr=False)
    """Its PTX by architecture: files of it may go while the pool needs it again."""

    @property
    def symbol(self) -> str:
        """Of the function that the pool's program calls: the same for the same body only."""
        return f"laneway_body_{key_of(self.source, self.entry, *self.flags)}"

    def label(self, number: int) -> str:
        """What the linker's messages call it."""
        return f"body {self.entry}" if number == 0 else f"body {self.entry}, number {number}"

    def ptx(self, architecture: int) -> bytes:
        """Compile it unless that has been done before. TaskBodyError where it does not compile."""
        if architecture not in self.made:
            self.made[architecture] = self._kept_ptx(toolkit(), architecture)
        return self.made[architecture]

    def _kept_ptx(self, tools: Toolkit, architecture: int) -> bytes:
        text = wrapped_for_gpu(self.source, self.entry, LABEL, self.symbol, self.sizes)
        flags = preprocessing(self.flags)
        options = compile_options(architecture, tools.folders, flags)
        key = key_of(text, _core.version, tools.version, *options, *HEADERS, *HEADERS.values())

        def compiled() -> bytes:
            try:
                return alone(tools.compile(text, LABEL, architecture, flags), self.symbol)
            except CudaCompilerError as error:
                why = why_no_body(self.source, self.entry, error.words, LABEL)
                if why is None and "unrecognized token" in error.words:
                    why = why_not_ascii(self.source)
                reason = f": {why}" if why else ""
                raise TaskBodyError(f"the body does not compile for GPUs{reason}; {error}") from None

        return kept(self.cache, f"{key}.ptx", compiled)


def preprocessing(flags: tuple[str, ...]) -> list[str]:
    """Those flags of the host's compiler that NVRTC has as well, each in one word."""
    found: list[str] = []
    words = iter(flags)
    for word in words:
        if word in _PREPROCESSING:
            found.append(word + next(words, ""))
        elif word.startswith(_PREPROCESSING):
            found.append(word)
    return found


def alone(ptx: bytes, symbol: str) -> bytes:
    """The same where others see only what the pool calls: two bodies may have functions and variables of one name."""
    shared = re.compile(_SHARED % re.escape(symbol.encode()), re.MULTILINE)
    return shared.sub(b"", ptx)


def linked(program: bytes, bodies: list[GpuBody], architecture: int) -> bytes:
    """Machine code of the pool's program, PTX, with bodies in the order of their numbers. TaskBodyError where one does
    not compile, or cannot be linked."""
    tools = toolkit()
    parts = {"the pool's program": program} | {body.label(n): body.ptx(architecture) for n, body in enumerate(bodies)}
    for body in bodies:  # of two, nvJitLink takes one, and calls that success
        definitions = sum(definitions_of(body.symbol, part) for part in parts.values())
        if definitions != 1:
            raise TaskBodyError(f"the body {body.entry} is defined {definitions} times in the pool's program for GPUs")
    calls = dispatcher([body.symbol for body in bodies])
    key = key_of(_core.version, tools.version, *link_options(architecture), calls, *parts.values())

    def made() -> bytes:
        parts["dispatcher"] = tools.compile(calls, "dispatcher", architecture)
        try:
            code, words = tools.link(parts, architecture)
        except CudaCompilerError as error:
            raise TaskBodyError(f"the body cannot be linked into the pool's program for GPUs; {error}") from None
        if _UNKNOWN_STACK in words:
            raise TaskBodyError(
                f"the body {bodies[-1].entry} calls itself, or what only its run decides, a virtual function for "
                "instance: the stack that it takes is not known, which GPUs need to know"
            )
        return code

    return kept(bodies[-1].cache, f"{key}.cubin", made)


def definitions_of(symbol: str, ptx: bytes) -> int:
    """Of a function that others see."""
    pattern = rb"^\.(?:visible|weak)[ \t]+\.func[ \t]+%s\([^)]*\)[^;{]*\{" % re.escape(symbol.encode())
    return len(re.findall(pattern, ptx, re.MULTILINE))


class Core(Protocol):
    """The part of a pool's compiled core that this needs."""

    def architectures(self) -> list[int]: ...

    def link(self, numbers: dict[int, int], code: dict[int, bytes]) -> None: ...


class GpuBodies:
    """Those that the GPUs of a pool have. Any thread."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._bodies: list[GpuBody] = []
        """By number; numbers stay, as tasks that wait have them."""
        self._numbers: dict[int, int] = {}
        """By address of what CPU devices call, which tasks name them with."""

    def require(self, body: GpuBody, address: int) -> None:
        """Have the pool's program take over with this body, unless it has it. Raises TaskBodyError, TimeoutError where
        tasks take longer than the pool's deadline, TaskWorkerDied, CudaError, and what ended the pool."""
        if address in self._numbers:
            return
        with self._lock:
            symbols = [one.symbol for one in self._bodies]
            is_new = body.symbol not in symbols
            bodies = [*self._bodies, body] if is_new else self._bodies
            numbers = {**self._numbers, address: len(symbols) if is_new else symbols.index(body.symbol)}
            code = {}
            if is_new:
                program = _core.linkable_pool()
                code = {which: linked(program, bodies, which) for which in self._core.architectures()}
            self._core.link(numbers, code)
            self._bodies, self._numbers = bodies, numbers
