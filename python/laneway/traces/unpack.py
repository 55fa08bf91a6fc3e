"""Traces in archives and compressed files: unpacked into a directory that goes with the trace."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import tarfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from laneway import signals
from laneway.compressed import DAMAGED
from laneway.errors import UsageError

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_PIECE = 1 << 20
HEAD = 512
"""Bytes at a file's begin that tell what it is: those of a tar archive's header."""


_alive: weakref.WeakSet[Unpacked] = weakref.WeakSet()


def remove_unpacked() -> None:
    """Remove all that was unpacked, also where this process ends without Python's way to end."""
    for each in list(_alive):
        each.directory.cleanup()


def is_packed(path: Path) -> bool:
    """Whether a file is a tar archive or compressed."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    return _opener(head) is not None or head[257:262] == b"ustar"


def content_head(path: Path) -> bytes | None:
    """How the content of a compressed file begins; None for an archive, compressed or not, for what is compressed
    twice, and where the file is damaged so early that it cannot be told."""
    with path.open("rb") as file:
        opener = _opener(file.read(HEAD))
    if opener is None:
        return None
    head = b""
    try:
        with opener(path) as content:
            while len(head) < HEAD and (piece := content.read1(HEAD - len(head))):
                head += piece
    except (*DAMAGED, OSError, ValueError):
        if not head:
            return None
    return None if _opener(head) is not None or _is_tar(head) else head


def _opener(head: bytes) -> Any:
    """What opens a compressed file that begins so; None for others."""
    return next((opener for mark, opener in _OPENERS.items() if head.startswith(mark)), None)


def _is_tar(head: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(head, tarfile.ENCODING, "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


class Unpacked:
    """A directory for what packed files hold. It may take half of what the disk has free, and goes with this object."""

    def __init__(self) -> None:
        _alive.add(self)
        self.directory = TemporaryDirectory(prefix="laneway-traces-")
        self.path = Path(self.directory.name)
        signals.temporaries.add(str(self.path))
        self._left = shutil.disk_usage(self.path).free // 2
        self._count = 0

    def unpack(self, packed: Path, name: str) -> Path:
        """Where the content of a tar archive, or the one file that is compressed, lies now."""
        self._count += 1
        target = self.path / str(self._count)
        self._make(target)
        with _readable(name):
            try:
                self._unpack_tar(packed, name, target)
            except tarfile.ReadError:
                if any(target.iterdir()):
                    raise UsageError(f"{name}: broken: the archive ends early") from None
                self._decompress(packed, name, target)
        return target

    def _unpack_tar(self, packed: Path, name: str, target: Path) -> None:
        with _open_tar(packed) as archive:
            for member in archive:
                place = target / member.name
                if not member.isfile():
                    continue
                if target not in place.resolve().parents:
                    raise UsageError(f"{name}: broken: it has a file {member.name}, which lies outside of it")
                content = archive.extractfile(member)
                if content is not None:
                    for parent in reversed(place.parents):
                        if target in parent.parents:
                            self._make(parent)
                    self._copy(content, place, name)

    def _decompress(self, packed: Path, name: str, target: Path) -> None:
        with packed.open("rb") as file:
            opener = _opener(file.read(HEAD))
        if opener is None:
            raise UsageError(f"{name}: broken: neither a tar archive nor a compressed file")
        with opener(packed) as content:
            self._copy(content, target / packed.stem, name)

    def _make(self, directory: Path) -> None:
        signals.temporaries.add(str(directory))
        directory.mkdir(exist_ok=True)

    def _copy(self, content: IO[bytes], place: Path, name: str) -> None:
        signals.temporaries.add(str(place))
        with place.open("wb") as file:
            while piece := content.read(_PIECE):
                self._left -= len(piece)
                if self._left < 0:
                    raise UsageError(f"{name}: its content does not fit into half of what {self.path.parent} has free")
                file.write(piece)


def _open_tar(packed: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(packed, "r|*")
    except TypeError:  # where the file ends inside gzip's header
        raise tarfile.ReadError("it ends early") from None


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except (*DAMAGED, tarfile.TarError) as error:
        raise UsageError(f"{name}: broken: {str(error) or 'it ends early'}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: cannot be unpacked: {error}") from None
