"""What the ranking surrogate costs: ten members at once and one by one, a proposal in a study, meta-training.

In a race, the batched network of ten members runs against two loops over ten networks with one member each: one of
`torch.nn` modules (see `plain_network`), one of our own code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from pellucid.numerics import Array, one_thread
from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import Problem, stable_seed
from pellucid_lab.costs.load import busy_sentences
from pellucid_lab.costs.plain_network import plain_fine_tune, plain_meta_train, plain_network
from pellucid_lab.problems.tabular import Collection, tabular
from pellucid_lab.tables.grids import Grid

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.models.ranking.network import Weights
    from pellucid.models.ranking.ranker import Ranker
    from pellucid.models.ranking.training import Lists, PastTask, Recipe

MEMBERS = 10
CONTESTANTS = ("batched", "torch.nn", "own")
# Enough meta-training for a model that ranks: the time of a proposal does not depend on how long it was trained.
_FEW_STEPS = 50
# Studies per timed ask, at most: in some of them the sampler proposes without fine-tuning.
_TRIES = 4
NOTE = (
    f"One thread. {MEMBERS} members as one batched network, against a loop over {MEMBERS} networks of one member: "
    "of `torch.nn` modules with one `torch.optim` Adam each, and of our own code. All have the same sizes, loss, "
    "rates, tasks and numbers of steps, and take turns; seconds and ratios are medians over turns. Each network draws "
    "its own lists, as if it were trained alone; the column `lists` gives the seconds of that. Asks are `study.ask()` "
    "with all suggestions, each in its own study with that many random trials, at a turn at which the ranking is "
    "fine-tuned to all of them; storing the model in the study counts. Aims: a loop takes at least 5 times as long, "
    "an ask takes less than 1 s, meta-training takes less than 300 s."
)


@dataclass(frozen=True)
class SpeedPlan:
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
    """Seconds by contestant, one entry per turn; `drawing`: the part of them in which one network draws its lists."""

    name: str
    steps: int
    seconds: Mapping[str, tuple[float, ...]]
    drawing: float | None = None

    @property
    def label(self) -> str:
        return self.name

    def ratio(self, contestant: str) -> float:
        pairs = zip(self.seconds[contestant], self.seconds["batched"], strict=True)
        return median(slow / fast for slow, fast in pairs)


@dataclass(frozen=True)
class AskTimes:
    collection: str
    parameters: int
    trials: int
    epochs: int
    seconds: tuple[float, ...]

    @property
    def label(self) -> str:
        return f"{self.collection}, {self.trials} trials"


@dataclass(frozen=True)
class TrainingTime:
    collection: str
    tasks: int
    configurations: int
    steps: int
    seconds: float

    @property
    def label(self) -> str:
        return f"{self.collection}, meta-training"


Measurement = Race | AskTimes | TrainingTime


# ---------------------------------------------------------------------- ten members, at once and one by one


def race(name: str, steps: int, contestants: Mapping[str, Callable[[], object]], turns: int) -> Race:
    """Contestants take turns, in an order that rotates; a first round warms up and is not counted."""
    names = list(contestants)
    seconds: dict[str, list[float]] = {contestant: [] for contestant in names}
    with one_thread:
        for turn in range(-1, turns):
            for k in range(len(names)):
                contestant = names[(turn + k) % len(names)]
                before = time.perf_counter()
                contestants[contestant]()
                if turn >= 0:
                    seconds[contestant].append(time.perf_counter() - before)
    return Race(name, steps, {contestant: tuple(times) for contestant, times in seconds.items()})


def past_tasks(collection: Collection) -> list[PastTask]:
    from pellucid.models.ranking.features import features
    from pellucid.models.ranking.training import PastTask

    return [PastTask(task.name, features(collection.space, task.X), task.y) for task in collection.train]


def meta_training_race(tasks: Sequence[PastTask], recipe: Recipe, turns: int) -> Race:
    """`recipe.steps` steps of each network."""
    from pellucid.models.ranking.ensemble import one_torch_thread
    from pellucid.models.ranking.network import Architecture
    from pellucid.models.ranking.training import Lists, meta_train

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
    with one_torch_thread:
        result = race(f"{recipe.lists} lists of {recipe.list_size}", recipe.steps, contestants, turns)
    by_contestant = dict(result.seconds)
    return replace(result, drawing=median(by_contestant.pop("drawing")), seconds=by_contestant)


def fine_tuning_race(x: Array, y: Array, recipe: Recipe, turns: int) -> Race:
    """x (n, F): features of the observed configurations; y (n,): larger is better."""
    import torch

    from pellucid.models.ranking.devices import tensor
    from pellucid.models.ranking.ensemble import one_torch_thread
    from pellucid.models.ranking.network import Architecture, initial
    from pellucid.models.ranking.training import fine_tune, shifted

    n, epochs = len(y), recipe.tuning_epochs(len(y))
    inputs, targets = tensor(x), tensor(shifted(y))

    def initial_weights(members: int) -> Weights:
        return initial(Architecture(x.shape[1], members), [torch.Generator().manual_seed(members)])

    def own(weights: Weights, seed: int) -> object:
        rngs = [np.random.default_rng(seed)]
        return fine_tune(weights, recipe, inputs[None], targets[None], epochs, recipe.tuning_rate, rngs)

    ten_members, one_member = initial_weights(MEMBERS), initial_weights(1)
    plain = plain_network(x.shape[1])
    contestants = {
        "batched": lambda: own(ten_members, 0),
        "torch.nn": lambda: [
            plain_fine_tune(plain, recipe, inputs, targets, epochs, np.random.default_rng(k)) for k in range(MEMBERS)
        ],
        "own": lambda: [own(one_member, seed) for seed in range(MEMBERS)],
    }
    with one_torch_thread:
        return race(f"tuning, {n} trials", epochs, contestants, turns)


# ---------------------------------------------------------------------- proposals and meta-training


def problem_of(collection: Collection, data: str | None) -> Problem:
    """The first test task as a problem to tune."""
    from pellucid_lab.problems.yahpo import SCENARIOS, yahpo

    return yahpo(SCENARIOS[collection.name], collection.test[0].name, data)


def quickly_trained(collection: Collection) -> Ranker:
    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.ranker import Ranker
    from pellucid.models.ranking.training import Recipe
    from pellucid_lab.problems.tabular import as_losses

    model = RankingEnsemble(collection.space, recipe=Recipe(steps=_FEW_STEPS))
    return Ranker.of(model.meta_trained(as_losses(collection.train)))


def asks(collection: Collection, problem: Problem, ranker: Ranker, trials: int, repeats: int) -> AskTimes:
    """Fine-tuned proposals after that many trials; a study in which the sampler does not fine-tune is skipped."""
    seconds: list[float] = []
    epochs = 0
    for attempt in range(_TRIES * repeats):
        study = _random_study(problem, trials, stable_seed("ask", collection.name, trials, attempt))
        timed = _timed_ask(study, problem, ranker)
        if timed is not None:
            epochs = timed[1]
            seconds.append(timed[0])
        if len(seconds) == repeats:
            return AskTimes(collection.name, len(collection.space), trials, epochs, tuple(seconds))
    raise Mistake(
        f"A fine-tuned proposal has to be timed in {repeats} of {_TRIES * repeats} random studies, but only "
        f"{len(seconds)} with {trials} trials of {collection.name} had one: use more trials (fine-tuning begins with "
        "nine)."
    )


def _random_study(problem: Problem, trials: int, seed: int) -> Study:
    """That many trials with a value, and a failed one if their number is even: only odd turns are fine-tuned."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction=problem.direction, sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(problem.objective, n_trials=trials)
    if trials % 2 == 0:
        study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)
    return study


