"""K-mer counts of files, sequences in memory and simulations, and looking counts up."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import READS
from laneway import _core
from laneway.arguments import job_options
from laneway.programs.kmer import kmer_options
from laneway.references import kmer as reference


def naive(lines: list[str], k: int) -> dict[int, int]:
    """Histogram of the k-mers as read."""
    kmers = Counter(line[i : i + k] for line in lines for i in range(len(line) - k + 1))
    return dict(Counter(kmers.values()))


def test_function_takes_files_sequences_and_simulations(reads: Path) -> None:
    expected = naive(["ACGTACGT", "ACGTA", "ACGTT"], 3)
    sequences = lw.read_sequences([reads])
    assert (sequences.sequences, sequences.bases) == (2, 18)
    for source in (reads, [reads], sequences, ["ACGTACGTNACGTA", b"acgtt"]):
        counts = lw.kmer(source, 3, canonical=False, devices="cpu:2")
        assert counts.multiplicity.dtype == counts.kmers.dtype == np.uint64
        assert dict(zip(counts.multiplicity.tolist(), counts.kmers.tolist())) == expected
        assert counts.total == 12 == int((counts.multiplicity * counts.kmers).sum())
        assert counts.distinct == sum(expected.values())
        assert 0 < counts.load_factor < 1 and counts.kmers_per_second > 0
    simulated = lw.simulate_reads(500, coverage=3, read_length=50)
    assert simulated.bases == 1500
    once = lw.kmer(simulated, 11, devices="cpu:1")
    assert once.checksum == lw.kmer(simulated, 11, devices="cpu:3").checksum
    assert once.total == 30 * 40


def strings(text: str, k: int, canonical: bool) -> Counter[str]:
    """Counts of k-mers as strings."""
    other = str.maketrans("ACGT", "TGCA")
    kmers = (text[i : i + k] for i in range(len(text) - k + 1))
    return Counter(min(each, each.translate(other)[::-1]) if canonical else each for each in kmers)


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
@pytest.mark.parametrize(("k", "canonical"), [(3, True), (4, False), (33, True)])
def test_sequences_in_memory_and_counts_of_given_kmers(devices: str, k: int, canonical: bool) -> None:
    text = "".join(np.random.default_rng(3).choice(list("ACGT"), 300)) * 2
    for source in (text, text.encode(), [text], (each for each in [text.lower()])):
        counts = lw.kmer(source, k, canonical=canonical, devices=devices)
        expected = strings(text, k, canonical)
        assert counts.total == len(text) - k + 1
        assert counts.distinct == len(expected)
        assert counts.counts_of(expected).tolist() == list(expected.values())
        assert counts.counts_of(expected).dtype == np.uint64
        absent = "A" * k
        assert counts.count(absent.lower()) == counts.count(absent.encode()) == expected[absent]
        assert counts.counts_of([]).tolist() == []
    with pytest.raises(lw.UsageError, match="k-mer 2: 'N' is no base"):
        counts.counts_of([text[:k], text[: k - 1] + "N"])
    with pytest.raises(lw.UsageError, match=f"k-mer 1: {k + 1} bases, not {k}"):
        counts.count(text[: k + 1])
    with pytest.raises(lw.UsageError, match="must be str or bytes, not int"):
        counts.counts_of([3])


def test_sequences_end_where_strings_do() -> None:
    counts = lw.kmer(["AC", "GT", "", "ACNGT"], 2, canonical=False, devices="cpu:2")
    assert [counts.count(kmer) for kmer in ("AC", "CG", "GT", "TA")] == [2, 0, 2, 0]
    sequences = lw.Sequences()
    sequences.add(["ACGT", b"TTT"])
    with pytest.raises(lw.UsageError, match="sequence 2, letter 2: '1' belongs in no sequence"):
        sequences.add(["AC", "A1"])
    assert (sequences.sequences, sequences.bases) == (2, 7)


def test_counts_that_are_not_kept() -> None:
    for counts in (
        lw.kmer("ACGT", 2, lookup=False, devices="cpu:1"),
        pickle.loads(pickle.dumps(dataclasses.replace(lw.kmer("ACGT", 2, devices="cpu:1"), report=None))),
    ):
        assert counts.total == 3
        with pytest.raises(lw.UsageError, match="not kept"):
            counts.count("AC")


def test_copies_look_counts_up_and_pickles_differ() -> None:
    counts = lw.kmer("ACGTAC", 2, canonical=False, devices="cpu:1")
    for twin in (copy.copy(counts), copy.deepcopy(counts)):
        assert twin == counts and twin.lookup
        assert twin.count("AC") == 2
    assert copy.deepcopy(counts).kmers is not counts.kmers
    pickled = pickle.loads(pickle.dumps(counts))
    assert not pickled.lookup and pickled != counts
    assert pickled == lw.kmer("ACGTAC", 2, canonical=False, lookup=False, devices="cpu:2")
    assert counts != 1


# A lookup on devices that take long, which a signal comes into; the handler looks up as well.
IN_A_HANDLER = """
import signal
import laneway as lw

counts = lw.kmer("ACGTACGTAA", 3, devices="checked:2", canonical=False)
said = []

def handler(number, frame):
    try:
        said.append(counts.count("ACG"))
    except lw.UsageError as error:
        said.append(str(error))

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
lookups = 0
while not any(isinstance(each, str) for each in said) and lookups < 20000:
    assert counts.counts_of(["ACG"] * 200).tolist() == [2] * 200
    lookups += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(next(each for each in said if isinstance(each, str)))
