"""Opening storages and studies. Errors become one sentence that says what to do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.surfaces.cli.extras import require_extra
from pellucid.surfaces.cli.redaction import redacted, visible
from pellucid.surfaces.cli.storage.places import PROXY, Place, has_studies, read_only_address
from pellucid.words import printable

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage, GrpcStorageProxy
    from optuna.study import Study
    from optuna.trial import FrozenTrial


# How long to wait, in seconds: for the lock of an SQLite file that other workers write to, and for a server to answer.
_SQLITE_WAIT_S, _CONNECT_S = 60, 10
_MYSQL_DRIVERS = {"pymysql", "mysqldb"}
# Drivers that take the argument `connect_timeout`.
_CONNECT_TIMEOUT = {"", "psycopg2", "psycopg", *_MYSQL_DRIVERS}
_DRIVERS = {
    "postgresql": "install it with `pip install 'pellucid[postgres]'`",
    "mysql": "run `pip install 'pellucid[mysql]'`, and begin the URL with mysql+pymysql",
}
# What Optuna raises about a journal with entries that are not its own, such as unknown ones or thousands of brackets.
_DAMAGE = (ValueError, KeyError, AttributeError, TypeError, AssertionError, RecursionError)
# Names of studies that a message lists, so that it stays readable.
_MOST_NAMES = 10
# The width of the column in which Optuna's relational storages keep the name.
_LONGEST_NAME = 512


def find_study(place: Place, name: str | None) -> Study:
    """An existing study. Nothing is created if the user mistypes a name."""
    check_exists(place)
    with storage_sentences(place):
        backend = open_storage(place)
        return load(backend, chosen_name(names_in(backend), name, place))


def check_exists(place: Place) -> None:
    """Raise Mistake if there is no file, or none with studies. Nothing is created."""
    if not place.exists:
        file = printable(visible(str(place.file)))
        raise Mistake(
            f"There is no file `{file}`, so there is no study in it; give --storage the file that `pellucid tune` or "
            "Optuna has written."
        )
    if not has_studies(place):
        raise Mistake(f"`{place.shown}` has no Optuna study; name another storage with --storage.")


def existing_study(place: Place, name: str) -> Study | None:
    """The study with this name; None if it does not exist yet."""
    check_name(name)
    if not place.exists or not has_studies(place):
        return None
    with storage_sentences(place):
        backend = open_storage(place)
        return load(backend, name) if name in names_in(backend) else None


def create_study(place: Place, name: str, directions: Sequence[str], metrics: Sequence[str] = ()) -> Study:
    """The study with this name; another process may have created it a moment ago. `directions`: minimize or maximize,
    of every objective; `metrics`: their names, if they have any."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with storage_sentences(place):
        study = optuna.create_study(
            study_name=name,
            storage=open_storage(place),
            directions=[optuna.study.StudyDirection[direction.upper()] for direction in directions],
            load_if_exists=True,
        )
        check_metrics(study, metrics)
        name_metrics(study, metrics)
        return study


def check_metrics(study: Study, metrics: Sequence[str]) -> None:
    """Raise Mistake if the values of a study have other names, or another number of values. No names fit any study."""
    own, n_values = study.metric_names, len(study.directions)
    if not metrics or list(metrics) == own:
        return
    named = f"`{printable(study.study_name)}`"
    if len(metrics) != n_values:
        raise Mistake(
            f"--metric is given once for each value that the objective returns: {named} has {n_values}, got "
            f"{len(metrics)}; name all of them, or choose another study with --study."
        )
    if own is not None:
        raise Mistake(
            f"A study keeps the names of its values: {named} has {_names(own)}, not {_names(metrics)}; leave --metric "
            "out, or choose another name with --study."
        )


def name_metrics(study: Study, metrics: Sequence[str]) -> None:
    """Name the values of a study that have no names yet."""
    from optuna.exceptions import ExperimentalWarning

    if metrics and study.metric_names is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            study.set_metric_names(list(metrics))


def _names(metrics: Sequence[str]) -> str:
    return " and ".join(f"`{printable(name)}`" for name in metrics)


