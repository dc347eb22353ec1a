"""Tables of the tuning example and of the example with an interaction, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from optuna.study import Study
from optuna.trial import TrialState

from pellucid.answers.compare import ablation_path, friedman_h
from pellucid.answers.proposals.background import rows_of
from pellucid.answers.proposals.games import Game
from pellucid.answers.proposals.records import DesirabilityPaths, ProposalExplanation
from pellucid.answers.proposals.shapley_mean import mean_shapley
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, one_thread
from pellucid.search.acquisition.units import objective_per_latent
from pellucid.space.encoding import Space
from pellucid_lab.papers.shapley.forest import K_SOURCE, N_INIT, Interaction, ShapleyCost, game_of
from pellucid_lab.tables.grids import Grid

# The paper's Tables 10, 11 and 13 (proposal 95 of its own run), with the opposite sign: positive is attractive.
SOURCE = {
    "log2_batch_size": (0.014, 0.016, -0.002, 0.278, 0.348, 0.015),
    "num_layers": (0.013, 0.015, -0.002, 0.257, 0.307, 0.016),
    "log2_max_units": (0.008, 0.009, -0.001, 0.161, 0.050, 0.012),
    "learning_rate": (0.007, 0.010, -0.003, 0.166, 0.076, 0.007),
    "weight_decay": (0.004, 0.005, -0.001, 0.089, 0.128, 0.005),
    "max_dropout": (0.001, 0.002, 0.000, 0.027, 0.044, 0.002),
    "momentum": (0.001, 0.001, 0.000, 0.022, 0.047, 0.001),
}
SOURCE_SECONDS, SOURCE_PATH_HOURS = 243, 2
# Random configurations among which one with an average prediction is looked for, and over which interactions are
# averaged (each pair needs their square).
_N_ROWS = 8192
_N_PAIRS = 128


def best_predicted(study: Study) -> int:
    """The proposal with the best prediction of the final model, without the initial design."""
    gp, numbers = _final_model(study)
    latent = gp.latent_at_observed()
    proposals = [i for i, number in enumerate(numbers) if number >= N_INIT]
    return numbers[min(proposals, key=lambda i: float(latent[i]))]


def _final_model(study: Study) -> tuple[GaussianProcess, tuple[int, ...]]:
    """The process fitted to all trials of the study, which is minimised, and their numbers."""
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    space = Space.of(dict(sorted(trials[0].distributions.items())))
    X, _ = space.encode([trial.params for trial in trials])
    losses = np.array([trial.value for trial in trials], dtype=float)
    with one_thread:
        gp = GaussianProcess(warp="auto").unfitted(space.nominal).fit(X, losses)
    return gp, tuple(trial.number for trial in trials)


def forest_tables(
    study: Study, paths: DesirabilityPaths, costs: Sequence[ShapleyCost], path_seconds: float
) -> list[Grid]:
    trial = best_predicted(study)
    game = game_of(study, trial)
    explained = next(explanation for explanation in paths.explanations if explanation.trial == trial)
    with one_thread:
        return [
            _proposal(explained),
            _against_ablation(game, trial),
            _interactions(game),
            _final(game, study, explained),
            _path(paths),
            _costs(costs, path_seconds, len(paths.explanations)),
        ]


def _proposal(explained: ProposalExplanation) -> Grid:
    rows = []
    for c in sorted(explained.contributions, key=lambda c: -c.total):
        theirs = SOURCE[c.name]
        rows.append(
            (c.name, f"{c.value:.4g}", f"{c.total:.5f} ± {0.5 * (c.high - c.low):.5f}", f"{c.terms['mean']:.4f}",
             f"{c.terms['uncertainty']:.4f}", " / ".join(f"{v:.3f}" for v in theirs[:3]))
        )  # fmt: skip
    payouts = explained.payouts
    rows.append(
        ("payout", "", f"{explained.total:.4f}", f"{payouts['mean']:.4f}", f"{payouts['uncertainty']:.4f}",
         "0.048 / 0.058 / -0.010")
    )  # fmt: skip
    title = f"Trial {explained.trial}, the proposal of which the final model expects most (the source's Table 10)"
    columns = ("parameter", "value", "contribution", "of the mean", "of the uncertainty", "the source, its own run")
    return Grid(title, columns, tuple(rows))


def _attractive(game: Game) -> tuple[Array, Array]:
    rows = rows_of({}, game.space, 0, _N_ROWS, 0)
    return rows, -game.gp.latent_mean(rows)


def _against_ablation(game: Game, trial: int) -> Grid:
    """The ablation starts at the random configuration whose prediction is nearest to the average (footnote 21)."""
    rows, predicted = _attractive(game)
    shares = mean_shapley(game.gp, game.x, game.space, game.players)
    source = rows[int(np.argmin(np.abs(predicted + shares.average)))]
    path = ablation_path(lambda X: -game.gp.latent_mean(X), source, game.x)
    relative, ablation = shares.values / shares.values.sum(), path.gains / path.gains.sum()
    order = np.argsort(-relative)
    names = game.space.names
    table = tuple(
        (names[j], f"{relative[j]:.3f}", f"{ablation[j]:.3f}", str(path.order.index(j) + 1),
         f"{SOURCE[names[j]][3]:.3f}", f"{SOURCE[names[j]][4]:.3f}")
        for j in order
    )  # fmt: skip
    columns = ("parameter", "Shapley", "ablation", "flipped as number", "the source: Shapley", "ablation")
    return Grid(f"Trial {trial}: shares in the predicted error (Table 11)", columns, table)


def _interactions(game: Game) -> Grid:
    names = game.space.names
    rows = rows_of({}, game.space, 0, _N_PAIRS, 0)
    of_two = [game.space.index[name] for name in ("learning_rate", "log2_max_units")]
    pairs = [(j, k) for j in of_two for k in range(len(names)) if k != j]
    strengths = friedman_h(lambda X: -game.gp.latent_mean(X), rows, pairs)
    table = tuple((names[k], *("–" if j == k else f"{strengths[j, k]:.2f}" for j in of_two)) for k in range(len(names)))
    columns = ("with", "learning_rate", "log2_max_units")
    return Grid("Friedman's H: how much of a joint effect is interaction (figure 11)", columns, table)


def _final(game: Game, study: Study, explained: ProposalExplanation) -> Grid:
    final, _ = _final_model(study)
    shares = mean_shapley(final, game.x, game.space, game.players)
    scale = objective_per_latent(final, float(final.latent_mean(game.x[None])[0]), shares.average)
    table = tuple(
        (c.name, f"{c.terms['mean']:.4f}", f"{-scale * shares.values[i]:.4f}",
         f"{SOURCE[c.name][1]:.3f} / {SOURCE[c.name][5]:.3f}")
        for i, c in enumerate(explained.contributions)
    )  # fmt: skip
    columns = ("parameter", "model of the proposal", "final model", "the source")
    return Grid("The same contributions to the mean by the final model (Table 13)", columns, table)


def _path(paths: DesirabilityPaths) -> Grid:
    blocks = np.array_split(np.arange(len(paths.explanations)), 4)
    table = []
    for name in paths.params:
        cells = []
        for block in blocks:
            contributions = [c for i in block for c in paths.explanations[i].contributions if c.name == name]
            mean, unsure = (float(np.mean([c.terms[t] for c in contributions])) for t in ("mean", "uncertainty"))
            cells.append(f"{mean:.4f} {unsure:+.4f}")
        table.append((name, *cells))
    spans = [f"trials {paths.explanations[b[0]].trial}–{paths.explanations[b[-1]].trial}" for b in blocks]
    title = "Desirability paths: contributions of mean and uncertainty, averaged over quarters of the run"
    return Grid(title, ("parameter", *spans), tuple(table))


def _costs(costs: Sequence[ShapleyCost], path_seconds: float, n_explained: int) -> Grid:
    def errors(values: Sequence[tuple[float, float, float]]) -> tuple[str, ...]:
        return tuple(f"{100 * v:.2f}%" for v in np.sqrt(np.mean(np.square(values), axis=0)))

    seconds, theirs = (float(np.median([getattr(c, name) for c in costs])) for name in ("seconds", "source_seconds"))
    low, high = min(c.n_observed for c in costs), max(c.n_observed for c in costs)
    counts = " or ".join(str(rows) for rows in sorted({c.rows for c in costs}))
    rows = (
        (f"ours ({counts} rows of the space)", f"{seconds:.3f} s",
         *errors([c.errors for c in costs])),
        (f"the source's estimator, K = {K_SOURCE}, on our process", f"{theirs:.2f} s",
         *errors([c.source_errors for c in costs])),
        ("the source's own time for one proposal", f"{SOURCE_SECONDS} s", "", "", ""),
        (f"ours, a path of {n_explained} proposals, one process", f"{path_seconds:.1f} s", "", "", ""),
        ("the source's own time for its path, four cores", f"{SOURCE_PATH_HOURS} h", "", "", ""),
    )  # fmt: skip
    title = (
        f"What a proposal costs (7 parameters, {low} to {high} observations, median of {len(costs)}), and root mean "
        "square errors as shares of the largest contribution"
    )
    return Grid(title, ("", "time", "mean", "uncertainty", "sum"), rows)


def interaction_tables(examples: dict[str, Interaction]) -> list[Grid]:
    source = {"θ1": ("0.483", "0.66", "0.66"), "θ2": ("0.262", "0.31", "0.21"), "θ3": ("0.258", "0.03", "0.17")}
    rows = []
    for name, example in examples.items():
        for j, parameter in enumerate(source):
            theirs = source[parameter] if name == "a random forest" else ("–", "–", "–")
            rows.append(
                (f"{name}, {parameter}", f"{example.first_round[j]:.3f}", f"{example.ablation[j]:.3f}",
                 f"{example.shapley[j]:.3f}", f"{example.exact_values[j]:.{12 if name == 'the function' else 3}f}",
                 *theirs)
            )  # fmt: skip
    columns = (
        "",
        "first round",
        "ablation",
        "Shapley",
        "Shapley value",
        "the source: first round",
        "ablation",
        "Shapley",
    )
    return [Grid("θ1 + θ2·θ3 at (0, 0, 0): gains, and shares of the payout (Table 2)", columns, tuple(rows))]
