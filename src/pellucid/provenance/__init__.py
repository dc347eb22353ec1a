"""Where a trial comes from: the receipt that is stored with every proposal. Nothing here knows a study or an answer.

`kinds`: a receipt of each kind. `states`: what was behind a proposal, such as models, the acquisition and the policy.
`terms`: the words for the terms of an acquisition. `pruning`: the decision to stop a trial. `rules`: the form that
every field must have. `version1`: the JSON in which receipts are stored.

The package cannot be called `receipts`: `pellucid.receipts` is a function.
"""

from pellucid.provenance.kinds import (
    FallbackReceipt,
    ModelReceipt,
    ProposedReceipt,
    RankingReceipt,
    Receipt,
    StartupReceipt,
)
from pellucid.provenance.pruning import PruningDecision
from pellucid.provenance.states import (
    AcquisitionState,
    ConstraintState,
    CurveState,
    ModelState,
    PolicyState,
    RankingState,
)
from pellucid.provenance.terms import Term

__all__ = [
    "AcquisitionState",
    "ConstraintState",
    "CurveState",
    "FallbackReceipt",
    "ModelReceipt",
    "ModelState",
    "PolicyState",
    "ProposedReceipt",
    "PruningDecision",
    "RankingReceipt",
    "RankingState",
    "Receipt",
    "StartupReceipt",
    "Term",
]
