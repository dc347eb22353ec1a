"""What is believed about a study: everything that answers share of what is fitted to it or drawn from that.

`Beliefs` are of one view of the study. They need the search (bounds, candidates); the search needs nothing of them.
"""

from pellucid.beliefs.beliefs import Beliefs
from pellucid.beliefs.model import Fits, Model

__all__ = ["Beliefs", "Fits", "Model"]
