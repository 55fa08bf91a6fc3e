"""The command `kmer`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import typer

import laneway
from laneway._core import Sequences, SimulatedReads
from laneway.account import Account, Row, printable
from laneway.arguments import job_options
from laneway.commands.program import add_program
from laneway.errors import UsageError
from laneway.job import Job
from laneway.programs.kmer import GREATEST, MEMORY_GIB, KmerCounts, add_sequences, kmer_options
from laneway.references.kmer import verify

FILES = typer.Argument(None, help="FASTA or FASTQ files; plain, gzip or xz.")
K = typer.Option(..., "-k", help="Bases of a k-mer, 1 to 63.")
RAW = typer.Option(False, "--raw", help="Count k-mers as read: a k-mer and its reverse complement are two.")
SIMULATE = typer.Option(None, help="Instead of files: reads of a random genome of so many bases, drawn by --seed.")
COVERAGE = typer.Option(10.0, help="Simulated reads over each base, on average.")
READ_LENGTH = typer.Option(100, help="Bases of a simulated read.")
ERROR_RATE = typer.Option(0.0, help="Probability that a simulated base is read wrong.")
MOST = typer.Option(GREATEST, help="Most occurrences with a line of their own; the next line holds all above.")
DISTINCT = typer.Option(
    None, help="Most distinct k-mers expected: sizes the tables.", show_default="the number of k-mers"
)
MEMORY = typer.Option(MEMORY_GIB, help="Most GiB that a device's table takes.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "kmer",
        body,
        summary="How often the k-mers of DNA sequences occur, counted in hash tables over all devices.",
        examples=[
            "kmer data/NC_008253.fna.gz -k 21 --histogram NC_008253.histo",
            "kmer reads.fq.gz more.fq.xz -k 31 --raw --devices cuda:0-3 --verify",
            "kmer -k 31 --simulate 100000000 --coverage 20 --error-rate 0.01 --devices cuda",
        ],
        verify="Compare the histogram with that of all k-mers sorted on one core.",
        output="Write the histogram: occurrences, and how many distinct k-mers occur so often.",
        output_name="--histogram",
        output_ending="",
    )


def body(
    job: Job,
    files: Optional[list[str]] = FILES,
    k: int = K,
    raw: bool = RAW,
    simulate: Optional[int] = SIMULATE,
    coverage: float = COVERAGE,
    read_length: int = READ_LENGTH,
    error_rate: float = ERROR_RATE,
    greatest: int = MOST,
    distinct: Optional[int] = DISTINCT,
    memory: float = MEMORY,
) -> Account:
    """What the command does."""
    options = kmer_options(k, not raw, greatest, distinct, memory, job_options(**job.options))
    if bool(files) == (simulate is not None):
        raise UsageError("give either files or --simulate")
    source: Sequences | SimulatedReads
    if simulate is None:
        source = _read(job, files or [], k)
        subject = printable(" ".join(files or []))
        origin: dict[str, Any] = {"files": files}
    else:
        drawn = {"coverage": coverage, "read_length": read_length, "error_rate": error_rate}
        source = laneway.simulate_reads(simulate, seed=job.options["seed"], **drawn)  # type: ignore[arg-type]
        subject = f"simulated reads of {simulate:,} bases"
        origin = {"genome_length": simulate, **drawn, "seed": job.options["seed"]}
    counts = laneway.kmer(
        source,
        k,
        canonical=not raw,
        greatest=greatest,
        distinct=distinct,
        memory_gib=memory,
        lookup=False,
        **job.options,
    )
    kind = f"{k}-mers" if raw else f"canonical {k}-mers"
    message_bytes = 8 if k <= 31 else 16
    return Account(
        subject=f"{subject}, k = {k}",
        headline=f"{counts.total:,} {kind}, {counts.distinct:,} distinct",
        report=counts.report,
        seconds={"copy": counts.copy_seconds},
        rows=_rows(source, counts, kind, message_bytes),
        fields={
            "input": {**origin, "sequences": source.sequences, "bases": source.bases},
            "k": k,
            "canonical": not raw,
            "work": {
                "kmers_per_second": counts.kmers_per_second,
                "message_bytes": message_bytes,
                "slots": counts.slots,
                "load_factor": counts.load_factor,
                "tally_seconds": counts.tally_seconds,
            },
            "result": {
                "total": counts.total,
                "distinct": counts.distinct,
                "checksum": counts.checksum,
                "greatest": greatest,
                "multiplicity": counts.multiplicity.tolist(),
                "kmers": counts.kmers.tolist(),
            },
        },
        verify=lambda: verify(source, options, counts),
        write=lambda file: _write(counts, file),
    )


def _read(job: Job, files: list[str], k: int) -> Sequences:
    sequences = Sequences()
    for path in files:
        job.load("sequences", [path], lambda path=path: add_sequences(sequences, path))  # type: ignore[misc]
    if sequences.kmers(k) == 0:
        raise UsageError(f"{' '.join(files)}: no k-mers: nowhere {k} bases in a row")
    return sequences


def _rows(source: Sequences | SimulatedReads, counts: KmerCounts, kind: str, message_bytes: int) -> list[Row]:
    once = int(counts.kmers[0]) if counts.multiplicity[0] == 1 else 0
    return [
        ("sequences", f"{source.sequences:,} with {source.bases:,} bases"),
        (kind, f"{counts.total:,}, {counts.distinct:,} distinct, {once:,} of them once"),
        ("rate", f"{counts.kmers_per_second / 1e6:,.1f} million k-mers a second"),
        ("table", f"{counts.slots:,} slots, {100 * counts.load_factor:.1f} % taken"),
        ("checksum", str(counts.checksum)),
        ("message", f"{message_bytes} bytes"),
    ]


def _write(counts: KmerCounts, file: Path) -> None:
    lines = (f"{m} {n}\n" for m, n in zip(counts.multiplicity.tolist(), counts.kmers.tolist()))
    file.write_text("".join(lines))
