"""``pellucid meta-train``: learn from the studies of a storage, for the next study with the same parameters."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.extras import require_ranking
from pellucid.surfaces.cli.options import OUTPUT, RUNNING, STUDY, Quiet, Storage, StorageFile, complete_study
from pellucid.surfaces.cli.storage.naming import named_place
from pellucid.surfaces.cli.storage.places import Place, has_studies
from pellucid.surfaces.cli.storage.studies import names_in, open_storage, storage_sentences
from pellucid.surfaces.cli.terminal import print_lines, sentences
from pellucid.words import printable

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.models.ranking.ensemble import Card, Check, RankingEnsemble
    from pellucid.study.earlier_studies import EarlierStudies

# Names of studies that a message lists, so that it stays readable.
_MOST_NAMED = 5
# Index of the regret after five trials: a check of the model has those after 1, 5 and 10.
_AFTER_FIVE = 1


def meta_train(
    storage: Storage = None,
    storage_file: StorageFile = None,
    studies: Annotated[
        list[str] | None,
        typer.Option(
            "--study",
            "--studies",
            metavar="NAME",
            autocompletion=complete_study,
            show_default=False,
            rich_help_panel=STUDY,
            help="A study to learn from, or a pattern such as 'xgb-*'; can be repeated. Default: all studies.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="The file to write.")] = Path(
        "model.ranker"
    ),
    seed: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=RUNNING, help="The same seed and studies give the same model.")
    ] = 0,
    quiet: Quiet = False,
) -> None:
    with sentences():
        _check(out)
        place = named_place(storage, storage_file, quiet=quiet)
        with storage_sentences(place):
            earlier = _earlier_studies(_matching(place, studies or ["*"]))
        model = _learned(earlier, seed, quiet)
        _write(model, out)
        if not quiet:
            print_lines(*_summary(earlier, model))
            print_lines(
                f"The model is in {out}: use it with RankingSampler(model={str(out)!r}), or with "
                "`pellucid tune --model`."
            )


def _check(out: Path) -> None:
    """Raise Mistake or Unavailable if the model cannot be learned or written, before time is spent on it."""
    with suppress(FileNotFoundError):
        out.stat()  # Raises OSError if the name is too long.
    if out.is_dir():
        raise Mistake(f"A model is a file; `{out}` is a folder: name a file in it.")
    if not out.absolute().parent.is_dir():
        raise Mistake(f"The folder of a model has to exist; there is no `{out.parent}`: create it.")
    try:
        with NamedTemporaryFile(dir=out.resolve().parent, prefix=".pellucid."):
            pass
    except OSError as error:
        raise Mistake(f"`{out}` cannot be written ({error.strerror}): name another file.") from None
    require_ranking("Learning from studies")


def _matching(place: Place, patterns: Sequence[str]) -> list[Study]:
    """The studies that the patterns name. Raises Mistake for a pattern that matches none."""
    import optuna

    if not place.exists or not has_studies(place):
        raise Mistake(f"`{place.shown}` has no Optuna study; name another storage with --storage.")
    backend = open_storage(place)
    names = sorted(names_in(backend))
    for pattern in patterns:
        if not any(_matches(name, pattern) for name in names):
            listed = ", ".join(f"`{printable(name)}`" for name in names[:_MOST_NAMED])
            raise Mistake(f"No study of `{place.shown}` is called `{pattern}`; it has {listed}.")
    chosen = [name for name in names if any(_matches(name, pattern) for pattern in patterns)]
    return [optuna.load_study(study_name=name, storage=backend) for name in chosen]


def _matches(name: str, pattern: str) -> bool:
    """Whether a pattern is the name itself, which may have brackets, or matches it."""
    return name == pattern or fnmatchcase(name, pattern)


def _earlier_studies(studies: Sequence[Study]) -> EarlierStudies:
    from pellucid.study.earlier_studies import EarlierStudies

    try:
        return EarlierStudies.of(studies)
    except ValueError as error:
        raise Mistake(str(error)) from None


def _learned(earlier: EarlierStudies, seed: int, quiet: bool) -> RankingEnsemble:
    from pellucid.progress import progress_bar
    from pellucid.study.earlier_studies import learn, steps_for

    with progress_bar(f"learning from {len(earlier.tasks)} studies", steps_for(earlier), show=not quiet) as bar:
        return learn(earlier, seed=seed, progress=bar.reach)


def _write(model: RankingEnsemble, out: Path) -> None:
    from pellucid.models.ranking.files import save

    save(model, out)


def _summary(earlier: EarlierStudies, model: RankingEnsemble) -> list[str]:
    """The studies that were used, those that were left out, and how well the model did on studies held out."""
    card = model.card
    assert card is not None
    trials = sum(len(losses) for _, _, losses in earlier.tasks)
    lines = [f"Learned from {len(earlier.tasks)} studies with {trials} trials."]
    lines += [f"`{name}` is left out: {reason}." for name, reason in earlier.left_out.items()]
    return [*lines, verdict(card)]


def verdict(card: Card) -> str:
    """How the model did on the studies that were held out, and how much that shows."""
    checks = card.checks
    if not checks:
        return "Whether it helps is not known: with five or more studies, some are held out to test it."
    regret = sum(check.regret[_AFTER_FIVE] for check in checks) / len(checks)
    random = sum(check.random[_AFTER_FIVE] for check in checks) / len(checks)
    average = " on average" if len(checks) > 1 else ""
    misses = (
        f"The best of its first five trials misses the best value by {regret:.1%} of the range of all values{average}; "
        f"the best of five random trials misses it by {random:.1%}."
    )
    return " ".join([_evidence(checks), misses, *([] if card.helps else ["RankingSampler will not use the model."])])


def _evidence(checks: Sequence[Check]) -> str:
    """On how many of the studies that were held out the model did better than random trials."""
    n_better = sum(check.better for check in checks)
    names = ", ".join(f"`{printable(check.task)}`" for check in checks[:_MOST_NAMED])
    if len(checks) == 1:
        return (
            f"It did {'better' if n_better else 'no better'} than random trials on {names}, the only study held out of "
            "training; one study cannot show whether it helps."
        )
    more = f" and {len(checks) - _MOST_NAMED} more" if len(checks) > _MOST_NAMED else ""
    return (
        f"It did better than random trials on {n_better} of {len(checks)} studies held out of training ({names}{more})."
    )
