"""Entry points of the package for libraries that look for them, also where it is not installed but on the path."""

from __future__ import annotations

import re
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def declare() -> None:
    """Put what an installation would say of the package on the path, until this process ends."""
    try:
        distribution("laneway")
    except PackageNotFoundError:
        kept = tempfile.TemporaryDirectory(prefix="laneway-entry-points-")
        folder = Path(kept.name) / "laneway-0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: laneway\nVersion: 0\n")
        (folder / "entry_points.txt").write_text(_declared((ROOT / "pyproject.toml").read_text()))
        sys.path.append(kept.name)
        globals()["_kept"] = kept


def _declared(project: str) -> str:
    """The groups of entry points of pyproject.toml in the form that installations have them in."""
    groups = re.findall(r'^\[project\.entry-points\."([\w.]+)"\]\n((?:\w+ = "[\w.:]+"\n)+)', project, re.MULTILINE)
    return "".join(f"[{name}]\n{lines}\n".replace('"', "") for name, lines in groups)
