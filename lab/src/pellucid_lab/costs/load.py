"""How busy the machine is before times are measured."""

from __future__ import annotations

import os

# Load average per core above which other work takes a visible share of the core that a measurement uses.
BUSY = 0.3


def load_per_core() -> float:
    return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0


def busy_sentences(load: float) -> list[str]:
    """A warning if the machine was busy; `load`: load average per core before the start."""
    if load <= BUSY:
        return []
    return [
        f"The machine was busy before the start (load average {load:.2f} per core): do not trust these times; measure "
        "again on an idle machine."
    ]
