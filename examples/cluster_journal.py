"""Share one study between processes through a journal file: all they need is a folder that they can all write to.

    python examples/cluster_journal.py
    python examples/cluster_journal.py --file /path/to/shared/workers.log

Start the second command on every machine that has the folder. `pellucid explain workers --storage workers.log` reads
the file while they work. A journal has no heartbeat, so trials of dead workers are found by their age.
"""

from __future__ import annotations

import argparse
from functools import partial

import optuna
from cluster_database import share, show, study_in
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend


def open_study(file: str) -> optuna.Study:
    return study_in(JournalStorage(JournalFileBackend(file)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", default="workers.log", help="the journal, in a folder that all machines share")
    parser.add_argument("--workers", type=int, default=2, help="processes on this machine")
    parser.add_argument("--trials", type=int, default=40, help="finished trials the study should have in total")
    arguments = parser.parse_args()
    show(share(partial(open_study, arguments.file), arguments.workers, arguments.trials))


if __name__ == "__main__":
    main()
