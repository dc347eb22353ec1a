"""The user's objective, named as `path/to/script.py:function` or `package.module:function`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import pellucid
from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.redaction import redacted
from pellucid.words import printable

_RULE = "The target is path/to/script.py:function or package.module:function"
# Limits that keep messages readable: names that are listed, and characters of an error.
_MOST_NAMES, _LONGEST_ERROR = 10, 300


@dataclass(frozen=True)
class Target:
    """`file`: the script, None if `module` is imported by its name; `written`: the script as the user wrote it."""

    module: str
    function: str
    file: Path | None
    written: str = ""

    @property
    def where(self) -> str:
        return printable(self.written or self.module)


def parse_target(text: str) -> Target:
    """The parts of a target. Nothing of it is run."""
    place, colon, function = text.rpartition(":")
    if not colon or not place or not function.isidentifier():
        raise Mistake(f"{_RULE}; got `{text}`.")
    try:
        file = Path(place).expanduser()
    except RuntimeError:
        raise Mistake(f"{_RULE}; the user of `{place}` has no home folder here: write the whole path.") from None
    if file.suffix == ".py":
        if not file.is_file():
            raise Mistake(f"{_RULE}; there is no file `{place}`.")
        return Target(file.stem, function, file.absolute(), place)
    if file.exists() and not file.is_dir():
        raise Mistake(f"{_RULE}; `{place}` does not end in .py.")
    if not all(part.isidentifier() for part in place.split(".")):
        raise Mistake(f"{_RULE}; `{place}` is neither a script nor the name of a module.")
    return Target(place, function, None)


def load_objective(target: Target) -> Callable[..., Any]:
    """Import the user's code and return the function. Raises Mistake if that fails."""
    try:
        module = _imported(target)
    except SystemExit as error:
        raise Mistake(
            f"`{target.where}` ended the process while it was imported (exit code {error.code}): put code that is "
            "not meant to run on import under `if __name__ == '__main__':`."
        ) from None
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and target.file is None and error.name
        if missing and (target.module == missing or target.module.startswith(f"{missing}.")):
            raise Mistake(f"{_RULE}; there is no module `{missing}` in this folder or installed.") from None
        description = described(error, target)
        raise Mistake(f"`{target.where}` cannot be imported: {description}; fix it and try again.") from None
    if not hasattr(module, target.function):
        names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise Mistake(f"`{target.where}` has no `{target.function}`{_alternatives(target.function, names)}.")
    objective = getattr(module, target.function)
    if not callable(objective) or isinstance(objective, type):
        kind = "a class" if isinstance(objective, type) else f"of type {type(objective).__name__}"
        raise Mistake(f"The target has to be a function of a trial; `{target.function}` in `{target.where}` is {kind}.")
    return objective  # type: ignore[no-any-return]


def _alternatives(function: str, names: list[str]) -> str:
    if not names:
        return " and no other function"
    close = get_close_matches(function, names, n=1)
    listed = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    return f"; the nearest is `{close[0]}`" if close else f"; it has {listed}"


def _imported(target: Target) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    if target.file is None:
        return importlib.import_module(target.module)
    file = target.file.resolve()
    sys.path.insert(0, str(file.parent))
    # The script keeps its own name, so that processes which the objective starts can import it, unless that name is
    # taken.
    name = file.stem if file.stem not in sys.modules and "." not in file.stem else f"pellucid_script_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(printable(f"Python cannot import {file.name}"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(error: BaseException, target: Target) -> str:
    """An error in one line: its message, and the last line of the user's own code in its traceback."""
    message = " ".join(redacted(str(error)).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if len(text) > _LONGEST_ERROR:
        text = f"{text[:_LONGEST_ERROR]}..."
    place = _place(error, target)
    return printable(f"{text} ({place})" if place else text)


def _place(error: BaseException, target: Target) -> str:
    if isinstance(error, SyntaxError):
        return ""  # Its message already names the place.
    frames = traceback.extract_tb(error.__traceback__)
    script = target.file.resolve() if target.file is not None else None
    in_script = [frame for frame in frames if script is not None and Path(frame.filename).resolve() == script]
    in_user_code = in_script or [frame for frame in frames if not _is_foreign(frame.filename)]
    if not in_user_code:
        return ""
    last = in_user_code[-1]
    return f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"


def _is_foreign(filename: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to pellucid."""
    path = Path(filename)
    package = Path(pellucid.__file__).resolve().parent
    return (
        filename.startswith("<")
        or {"site-packages", "dist-packages"} & set(path.parts) != set()
        or Path(importlib.__file__).resolve().parents[1] in path.resolve().parents
        or package in path.resolve().parents
    )
