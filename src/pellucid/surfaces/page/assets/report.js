"use strict";
// Why this trial; light, dark and print; the start of the page.
(function () {
  const root = document.documentElement;
  const picker = document.getElementById("trial");

  // ------------------------------------------------------------------ why this trial
  function prose(parent, sentence) {
    const pieces = sentence.split("`");
    if (pieces.length % 2 === 0) { return report.text(parent, "p", sentence); }
    const paragraph = report.text(parent, "p", "");
    pieces.forEach(function (piece, i) { report.text(paragraph, i % 2 ? "code" : "span", piece); });
    return paragraph;
  }
  function show(paper) {
    if (!picker) { return; }
    const number = Number(picker.value), place = document.getElementById("trial-figure");
    const known = report.data.picked.find((trial) => trial.number === number);
    const trial = known || { words: [], figure: null, explicable: true };
    const words = document.getElementById("trial-words"), table = document.getElementById("trial-params");
    words.textContent = "";
    trial.words.forEach(function (sentence) { prose(words, sentence); });
    if (trial.figure === null && trial.explicable) {
      const asks = "pellucid.explain_proposal(study, " + number + ")";
      report.text(words, "p", "Its contributions are not on this page: " + asks + " computes them.").className = "soft";
    }
    table.textContent = "";
    report.settings(number).forEach(function (pair) {
      const row = table.appendChild(document.createElement("tr"));
      report.text(row, "th", pair[0]).scope = "row";
      report.text(row, "td", pair[1]);
    });
    place.hidden = trial.figure === null;
    if (trial.figure !== null) { return report.draw(place, report.data.figures[trial.figure], paper); }
    Plotly.purge(place);
    delete place.dataset.drawn;
  }
  function pick(index) {
    picker.selectedIndex = Math.max(0, Math.min(picker.options.length - 1, index));
    show();
  }
  function follow() {
    const match = /^#trial-(\d+)$/.exec(location.hash);
    if (!picker || !match || !report.hasTrial(Number(match[1]))) { return; }
    let at = Array.from(picker.options).findIndex((option) => option.value === match[1]);
    if (at < 0) { // A large study lists some of its trials; any other one is added when it is asked for.
      report.text(picker, "option", "trial " + match[1]).value = match[1];
      at = picker.options.length - 1;
    }
    pick(at);
    document.getElementById("why").scrollIntoView();
  }
  function startPicker() {
    if (!picker) { return; }
    picker.addEventListener("change", function () { show(); });
    document.getElementById("before").addEventListener("click", function () { pick(picker.selectedIndex - 1); });
    document.getElementById("after").addEventListener("click", function () { pick(picker.selectedIndex + 1); });
    window.addEventListener("hashchange", follow);
  }

  // ------------------------------------------------------------------ light, dark, print
  function redraw() { return report.drawAll().then(function () { return show(); }); }
  function startPrint() {
    let before = null, closed = [];
    window.addEventListener("beforeprint", function () {
      before = root.dataset.theme;
      root.dataset.theme = "light";
      closed = Array.from(document.querySelectorAll("details:not([open])"));
      closed.forEach(function (part) { part.open = true; });
      report.drawAll(true);
      show(true);
    });
    window.addEventListener("afterprint", function () {
      root.dataset.theme = before || "light";
      closed.forEach(function (part) { part.open = false; });
      redraw();
    });
  }
  function start() {
    report.startTable();
    startPicker();
    startPrint();
    document.getElementById("theme").addEventListener("click", function () {
      root.dataset.theme = report.dark() ? "light" : "dark";
      redraw();
    });
    document.querySelectorAll("details").forEach(function (part) {
      part.addEventListener("toggle", function () { if (part.open) { report.drawAll(); } });
    });
    let waiting = 0;
    window.addEventListener("resize", function () {
      clearTimeout(waiting);
      waiting = setTimeout(report.rearrange, 150);
    });
    return redraw().then(follow);
  }

  if (!root.dataset.theme) { // A page that was renewed keeps the reader's choice.
    root.dataset.theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("old-browser").hidden = false;
    return;
  }
  report.load().then(start).then(function () { document.body.dataset.ready = "yes"; });
})();
