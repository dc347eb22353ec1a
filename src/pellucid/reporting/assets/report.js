"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  // Dark colours are hard to see on a dark page, so each has a light partner.
  const PARTNERS = {
    "#0b3c6f": "#6aa9e9", "#d1495b": "#f08c98", "#e8a33d": "#e8a33d", "#3f8f6b": "#6fc79d", "#8d6fb0": "#b79ad8",
    "#5aa9c7": "#7cc3de", "#7a4b2a": "#c99a72", "#4d4d4d": "#c4c9d0", "#3a3a3a": "#d5dae0", "#b8bec6": "#566270",
    "#8a929c": "#8a95a3", "#888888": "#7b8693", "#1b6ca8": "#5aa7e0", "#b8432f": "#ec8572", "#2f8f5b": "#6cc795",
    "#8a4fa3": "#c595dc", "#b07d12": "#dcaf4e", "#0f8b8d": "#52c3c5", "#a83279": "#e07fb9", "#5b6f1d": "#a9bf63",
    "#6b5bd2": "#a99cf5", "#8c5a2b": "#cf9f70", "#37738f": "#78b4d0", "#c2622d": "#f0a077", "#4a7d3a": "#8fc07f",
    "#9a3d5c": "#dd8ba6", "#5f6b7a": "#a3aebb", "#2c5fb3": "#7fa8ee", "#a03030": "#f08c98", "#e9ecef": "#262d37",
  };
  const PAPER = 660;
  const dark = () => root.dataset.theme === "dark";
  function inks(value) {
    if (typeof value === "string") { return PARTNERS[value] || value; }
    if (Array.isArray(value)) { return value.map(inks); }
    if (value && typeof value === "object") {
      const out = {};
      for (const key of Object.keys(value)) { out[key] = key === "text" || key === "name" ? value[key] : inks(value[key]); }
      return out;
    }
    return value;
  }
  function draw(place, figure, width) {
    const ink = dark() ? "#e6eaf0" : "#1c2430", line = dark() ? "#5b6673" : "#444444";
    const shown = dark() ? inks(figure) : figure;
    const layout = Object.assign({}, shown.layout, {
      template: data.template, autosize: true, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: (shown.layout.plot_bgcolor || "rgba(0,0,0,0)"),
      font: Object.assign({}, shown.layout.font, { color: ink }),
    });
    if (width) { layout.width = width; layout.autosize = false; }
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(key)) {
        layout[key] = Object.assign({}, layout[key], { linecolor: line, tickcolor: line, tickfont: Object.assign({}, layout[key].tickfont, { color: ink }) });
      }
    }
    const config = { responsive: true, displayModeBar: false, showTips: false };
    return Plotly.react(place, shown.data, layout, config).then(function () { place.dataset.drawn = "yes"; });
  }
  function drawAll() {
    const places = document.querySelectorAll("[data-figure]");
    return Array.from(places).reduce(function (before, place) {
      return before.then(function () { return draw(place, data.figures[place.dataset.figure]); });
    }, Promise.resolve());
  }

  // ------------------------------------------------------------------ why this trial
  const picker = document.getElementById("trial");
  function text(parent, name, content) {
    const element = document.createElement(name);
    element.textContent = content;
    parent.appendChild(element);
    return element;
  }
  function prose(parent, sentence) {
    const pieces = sentence.split("`");
    if (pieces.length % 2 === 0) { return text(parent, "p", sentence); }
    const paragraph = text(parent, "p", "");
    pieces.forEach(function (piece, i) { text(paragraph, i % 2 ? "code" : "span", piece); });
    return paragraph;
  }
  function show(width) {
    if (!picker) { return; }
    const trial = data.picked.trials[picker.selectedIndex], place = document.getElementById("trial-figure");
    const words = document.getElementById("trial-words"), table = document.getElementById("trial-params");
    words.textContent = "";
    trial.words.forEach(function (sentence) { prose(words, sentence); });
    if (trial.figure === null && trial.explicable) {
      text(words, "p", "Its contributions are not on this page: pellucid.explain_proposal(study, " + trial.number + ") computes them.").className = "soft";
    }
    table.textContent = "";
    trial.params.forEach(function (pair) {
      const row = document.createElement("tr");
      text(row, "th", data.picked.names[pair[0]]);
      text(row, "td", pair[1]);
      table.appendChild(row);
    });
    place.hidden = trial.figure === null;
    if (trial.figure !== null) { draw(place, data.figures[trial.figure], width); } else { Plotly.purge(place); delete place.dataset.drawn; }
  }
  function pick(index) {
    picker.selectedIndex = Math.max(0, Math.min(picker.options.length - 1, index));
    show();
  }
  if (picker) {
    picker.addEventListener("change", function () { show(); });
    document.getElementById("before").addEventListener("click", function () { pick(picker.selectedIndex - 1); });
    document.getElementById("after").addEventListener("click", function () { pick(picker.selectedIndex + 1); });
  }
  function follow() {
    const match = /^#trial-(\d+)$/.exec(location.hash);
    if (picker && match) {
      const at = data.picked.trials.findIndex(function (trial) { return trial.number === Number(match[1]); });
      if (at >= 0) { pick(at); document.getElementById("why").scrollIntoView(); }
    }
  }
  window.addEventListener("hashchange", follow);

  // ------------------------------------------------------------------ light, dark, print
  function redraw() { return drawAll().then(function () { show(); }); }
  root.dataset.theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.getElementById("theme").addEventListener("click", function () {
    root.dataset.theme = dark() ? "light" : "dark";
    redraw();
  });
  let before = null;
  window.addEventListener("beforeprint", function () {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    // All at once, without waiting for anything: what is not drawn when this returns is not on the paper.
    document.querySelectorAll("[data-figure]").forEach(function (place) { draw(place, data.figures[place.dataset.figure], PAPER); });
    show(PAPER);
  });
  window.addEventListener("afterprint", function () { root.dataset.theme = before || "light"; redraw(); });

  redraw().then(function () { follow(); document.body.dataset.ready = "yes"; });
})();
