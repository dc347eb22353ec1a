"""``pellucid publish``: the answers about a study as a note and key figures, for Optuna Dashboard."""

from __future__ import annotations

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.extras import require_extra, require_plots
from pellucid.surfaces.cli.options import Storage, StorageFile, StudyName, StudyOption, one_name
from pellucid.surfaces.cli.storage.naming import named_place
from pellucid.surfaces.cli.storage.studies import find_study, storage_sentences
from pellucid.surfaces.cli.terminal import print_lines, sentences


def publish(
    name: StudyName = None, study: StudyOption = None, storage: Storage = None, storage_file: StorageFile = None
) -> None:
    with sentences():
        place = named_place(storage, storage_file)
        opened = find_study(place, one_name(name, study))
        require_extra("dashboard", ["optuna_dashboard"], "Publishing")
        require_plots("Publishing")
        from pellucid.surfaces.dashboard import publish as publish_figures
        from pellucid.words import Unanswered

        with storage_sentences(place):
            try:
                titles = publish_figures(opened)
            except Unanswered as reason:
                raise Mistake(str(reason)) from None
        print_lines(f"Published in {place.shown}:", *(f"  {title}" for title in titles))
