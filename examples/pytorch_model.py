"""Tune a small PyTorch network with pruning. A learning rate that is too large makes the loss NaN.

    python examples/pytorch_model.py --trials 60

Just return the NaN: Optuna marks the trial as failed, and `avoid_failures=True` steers the search away from failures.
"""

from __future__ import annotations

import argparse
import math

import optuna
import torch
from optuna.trial import TrialState
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from torch import nn

import pellucid

EPOCHS = 12
features, progress = load_diabetes(return_X_y=True)
parts = train_test_split(scale(features), scale(progress)[:, None], test_size=0.4, random_state=0)
train_x, valid_x, train_y, valid_y = (torch.tensor(part, dtype=torch.float32) for part in parts)


def train_epoch(network: nn.Module, optimiser: torch.optim.Optimizer, batch_size: int) -> None:
    for batch in torch.randperm(len(train_x)).split(batch_size):
        optimiser.zero_grad()
        nn.functional.mse_loss(network(train_x[batch]), train_y[batch]).backward()
        optimiser.step()


@torch.no_grad()
def validation_loss(network: nn.Module) -> float:
    return nn.functional.mse_loss(network(valid_x), valid_y).item()


def objective(trial: optuna.Trial) -> float:
    """Squared error on the validation set after the last epoch; NaN if the training diverged."""
    torch.manual_seed(0)
    units = trial.suggest_int("units", 4, 64, log=True)
    network = nn.Sequential(nn.Linear(10, units), nn.SiLU(), nn.Linear(units, 1))
    optimiser = torch.optim.SGD(
        network.parameters(),
        lr=trial.suggest_float("learning_rate", 1e-3, 10.0, log=True),
        momentum=trial.suggest_float("momentum", 0.0, 0.95),
        weight_decay=trial.suggest_float("weight_decay", 1e-5, 1e-1, log=True),
    )
    batch_size = trial.suggest_int("batch_size", 16, 128, log=True)
    loss = math.nan
    for epoch in range(EPOCHS):
        train_epoch(network, optimiser, batch_size)
        loss = validation_loss(network)
        if math.isnan(loss):
            break  # Do not report NaN: the pruner would prune the trial, which must count as failed.
        trial.report(loss, step=epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="minimize",
        # Start-up trials are random, which the question about failures needs; twenty of them return a number.
        sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=20, avoid_failures=True),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=5),
    )
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    failed, pruned = (len(study.get_trials(states=(state,))) for state in (TrialState.FAIL, TrialState.PRUNED))
    print(f"{failed} of {len(study.trials)} trials failed, {pruned} were pruned.\n")
    print("Which configuration is best?", pellucid.recommend(study), "\n")
    print("More trials?", pellucid.stopping_verdict(study))
    if failed >= 3:  # Fewer are too few to compare.
        print("\nWhat makes trials fail?", pellucid.hsic_importance(study, pellucid.failed()))
    if arguments.report:
        pellucid.report(study, arguments.report)
        print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
