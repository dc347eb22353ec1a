"""Every place in the sources that prints, logs, warns or raises a text that is not constant, and whether the text is
printable there: because it passes `pellucid.words.printable`, because our own errors and functions of the terminal pass
it on to that, or because what is put into it cannot control a terminal.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BUILTIN_ERRORS = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and not issubclass(value, Warning)
}
SYSTEM_ERRORS = {name for name in BUILTIN_ERRORS if issubclass(getattr(builtins, name), OSError)}
# Errors of the command line's own framework that take a text.
FRAMEWORK_ERRORS = {"BadParameter", "UsageError", "ClickException"}
TERMINAL = "pellucid.surfaces.cli.terminal"
# Functions that print, and pass every line through `printable` themselves.
SPEAKERS = {"say", "print_lines", "print_table", "print_json"}
# Those that print as they are told.
PRINTERS = {"print", "echo", "secho", "Text", "add_row", "add_column"}
LOG_LEVELS = {"debug", "info", "warning", "error", "critical", "exception", "log"}
# Functions whose text is printable.
PRINTABLE = {
    "printable",
    "printable_error",
    "printable_lines",
    "printable_output",
    "printable_traceback",
    "cause_of",
    "repr",
    "ascii",
    "len",
    "number_text",
    "json_text",
    "strerror",
}
TABLES = {"table", "printed"}
NUMBER = re.compile(r"[,_]|[deEfFgGnx%]$")


@dataclass(frozen=True)
class Place:
    """file   within the repository
    line, end   the first and the last line of the statement
    kind   "raise", "log", "warn", "print" or "repr"
    text   the source
    passes   whether the text is printable
    """

    file: str
    line: int
    end: int
    kind: str
    text: str
    passes: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def own_errors(trees: dict[str, ast.Module]) -> set[str]:
    """The names of all classes below `PrintableError`."""
    found = {"PrintableError"}
    while True:
        more = {
            node.name
            for tree in trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and any(_last(base) in found for base in node.bases)
        }
        if more <= found:
            return found
        found |= more


def places(root: Path, *folders: str) -> list[Place]:
    """All of them in these folders, in the order of files and lines."""
    files = sorted(file for folder in folders for file in (root / folder).rglob("*.py"))
    trees = {str(file.relative_to(root)): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    own = own_errors(trees)
    return [place for file, tree in trees.items() for place in _places_of(file, tree, own)]


def _places_of(file: str, tree: ast.Module, own: set[str]) -> Iterator[Place]:
    seen: list[Place] = []
    speakers = _speakers(tree)
    for statement in ast.walk(tree):
        if isinstance(statement, ast.FunctionDef) and statement.name in ("__str__", "__repr__"):
            for node in ast.walk(statement):
                if isinstance(node, ast.Return) and node.value is not None and not constant(node.value):
                    text = ast.unparse(node.value)
                    seen.append(Place(file, node.lineno, node.end_lineno or 0, "repr", text, safe(node.value)))
        if isinstance(statement, ast.Call):
            kind, passes = _kind(statement, own, speakers)
            if kind:
                text = ast.unparse(statement)
                seen.append(Place(file, statement.lineno, statement.end_lineno or 0, kind, text, passes))
    yield from sorted(seen, key=lambda place: (place.line, place.end))


def _speakers(tree: ast.Module) -> set[str]:
    """The functions of the terminal that a module imports or defines; others may have the same name."""
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == TERMINAL
        for alias in node.names
    }
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} & {"say", "print_lines"}
    return imported | (defined if "print_json" in {getattr(node, "name", "") for node in tree.body} else set())


def _kind(call: ast.Call, own: set[str], speakers: set[str]) -> tuple[str, bool]:
    """What a call is, and whether its text is printable; "" if it says nothing, or a constant."""
    name = _last(call.func)
    on = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    texts = call.args
    told = any(not constant(text) for text in texts)
    if name == "SystemExit":
        return "", True
    if name in own and name != "PrintableError":
        return ("raise", True) if told else ("", True)
    if (name in BUILTIN_ERRORS and not on) or name in FRAMEWORK_ERRORS:
        # A system error quotes the name of its file; its number is a number.
        texts = texts[1:2] if name in SYSTEM_ERRORS else texts
        return ("raise", all(map(safe, texts))) if told else ("", True)
    if name in LOG_LEVELS and "logg" in on:
        return ("log", _safe_log(call)) if told or call.keywords else ("", True)
    if name == "warn" and on in ("warnings", ""):
        return ("warn", safe(texts[0])) if told else ("", True)
    if name in SPEAKERS and not on:
        return ("print", True) if told and name in speakers else ("", True)
    if name == "from_ansi" or (name == "print" and on) or (name == "update" and "status" in on):
        return ("print", all(map(_is_rich, texts))) if told else ("", True)
    if name in PRINTERS or (name in ("write", "writelines") and on in ("sys.stdout", "sys.stderr")):
        return ("print", all(map(safe, texts))) if told else ("", True)
    return "", True


def _is_rich(node: ast.expr) -> bool:
    """Whether it is a text or a table of rich; what is in those is another place."""
    return safe(node) or (isinstance(node, ast.Name) and node.id in TABLES)


def _safe_log(call: ast.Call) -> bool:
    shown = [keyword.value for keyword in call.keywords if keyword.arg in ("exc_info", "stack_info")]
    if _last(call.func) == "exception" or not all(isinstance(error, ast.Call) and safe(error) for error in shown):
        return False
    message, *values = call.args
    if not isinstance(message, ast.Constant):
        return safe(message) and all(map(safe, values))
    signs = re.findall(r"%[^a-z%]*([a-z])", str(message.value))
    return len(signs) == len(values) and all(
        sign != "s" or safe(value) for sign, value in zip(signs, values, strict=True)
    )


def constant(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return node.id.strip("_").isupper()
    if isinstance(node, ast.JoinedStr):
        return all(constant(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return constant(node.left) and constant(node.right)
    return False


def safe(node: ast.expr) -> bool:
    """Whether a text cannot control a terminal, whatever names a study has."""
    if constant(node):
        return True
    match node:
        case ast.JoinedStr():
            return all(map(safe, node.values))
        case ast.FormattedValue():
            return node.conversion in (ord("r"), ord("a")) or _is_number(node.format_spec) or safe(node.value)
        case ast.BinOp(op=ast.Mod()):
            return safe(node.left) and (isinstance(node.right, ast.Tuple) and all(map(safe, node.right.elts)))
        case ast.BinOp():
            return safe(node.left) and safe(node.right)
        case ast.IfExp():
            return safe(node.body) and safe(node.orelse)
        case ast.Attribute(attr="__name__" | "shape" | "size" | "ndim" | "errno" | "strerror"):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[joined]):
            return _all_safe(joined)
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id=function), *_]):
            return function in PRINTABLE
        case ast.Call(func=ast.Name(id="Text") | ast.Attribute(attr="from_ansi")):
            return all(map(safe, node.args))
        case ast.Starred():
            return _all_safe(node.value)
        case ast.Call():
            return _last(node.func) in PRINTABLE
    return False


def _all_safe(node: ast.expr) -> bool:
    """Whether all texts of a sequence are."""
    return safe(node.elt if isinstance(node, ast.GeneratorExp | ast.ListComp) else node)


def _is_number(spec: ast.expr | None) -> bool:
    return (
        isinstance(spec, ast.JoinedStr)
        and bool(spec.values)
        and isinstance(spec.values[-1], ast.Constant)
        and NUMBER.search(str(spec.values[-1].value)) is not None
    )


def _last(function: ast.expr) -> str:
    """ "warn" of `warnings.warn`."""
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
