"""What the ranking surrogate costs: ten members at once and one by one, a proposal in a study, meta-training.

Networks in a loop are written as anyone would write them, of `torch.nn` modules with an Adam of `torch.optim` each, and
have the sizes, the loss, the rates and the lists of ours. The other loop is our own code with one member, ten times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.cli.errors import Mistake
from pellucid.numerics import Array, one_thread
from pellucid_lab.base import Problem, stable_seed
from pellucid_lab.problems.tabular import Collection, tabular
from pellucid_lab.tables.output import BUSY, Grid

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.surrogates.ranking.network import Weights
    from pellucid.surrogates.ranking.ranker import Ranker
    from pellucid.surrogates.ranking.training import Lists, PastTask, Recipe

MEMBERS = 10
CONTESTANTS = ("batched", "torch.nn", "own")
# Enough for a model that ranks; how long it learned makes no proposal slower.
_FEW_STEPS = 50
_TRIES = 4
NOTE = (
    f"One thread. {MEMBERS} members as one batched network, against a loop over {MEMBERS} networks of one member: "
    "of `torch.nn` modules with an Adam of `torch.optim` each, and of our own code. All have the same sizes, loss, "
    "rates, tasks and numbers of steps, and take turns; seconds and ratios are medians over turns. Each network draws "
    "its lists itself, as if it were trained alone: the seconds of that are also given. Asks are `study.ask()` with "
    "all suggestions, each in a study of its own with that many random trials, at a turn at which the ranking is "
    "fine-tuned to all of them; keeping the model in the study's storage is counted. Aims: a loop takes at least 5 "
    "times as long, an ask less than 1 s, meta-training less than 300 s."
)


@dataclass(frozen=True)
class Plan:
    data: str | None
    collections: tuple[str, ...]
    steps: int
    turns: int
    observations: tuple[int, ...]
    trials: tuple[int, ...]
    asks: int

    @property
    def measurements(self) -> int:
        return 1 + len(self.observations) + len(self.collections) * len(self.trials)


@dataclass(frozen=True)
class Race:
    """Seconds by contestant, one entry per turn; `drawing`: the lists of one network, which is part of its time."""

    name: str
    steps: int
    seconds: Mapping[str, tuple[float, ...]]
    drawing: float | None = None

    def ratio(self, contestant: str) -> float:
        pairs = zip(self.seconds[contestant], self.seconds["batched"], strict=True)
        return median(slow / fast for slow, fast in pairs)


@dataclass(frozen=True)
class Asks:
    collection: str
    parameters: int
    trials: int
    epochs: int
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Training:
    collection: str
    tasks: int
    configurations: int
    steps: int
    seconds: float


# ---------------------------------------------------------------------- ten members, at once and one by one


def race(name: str, steps: int, contestants: Mapping[str, Callable[[], object]], turns: int) -> Race:
    """Contestants in turn, another one first every time; each has had a run before that is not counted."""
    names = list(contestants)
    seconds: dict[str, list[float]] = {one: [] for one in names}
    with one_thread:
        for turn in range(-1, turns):
            for k in range(len(names)):
                one = names[(turn + k) % len(names)]
                before = time.perf_counter()
                contestants[one]()
                if turn >= 0:
                    seconds[one].append(time.perf_counter() - before)
    return Race(name, steps, {one: tuple(found) for one, found in seconds.items()})


def past_tasks(collection: Collection) -> list[PastTask]:
    from pellucid.surrogates.ranking.features import features
    from pellucid.surrogates.ranking.training import PastTask

    return [PastTask(task.name, features(collection.space, task.X), task.y) for task in collection.train]


def meta_training_race(tasks: Sequence[PastTask], recipe: Recipe, turns: int) -> Race:
    """`recipe.steps` steps of each network."""
    from pellucid.surrogates.ranking.ensemble import one_torch_thread
    from pellucid.surrogates.ranking.network import Architecture
    from pellucid.surrogates.ranking.training import Lists, meta_train

    n = tasks[0].features.shape[1]

    def own(members: int, seed: int) -> object:
        return meta_train(Architecture(n, members), recipe, tasks, (), np.random.default_rng(seed))

    def lists(seed: int) -> Lists:
        return Lists(tasks, recipe, True, np.random.default_rng(seed))

    def drawing() -> None:
        drawn = lists(0)
        for _ in range(recipe.steps):
            drawn.draw(recipe.lists)

    contestants = {
        "batched": lambda: own(MEMBERS, 0),
        "torch.nn": lambda: [plain_meta_train(plain_network(n), recipe, lists(seed)) for seed in range(MEMBERS)],
        "own": lambda: [own(1, seed) for seed in range(MEMBERS)],
        "drawing": drawing,
    }
    with one_torch_thread():
        found = race(f"{recipe.lists} lists of {recipe.list_size}", recipe.steps, contestants, turns)
    by_name = dict(found.seconds)
    return replace(found, drawing=median(by_name.pop("drawing")), seconds=by_name)


def fine_tuning_race(x: Array, y: Array, recipe: Recipe, turns: int) -> Race:
    """x (n, F) observed configurations as networks see them, y (n,) larger is better."""
    import torch

    from pellucid.surrogates.ranking.devices import tensor
    from pellucid.surrogates.ranking.ensemble import one_torch_thread
    from pellucid.surrogates.ranking.network import Architecture, initial
    from pellucid.surrogates.ranking.training import fine_tune, shifted

    n, epochs = len(y), recipe.tuning_epochs(len(y))
    seen, reached = tensor(x), tensor(shifted(y))

    def started(members: int) -> Weights:
        return initial(Architecture(x.shape[1], members), [torch.Generator().manual_seed(members)])

    def own(weights: Weights, seed: int) -> object:
        rngs = [np.random.default_rng(seed)]
        return fine_tune(weights, recipe, seen[None], reached[None], epochs, recipe.tuning_rate, rngs)

    many, one, plain = started(MEMBERS), started(1), plain_network(x.shape[1])
    contestants = {
        "batched": lambda: own(many, 0),
        "torch.nn": lambda: [
            plain_fine_tune(plain, recipe, seen, reached, epochs, np.random.default_rng(k)) for k in range(MEMBERS)
        ],
        "own": lambda: [own(one, seed) for seed in range(MEMBERS)],
    }
    with one_torch_thread():
        return race(f"tuning, {n} trials", epochs, contestants, turns)


# ---------------------------------------------------------------------- a network as anyone would write it


def plain_network(features: int) -> Any:
    """A scorer with a context by nearness, in the sizes of `Architecture`."""
    from torch.nn import Linear, ModuleDict, ReLU, Sequential

    from pellucid.surrogates.ranking.devices import device
    from pellucid.surrogates.ranking.network import Architecture

    a = Architecture(features, members=1)
    hidden = [part for _ in range(a.layers - 1) for part in (Linear(a.width, a.width), ReLU())]
    parts = {
        "place": Sequential(Linear(features, a.context_width), ReLU(), Linear(a.context_width, a.context_size)),
        "each": Sequential(Linear(features + 1, a.context_width), ReLU(), Linear(a.context_width, a.context_size)),
        "scorer": Sequential(
            Linear(features + a.context_outputs, a.width), ReLU(), *hidden, Linear(a.width, a.outputs)
        ),
    }
    return ModuleDict(parts).to(device())


def plain_scores(network: Any, x: Any, support: Any) -> Any:
    """(..., n, F), (..., s, F + 1) -> (..., n)"""
    import torch

    F, said = x.shape[-1], network["each"](support)
    if support.shape[-2] == 0:
        nothing = x.new_zeros((*x.shape[:-1], said.shape[-1] + 1))
        context = torch.cat([nothing, x.new_full((*x.shape[:-1], 1), -4.0)], -1)
    else:
        here, there = network["place"](x), network["place"](support[..., :F])
        square = here.square().sum(-1, keepdim=True) + there.square().sum(-1)[..., None, :] - 2.0 * here @ there.mT
        near = -square.clamp(min=0.0)
        share, distance = near.softmax(-1), near.logsumexp(-1, keepdim=True).clamp(min=-20.0) / 5.0
        context = torch.cat([share @ said, share @ support[..., F:], distance], -1)
    return network["scorer"](torch.cat([x, context], -1))[..., 0]


def plain_meta_train(network: Any, recipe: Recipe, lists: Lists) -> Any:
    from torch.optim import AdamW

    from pellucid.surrogates.ranking.training import objective

    optimizer = AdamW(network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    for _ in range(recipe.steps):
        batch = lists.draw(recipe.lists)
        assert batch.support is not None
        optimizer.zero_grad()
        objective(recipe, plain_scores(network, batch.query[0], batch.support[0]), batch.y[0]).backward()
        optimizer.step()
    return network


def plain_fine_tune(network: Any, recipe: Recipe, x: Any, y: Any, epochs: int, rng: np.random.Generator) -> Any:
    from torch.optim import Adam

    from pellucid.surrogates.ranking.training import objective, parts, support_of

    tuned = deepcopy(network)
    optimizer = Adam(tuned.parameters(), lr=recipe.tuning_rate)
    for (shown,) in parts(len(y), epochs, [rng]):
        optimizer.zero_grad()
        objective(recipe, plain_scores(tuned, x, support_of(x[shown], y[shown])), y).backward()
        optimizer.step()
    return tuned


# ---------------------------------------------------------------------- proposals and meta-training


def problem_of(collection: Collection, data: str | None) -> Problem:
    """The first test task as something to tune."""
    from pellucid_lab.problems.yahpo import SCENARIOS, yahpo

    return yahpo(SCENARIOS[collection.name], collection.test[0].name, data)


def quickly_trained(collection: Collection) -> Ranker:
    from pellucid.surrogates.ranking.ensemble import RankingEnsemble
    from pellucid.surrogates.ranking.ranker import Ranker
    from pellucid.surrogates.ranking.training import Recipe
    from pellucid_lab.problems.tabular import as_losses

    model = RankingEnsemble(collection.space, recipe=Recipe(steps=_FEW_STEPS))
    return Ranker.of(model.meta_trained(as_losses(collection.train)))


def asks(collection: Collection, problem: Problem, ranker: Ranker, trials: int, repeats: int) -> Asks:
    """Fine-tuned proposals after so many trials. Where a study is one that earlier studies mislead, another is made."""
    seconds: list[float] = []
    epochs = 0
    for attempt in range(_TRIES * repeats):
        study = _random_study(problem, trials, stable_seed("ask", collection.name, trials, attempt))
        found = _timed_ask(study, problem, ranker)
        if found is not None:
            epochs = found[1]
            seconds.append(found[0])
        if len(seconds) == repeats:
            return Asks(collection.name, len(collection.space), trials, epochs, tuple(seconds))
    raise Mistake(
        f"A fine-tuned proposal is timed in {repeats} of {_TRIES * repeats} random studies, but only {len(seconds)} "
        f"with {trials} trials of {collection.name} had one: fine-tuning begins with nine trials, take more."
    )


def _random_study(problem: Problem, trials: int, seed: int) -> Study:
    """So many trials with a value, and where their number is even one that failed: every other turn is fine-tuned."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction=problem.direction, sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(problem.objective, n_trials=trials)
    if trials % 2 == 0:
        study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)
    return study


