"""Tune a PyTorch network, and stop trials whose learning curve promises too little. Every stop has a reason.

    python examples/curves_pytorch.py --trials 40

The training loop is the one of Optuna's tutorial: `trial.report` after every epoch, then `trial.should_prune`.
"""

from __future__ import annotations

import argparse

import optuna
import torch
from optuna.trial import TrialState
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import pellucid

EPOCHS = 12
images, digits = load_digits(return_X_y=True)
train_x, valid_x, train_y, valid_y = map(
    torch.tensor, train_test_split((images / 16).astype("float32"), digits, test_size=0.5, random_state=0)
)


def train_epoch(network: nn.Module, optimiser: torch.optim.Optimizer, batch_size: int) -> None:
    for batch in torch.randperm(len(train_x)).split(batch_size):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(train_x[batch]), train_y[batch]).backward()
        optimiser.step()


@torch.no_grad()
def validation_accuracy(network: nn.Module) -> float:
    return (network(valid_x).argmax(dim=1) == valid_y).float().mean().item()


def objective(trial: optuna.Trial) -> float:
    """Accuracy on the validation set after the last epoch."""
    torch.manual_seed(0)
    units = trial.suggest_int("units", 8, 128, log=True)
    network = nn.Sequential(nn.Linear(64, units), nn.ReLU(), nn.Linear(units, 10))
    optimiser = torch.optim.AdamW(
        network.parameters(),
        lr=trial.suggest_float("learning_rate", 1e-4, 1.0, log=True),
        weight_decay=trial.suggest_float("weight_decay", 1e-3, 1.0, log=True),
    )
    batch_size = trial.suggest_int("batch_size", 32, 256, log=True)
    accuracy = 0.0
    for epoch in range(EPOCHS):
        train_epoch(network, optimiser, batch_size)
        accuracy = validation_accuracy(network)
        trial.report(accuracy, step=epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize", sampler=pellucid.BayesianSampler(seed=0), pruner=pellucid.CurvePruner()
    )
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    stopped = study.get_trials(deepcopy=False, states=(TrialState.PRUNED,))
    for trial in stopped:
        print(f"Trial {trial.number}: {trial.user_attrs['pellucid:pruned']}")
    if stopped:
        soonest = min(stopped, key=lambda trial: trial.last_step).number
        print(f"\nWhy was trial {soonest} stopped so soon?", pellucid.explain_pruning(study, soonest))
        print("\nWhat did stopping save?", pellucid.pruning_record(study))
    print("\nWhich configuration is best?", pellucid.recommend(study))
    if arguments.report:
        pellucid.report(study, arguments.report)
        print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
