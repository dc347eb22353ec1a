"""Every processor rounds sums in its own order: training must not make more of that than the last digits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.helpers import ROOT

# Losses at every validation of meta-training, and scores of ensembles that are trained from scratch and tuned.
TRAINING = """
import json
import torch
from tests.surrogates.ranking.bowls import SPACE, bowl
from pellucid.models.ranking.ensemble import RankingEnsemble
from pellucid.models.ranking.training import Recipe

recipe = Recipe(steps=300, list_size=30, lists=4)
empty = RankingEnsemble(SPACE, members=2, width=16, recipe=recipe)
trained = empty.meta_trained([bowl(seed, 40) for seed in (1, 2, 3)], [bowl(0, 40)])
_, X, losses = bowl(9, 30)
print(json.dumps({
    "instructions": torch.backends.cpu.get_cpu_capability(),
    "losses": [(moment.training, moment.validation) for moment in trained.card.course],
    "scores": [ensemble.fit(X, losses).scores(X).tolist() for ensemble in (empty, trained)],
}))
"""
# The instructions that torch and its BLAS choose on their own, and those that every x86 processor has.
SETTINGS = ({}, {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"})
CHOICES = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "DNNL_MAX_CPU_ISA")


def test_networks_learn_the_same_with_every_instruction_set() -> None:
    pytest.importorskip("torch")
    environment = {name: value for name, value in os.environ.items() if name not in CHOICES}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", TRAINING],
            cwd=ROOT,
            env={**environment, **setting},
            stdout=subprocess.PIPE,
            text=True,
        )
        for setting in SETTINGS
    ]
    outputs = [child.communicate(timeout=300)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    first, second = map(json.loads, outputs)
    if first["instructions"] == second["instructions"]:
        pytest.skip(f"Torch has one set of instructions for this processor, {first['instructions']}.")
    # In single precision the losses differ by 2e-3 and the scores by 6; in double precision by 1e-13 and by 1e-8.
    assert second["losses"] == [pytest.approx(pair, abs=1e-9) for pair in first["losses"]]
    for ours, theirs in zip(first["scores"], second["scores"], strict=True):
        assert theirs == [pytest.approx(member, abs=1e-5) for member in ours]
