"""Take every picture in docs/images: `make pictures`, or `python -m tools.pictures [name ...]` for some of them.

The report, the notebook, the dashboard and the site are opened in a real Chromium. The study of the report and of the
dashboard is that of `examples/demo.py`, which is run in a temporary folder; other examples draw the figures.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import nbformat
import numpy as np
import optuna
from PIL import Image
from tests.browser import Browser

from pellucid.surfaces import dashboard

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
EXAMPLES = ROOT / "examples"
# Pixels of windows, and between pictures that are beside each other.
DESKTOP, PHONE, NOTEBOOK, DASHBOARD, GAP = (1280, 900), (390, 844), (900, 1300), (1000, 1300), 16
# Dots per inch of the printed pages.
DENSITY = 70
# Half of the colours of a palette.
COLOURS = 128


def run(*command: str | Path, folder: Path) -> None:
    """Run a Python program in a folder."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(EXAMPLES)])}
    subprocess.run([sys.executable, *map(str, command)], cwd=folder, env=environment, check=True, stdout=sys.stderr)


def keep(picture: Path, name: str) -> None:
    """Store a picture with a palette, which makes the file three times smaller."""
    IMAGES.mkdir(exist_ok=True)
    with Image.open(picture) as opened:
        image = opened.convert("RGB")
    with_palette(image).save(IMAGES / name, optimize=True)
    print(f"{name}: {image.width} x {image.height}, {(IMAGES / name).stat().st_size / 1000:.0f} kB")


def with_palette(image: Image.Image) -> Image.Image:
    """The most frequent colours, which are those of surfaces, stay as they are; others become the nearest one of these
    and of a selection. (Pillow's own search for the nearest colour makes white a little grey.)"""
    pixels = np.asarray(image).reshape(-1, 3).astype(np.int32)
    packed, place, count = np.unique(pixels @ (65536, 256, 1), return_inverse=True, return_counts=True)
    colours = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=1)
    selection = image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = np.concatenate([colours[np.argsort(-count)[:COLOURS]], np.reshape(selection, (-1, 3))[:COLOURS]])
    nearest = ((colours[:, None] - palette) ** 2).sum(axis=2).argmin(axis=1)
    flat = Image.fromarray(nearest[place].reshape(image.height, image.width).astype(np.uint8), "P")
    flat.putpalette(palette.astype(np.uint8).tobytes())
    return flat


def beside(pictures: list[Path], path: Path) -> None:
    """Put pictures beside each other."""
    images = [Image.open(picture) for picture in pictures]
    width, height = sum(image.width + GAP for image in images) + GAP, max(image.height for image in images) + 2 * GAP
    joined = Image.new("RGB", (width, height), "#8a919b")
    for i, image in enumerate(images):
        joined.paste(image, (GAP + sum(before.width + GAP for before in images[:i]), GAP))
    joined.save(path)


class Studio:
    """A browser, and a temporary folder with what it shows."""

    def __init__(self, folder: Path, browser: Browser) -> None:
        self.folder = folder
        self.browser = browser

    def take(self, name: str) -> Path:
        """A picture of what the browser shows, in the temporary folder."""
        self.browser.run("document.fonts.ready.then(() => new Promise(requestAnimationFrame)).then(() => 0)")
        self.browser.picture(self.folder / name)
        return self.folder / name

    @functools.cached_property
    def demo(self) -> Path:
        """The folder in which the demo has run."""
        folder = self.folder / "demo"
        folder.mkdir()
        run(EXAMPLES / "demo.py", folder=folder)
        return folder


# ---------------------------------------------------------------------------------------------- the report


def report(studio: Studio) -> None:
    studio.browser.show(*DESKTOP)
    studio.browser.open(studio.demo / "report.html")
    keep(studio.take("report.png"), "report.png")


def report_phone(studio: Studio) -> None:
    studio.browser.show(*PHONE)
    studio.browser.open(studio.demo / "report.html")
    keep(studio.take("report-phone.png"), "report-phone.png")


def report_dark(studio: Studio) -> None:
    studio.browser.show(*DESKTOP, dark=True)
    studio.browser.open(studio.demo / "report.html")
    keep(studio.take("report-dark.png"), "report-dark.png")


def report_print(studio: Studio) -> None:
    """The first two printed pages, beside each other."""
    studio.browser.show(*DESKTOP)
    studio.browser.open(studio.demo / "report.html")
    studio.browser.print(studio.folder / "report.pdf")
    command = ["pdftoppm", "-png", "-r", str(DENSITY), "-f", "1", "-l", "2", "report.pdf", "sheet"]
    subprocess.run(command, cwd=studio.folder, check=True)
    beside(sorted(studio.folder.glob("sheet-*.png")), studio.folder / "report-print.png")
    keep(studio.folder / "report-print.png", "report-print.png")


