"""The value of ``--storage``, checked before anything is opened or created."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.redaction import redacted, remember, visible
from pellucid.words import printable

PROXY = "grpc"
# The port of Optuna's gRPC proxy, unless another is named.
_PROXY_PORT = 13000
# The first bytes of every SQLite database.
_SQLITE = b"SQLite format 3\0"
# A file with such a name may be created as a journal.
_JOURNALS = (".log", ".journal")
# Bytes of the first line that are read: entries are far shorter, and another file may have no line breaks at all.
_LONGEST_ENTRY = 1_000_000
_SLASHES = "An SQLite file is named with three slashes, like sqlite:///tuning.db"
_RULE = "--storage takes a URL such as sqlite:///tuning.db, or the path of a journal file such as tuning.log"


@dataclass(frozen=True)
class Place:
    """A storage of studies.

    address   for Optuna: a URL, which may hold a password, or the path of a journal
    shown     the address without user, password and query, for messages
    file      the SQLite file or the journal; None for a server
    source    where the user has named it
    """

    address: str = field(repr=False)
    shown: str
    journal: bool = False
    file: Path | None = field(default=None, repr=False)
    backend: str = field(default="", repr=False)  # Of a malformed address, it may be half of a password.
    driver: str = field(default="", repr=False)
    source: str = "--storage"

    @property
    def exists(self) -> bool:
        """Whether the file exists. A server is assumed to exist until it is opened."""
        return self.file is None or self.file.exists()


def read_only_address(place: Place) -> str:
    """The address with which SQLite refuses to write or to create the file; of a server, its address as it is."""
    from sqlalchemy.engine import make_url

    if place.backend != "sqlite":
        return place.address
    url = make_url(place.address)
    if place.file is not None:
        url = url.set(database=place.file.absolute().as_uri())
    return url.update_query_dict({"mode": "ro", "uri": "true"}).render_as_string(hide_password=False)


def place_of(text: str) -> Place:
    """The place that a URL, or the path of a journal or SQLite file, names. Nothing is opened or created. From now on,
    `redacted` removes the secrets of this address from messages."""
    remember([text])
    if not _is_utf8(text):
        raise Mistake(f"{_RULE}; got `{visible(text)}`, which has a byte that is not UTF-8.")
    if "://" in text:
        return _from_url(text)
    if text.startswith("sqlite:"):
        raise Mistake(f"{_SLASHES}; got `{visible(text)}`.")
    if not text.strip():
        raise Mistake(f"{_RULE}; got nothing.")
    return _from_path(text)


def _from_url(text: str) -> Place:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    seen = printable(visible(text))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise Mistake(f"{_RULE}; got `{seen}`, which is not the URL of a database.") from None
    if "@" in (url.host or ""):  # It would be looked up in the network, with the end of the password in front.
        raise Mistake(f"An @ in a user name or a password is written %40 in a URL; got `{seen}`.")
    backend, _, driver = url.drivername.partition("+")
    if backend == PROXY:
        if not url.host or url.username or url.database or url.query:
            raise Mistake(f"A gRPC proxy is named like grpc://localhost:13000; got `{seen}`.")
        host = f"[{url.host}]" if ":" in url.host else url.host  # Of IPv6.
        return Place(f"grpc://{host}:{url.port or _PROXY_PORT}", seen, backend=PROXY)
    # Optuna knows MariaDB only as MySQL, whose drivers it shares: it asks before it uses a connection, for example.
    backend = "mysql" if backend == "mariadb" else backend
    if backend != "sqlite":
        driver = driver or _installed_driver(backend)
        address = url.set(drivername=f"{backend}+{driver}" if driver else backend)
        return Place(address.render_as_string(hide_password=False), seen, backend=backend, driver=driver)
    if url.host or not url.database:
        raise Mistake(f"{_SLASHES}; got `{seen}`.")
    if url.database == ":memory:" or "mode=memory" in text:
        raise Mistake(f"Studies in memory end with their process; got `{seen}`: name a file, like sqlite:///tuning.db.")
    # SQLAlchemy passes `file:...?uri=true` on to SQLite; only SQLite knows which file it names.
    file = None if url.database.startswith("file:") else Path(url.database)
    # The user's code may change the working directory, so a relative path is made absolute now.
    absolute = text if file is None else url.set(database=str(file.absolute())).render_as_string(hide_password=False)
    return Place(absolute, seen, file=_checked(file), backend=backend, driver=driver)


# Drivers, and the packages to import of each: those that a URL need not name if they are installed.
_INSTALLABLE = {
    "postgresql": {"psycopg2": "psycopg2", "psycopg": "psycopg"},
    "mysql": {"mysqldb": "MySQLdb", "pymysql": "pymysql"},
}


def _installed_driver(backend: str) -> str:
    """The driver for a URL that names none: SQLAlchemy's default differs between versions, or is not installed."""
    drivers = _INSTALLABLE.get(backend, {})
    return next((driver for driver, package in drivers.items() if find_spec(package) is not None), "")