assert counts.count("ACG") == 2
"""


def test_a_signal_handler_cannot_wait_for_the_call_that_it_interrupts() -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_HANDLER], capture_output=True, text=True, timeout=100)
    assert done.stderr == ""
    words = "a call on these devices goes on already: a signal handler cannot begin another in the midst of it"
    assert done.stdout == f"{words}\n"


def test_counts_are_looked_up_by_many_threads() -> None:
    text = "ACGTTGCATTAG" * 40
    expected = strings(text, 5, True)
    counts = lw.kmer(text, 5, devices="cpu:2")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(counts.count, list(expected) * 4))
    assert found == list(expected.values()) * 4


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("data/genome.fa", "'data/genome.fa' looks like a file, but a str is a sequence: give pathlib.Path('data/gen"),
        (["ACGT", "reads.FQ.gz"], "pathlib.Path('reads.FQ.gz')"),
        (None, "the source must be sequences (str or bytes), paths (pathlib.Path), or what"),
        (21, "not int"),
        (["ACGT", "AC GT"], "sequence 2, letter 3: ' ' belongs"),
        (["ACGT\n"], "letter 5"),
        ("ACGÄ", "letter 4"),
        ([5], "must be str or bytes, not int"),
        (bytearray(b"ACGT"), "must be str or bytes, not int"),
        (["ACGT", Path("reads.fq")], "paths or sequences, not both"),
        (Path("no-such-file.fa"), "no-such-file.fa"),
        ([], "no k-mers"),
        ("AC", "no k-mers"),
    ],
)
def test_sources_that_are_none(source: object, words: str) -> None:
    with pytest.raises(lw.UsageError) as caught:
        lw.kmer(source, 3, devices="cpu:1")
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_the_name_of_a_file_that_is_there_is_no_sequence(
    reads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("reads", "ACGT"):
        (tmp_path / name).write_bytes(READS)
    with pytest.raises(lw.UsageError, match=r"'reads' looks like a file.*pathlib.Path\('reads'\)"):
        lw.kmer("reads", 3, devices="cpu:1")
    assert lw.kmer("ACGT", 3, devices="cpu:1").total == 2, "what can be nothing but a sequence is one"
    assert lw.kmer("ACG.ACG", 3, devices="cpu:1").total == 2
    (tmp_path / "reads").unlink()
    assert lw.kmer("readsACGT", 3, devices="cpu:1").total == 2


def test_what_is_above_the_greatest_shares_a_line() -> None:
    sequences = lw.Sequences()
    assert sequences.bases == 0
    counts = lw.kmer(lw.simulate_reads(40, coverage=50, read_length=40), 40, greatest=3, devices="cpu:1")
    assert counts.multiplicity.tolist() == [4]
    assert counts.kmers.tolist() == [1]
    assert counts.total == 50


def test_mismatches_are_named(reads: Path) -> None:
    sequences = lw.read_sequences(reads)
    options = kmer_options(3, False, 10, None, 1.0, job_options("cpu:1", 1, 60.0, False, 1 << 28))
    counts = lw.kmer(sequences, 3, canonical=False, greatest=10, devices="cpu:1")
    assert reference.verify(sequences, options, counts).mismatches == 0
    counts.kmers[0] += 1
    check = reference.verify(sequences, options, counts)
    assert check.mismatches == 1
    assert check.first_mismatch == f"{counts.kmers[0] - 1} k-mers occur 1 times, not {counts.kmers[0]}"


def test_arguments_of_the_wrong_kind(reads: Path) -> None:
    for wrong in ({"k": 2.5}, {"k": "3"}, {"k": 3, "greatest": 0}, {"k": 3, "memory_gib": -1}, {"k": 3, "devices": 1}):
        with pytest.raises(lw.UsageError):
            lw.kmer(reads, **wrong)
    with pytest.raises(lw.UsageError, match="empty"):
        lw.read_sequences("")
    with pytest.raises(lw.UsageError):
        lw.simulate_reads(1000, read_length=2**32)
    with pytest.raises(lw.UsageError, match="no k-mers"):
        lw.kmer(lw.Sequences(), 3, devices="cpu:1")
    assert _core.Sequences is lw.Sequences


def test_a_refused_file_leaves_nothing_in_sequences(tmp_path: Path) -> None:
    sequences = lw.read_sequences([])
    (tmp_path / "whole.fa").write_text(">x\nACGTAC\n")
    (tmp_path / "broken.fa").write_text(">x\nTTTTTT\n>y\nTT1\n")
    for _ in range(2):
        sequences.read(tmp_path / "whole.fa")
        with pytest.raises(lw.UsageError, match="belongs in no sequence"):
            sequences.read(tmp_path / "broken.fa")
    assert (sequences.sequences, sequences.bases, sequences.kmers(6)) == (2, 12, 2)


def test_threads_read_into_sequences_that_others_count(tmp_path: Path) -> None:
    files = []
    for name, base in zip("abc", "ACG"):
        files.append(tmp_path / name)
        files[-1].write_text(f">{name}\n" + base * 3000 + "\n")
    sequences = lw.read_sequences(files[0])
    counted: list[int] = []
    failed: list[BaseException] = []

    def count() -> None:
        try:
            for _ in range(30):
                counts = lw.kmer(sequences, 5, canonical=False, devices="cpu:1")
                assert counts.total % 2996 == 0, "every file counts whole"
                counted.append(counts.total)
                assert sequences.bases % 3000 == 0
        except BaseException as error:
            failed.append(error)

    def read() -> None:
        try:
            for _ in range(40):
                sequences.read(files[1])
                sequences.read(files[2])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=target) for target in (count, read, count, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(counted) == 60
    assert (sequences.sequences, sequences.bases) == (161, 161 * 3000)
    assert lw.kmer(sequences, 5, canonical=False, devices="cpu:2").total == 161 * 2996
