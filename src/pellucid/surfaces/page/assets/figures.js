"use strict";
// Unpacks the page's data and Plotly, and draws figures that fit their place: in light or dark, on a phone, on paper.
const report = { data: null };
(function () {
  const root = document.documentElement;
  // In a place narrower than this, letters are smaller; panels side by side are stacked: two of them, or more.
  const NARROW = 560, STACK_TWO = 680, STACK_MORE = 520, PANEL = 230, BETWEEN = 74;
  // On paper figures are as wide as this, and those of one panel are lower, so that several fit on a page.
  const PAPER = 660, PAPER_GAP = 28, LOWER = 0.72;
  const LINE = 15;

  // What would move the cursor of a terminal or turn the order of letters: shown as an escape, as `pellucid.words` does.
  const CONTROLS = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\u{e0000}-\u{e007f}]/gu;
  const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
  report.printable = (text) => String(text).replace(CONTROLS, function (letter) {
    const code = letter.codePointAt(0).toString(16);
    const long = code.length > 4 ? "\\U" + code.padStart(8, "0") : "\\u" + code.padStart(4, "0");
    return SHORT[letter] || (code.length > 2 ? long : "\\x" + code.padStart(2, "0"));
  });
  report.unpack = async function (name) {
    const text = atob(document.getElementById(name).textContent), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) { bytes[i] = text.charCodeAt(i); }
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  report.load = async function () {
    report.data = JSON.parse(await report.unpack("data"));
    const script = document.createElement("script");
    script.textContent = await report.unpack("plotly");
    document.head.appendChild(script);
  };

  // ------------------------------------------------------------------ colours
  report.dark = () => root.dataset.theme === "dark";
  function ink(text) {
    const inks = report.data.inks;
    if (inks[text]) { return inks[text]; }
    const parts = /^rgba\((\d+),(\d+),(\d+),([\d.]+)\)$/.exec(text);
    if (!parts) { return text; }
    const hex = (n) => Number(n).toString(16).padStart(2, "0");
    const partner = inks["#" + hex(parts[1]) + hex(parts[2]) + hex(parts[3])];
    if (!partner) { return text; }
    const rgb = [1, 3, 5].map((i) => parseInt(partner.slice(i, i + 2), 16));
    return "rgba(" + rgb.join(",") + "," + Math.min(1, 1.5 * Number(parts[4])) + ")";
  }
  function inks(value) {
    if (typeof value === "string") { return ink(value); }
    if (Array.isArray(value)) { return value.map(inks); }
    if (value && typeof value === "object") {
      const out = {};
      for (const key of Object.keys(value)) {
        out[key] = key === "text" || key === "name" ? value[key] : inks(value[key]);
      }
      return out;
    }
    return value;
  }
  function swatches() {
    document.querySelectorAll("[data-ink]").forEach(function (swatch) {
      swatch.style.background = report.dark() ? ink(swatch.dataset.ink) : swatch.dataset.ink;
    });
  }

  // ------------------------------------------------------------------ panels
  const isAxis = (letter) => (key) => new RegExp("^" + letter + "axis\\d*$").test(key);
  function panels(layout) {
    return Object.keys(layout).filter(isAxis("x")).map(function (key) {
      const y = "yaxis" + (layout[key].anchor || "y").slice(1);
      return {
        x: key, y: y, id: "x" + key.slice(5), across: layout[key].domain || [0, 1],
        up: (layout[y] && layout[y].domain) || [0, 1],
      };
    });
  }
  function stacked(figure) {
    const cells = panels(figure.layout);
    cells.sort((a, b) => b.up[1] - a.up[1] || a.across[0] - b.across[0]);
    const old = figure.layout, margin = old.margin || {}, layout = Object.assign({}, old);
    const around = (margin.t || 0) + (margin.b || 60), before = old.height - around;
    const inside = cells.length * PANEL + (cells.length - 1) * BETWEEN;
    layout.height = inside + around;
    cells.forEach(function (cell, k) {
      cell.top = 1 - k * (PANEL + BETWEEN) / inside;
      cell.bottom = Math.max(0, cell.top - PANEL / inside);
      layout[cell.x] = Object.assign({}, old[cell.x], { domain: [0, 1], showticklabels: true });
      layout[cell.y] = Object.assign({}, old[cell.y], { domain: [cell.bottom, cell.top], showticklabels: true });
    });
    const near = (x, y) => cells.reduce(function (a, b) {
      const away = (c) => Math.abs(x - (c.across[0] + c.across[1]) / 2) + Math.abs(y - c.up[1]);
      return away(b) < away(a) ? b : a;
    });
    layout.annotations = (old.annotations || []).map(function (note) {
      if (note.xref !== "paper" || note.yref !== "paper" || note.y < 0) { return note; }
      return Object.assign({}, note, { x: 0.5, xanchor: "center", y: near(note.x, note.y).top });
    });
    if (old.legend && old.legend.y < 0) {
      layout.legend = Object.assign({}, old.legend, { y: old.legend.y * before / inside });
    }
    const data = figure.data.map(function (trace) {
      const cell = cells.find((c) => c.id === (trace.xaxis || "x"));
      const bar = { x: 1.02, len: PANEL / inside, y: (cell.top + cell.bottom) / 2, yanchor: "middle" };
      if (trace.colorbar) { return Object.assign({}, trace, { colorbar: Object.assign({}, trace.colorbar, bar) }); }
      if (!trace.marker || !trace.marker.colorbar) { return trace; }
      const scale = Object.assign({}, trace.marker.colorbar, bar);
      return Object.assign({}, trace, { marker: Object.assign({}, trace.marker, { colorbar: scale }) });
    });
    return { data: data, layout: layout };
  }

  function stacks(figure, room) {
    const columns = new Set(panels(figure.layout).map((cell) => cell.across[0])).size;
    return columns > 1 && room < (columns === 2 ? STACK_TWO : STACK_MORE);
  }

  // ------------------------------------------------------------------ drawing
  // The axis with its title in lines of at most so many letters, and how many lines it has more.
  function wrapped(axis, most) {
    const before = axis.title.text.split("<br>");
    const lines = before.flatMap(function (line) {
      return line.split(" ").reduce(function (done, word) {
        const last = done.length - 1;
        if (last >= 0 && (done[last] + " " + word).length <= most) { done[last] += " " + word; } else { done.push(word); }
        return done;
      }, []);
    });
    const title = Object.assign({}, axis.title, { text: lines.join("<br>") });
    return [Object.assign({}, axis, { title: title }), lines.length - before.length];
  }
  // Titles of horizontal axes are centred on the axis, which shares the room with its labels. Those that a drawn figure
  // cuts off are set in more lines; null if there are none.
  function fitted(place, layout) {
    const frame = place.getBoundingClientRect(), axes = {};
    let added = 0;
    for (const key of Object.keys(layout).filter(isAxis("x"))) {
      const title = place.querySelector(".x" + key.slice(5) + "title"), words = title && title.getBoundingClientRect();
      if (!words || !words.width || (words.left >= frame.left && words.right <= frame.right)) { continue; }
      const middle = (words.left + words.right) / 2, free = 2 * Math.min(middle - frame.left, frame.right - middle);
      const longest = Math.max(...layout[key].title.text.split("<br>").map((line) => line.length));
      const [axis, lines] = wrapped(layout[key], Math.floor(longest * free / words.width));
      axes[key] = axis;
      added = Math.max(added, lines);
    }
    if (!added) { return null; }
    const margin = Object.assign({}, layout.margin, { b: (layout.margin.b || 60) + LINE * added });
    return Object.assign({}, layout, axes, { margin: margin, height: layout.height + LINE * added });
  }
  report.draw = function (place, figure, paper) {
    const room = paper ? (place.closest(".pairs") ? (PAPER - PAPER_GAP) / 2 : PAPER) : place.clientWidth, small = room < NARROW;
    let shown = report.dark() ? inks(figure) : figure;
    if (stacks(shown, room)) { shown = stacked(shown); }
    const inked = report.dark() ? "#e6eaf0" : "#1c2430", line = report.dark() ? "#5b6673" : "#444444";
    const layout = Object.assign({}, shown.layout, {
      template: report.data.template, autosize: true, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: shown.layout.plot_bgcolor || "rgba(0,0,0,0)",
      font: Object.assign({}, shown.layout.font, { color: inked }, small ? { size: 11 } : {}),
    });
    if (small) { layout.margin = Object.assign({}, layout.margin, { l: Math.min(layout.margin.l, 56), r: 12 }); }
    if (paper) {
      const alone = panels(shown.layout).length <= 1;
      Object.assign(layout, { width: room, autosize: false, height: (alone ? LOWER : 1) * layout.height });
    }
    for (const key of Object.keys(layout).filter(isAxis("[xy]"))) {
      const font = Object.assign({}, layout[key].tickfont, { color: inked });
      layout[key] = Object.assign({}, layout[key], { linecolor: line, tickcolor: line, tickfont: font });
    }
    const config = { responsive: true, displayModeBar: false, showTips: false };
    function put(arranged) {
      place.style.height = arranged.height + "px";
      return Plotly.react(place, shown.data, arranged, config);
    }
    let drawn = put(layout);
    for (let better = fitted(place, layout); better; better = fitted(place, better)) { drawn = put(better); }
    return drawn.then(function () {
      place.dataset.drawn = "yes";
      place.dataset.room = report.room(room);
    });
  };
  // Figures are arranged alike in places of the same room.
  report.room = (width) => [STACK_MORE, NARROW, STACK_TWO].filter((limit) => width < limit).length.toString();
  const visible = (place) => !place.closest("details:not([open])") && place.clientWidth > 0;
  report.drawAll = function (paper) {
    swatches();
    const places = Array.from(document.querySelectorAll("[data-figure]")).filter(visible);
    const one = (place) => report.draw(place, report.data.figures[place.dataset.figure], paper);
    // On paper all at once, without waiting: what is not drawn when the event has been handled is not printed.
    if (paper) { places.forEach(one); return Promise.resolve(); }
    return places.reduce((before, place) => before.then(() => one(place)), Promise.resolve());
  };
  // A figure that becomes much narrower or wider is arranged anew; Plotly itself only stretches it.
  report.rearrange = function () {
    document.querySelectorAll("[data-figure]").forEach(function (place) {
      if (visible(place) && place.dataset.drawn && place.dataset.room !== report.room(place.clientWidth)) {
        report.draw(place, report.data.figures[place.dataset.figure]);
      }
    });
  };
})();