def _timed_ask(study: Study, problem: Problem, ranker: Ranker) -> tuple[float, int] | None:
    """Seconds and epochs of fine-tuning; None if the proposal was made without it."""
    from pellucid import receipts
    from pellucid.provenance import RankingReceipt
    from pellucid.samplers.ranking import RankingSampler

    study.sampler = RankingSampler(model=ranker, hand_over=None, seed=0)
    before = time.perf_counter()
    trial = study.ask()
    problem.suggest(trial)
    seconds = time.perf_counter() - before
    receipt = next((receipt for receipt in receipts(study) if receipt.trial == trial.number), None)
    if not isinstance(receipt, RankingReceipt) or receipt.ranking.turn != "tuned":
        return None
    return seconds, receipt.ranking.epochs


def full_training(plan: SpeedPlan, recipe: Recipe, progress: Callable[[int], None]) -> TrainingTime:
    """Meta-training on the first collection; as for a user, validation tasks may end it early."""
    from pellucid.models.ranking.ensemble import RankingEnsemble
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
    return TrainingTime(collection.name, len(collection.train), size, card.steps, seconds)


# ---------------------------------------------------------------------- all of it


def measure(plan: SpeedPlan) -> Iterator[Measurement]:
    """Races on the first collection, asks on all of them, as they come."""
    from pellucid.models.ranking.training import Recipe

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


def grids(measurements: Sequence[Measurement]) -> list[Grid]:
    races = [measurement for measurement in measurements if isinstance(measurement, Race)]
    ask_times = [measurement for measurement in measurements if isinstance(measurement, AskTimes)]
    training_times = [measurement for measurement in measurements if isinstance(measurement, TrainingTime)]
    tables = []
    columns: tuple[str, ...]
    if races:
        columns = ("", "steps", "batched", "torch.nn", "ratio", "own", "ratio", "lists")
        title = f"{MEMBERS} members: seconds of one network, of loops over networks, and of drawing lists once"
        tables.append(Grid(title, columns, tuple(map(_race_row, races))))
    if ask_times:
        columns = ("space", "parameters", "trials", "epochs", "asks", "median, s", "maximum, s")
        tables.append(Grid("An ask with fine-tuning", columns, tuple(map(_ask_row, ask_times))))
    if training_times:
        rows = tuple(
            (
                training.collection,
                str(training.tasks),
                str(training.configurations),
                str(training.steps),
                f"{training.seconds:.1f}",
            )
            for training in training_times
        )
        tables.append(Grid("Meta-training", ("collection", "tasks", "configurations", "steps", "s"), rows))
    return tables


def _race_row(race: Race) -> tuple[str, ...]:
    columns = [f"{median(race.seconds['batched']):.3f}"]
    for contestant in CONTESTANTS[1:]:
        columns += [f"{median(race.seconds[contestant]):.3f}", f"{race.ratio(contestant):.1f}×"]
    drawing = "–" if race.drawing is None else f"{race.drawing:.3f}"
    return race.name, str(race.steps), *columns, drawing


def _ask_row(times: AskTimes) -> tuple[str, ...]:
    counts = (times.parameters, times.trials, times.epochs, len(times.seconds))
    return times.collection, *map(str, counts), f"{median(times.seconds):.3f}", f"{max(times.seconds):.3f}"


def note(load: float) -> str:
    """`load`: load average per core before the start."""
    from pellucid.models.ranking.devices import device

    kind = device().type
    where = [] if kind == "cpu" else [f"Networks were trained on {kind}, not on the processor."]
    return " ".join([NOTE, *where, *busy_sentences(load)])
