"""Opening storages and studies; whatever goes wrong there becomes one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any

from pellucid.cli.errors import Mistake, Unavailable
from pellucid.cli.storage.places import Place, has_studies, place_of
from pellucid.cli.terminal import shown

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.study import Study


class Direction(str, Enum):
    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"


_PATIENCE_S = 60
_CONNECT_S = 10
_CONNECT_TIMEOUT = {"", "psycopg2", "psycopg", "pymysql", "mysqldb"}
_DRIVERS = {
    "postgresql": "install it with `pip install 'pellucid[postgres]'`",
    "mysql": "install `pymysql`, and begin the URL with mysql+pymysql",
}
_MOST_NAMES = 10
_LONGEST_NAME = 512


def find_study(storage: str, name: str | None) -> tuple[Study, Place]:
    """An existing study with one objective; nothing is created, whatever the user mistypes."""
    place = place_of(storage)
    if not place.exists:
        raise Mistake(
            f"There is no file `{shown(str(place.file))}`, so there is no study in it; give --storage the one that "
            "`pellucid tune` or Optuna has written."
        )
    if not has_studies(place):
        raise Mistake(f"`{place.shown}` has no study of Optuna; name another storage with --storage.")
    with storage_sentences(place):
        opened = open_storage(place)
        return load(opened, _chosen(names_in(opened), name, place)), place


def existing_study(place: Place, name: str) -> Study | None:
    """The study of that name, None where it has yet to be made."""
    check_name(name)
    if not place.exists or not has_studies(place):
        return None
    with storage_sentences(place):
        opened = open_storage(place)
        return load(opened, name) if name in names_in(opened) else None


def create_study(place: Place, name: str, direction: Direction) -> Study:
    """The study of that name; another process may have made it a moment ago."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    way = optuna.study.StudyDirection[direction.name]
    with storage_sentences(place):
        return optuna.create_study(study_name=name, storage=open_storage(place), direction=way, load_if_exists=True)


def load(storage: BaseStorage, name: str, sampler: BaseSampler | None = None) -> Study:
    import optuna

    study = optuna.load_study(study_name=name, storage=storage, sampler=sampler)
    if len(study.directions) != 1:
        raise Mistake(
            f"pellucid works on studies with one objective; `{shown(name)}` has {len(study.directions)}. Name another "
            "study."
        )
    return study


def names_in(storage: BaseStorage) -> list[str]:
    import optuna

    return optuna.get_all_study_names(storage)


def check_name(name: str) -> None:
    """Refuse names that some database refuses, before anything else happens."""
    if not name or len(name) > _LONGEST_NAME or "\0" in name:
        got = f"one with {len(name)}" if name else "nothing"
        raise Mistake(f"A study's name has 1 to {_LONGEST_NAME} characters, none of them null; got {got}.")


def _chosen(names: Sequence[str], name: str | None, place: Place) -> str:
    if name is not None and name in names:
        return name
    if not names:
        raise Mistake(f"`{place.shown}` has no study yet; `pellucid tune` makes one.")
    if name is None and len(names) == 1:
        return names[0]
    listed = ", ".join(f"`{shown(one)}`" for one in sorted(names)[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        listed += f" and {len(names) - _MOST_NAMES} more"
    if name is None:
        raise Mistake(f"`{place.shown}` has {len(names)} studies, so name one: {listed}.")
    close = get_close_matches(name, names, n=1)
    hint = f" Did you mean `{shown(close[0])}`?" if close else ""
    raise Mistake(f"`{place.shown}` has no study `{shown(name)}`; it has {listed}.{hint}")


def open_storage(place: Place) -> BaseStorage:
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    if place.journal:
        return JournalStorage(JournalFileBackend(place.address))
    return RDBStorage(place.address, engine_kwargs={"connect_args": _connect_arguments(place)})


def _connect_arguments(place: Place) -> dict[str, Any]:
    """Wait long for a turn on SQLite, and not for ever for a server that does not answer."""
    if place.backend == "sqlite":
        return {} if "timeout=" in place.address else {"timeout": _PATIENCE_S}
    known = place.backend in _DRIVERS and place.driver in _CONNECT_TIMEOUT
    return {"connect_timeout": _CONNECT_S} if known and "connect_timeout" not in place.address else {}


# ---------------------------------------------------------------------- what goes wrong


@contextmanager
def storage_sentences(place: Place) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        told = _told(error, place)
        if told is None:
            raise
        raise told from None


def _told(error: Exception, place: Place) -> Exception | None:
    """The sentence for what a storage has raised; None where it is no matter of storages."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    if isinstance(error, Mistake | Unavailable):
        return None
    where = f"`{place.shown}`"
    if isinstance(error, NoSuchModuleError):
        return Mistake(
            f"--storage names a database that SQLAlchemy has no dialect for: {where}; use sqlite:///FILE, "
            "postgresql://USER@HOST/NAME or mysql+pymysql://USER@HOST/NAME."
        )
    if isinstance(error, ImportError):
        how = _DRIVERS.get(place.backend, "install the one that its documentation names")
        return Unavailable(f"Opening {where} needs a driver package that is not installed; {how}.")
    if isinstance(error, StorageInternalError | SQLAlchemyError):
        return Mistake(f"The storage {where} cannot be used ({_reason(error, place)}); {_what_to_do(place)}.")
    if place.journal and isinstance(error, ValueError | KeyError | AttributeError | TypeError):
        return Mistake(f"The journal {where} is damaged or not one of Optuna ({_reason(error, place)}); name another.")
    if isinstance(error, RuntimeError) and "version" in str(error):
        return Mistake(f"The storage {where} was written by another version of Optuna: {_reason(error, place)}")
    return None


def _what_to_do(place: Place) -> str:
    if place.file is not None:
        return "check that the file may be read and written and that its disk has room, or name another"
    return "check that the server runs, and its host, port, user and database in --storage"


def _reason(error: BaseException, place: Place) -> str:
    """The driver's own words, in one line, without secrets."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    original = getattr(root, "orig", None) or root
    lines = [line.strip() for line in str(original).splitlines() if line.strip()]
    return shown(place.without_secrets(lines[0] if lines else type(original).__name__))