def _timed_ask(study: Study, problem: Problem, ranker: Ranker) -> tuple[float, int] | None:
    """Seconds and epochs of fine-tuning; None where another turn or the fallback proposed."""
    from pellucid.samplers.ranking import RankingSampler
    from pellucid.study import study_io

    study.sampler = RankingSampler(model=ranker, hand_over=None, seed=0)
    before = time.perf_counter()
    trial = study.ask()
    problem.suggest(trial)
    seconds = time.perf_counter() - before
    receipt = study_io.read_receipt(study.get_trials(deepcopy=False)[trial.number])
    if receipt is None or receipt.ranking is None or receipt.ranking.turn != "tuned":
        return None
    return seconds, receipt.ranking.epochs


def full_training(plan: Plan, recipe: Recipe, progress: Callable[[int], None]) -> Training:
    """The recipe to its end, on the first collection; validation tasks may end it earlier, as they do for a user."""
    from pellucid.surrogates.ranking.ensemble import RankingEnsemble
    from pellucid_lab.problems.tabular import as_losses

    collection = tabular(plan.collections[0], plan.data)
    model = RankingEnsemble(collection.space, recipe=recipe)
    train, validation = as_losses(collection.train), as_losses(collection.validation)
    before = time.perf_counter()
    with one_thread:
        card = model.meta_trained(train, validation, progress=progress).card
    seconds = time.perf_counter() - before
    assert card is not None
    size = sum(len(task.y) for task in collection.train)
    return Training(collection.name, len(collection.train), size, card.steps, seconds)


