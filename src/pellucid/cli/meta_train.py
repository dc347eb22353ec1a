"""``pellucid meta-train``: learn from studies of a storage, for the next study of the same parameters."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.options import DEFAULT_STORAGE, Storage
from pellucid.cli.storage.places import Place, has_studies, place_of
from pellucid.cli.storage.studies import names_in, open_storage, storage_sentences
from pellucid.cli.terminal import sentences, shown
from pellucid.cli.tune.sampling import require_ranking

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.surrogates.ranking.earlier_studies import EarlierStudies
    from pellucid.surrogates.ranking.ensemble import RankingEnsemble

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no words, only errors.")]
_MOST_NAMED = 5


def meta_train(
    storage: Storage = DEFAULT_STORAGE,
    studies: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A study to learn from, or a pattern such as 'xgb-*'; may be given again."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("model.ranker"),
    seed: Annotated[int, typer.Option(help="Same seed, same studies, same model.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Learn from earlier studies: a model for `pellucid.RankingSampler(model=FILE)`."""
    with sentences():
        _check(out)
        place = place_of(storage)
        with storage_sentences(place):
            past = _past(_found(place, studies or ["*"]))
        model = _learned(past, seed, quiet)
        _write(model, out)
        if not quiet:
            typer.echo(_told(past, model))
            typer.echo(
                f"The model is in {shown(str(out))}: use it with RankingSampler(model={str(out)!r}), or with "
                "`pellucid tune --model`."
            )


def _check(out: Path) -> None:
    """Whether the model can be learned and written, before time is spent on it."""
    if out.is_dir():
        raise Mistake(f"A model is a file; `{shown(str(out))}` is a folder: name a file in it.")
    if not out.absolute().parent.is_dir():
        raise Mistake(f"The folder of a model has to exist; there is no `{shown(str(out.parent))}`: make it.")
    try:
        with NamedTemporaryFile(dir=out.resolve().parent, prefix=f".{out.name}."):
            pass
    except OSError as error:
        raise Mistake(f"`{shown(str(out))}` cannot be written ({error.strerror}): name another file.") from None
    require_ranking("Learning from studies")


def _found(place: Place, patterns: Sequence[str]) -> list[Study]:
    import optuna

    if not place.exists or not has_studies(place):
        raise Mistake(f"`{place.shown}` has no study of Optuna; name another storage with --storage.")
    opened = open_storage(place)
    names = sorted(names_in(opened))
    for pattern in patterns:
        if not any(_is_meant(name, pattern) for name in names):
            listed = ", ".join(f"`{shown(name)}`" for name in names[:_MOST_NAMED])
            raise Mistake(f"No study of `{place.shown}` is called `{shown(pattern)}`; it has {listed}.")
    chosen = [name for name in names if any(_is_meant(name, pattern) for pattern in patterns)]
    return [optuna.load_study(study_name=name, storage=opened) for name in chosen]


def _is_meant(name: str, pattern: str) -> bool:
    """A name may have brackets, which would mean something else in a pattern."""
    return name == pattern or fnmatchcase(name, pattern)


def _past(studies: Sequence[Study]) -> EarlierStudies:
    from pellucid.surrogates.ranking.earlier_studies import EarlierStudies

    try:
        return EarlierStudies.of(studies)
    except ValueError as error:
        raise Mistake(str(error)) from None


def _learned(past: EarlierStudies, seed: int, quiet: bool) -> RankingEnsemble:
    from pellucid.explain.progress import progress_bar
    from pellucid.surrogates.ranking.earlier_studies import learn, steps_for

    with progress_bar(f"learning from {len(past.tasks)} studies", steps_for(past), show=not quiet) as bar:
        return learn(past, seed=seed, progress=bar.reach)


def _write(model: RankingEnsemble, out: Path) -> None:
    from pellucid.surrogates.ranking.files import save

    save(model, out)


def _told(past: EarlierStudies, model: RankingEnsemble) -> str:
    """What was learned from, what was left out, and what the model did on studies that it had not seen."""
    card = model.card
    assert card is not None
    trials = sum(len(losses) for _, _, losses in past.tasks)
    lines = [f"Learned from {len(past.tasks)} studies with {trials} trials."]
    lines += [f"`{shown(name)}` is left out: {why}." for name, why in past.left_out.items()]
    if card.helps is None:
        lines.append("Nobody knows yet whether that helps: with five studies or more, some are held out to find out.")
        return "\n".join(lines)
    names = ", ".join(f"`{shown(check.task)}`" for check in card.checks[:_MOST_NAMED])
    first, random = (
        sum(getattr(check, which)[1] for check in card.checks) / len(card.checks) for which in ("regret", "random")
    )
    verdict = "It helps" if card.helps else "It does not help, and RankingSampler will not use it"
    lines.append(
        f"{verdict}: on {names}, held out, its first five trials come within {first:.1%} of the best (of the way from "
        f"the worst); five at random within {random:.1%}."
    )
    return "\n".join(lines)