def load(
    storage: BaseStorage, name: str, sampler: BaseSampler | None = None, pruner: BasePruner | None = None
) -> Study:
    import optuna

    return optuna.load_study(study_name=name, storage=storage, sampler=sampler, pruner=pruner)


def trials_by_state(trials: Sequence[FrozenTrial]) -> dict[str, int]:
    """The number of trials in every state."""
    from optuna.trial import TrialState

    return {state.name.lower(): sum(trial.state == state for trial in trials) for state in TrialState}


def names_in(storage: BaseStorage) -> list[str]:
    import optuna

    return optuna.get_all_study_names(storage)


def check_name(name: str) -> None:
    """Raise Mistake for a name that some database refuses."""
    if not name or len(name) > _LONGEST_NAME or "\0" in name:
        received = f"one with {len(name)}" if name else "nothing"
        raise Mistake(f"A study's name has 1 to {_LONGEST_NAME} characters, none of them null; got {received}.")


def chosen_name(names: Sequence[str], name: str | None, place: Place) -> str:
    """The name of an existing study; None stands for the only one."""
    if name is not None and name in names:
        return name
    if not names:
        raise Mistake(f"`{place.shown}` has no study yet; `pellucid tune` creates one.")
    if name is None and len(names) == 1:
        return names[0]
    listed = ", ".join(f"`{printable(existing)}`" for existing in sorted(names)[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        listed += f" and {len(names) - _MOST_NAMES} more"
    if name is None:
        raise Mistake(f"`{place.shown}` has {len(names)} studies, so name one: {listed}.")
    close = get_close_matches(name, names, n=1)
    hint = f" Did you mean `{printable(close[0])}`?" if close else ""
    raise Mistake(f"`{place.shown}` has no study `{name}`; it has {listed}.{hint}")


def open_storage(place: Place) -> BaseStorage:
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    if place.journal:
        from pellucid.surfaces.cli.storage.journals import RepairingLock

        return JournalStorage(JournalFileBackend(place.address, RepairingLock(place.address)))
    if place.backend == PROXY:
        proxy = _proxy(place)
        try:
            proxy.wait_server_ready(timeout=_CONNECT_S)
        except BaseException:
            proxy.close()
            raise
        return proxy
    # Optuna itself asks MySQL before it uses a connection: a server that was restarted has closed it.
    asking = {"pool_pre_ping": True} if place.backend == "postgresql" else {}
    return RDBStorage(place.address, engine_kwargs={"connect_args": _connect_arguments(place), **asking})


def _proxy(place: Place) -> GrpcStorageProxy:
    """Optuna's gRPC proxy, which need not answer yet."""
    from optuna.exceptions import ExperimentalWarning
    from optuna.storages import GrpcStorageProxy

    require_extra("grpc", ["grpc"], f"Opening `{place.shown}`")
    host, _, port = place.address.removeprefix("grpc://").rpartition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return GrpcStorageProxy(host=host, port=int(port))


@contextmanager
def reading(place: Place) -> Iterator[BaseStorage]:
    """An existing storage, opened so that nothing can be written to it, and closed in the end. Only a gRPC proxy cannot
    refuse to write."""
    check_exists(place)
    with storage_sentences(place):
        storage = _read_only_storage(place)
        with closed_after(storage):
            yield storage


@contextmanager
def closed_after(storage: BaseStorage) -> Iterator[None]:
    """Close the connections of a storage in the end: a process that opens many would run out of them."""
    from optuna.storages import GrpcStorageProxy, RDBStorage

    try:
        yield
    finally:
        if isinstance(storage, RDBStorage):
            storage.remove_session()
            storage.engine.dispose()
        elif isinstance(storage, GrpcStorageProxy):
            storage.close()


def _read_only_storage(place: Place) -> BaseStorage:
    """SQLite, PostgreSQL and MySQL refuse to write; in any database, tables that are missing are not created. Reading a
    journal takes no lock and writes nothing. A proxy does what it is asked to."""
    from optuna.storages import RDBStorage

    if place.journal or place.backend == PROXY:
        return open_storage(place)
    arguments = _connect_arguments(place)
    if place.driver in _MYSQL_DRIVERS:
        arguments["init_command"] = "SET SESSION TRANSACTION READ ONLY"
    refusing = {"execution_options": {"postgresql_readonly": True}} if place.backend == "postgresql" else {}
    return RDBStorage(
        read_only_address(place), engine_kwargs={"connect_args": arguments, **refusing}, skip_table_creation=True
    )


def import_packages(place: Place) -> None:
    """Import the packages that Optuna and SQLAlchemy would import when the storage is opened, without opening it."""
    from optuna.storages import RDBStorage
    from sqlalchemy import create_engine

    if place.backend == PROXY:
        _proxy(place).close()  # Imports gRPC, and does not connect.
    elif not place.journal:
        create_engine(place.address)  # Imports the driver, and does not connect.
        RDBStorage("sqlite:///:memory:")  # Imports the rest: the database is another one, and leaves nothing behind.


def _connect_arguments(place: Place) -> dict[str, Any]:
    """The driver's limit on waiting, unless the address sets one."""
    if place.backend == "sqlite":
        return {} if "timeout=" in place.address else {"timeout": _SQLITE_WAIT_S}
    known = place.backend in _DRIVERS and place.driver in _CONNECT_TIMEOUT
    return {"connect_timeout": _CONNECT_S} if known and "connect_timeout" not in place.address else {}


# ---------------------------------------------------------------------- errors


@contextmanager
def storage_sentences(place: Place) -> Iterator[None]:
    """Turn errors of a storage into one sentence for the user."""
    try:
        yield
    except Exception as error:  # Any other error is raised again.
        explained = _explained(error, place)
        if explained is None:
            raise
        raise explained from None


def _explained(error: Exception, place: Place) -> Exception | None:
    """The error with a sentence for the user; None if the storage has not caused it."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    if isinstance(error, Mistake | Unavailable):
        return None
    where = f"`{place.shown}`"
    if place.backend == PROXY:
        return _explained_by_proxy(error, place)
    if isinstance(error, NoSuchModuleError):
        return Mistake(
            f"--storage names a database that SQLAlchemy has no dialect for: {where}; use sqlite:///FILE, "
            "postgresql://USER@HOST/NAME, mysql://USER@HOST/NAME or grpc://HOST:PORT."
        )
    if isinstance(error, ImportError):
        how = _DRIVERS.get(place.backend, "install the one that its documentation names")
        return Unavailable(f"Opening {where} needs a driver package that is not installed; {how}.")
    if isinstance(error, StorageInternalError | SQLAlchemyError):
        return Mistake(f"The storage {where} cannot be used ({_reason(error)}); {_what_to_do(place)}.")
    if place.journal and isinstance(error, _DAMAGE) and _while_reading_a_journal(error):
        return Mistake(f"The journal {where} is damaged or not an Optuna journal ({_reason(error)}); name another.")
    if isinstance(error, RuntimeError) and "version" in str(error):
        return Mistake(f"The storage {where} was written by another version of Optuna: {_reason(error)}")
    return None


def _while_reading_a_journal(error: Exception) -> bool:
    """Whether Optuna's journal called what failed, and not a part of pellucid that was called later."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    last = [name for name in modules if name.startswith(("pellucid.", "optuna.storages.journal"))][-1:]
    return last != [] and last[0].startswith("optuna.")


def _explained_by_proxy(error: Exception, place: Place) -> Mistake | None:
    import grpc

    if isinstance(error, ConnectionError):
        reason = f"it has not answered for {_CONNECT_S} seconds"
    elif isinstance(error, grpc.RpcError):
        reason = printable(redacted(_first_line(str(error.details()))))
    else:
        return None
    return Mistake(
        f"The gRPC proxy `{place.shown}` cannot be used ({reason}); check that it is running and reaches its database, "
        f"and check its host and port in {place.source}."
    )


def _what_to_do(place: Place) -> str:
    if place.file is not None:
        return "check that the file can be read and written and that its disk has space, or name another"
    return f"check that the server is running, and check its host, port, user and database in {place.source}"


def _reason(error: BaseException) -> str:
    """The first line of the driver's own message, without secrets."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    original = getattr(root, "orig", None) or root
    return printable(redacted(_first_line(str(original))) or type(original).__name__)


def _first_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0] if lines else ""