# ---------------------------------------------------------------------- all of it


def measure(plan: Plan) -> Iterator[Race | Asks]:
    """Races on the first collection, asks on all of them, as they come."""
    from pellucid.surrogates.ranking.training import Recipe

    first = tabular(plan.collections[0], plan.data)
    tasks = past_tasks(first)
    yield meta_training_race(tasks, replace(Recipe(), steps=plan.steps), plan.turns)
    for n in plan.observations:
        yield fine_tuning_race(tasks[0].features[:n], tasks[0].y[:n], Recipe(), plan.turns)
    for name in plan.collections:
        collection = tabular(name, plan.data)
        problem, ranker = problem_of(collection, plan.data), quickly_trained(collection)
        for n in plan.trials:
            yield asks(collection, problem, ranker, n, plan.asks)


def grids(found: Sequence[Race | Asks | Training]) -> list[Grid]:
    races = [one for one in found if isinstance(one, Race)]
    timed = [one for one in found if isinstance(one, Asks)]
    trained = [one for one in found if isinstance(one, Training)]
    out = []
    if races:
        heads = ("", "steps", "batched", "torch.nn", "ratio", "own", "ratio", "lists")
        title = f"{MEMBERS} members: seconds of one network, of loops over networks, and of drawing lists once"
        out.append(Grid(title, heads, tuple(map(_race_row, races))))
    if timed:
        asked = ("space", "parameters", "trials", "epochs", "asks", "median, s", "maximum, s")
        out.append(Grid("An ask with fine-tuning", asked, tuple(map(_ask_row, timed))))
    if trained:
        rows = tuple(
            (one.collection, str(one.tasks), str(one.configurations), str(one.steps), f"{one.seconds:.1f}")
            for one in trained
        )
        out.append(Grid("Meta-training", ("collection", "tasks", "configurations", "steps", "s"), rows))
    return out


def _race_row(one: Race) -> tuple[str, ...]:
    columns = [f"{median(one.seconds['batched']):.3f}"]
    for contestant in CONTESTANTS[1:]:
        columns += [f"{median(one.seconds[contestant]):.3f}", f"{one.ratio(contestant):.1f}×"]
    drawing = "–" if one.drawing is None else f"{one.drawing:.3f}"
    return one.name, str(one.steps), *columns, drawing


def _ask_row(one: Asks) -> tuple[str, ...]:
    counts = (one.parameters, one.trials, one.epochs, len(one.seconds))
    return one.collection, *map(str, counts), f"{median(one.seconds):.3f}", f"{max(one.seconds):.3f}"


def note(load: float) -> str:
    """`load`: load average per core before the start."""
    from pellucid.surrogates.ranking.devices import device

    where = "" if device().type == "cpu" else f" Networks were trained on {device().type}, not on the processor."
    if load <= BUSY:
        return NOTE + where
    return (
        f"{NOTE}{where} The machine was busy before the start (load average {load:.2f} per core): do not trust these "
        "times, measure again on an idle machine."
    )
