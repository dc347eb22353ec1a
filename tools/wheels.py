"""Try the built distributions as a user would: python tools/wheels.py FOLDER ENVIRONMENT

FOLDER has what `make dist` built, and this Python has hatchling. The files are checked, served on loopback as a package
index, and installed from there into a fresh environment, with the versions of constraints.txt; everything after that
happens outside the checkout.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

ROOT = Path(__file__).resolve().parents[1]
# The folder of each distribution in the repository, and its package.
DISTRIBUTIONS = {"pellucid": (ROOT, "pellucid"), "pellucid-lab": (ROOT / "lab", "pellucid_lab")}
LOOPBACK = "127.0.0.1"
INDEX_OPTION = "--extra-index-url=http://127.0.0.1:{port}/"

RIGHT = """
import optuna
import pellucid
study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0))
importance = pellucid.importance(study)
print(importance.notes, pellucid.stopping_verdict(study).stop)
"""
WRONG = """
import optuna
import pellucid
study = optuna.create_study(sampler=pellucid.BayesianSampler(seed="zero"))
print(pellucid.stopping_verdict(study).halt)
print(pellucid.no_such_name)
"""
MISTAKES = {4: "[arg-type]", 5: "[attr-defined]", 6: "[attr-defined]"}


def main() -> None:
    built, environment = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    version = declared_version()
    with tempfile.TemporaryDirectory(prefix="pellucid-wheels-") as name:
        folder = Path(name)
        for distribution in DISTRIBUTIONS:
            check_files(distribution, version, built, folder / "unpacked")
        write_index(built, version, folder / "index")
        run([sys.executable, "-m", "venv", "--clear", str(environment)], folder)
        with served(folder / "index") as port:
            installation = Installation(environment, folder, port)
            installation.install("pellucid", wheel("pellucid", version, built), f"pellucid[plots]=={version}", "mypy")
            check_use(installation, version)
            installation.install("pellucid-lab", wheel("pellucid-lab", version, built), f"pellucid-lab=={version}")
            check_laboratory(installation)


def declared_version() -> str:
    [line] = [
        line for line in (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines() if line[:7] == "version"
    ]
    return line.split('"')[1]


def wheel(distribution: str, version: str, built: Path) -> Path:
    return built / f"{distribution.replace('-', '_')}-{version}-py3-none-any.whl"


def source(distribution: str, version: str, built: Path) -> Path:
    return built / f"{distribution.replace('-', '_')}-{version}.tar.gz"


# ------------------------------------------------------------------------------------------------- files


def check_files(distribution: str, version: str, built: Path, unpacked: Path) -> None:
    """The wheel has every file of the package and nothing else, and the source distribution builds the same wheel."""
    folder, package = DISTRIBUTIONS[distribution]
    first = wheel(distribution, version, built)
    with zipfile.ZipFile(first) as archive:
        names = {name for name in archive.namelist() if not name.startswith(f"{package}-{version}.dist-info/")}
    files = {path.relative_to(folder / "src").as_posix() for path in package_files(folder / "src" / package)}
    check(names == files, f"{first.name} and the sources differ in {sorted(names ^ files)}")
    kinds = sorted({Path(name).suffix or Path(name).name for name in names})
    with tarfile.open(source(distribution, version, built)) as archive:
        archive.extractall(unpacked, filter="data")
    sources = unpacked / source(distribution, version, built).name.removesuffix(".tar.gz")
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(sources / "again")], sources)
    second = wheel(distribution, version, sources / "again")
    check(digest(first) == digest(second), f"the source distribution builds another {first.name}")
    size = source(distribution, version, built).stat().st_size
    print(f"{first.name}: {len(names)} files ({', '.join(kinds)}), {first.stat().st_size / 1e6:.1f} MB")
    print(f"  the source distribution, {size / 1e6:.1f} MB, builds the same wheel")


def package_files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


# ------------------------------------------------------------------------------------------------- index


def write_index(built: Path, version: str, folder: Path) -> None:
    """A folder in the layout of PEP 503: a page for each distribution, with links to its files and their hashes."""
    for distribution in DISTRIBUTIONS:
        page = folder / distribution / "index.html"
        page.parent.mkdir(parents=True)
        links = []
        for file in (wheel(distribution, version, built), source(distribution, version, built)):
            shutil.copy(file, page.parent)
            links.append(f'<a href="{file.name}#sha256={digest(file)}">{file.name}</a>')
        page.write_text("<!DOCTYPE html>" + "".join(links), encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """Serve a folder on a free port of this machine."""
    with ThreadingHTTPServer((LOOPBACK, 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


# ------------------------------------------------------------------------------------------------- use


class Installation:
    """A fresh environment, used from a folder outside the checkout."""

    def __init__(self, environment: Path, folder: Path, port: int) -> None:
        self.programs, self.folder, self._port = environment / "bin", folder, port

    def install(self, distribution: str, file: Path, *requirements: str) -> None:
        """`file`: what the distribution has to come from. Another index may know a package of the same name."""
        report = self.folder / "report.json"
        index = INDEX_OPTION.format(port=self._port)
        options = ["--quiet", "--disable-pip-version-check", index, "-c", str(ROOT / "constraints.txt")]
        self.run("python", "-m", "pip", "install", *options, "--report", str(report), *requirements)
        items = json.loads(report.read_text(encoding="utf-8"))["install"]
        [origin] = [item["download_info"] for item in items if item["metadata"]["name"] == distribution]
        expected = f"http://{LOOPBACK}:{self._port}/{distribution}/{file.name}", digest(file)
        received = origin["url"], origin["archive_info"]["hashes"]["sha256"]
        check(received == expected, f"{distribution} should come from {expected}, but came from {received}")
        print(f"Installed {file.name} from the index on loopback, and {len(items) - 1} other packages")

    def run(self, program: str, *arguments: str, code: int = 0) -> str:
        return run([str(self.programs / program), *arguments], self.folder, code)


def check_use(installation: Installation, version: str) -> None:
    shutil.copy(ROOT / "tools" / "smoke.py", installation.folder)
    check(version in installation.run("pellucid", "--version"), f"`pellucid --version` does not name {version}")
    print(installation.run("python", "smoke.py"), end="")
    # What a user's type checker sees, with py.typed in the wheel.
    (installation.folder / "right.py").write_text(RIGHT, encoding="utf-8")
    (installation.folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    installation.run("python", "-m", "mypy", "--strict", "right.py")
    errors = installation.run("python", "-m", "mypy", "--strict", "wrong.py", code=1).splitlines()
    for number, kind in MISTAKES.items():
        reported = [line for line in errors if line.startswith(f"wrong.py:{number}: ") and line.endswith(kind)]
        check(bool(reported), f"mypy does not report {kind} in line {number} of\n{WRONG}\nbut\n{errors}")
    print(f"  mypy --strict accepts a right script and reports {len(MISTAKES)} mistakes in a wrong one")


def check_laboratory(installation: Installation) -> None:
    installation.run("pellucid", "bench", "--help")
    commands = installation.run("pellucid", "--help")
    check("bench" in commands and "reproduce" in commands, f"the laboratory's commands are missing in\n{commands}")
    print("  `pellucid bench` and `pellucid reproduce` are there")


def run(command: Sequence[str], folder: Path, code: int = 0) -> str:
    """What a command prints. Ends this script if it does not end with the expected code."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    direct = {name: f"{environment.get(name, '')},{LOOPBACK}" for name in ("NO_PROXY", "no_proxy")}
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment | direct, capture_output=True, encoding="utf-8"
    )
    check(done.returncode == code, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(condition: bool, problem: str) -> None:
    if not condition:
        sys.exit(f"Failed: {problem}")


if __name__ == "__main__":
    main()
