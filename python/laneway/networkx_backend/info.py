"""What NetworkX asks of the backend when it is imported: names, notes and settings. Loads nothing else."""

from __future__ import annotations

import os
from typing import Any

from laneway.networkx_backend.table import OFFERED, Offer

DEVICES = "LANEWAY_NETWORKX_DEVICES"
"""Environment variable that says on which devices calls run unless the configuration does."""
SUMMARY = "Graph algorithms on GPUs and CPU devices that send each other messages."


def default_config() -> dict[str, Any]:
    """The settings of `nx.config.backends.laneway`: arguments of `laneway.Session`, None for its defaults."""
    return {"devices": os.environ.get(DEVICES, ""), "timeout": None, "buffer_bytes": None, "kept_bytes": None}


def _notes(offer: Offer) -> dict[str, str]:
    return {"additional_docs": offer.notes, "extra_docstring": offer.notes}  # as it was called before NetworkX 3.4


def backend_info() -> dict[str, Any]:
    """For the entry point `networkx.backend_info`."""
    return {
        "backend_name": "laneway",
        "project": "laneway",
        "package": "laneway",
        "short_summary": SUMMARY,
        "description": SUMMARY,
        "functions": {name: _notes(offer) for name, offer in OFFERED.items()},
        "default_config": default_config(),
    }
