"""Points in files: nothing is lost in silence, and what is broken is refused with its place."""

from __future__ import annotations

import gzip
import io
import os
import threading
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from laneway import points_file
from scipy import sparse


def npy_header(kind: str, shape: str) -> bytes:
    """The beginning of an .npy file, which may promise more than follows."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def archive_of(member: bytes) -> bytes:
    """An .npz file with the member `points.npy`."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("points.npy", member)
    return content.getvalue()


def marked_archive(offset: int, value: int) -> bytes:
    """One whose member's heads say that it is encrypted, or packed in some way."""
    content = bytearray(archive_of(npy_header("<f8", "(1,)") + bytes(8)))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at + offset] = value
    return bytes(content)


TEXTS = {
    b"\xef\xbb\xbf1.5,2\r\n3,4\r\n": "a mark",
    "\ufeffx,\u00b5\n1.5,2\n3,4\n".encode(): "a mark and titles",
    b"# a, b\n,y # titles\n1.5,2\n3,4\n": "a title is empty",
    b"\n\n1.5 2#x\n3\t4": "comments",
    b"+1.5e0, 2\n0.3e1,4.\n": "ways to write numbers",
}


@pytest.mark.parametrize("content", TEXTS, ids=TEXTS.values())
def test_texts(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p").write_bytes(content)
    assert lw.read_points(tmp_path / "p").tolist() == [[1.5, 2], [3, 4]]


BROKEN = {
    "words": (b"1,2\n# more\n\n3,four\n", ":4: field 2 is 'four', no number"),
    "missing": (b"1,NA\n2,3\n", ":1: field 2 is 'NA', no number"),
    "open": (b"1,\n2,3\n", ":1: field 2 is '', no number"),
    "half": (b"x,1\n2,3\n", ":1: field 1 is 'x', no number"),
    "commas": (b",\n2,3\n", ":1: field 1 is '', no number"),
    "under": (b"# one\n1 1_000\n", ":2: field 2 is '1_000', no number"),
    "titles twice": (b"x,y\nz,w\n", ":2: field 1 is 'z', no number"),
    "ragged": (b"1,2\n3,4,5\n", ":2: the first row has 2 columns, this one 3"),
    "numbers in quotes are no titles": (b'"1","2"\n3,4\n', ":1: field 1 is '\"1\"', no number"),
    "titles and ragged": (b"a,b\n1,2\n3\n", ":3: "),
    "control": (b"1,\x1b[31m\n", ":1: field 2 is '?[31m', no number"),
    "long field": (b"1," + b"y" * 1000 + b"\n", ":1: field 2 is '" + "y" * 40 + "...', no number"),
    "utf-16": ("1,2\n".encode("utf-16"), ": is no text"),
    "utf-8 later": (b"1,2\n" * 5000 + b"\xff\n", ": is no text"),
    "infinite": (b"1,2\n3,1e999\n", ": row 2, column 2 is infinite"),
    "gzip": (gzip.compress(b"1,2\n3,x\n"), ":2: field 2 is 'x', no number"),
    "token": (npy_header("<f8", "(")[:60].ljust(128), ": is no whole NumPy file"),
    "deep": (b"\x93NUMPY\x01\x00\x88\x13" + b"(" * 5000, ": is no whole NumPy file"),
    "cut": (npy_header("<f8", "(1000, 2)") + bytes(800), "800 bytes of data are not enough"),
    "huge": (npy_header("<f8", "(1152921504606846976, 8)") + bytes(8), "8 bytes of data are not enough"),
    "negative": (npy_header("<f8", "(-1, 2)") + bytes(800), "800 bytes of data are not enough"),
    "later version": (b"\x93NUMPY\x03\x00" + bytes(20), "version 3.0"),
    "no header": (b"\x93NUMPY", ": is no whole NumPy file"),
    "no zip": (b"PK\x00\x00" + bytes(200), ": is no whole NumPy file"),
    "locked": (marked_archive(0, 1), ": is no whole NumPy file"),
    "packed": (marked_archive(2, 77), ": is no whole NumPy file"),
    "large member": (archive_of(npy_header("<f8", f"({2**50}, 8)")), ": is no whole NumPy file"),
    "member": (archive_of(b"some words"), "holds no array"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(tmp_path: Path, name: str) -> None:
    content, words = BROKEN[name]
    path = tmp_path / "p"
    path.write_bytes(content)
    with pytest.raises(lw.UsageError) as caught:
        lw.read_points(path)
    assert words in str(caught.value) and str(caught.value).startswith(str(path))
    assert str(caught.value).isprintable()


def test_every_cut_and_many_changes_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    np.savez(path, points=np.arange(12.0).reshape(6, 2))
    whole = path.read_bytes()
    np.save(tmp_path / "p.npy", np.arange(12.0).reshape(6, 2))
    plain = (tmp_path / "p.npy").read_bytes()
    dice = np.random.default_rng(5)
    for content in (whole, plain):
        for cut in range(0, len(content), 5):
            path.write_bytes(content[:cut])
            with pytest.raises(lw.UsageError):
                lw.read_points(path)
        for _ in range(400):
            changed = bytearray(content)
            for place in dice.integers(len(content), size=3):
                changed[place] = dice.integers(256)
            path.write_bytes(changed)
            with suppress(lw.UsageError):
                lw.read_points(path)


def test_a_line_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points_file, "LONGEST_LINE", 100)
    path = tmp_path / "p"
    path.write_text("1 2\n" + "3 " * 60 + "\n")
    with pytest.raises(lw.UsageError, match="p:2: the line is longer than 100 characters"):
        lw.read_points(path)
    path.write_text("1 " * 49 + "1\n")  # 100 with its end
    assert lw.read_points(path).shape == (1, 50)


@pytest.mark.parametrize("kind", ["text", "gzip", "npy", "npz"])
def test_pipes(tmp_path: Path, kind: str) -> None:
    rows = np.array([[1.5, 2], [3, 4]])
    content = io.BytesIO()
    if kind == "npy":
        np.save(content, rows)
    elif kind == "npz":
        np.savez(content, rows)
    text = b"1.5,2\n3,4\n"
    sent = content.getvalue() or (gzip.compress(text) if kind == "gzip" else text)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(sent,))
    writer.start()
    assert lw.read_points(pipe).tolist() == rows.tolist()
    writer.join()


def test_masks_count() -> None:
    masked = np.ma.masked_array([[0.0, 1], [2, 3], [4, 5]], mask=[[0, 0], [0, 1], [0, 0]])
    for call in (
        lambda: lw.kmeans(masked, 1, devices="cpu:1"),
        lambda: lw.write_points(masked, "unwritten.npy"),
        lambda: lw.kmeans(np.zeros((4, 2)), 3, init=masked, devices="cpu:1"),
    ):
        with pytest.raises(lw.UsageError, match=r"row 2, column 2 is masked"):
            call()
    with pytest.raises(lw.UsageError, match=r"points: row 2 is masked"):
        lw.kmeans(np.ma.masked_equal([1.0, 2, 3], 2), 1, devices="cpu:1")
    unmasked = np.ma.masked_array([[0.0, 1], [2, 3]])
    assert lw.kmeans(unmasked, 1, devices="cpu:1").cluster_centers.tolist() == [[1, 2]]


@pytest.mark.parametrize("name", ["p.npy", "p.npz", "p.csv"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_written_is_read(tmp_path: Path, name: str, kind: type) -> None:
    rows = (np.random.default_rng(2).normal(size=(20, 3)) / 3).astype(kind)
    lw.write_points(rows, tmp_path / name)
    read = lw.read_points(tmp_path / name)
    assert np.array_equal(read.astype(kind), rows)
    assert read.dtype == (np.float64 if name == "p.csv" else kind)


@pytest.mark.parametrize(
    ("points", "name", "words"),
    [
        (np.zeros((2, 2)), "p.txt", "must end in .npy, .npz or .csv"),
        (np.zeros((2, 2, 2)), "p.npy", "not 3-dimensional"),
        (np.array([[1j]]), "p.npy", "a matrix of numbers"),
        ([["a"]], "p.csv", "a matrix of numbers"),
        ([[1, np.nan]], "p.csv", "row 1, column 2 is not a number"),
        ([], "p.npz", "there are no points"),
    ],
)
def test_a_refused_write_leaves_what_is_there(tmp_path: Path, points: object, name: str, words: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(lw.UsageError, match=words):
        lw.write_points(points, tmp_path / name)
    assert (tmp_path / name).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_matrix])
def test_sparse_points_are_refused_with_a_way_out(kind: Any) -> None:
    points = kind(np.eye(3))
    message = rf"points must be dense, not {kind.__name__}: give points.toarray\(\)"
    with pytest.raises(lw.UsageError, match=message):
        lw.kmeans(points, 2, devices="cpu:1")
    assert lw.kmeans(points.toarray(), 3, devices="cpu:1").inertia == 0
    with pytest.raises(lw.UsageError, match=r"init: points must be dense.*give init.toarray\(\)"):
        lw.kmeans(np.eye(3), 3, init=points, devices="cpu:1")


def test_a_function_is_no_init() -> None:
    with pytest.raises(lw.UsageError, match=r"init must be k-means\+\+, random, first or centers, not a function"):
        lw.kmeans(np.eye(3), 3, init=lambda points, count, random: points[:count], devices="cpu:1")
