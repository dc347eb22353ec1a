"""The report: a real browser opens it from disk, hostile names stay text, and studies of every kind get one."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import Trial
from tests.browser import Browser, in_a_browser
from tests.helpers import page_data

import pellucid
from pellucid.answers.catalogue import FAILING
from pellucid.answers.doubts import doubts
from pellucid.beliefs import Beliefs
from pellucid.study.trials import INTERRUPTED_ATTRIBUTE
from pellucid.study.view import StudyView
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.markup import Markup, joined, prose, tag
from pellucid.words import printable

SCRIPT = "<script>document.body.dataset.hacked = 'yes'</script>"
HOSTILE = (
    SCRIPT,
    "\"quotes\" & 'more'`",
    "x" * 200,
    "🦜 emoji",
    "עברית \u202ertl",
    "</script><b>bold</b>",
    "<img src=x onerror=1>",
)
# Titles of axes that reach beyond their figure.
CUT = """Array.from(document.querySelectorAll('[data-drawn] .xtitle, [data-drawn] .ytitle')).filter(function (title) {
    const words = title.getBoundingClientRect(), figure = title.closest('[data-drawn]').getBoundingClientRect();
    return words.width > 0 && (words.left < figure.left - 1 || words.right > figure.right + 1);
}).map((title) => title.textContent)"""


def objective(trial: Trial) -> float:
    model = trial.suggest_categorical("model", ["linear", "tree"])
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    depth = trial.suggest_int("depth", 1, 8) if model == "tree" else 0
    if rate > 0.06:
        raise RuntimeError("diverged")
    trial.report(rate, 0)
    if trial.number % 9 == 5:
        raise optuna.TrialPruned
    return (math.log10(rate) + 2.0) ** 2 + 0.1 * depth + (model == "linear")


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    sampler = pellucid.BayesianSampler(seed=0, acquisition=pellucid.acquisition.SAWEI())
    networks = optuna.create_study(study_name="networks", sampler=sampler)
    networks.optimize(objective, n_trials=45, catch=(RuntimeError,))
    return networks


@pytest.fixture(scope="module")
def page(study: optuna.Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pellucid.report(study, tmp_path_factory.mktemp("report") / "deep" / "report.html")


# ---------------------------------------------------------------------- in a browser


@in_a_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_browser_draws_the_whole_page_without_network_requests(
    page: Path, tmp_path: Path, width: int, dark: bool
) -> None:
    with Browser(tmp_path, width, dark=dark) as browser:
        browser.open(page)
        browser.run("document.querySelector('details').open = true")
        browser.wait("document.querySelector('[data-figure=joint]').dataset.drawn === 'yes'")
        places = browser.run("Array.from(document.querySelectorAll('[data-figure]'), e => e.dataset.figure)")
        drawn = browser.run(
            "Array.from(document.querySelectorAll('[data-figure]')).filter("
            "e => e.dataset.drawn === 'yes' && e.querySelector('svg.main-svg') && e.clientHeight > 100)"
            ".map(e => e.dataset.figure)"
        )
        assert drawn == places
        assert {
            "history",
            "course",
            "importance",
            "profile-0",
            "effect-0",
            "ranges",
            "failures",
            "paths",
            "timeline",
            "coordinates",
        } <= set(places)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run(CUT) == []
        assert browser.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        assert "Use this" in browser.run("document.querySelector('#answers').innerText")
        browser.picture(tmp_path / "page.png")
        browser.print(tmp_path / "page.pdf")
        assert browser.messages == []
        outside = [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:", "about:"))]
        assert outside == []
    picture = (tmp_path / "page.png").read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (width, 900)
    assert len(picture) > 20_000
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


@in_a_browser
def test_a_trial_is_picked_by_mouse_by_keyboard_and_by_address(page: Path, tmp_path: Path) -> None:
    words = "document.querySelector('#trial-words').innerText"
    with Browser(tmp_path) as browser:
        browser.open(page, "#trial-44")
        assert "rial 44" in browser.run(words)
        assert browser.run("document.querySelector('#trial-figure').dataset.drawn") == "yes"
        assert browser.run("document.querySelector('#trial-params').innerText").count("rate") == 1
        browser.run("document.querySelector('#before').focus()")
        browser.press("Enter")
        assert "rial 43" in browser.run(words)
        browser.press("Tab")
        assert browser.run("document.activeElement.id") == "trial"
        browser.press("ArrowUp")
        browser.wait(f"{words}.includes('rial 42')")
        # A start-up trial: its own sentence, and no figure of contributions.
        browser.run("location.hash = '#trial-0'")
        browser.wait(f"{words}.includes('sampled to cover the space')")
        assert browser.run("document.querySelector('#trial-figure').hidden") is True
        assert browser.messages == []


@in_a_browser
def test_light_and_dark_change_the_figures_too(page: Path, tmp_path: Path) -> None:
    ink = "getComputedStyle(document.querySelector('[data-figure=importance] .ytick text')).fill"
    with Browser(tmp_path) as browser:
        browser.open(page)
        before = browser.run(ink)
        browser.run("document.querySelector('#theme').click()")
        browser.wait(f"{ink} !== {json.dumps(before)}")
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)"


@in_a_browser
def test_on_paper_figures_are_light_and_fit(page: Path, tmp_path: Path) -> None:
    with Browser(tmp_path, dark=True) as browser:
        browser.open(page)
        widest = "Math.max(...Array.from(document.querySelectorAll('svg.main-svg'), e => e.clientWidth))"
        assert browser.run(widest) > 700
        # Figures that are not drawn when the event has been handled are not printed.
        assert browser.run(f"window.dispatchEvent(new Event('beforeprint')), {widest}") <= 660
        assert browser.run(CUT) == []
        assert browser.run("document.documentElement.dataset.theme") == "light"
        browser.run("window.dispatchEvent(new Event('afterprint'))")
        browser.wait(f"{widest} > 700")
        assert browser.run(CUT) == []
        assert browser.run("document.documentElement.dataset.theme") == "dark"
        assert browser.messages == []


@in_a_browser
def test_hostile_names_are_text(tmp_path: Path) -> None:
    def strange(trial: Trial) -> float:
        trial.set_user_attr(SCRIPT, SCRIPT)
        choice = trial.suggest_categorical(HOSTILE[1], [*HOSTILE, None, True, 1.5])
        return float(sum(trial.suggest_float(name, 0, 1) for name in (*HOSTILE[:1], *HOSTILE[2:]))) + (choice == SCRIPT)

    hostile = optuna.create_study(study_name=SCRIPT, sampler=pellucid.BayesianSampler(seed=0))
    hostile.set_user_attr(SCRIPT, SCRIPT)
    hostile.optimize(strange, n_trials=25)
    path = pellucid.report(hostile, tmp_path / "hostile.html")
    with Browser(tmp_path) as browser:
        browser.open(path)
        assert browser.run("document.body.dataset.hacked") is None
        # Data and Plotly as they are stored, three scripts, and Plotly as it is unpacked.
        assert browser.run("document.querySelectorAll('script').length") == 6
        assert browser.run("document.querySelectorAll('img, b').length") == 0
        assert browser.run("document.querySelector('h1').textContent") == SCRIPT
        assert browser.messages == []
        shown = browser.run("document.querySelector('#trial-params').textContent")
        assert [name for name in HOSTILE if printable(name) not in shown] == []
        drawn = browser.run("document.querySelector('[data-figure=ranges]').textContent")
        assert SCRIPT[:20] in drawn
        assert browser.run("document.documentElement.scrollWidth") <= 1280


# ---------------------------------------------------------------------- every kind of study


def nothing(_: optuna.Study) -> None: ...


def one_trial(study: optuna.Study) -> None:
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)


def only_failures(study: optuna.Study) -> None:
    study.optimize(lambda t: t.suggest_float("x", 0, 1) / 0, n_trials=12, catch=(ZeroDivisionError,))


def constant(study: optuna.Study) -> None:
    study.optimize(lambda t: 0.0 * t.suggest_float("x", 0, 1), n_trials=25)


def infinite(study: optuna.Study) -> None:
    study.optimize(
        lambda t: math.inf if t.suggest_float("x", 0, 1) > 0.7 else math.nan if t.number % 5 == 0 else t.params["x"],
        n_trials=30,
    )


def without_parameters(study: optuna.Study) -> None:
    study.optimize(lambda t: float(t.number), n_trials=25)


def running(study: optuna.Study) -> None:
    one_trial(study)
    study.ask().suggest_float("x", 0, 1)
    study.enqueue_trial({"x": 0.5})


def many_parameters(n: int) -> Callable[[optuna.Study], None]:
    dice = np.random.default_rng(0)

    def fill(study: optuna.Study) -> None:
        study.optimize(lambda t: 0 * sum(t.suggest_float(f"p{i}", 0, 1) for i in range(n)) + dice.random(), n_trials=18)

    return fill


def interrupted(study: optuna.Study) -> None:
    one_trial(study)
    for _ in range(4):
        trial = study.ask()
        trial.suggest_float("x", 0, 1)
        trial.set_user_attr(INTERRUPTED_ATTRIBUTE, True)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)


@pytest.mark.parametrize("sampler", [optuna.samplers.TPESampler, pellucid.BayesianSampler])
@pytest.mark.parametrize(
    ("fill", "says"),
    [
        (nothing, "The study has no trials yet"),
        (one_trial, "A verdict needs 20 complete trials, and this study has 1"),
        (only_failures, "None of the 12 trials has finished with a value yet."),
        (constant, "all finished trials returned the same value"),
        (infinite, "Expect "),
        (without_parameters, "no parameter varies"),
        (running, "1 running"),
        (interrupted, "4 interrupted, 1 complete"),
    ],
)
def test_every_study_gets_a_page(
    tmp_path: Path, sampler: Callable[..., optuna.samplers.BaseSampler], fill: Callable[[optuna.Study], None], says: str
) -> None:
    assert_page_says(says, sampler, fill, tmp_path)


# With 45 parameters it takes ten seconds, with any sampler.
@pytest.mark.parametrize(
    ("sampler", "n"),
    [
        (pellucid.BayesianSampler, 22),
        pytest.param(pellucid.BayesianSampler, 45, marks=pytest.mark.slow),
        pytest.param(optuna.samplers.TPESampler, 45, marks=pytest.mark.slow),
    ],
)
def test_only_some_of_many_parameters_are_shown(
    tmp_path: Path, sampler: Callable[..., optuna.samplers.BaseSampler], n: int
) -> None:
    assert_page_says(f"20 of {n} parameters are shown", sampler, many_parameters(n), tmp_path)


def assert_page_says(
    says: str, sampler: Callable[..., optuna.samplers.BaseSampler], fill: Callable[[optuna.Study], None], folder: Path
) -> None:
    study = optuna.create_study(direction="maximize", sampler=sampler(seed=0))
    fill(study)
    text = pellucid.report(study, folder / "report.html").read_text(encoding="utf-8")
    assert says.lower() in (text + json.dumps(page_data(text))).lower()


def test_a_study_of_another_sampler_says_so(tmp_path: Path) -> None:
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(lambda t: (t.suggest_float("x", -1, 1) - 0.3) ** 2 + t.suggest_float("y", 0, 1), n_trials=30)
    text = pellucid.report(study, str(tmp_path / "report.html")).read_text(encoding="utf-8")
    assert "Another sampler ran this study" in text
    assert "Pellucid did not propose trial" in json.dumps(page_data(text))


def test_the_card_on_ranges_says_what_could_not_be_judged(tmp_path: Path) -> None:
    study = optuna.create_study()
    for i in range(23):
        model, name = ("rare", "y") if i in (4, 11, 17) else ("usual", "x")
        number = (0.37 * i) % 1.0
        kinds: dict[str, BaseDistribution] = {"model": CategoricalDistribution(["usual", "rare"])}
        kinds[name] = FloatDistribution(0, 1)
        value = (number - 0.4) ** 2 + (model == "rare")
        study.add_trial(optuna.create_trial(params={"model": model, name: number}, distributions=kinds, value=value))
    page = pellucid.report(study, tmp_path / "report.html").read_text(encoding="utf-8")
    cards, _, rest = page.partition('<section id="effects"')
    assert "has 3 trials with a value, too few to say whether to drop it." in cards
    assert "has 3 trials with a value, too few to say whether to drop it." in rest


def test_doubts_name_the_odd_trials_of_a_study() -> None:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0))
    for i in range(3):
        study.enqueue_trial({"x": 0.1 * i})

    def odd(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(x, 0)
        if trial.number % 4 == 3:
            raise optuna.TrialPruned
        return -math.inf if trial.number == 5 else x

    study.optimize(odd, n_trials=8)
    study.enqueue_trial({"x": 0.5})
    text = " ".join(doubts(gather(study, progress=False)))
    assert "Only 8 trials have finished" in text
    assert "1 of 9 trials returned an infinite value" in text
    assert "3 of 8 trials were enqueued: ask whoever chose them" in text
    assert "another sampler" not in text


def test_interruptions_do_not_count_as_failures() -> None:
    study = optuna.create_study()
    interrupted(study)
    assert not gather(study, progress=False).applies(FAILING)
    with pytest.raises(ValueError, match="at least 10 finished trials; this study has 1"):
        pellucid.hsic_importance(study, pellucid.failed())


def test_numbers_keep_the_digits_that_their_interval_leaves(tmp_path: Path) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: 12345 + t.suggest_float("x", 0, 1), n_trials=25)
    text = pellucid.report(study, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Expect 12345.0" in text
    assert "1.235e+04" not in text.split('id="effects"')[0]


def test_the_page_is_small_and_its_scripts_run_by_hash_alone(page: Path) -> None:
    assert page.stat().st_size < 2.5e6
    head = page.read_text(encoding="utf-8")[:2000]
    assert "default-src 'none'; script-src 'sha256-" in head
    assert "; base-uri 'none'; form-action 'none'\"" in head
    assert "unsafe-eval" not in head


def test_thousands_of_trials_with_many_parameters_stay_small(tmp_path: Path) -> None:
    """Only the size of stored trials matters here: the page is built from records, without the slow answers."""
    from pellucid.answers.base import Overview
    from pellucid.surfaces.page.page import page as set_page

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    distributions = {f"a_parameter_{j}": optuna.distributions.FloatDistribution(0, 1) for j in range(40)}
    values = dict.fromkeys(distributions, 0.123456)
    trial = optuna.trial.create_trial(params=values, distributions=distributions, value=1.0)
    study.add_trials([trial] * 3000)
    answers = Overview(Beliefs(StudyView.whole(study)), whole=False)
    assert len(set_page(answers)) < 2.5e6


# ---------------------------------------------------------------------- files and mistakes


def test_a_folder_is_refused_with_the_rule(tmp_path: Path, study: optuna.Study) -> None:
    with pytest.raises(ValueError, match=r"A report is a file, but .* is a folder"):
        pellucid.report(study, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_old_page_survives_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        pellucid.report(optuna.create_study(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_without_plotly_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['plotly'] = None\n"
        "import optuna, pellucid\n"
        "try: pellucid.report(optuna.create_study(), 'x.html')\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "pip install 'pellucid[plots]'" in run.stdout


def test_markup_escapes_unless_it_is_markup() -> None:
    assert tag("p", "<b>", Markup("<i></i>")) == "<p>&lt;b&gt;<i></i></p>"
    assert tag("a", "x", href='"><script>', class_="y", hidden=True, selected=False) == (
        '<a href="&quot;&gt;&lt;script&gt;" class="y" hidden>x</a>'
    )
    assert joined("a & b") == "a &amp; b"
    assert prose("use `<x>` now") == "use <code>&lt;x&gt;</code> now"
    assert prose("a `b") == "a `b"


def test_the_progress_bar_ends_with_the_last_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    totals: list[int] = []
    steps: list[str | None] = []

    class Counting:
        def advance(self, what: str | None = None) -> None:
            steps.append(what)

    @contextmanager
    def counted(what: str, total: int, *, show: bool) -> Iterator[Counting]:
        totals.append(total)
        yield Counting()

    monkeypatch.setattr("pellucid.surfaces.page.gather.progress_bar", counted)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=6, catch=(RuntimeError,))
    gather(study, progress=True)
    assert totals == [len(steps)]
