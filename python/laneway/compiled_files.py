"""Files of compiled code that are kept on disk: whole, or not there."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Callable

from laneway.errors import UsageError
from laneway.pending_file import PendingFile


def key_of(*parts: str | bytes) -> str:
    """A file's name for what is made of these."""
    whole = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        whole.update(b"%d:" % len(content) + content)
    return whole.hexdigest()[:40]


def with_digest(content: bytes) -> bytes:
    """The content, and behind it, where loaders do not look, what tells whether it is whole."""
    return content + hashlib.sha256(content).digest()


def whole_content(file: Path) -> bytes | None:
    """What `with_digest` was given; None where the file is not there, was cut off or changed."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    return content[:-32] if with_digest(content[:-32]) == content else None


def kept(folder: Path | None, name: str, make: Callable[[], bytes]) -> bytes:
    """Content of the file, which is made where it is not there or damaged, and kept where that can be."""
    found = None if folder is None else whole_content(folder / name)
    if found is not None or folder is None:
        return make() if found is None else found
    content = make()
    keep(folder / name, content)
    return content


def keep(file: Path, content: bytes) -> bool:
    """Keep what was compiled for the next run. A warning and False where that cannot be, as on a full disk."""
    try:
        with PendingFile(file) as pending:
            pending.fill(lambda path: path.write_bytes(with_digest(content)))
            pending.commit()
    except UsageError as error:
        warnings.warn(f"what was compiled is not kept for the next run: {error}", RuntimeWarning, stacklevel=4)
        return False
    return True
