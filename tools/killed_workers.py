"""Kill workers in the middle of a trial, and check that others run it again: python tools/killed_workers.py

The workers are those of `examples/cluster_database.py` and of the pages in `docs/machines`, in processes of their own,
with a file of SQLite in the place of a server and heartbeats of seconds. This needs scikit-learn, but not pytest.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import optuna
from optuna.trial import TrialState

ROOT = Path(__file__).parents[1]
PAGES = ("postgresql.md", "mysql.md")
LOST = 4  # The trial in which the worker of a page is killed.
# A program that uses names which the newest Optuna is about to drop fails.
PYTHON = (sys.executable, "-W", "error::FutureWarning")
HANG = f"""    if trial.number == {LOST}:
        import pathlib, time
        pathlib.Path("hangs").touch()
        time.sleep(600)
"""


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print(f"Optuna {optuna.__version__}")
    with tempfile.TemporaryDirectory(prefix="pellucid-killed-") as folder:
        check_example(Path(folder))
        print("  examples/cluster_database.py: the trial of the dead worker was run again")
    for page in PAGES:
        with tempfile.TemporaryDirectory(prefix="pellucid-killed-") as folder:
            check_page(ROOT / "docs" / "machines" / page, Path(folder))
            print(f"  docs/machines/{page}: the trial of the killed worker was run again")


def check_example(folder: Path) -> None:
    url = f"sqlite:///{folder / 'workers.db'}"
    options = ("--storage", url, "--trials", "14", "--dies-in", "12")
    finished(ROOT / "examples" / "cluster_database.py", *options, folder=folder)
    check_run_again(optuna.load_study(study_name="workers", storage=url), 12)


def check_page(page: Path, folder: Path) -> None:
    """Kill the worker of a page in a trial, and start another one."""
    url = f"sqlite:///{folder / 'studies.db'}"
    study = optuna.create_study(study_name="tuning", storage=url)
    [program] = re.findall(r"^```python\n(# worker\.py\n.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    program = changed(program, r'"\w+\+\w+://tuner@db\.example/studies"', f'"{url}"')
    program = changed(program, r"heartbeat_interval=\d+", "heartbeat_interval=1")
    program = changed(program, r"grace_period=\d+", "grace_period=3")
    program = changed(program, r"n_trials=20", "n_trials=6")
    worker, hanging = folder / "worker.py", folder / "hanging.py"
    worker.write_text(program, encoding="utf-8")
    hanging.write_text(changed(program, r"    return ", f"{HANG}    return "), encoding="utf-8")
    victim = subprocess.Popen([*PYTHON, hanging], cwd=folder, stderr=subprocess.PIPE)
    try:
        while not (folder / "hangs").exists():
            check(victim.poll() is None, "the worker has ended before the trial in which it is to be killed")
            time.sleep(0.1)
        time.sleep(2)  # Until it has given a heartbeat.
    finally:
        victim.kill()
        victim.communicate()
    time.sleep(5)  # Longer than the grace period.
    finished(worker, folder=folder)
    check_run_again(study, LOST)


def changed(program: str, pattern: str, replacement: str) -> str:
    """The program with something else in one place, which it must have."""
    program, n = re.subn(pattern, lambda _: replacement, program)
    check(n == 1, f"`{pattern}` is there {n} times")
    return program


def finished(program: Path, *options: str, folder: Path) -> None:
    command = [*PYTHON, program, *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False)
    check(done.returncode == 0, f"{program.name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def check_run_again(study: optuna.Study, number: int) -> None:
    lost = study.trials[number]
    again = [trial for trial in study.trials[number + 1 :] if trial.system_attrs.get("failed_trial") == number]
    check(lost.state == TrialState.FAIL, f"trial {number} is {lost.state.name}")
    check([trial.state for trial in again] == [TrialState.COMPLETE], f"trial {number} was not run again once")
    check(again[0].params == lost.params, f"trial {again[0].number} has not the parameters of trial {number}")


def check(condition: bool, problem: str) -> None:
    if not condition:
        sys.exit(f"Failed: {problem}")


if __name__ == "__main__":
    main()