def _from_path(text: str) -> Place:
    seen = printable(visible(text))
    try:
        file = Path(text).expanduser()
    except RuntimeError:
        raise Mistake(f"{_RULE}; got `{seen}`, whose user has no home folder here: write the whole path.") from None
    if file.is_dir():
        raise Mistake(f"{_RULE}; `{seen}` is a folder.")
    if file.exists() and not file.is_file():  # Reading a pipe would wait for its writer.
        raise Mistake(f"{_RULE}; `{seen}` is a device or a pipe: name a file on a disk.")
    if file.is_file() and _begins_with(file, _SQLITE):
        address = f"sqlite:///{file.absolute()}"
        return Place(address, f"sqlite:///{printable(visible(str(file)))}", file=_checked(file), backend="sqlite")
    if not file.exists() and file.suffix not in _JOURNALS:
        hint = f"write sqlite:///{seen} for an SQLite file"
        raise Mistake(f"{_RULE}; there is no file `{seen}` ({hint}).")
    if file.exists() and not _is_journal(file):
        raise Mistake(f"{_RULE}; `{seen}` is neither an SQLite file nor an Optuna journal.")
    return Place(str(file.absolute()), seen, journal=True, file=file)


def _checked(file: Path | None) -> Path | None:
    """The SQLite file. Raises Mistake if it is not a database, or if its folder does not exist."""
    if file is None:
        return None
    seen = printable(visible(str(file)))
    if file.is_dir():
        raise Mistake(f"--storage has to name a file; `{seen}` is a folder.")
    if file.exists() and not file.is_file():
        raise Mistake(f"--storage has to name a file on a disk; `{seen}` is a device or a pipe.")
    if not file.exists() and not file.parent.is_dir():
        # A folder whose name ends in the middle of a password does not look like an address any more.
        missing = f"no `{printable(str(file.parent))}`" if seen == printable(str(file)) else f"none for `{seen}`"
        raise Mistake(f"The folder of an SQLite file has to exist; there is {missing}: create it.")
    if file.exists() and file.stat().st_size > 0 and not _begins_with(file, _SQLITE):
        raise Mistake(f"`{seen}` is not an SQLite database; name another file in --storage.")
    return file


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _begins_with(file: Path, magic: bytes) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(magic)) == magic


def _is_journal(file: Path) -> bool:
    """Whether a file is empty, or begins with an entry of Optuna. Nothing is ever written to any other file."""
    with file.open("rb") as stream:
        line = stream.readline(_LONGEST_ENTRY)
    if not line:
        return file.suffix in _JOURNALS
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and "op_code" in entry


def has_studies(place: Place) -> bool:
    """Whether the file has Optuna's tables. Optuna itself would create them when it opens the file."""
    if place.file is None or place.journal:
        return True
    address = f"{place.file.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=60)) as connection:
            return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'studies'").fetchall())
    except sqlite3.DatabaseError as error:
        reason = redacted(str(error))
        raise Mistake(f"`{place.shown}` cannot be read ({reason}); name another file in --storage.") from None
