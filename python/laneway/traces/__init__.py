"""Traces of MPI programs: readers of DUMPI and OTF2, and their analysis."""