# ------------------------------------------------------------------------ the notebook, the dashboard, the site


def notebook(studio: Studio) -> None:
    """The outputs that are stored in examples/tour.ipynb."""
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter(template_name="lab").from_notebook_node(nbformat.read(EXAMPLES / "tour.ipynb", 4))
    path = studio.folder / "tour.html"
    path.write_text(page, encoding="utf-8")
    studio.browser.show(*NOTEBOOK)
    studio.browser.visit(path.as_uri())
    studio.browser.run("document.getElementById('What-matters?').scrollIntoView(), scrollBy(0, -20)")
    keep(studio.take("notebook.png"), "notebook.png")


def published(studio: Studio) -> None:
    """The note and the figures of Optuna Dashboard, which has them on two pages, beside each other."""
    storage = f"sqlite:///{studio.demo}/demo.db"
    n_figures = len(dashboard.publish(optuna.load_study(study_name=None, storage=storage)))
    cards = "document.querySelectorAll('[id^=\"user-defined-plot:pellucid-\"]')"
    studio.browser.show(*DASHBOARD)
    with dashboard_of(storage) as address:
        studio.browser.visit(f"{address}/dashboard/studies/1/note")
        studio.browser.wait("document.body.innerText.includes('What should I distrust?')")
        note = studio.take("note.png")
        studio.browser.visit(f"{address}/dashboard/studies/1")
        studio.browser.wait(f"Array.from({cards}).filter(card => card.querySelector('svg')).length === {n_figures}")
        studio.browser.run(f"{cards}[0].scrollIntoView(), scrollBy(0, -90)")
        beside([note, studio.take("cards.png")], studio.folder / "dashboard.png")
    keep(studio.folder / "dashboard.png", "dashboard.png")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


class QuietGateway(WSGIRequestHandler):
    def log_message(self, *_: object) -> None: ...


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    """The address of a server that runs meanwhile."""
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def dashboard_of(storage: str) -> Iterator[str]:
    from optuna_dashboard import wsgi

    with serving(make_server("127.0.0.1", 0, wsgi(storage), handler_class=QuietGateway)) as address:  # type: ignore[arg-type]
        yield address


def site(studio: Studio) -> None:
    """The site with the pictures that have just been taken."""
    folder = studio.folder / "site"
    run("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder, folder=ROOT)
    pages = functools.partial(Quiet, directory=str(folder))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), pages)) as address:
        for name, size, dark in (("site", DESKTOP, False), ("site-phone", PHONE, False), ("site-dark", DESKTOP, True)):
            studio.browser.show(*size, dark=dark)
            studio.browser.visit(f"{address}/index.html" if name == "site" else f"{address}/guides/why.html")
            keep(studio.take(f"{name}.png"), f"{name}.png")


# ------------------------------------------------------------------------------------- figures of the examples


def effect(studio: Studio) -> None:
    run(EXAMPLES / "effects.py", "--figure", "effect.png", folder=studio.folder)
    keep(studio.folder / "effect.png", "effect.png")


def matters(studio: Studio) -> None:
    run(EXAMPLES / "matters.py", "--figure", "matters.png", folder=studio.folder)
    keep(studio.folder / "matters.png", "matters.png")


def why(studio: Studio) -> None:
    run(EXAMPLES / "why.py", "--png", "--folder", "why", folder=studio.folder)
    keep(studio.folder / "why" / "proposal.png", "why.png")
    keep(studio.folder / "why" / "paths.png", "paths.png")


def engine(studio: Studio) -> None:
    run(ROOT / "lab" / "results" / "engine" / "picture.py", "engine.png", folder=studio.folder)
    keep(studio.folder / "engine.png", "engine.png")


# The site is last: it shows the others.
PICTURES: tuple[Callable[[Studio], None], ...] = (
    *(report, report_phone, report_dark, report_print),
    *(effect, matters, why, engine, notebook, published, site),
)


def main(names: list[str]) -> int:
    pictures = {picture.__name__: picture for picture in PICTURES}
    unknown = [name for name in names if name not in pictures]
    if unknown:
        print(f"The names are {', '.join(pictures)}; {', '.join(unknown)} is none of them.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder)) as browser:
        studio = Studio(Path(folder), browser)
        for name in names or pictures:
            pictures[name](studio)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
