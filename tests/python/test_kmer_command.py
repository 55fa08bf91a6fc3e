"""The command `kmer`: on a genome, on reads and on files that are broken."""

from __future__ import annotations

import gzip
import json
import lzma
import os
from pathlib import Path

import pytest
from conftest import READS, ROOT, Run, device_lists, names
from test_bad_input import assert_refused
from test_kmer import naive

GENOME = ROOT / "data" / "NC_008253.fna.gz"
EXPECTED = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "genomes" / "expected"


@pytest.mark.parametrize("devices", device_lists())
def test_genome(laneway: Run, tmp_path: Path, devices: str) -> None:
    done = laneway("kmer", GENOME, "-k", 21, "--devices", devices, "--histogram", "g.histo", "--json", "r.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    result = report["result"]
    assert (result["total"], result["distinct"]) == (4938900, 4836681)
    assert result["checksum"] == 10971321417817420311
    assert report["messages"]["posted"] == 4938900
    assert report["input"] == {"files": [str(GENOME)], "sequences": 1, "bases": 4938920}
    lines = (tmp_path / "work" / "g.histo").read_text().splitlines()
    assert lines == [f"{m} {n}" for m, n in zip(result["multiplicity"], result["kmers"])]
    assert (lines[0], lines[-1]) == ("1 4789765", "57 2")


@pytest.mark.skipif(not EXPECTED.exists(), reason="shared data not at hand")
@pytest.mark.parametrize("kind", ["canon", "raw"])
@pytest.mark.parametrize("k", [15, 21, 31])
@pytest.mark.parametrize(("file", "stem"), [("NC_008253.fna.gz", "NC_008253"), ("e_coli_10000snp.fq.gz",) * 2])
def test_jellyfish_wrote_the_same(laneway: Run, tmp_path: Path, file: str, stem: str, k: int, kind: str) -> None:
    options = ["--raw"] if kind == "raw" else []
    done = laneway("kmer", EXPECTED.parent / file, "-k", k, "--devices", "cpu:2", "--histogram", "g.histo", *options)
    assert done.returncode == 0, done.stderr
    name = f"{stem.replace('.fq.gz', '_fq')}.k{k}.{kind}.histo"
    assert (tmp_path / "work" / "g.histo").read_bytes() == (EXPECTED / name).read_bytes()


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_reads_in_any_container(laneway: Run, reads: Path, tmp_path: Path, devices: str) -> None:
    (tmp_path / "more.gz").write_bytes(gzip.compress(b">x\nACGT\nA\n"))
    (tmp_path / "more.xz").write_bytes(lzma.compress(b">x\nacgta"))
    files = [reads, tmp_path / "more.gz", tmp_path / "more.xz"]
    done = laneway("kmer", *files, "-k", 4, "--raw", "--devices", devices, "--verify", "--histogram", "h")
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout and "yes" in done.stdout
    expected = naive(["ACGTACGT", "ACGTA", "ACGTT", "ACGTA", "ACGTA"], 4)
    lines = (tmp_path / "work" / "h").read_text().splitlines()
    assert lines == [f"{m} {expected[m]}" for m in sorted(expected)]


def test_simulated_reads_are_the_same_everywhere(laneway: Run) -> None:
    tables = []
    for devices in ("cpu:1", "cpu:2", "checked:2"):
        options = ["--coverage", 4, "--read-length", 60, "--error-rate", 0.01, "--devices", devices, "--verify"]
        done = laneway("kmer", "-k", 33, "--simulate", 2000, *options)
        assert done.returncode == 0, done.stderr
        tables.append([line for line in done.stdout.splitlines() if line.startswith(("checksum", "canonical", "seq"))])
    assert tables[0] == tables[1] == tables[2]
    assert len(tables[0]) == 3


BROKEN = {
    "empty": (b"", "is empty"),
    "sequence before header": (b"ACGT\n>x\nACGT\n", ":1: "),
    "binary": (bytes(range(256)), "is neither text"),
    "digit": (b">x\nACGT\nAC7T\n", ":3: '7'"),
    "short qualities": (b"@x\nACGT\n+\nIII\n", ":4: 3 qualities"),
    "cut record": (b"@x\nACGT\n", ":2: "),
    "cut gzip": (gzip.compress(b">x\n" + b"ACGTTGCA" * 9999)[:-30], "cut off"),
    "short": (b">x\nACG\n>y\nACNTT\n", "no k-mers"),
    "headers": (b">x\n>y\n", "no k-mers"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file(laneway: Run, tmp_path: Path, name: str) -> None:
    content, word = BROKEN[name]
    (tmp_path / "broken.fa").write_bytes(content)
    done = laneway("kmer", tmp_path / "broken.fa", "-k", 4, "--devices", "cpu:1", "--histogram", "h", "--json", "r")
    assert_refused(done, "broken.fa", word)
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-k", "0"], "1 to 63"),
        (["-k", "64"], "1 to 63"),
        (["-k", "x"], "-k"),
        (["-k", "4", "--memory", "0"], "memory"),
        (["-k", "4", "--greatest", "0"], "greatest"),
        (["-k", "4", "--distinct", "0"], "distinct"),
        (["-k", "4", "--simulate", "100"], "either"),
        (["-k", "4", "--histogram", "no-such-folder/h"], "no-such-folder/h"),
        (["-k", "4", "--histogram", "same", "--json", "same"], "same"),
        (["-k", "4", "--histogram", "-"], "-: cannot be written"),
        ([], "-k"),
    ],
)
def test_wrong_option(laneway: Run, reads: Path, tmp_path: Path, arguments: list[str], word: str) -> None:
    assert_refused(laneway("kmer", reads, "--devices", "cpu:1", *arguments), word)
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "either"),
        (["--simulate", "0"], "genome_length"),
        (["--simulate", "50"], "longer than a genome"),
        (["--simulate", "500", "--coverage", "0"], "coverage"),
        (["--simulate", "500", "--error-rate", "1.5"], "error rate"),
        (["--simulate", "500", "--read-length", "0"], "--read-length"),
        (["--simulate", "500", "--read-length", "3"], "no k-mers"),
    ],
)
def test_impossible_simulation(laneway: Run, arguments: list[str], word: str) -> None:
    assert_refused(laneway("kmer", "-k", "4", "--devices", "cpu:1", *arguments), word)


def test_the_sequences_are_not_replaced(laneway: Run, reads: Path) -> None:
    assert_refused(laneway("kmer", reads, "-k", 3, "--devices", "cpu:1", "--histogram", reads), "reads.fq")
    assert reads.read_bytes() == READS


def test_a_full_table_is_a_fault_and_writes_nothing(laneway: Run, tmp_path: Path) -> None:
    options = ["--simulate", 100000, "--memory", 0.0001, "--devices", "cpu:2", "--histogram", "h"]
    done = laneway("kmer", "-k", 31, *options)
    assert done.returncode == 1
    assert "PE " in done.stderr and "no room left while inserting" in done.stderr
    assert "of 4096 places none is free" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert names(tmp_path / "work") == []
