"use strict";
// All trials: a table that can be sorted and filtered, and configurations to copy.
(function () {
  const ROW = 30, AROUND = 12;
  const columns = [];
  let rows = [], sorted = { column: 0, down: false }, position = new Map();
  const filter = document.getElementById("filter"), place = document.getElementById("table");

  report.text = function (parent, name, content) {
    const element = document.createElement(name);
    element.textContent = report.printable(content);
    parent.appendChild(element);
    return element;
  };
  report.hasTrial = (number) => position.has(number);

  // ------------------------------------------------------------------ values
  const digits = (x) => (Number.isInteger(x) && Math.abs(x) < 1e15 ? String(x) : String(Number(x.toPrecision(5))));
  const missing = (value) => value === null || value === undefined;
  function shown(column, i) {
    const value = column.values[i];
    if (missing(value)) { return ""; }
    if (column.kind === "choice") { return column.choices[value][0]; }
    return typeof value === "number" ? digits(value) : value;
  }
  function literal(column, i, language) {
    const value = column.values[i];
    if (column.kind === "choice") { return column.choices[value][{ python: 1, json: 2, flags: 3 }[language]]; }
    const number = String(value);
    return column.kind === "float" && !/[.e]/.test(number) ? number + ".0" : number;
  }
  // The parameters of a trial, as pairs of a name and what `as` makes of the column and the trial's row.
  report.settings = function (number, as) {
    const i = position.get(number);
    const given = columns.filter((column) => column.parameter && !missing(column.values[i]));
    return given.map((column) => [column.name, (as || shown)(column, i)]);
  };
  // A name between the quotes of `$'...'` cannot end the paste of a terminal.
  const hostile = (word) => "$'" + report.printable(word.replace(/[\\']/g, "\\$&")) + "'";
  const plain = (word) => (/^[A-Za-z0-9_.\/:=+@%,-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\"'\"'") + "'");
  const quoted = (word) => (report.printable(word) === word ? plain(word) : hostile(word));
  const key = (name) => JSON.stringify(name).replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (letter) => "\\u" + letter.charCodeAt(0).toString(16).padStart(4, "0"));
  report.configuration = function (number, language) {
    const pairs = report.settings(number, (column, i) => literal(column, i, language));
    if (language === "flags") { return pairs.map(([name, value]) => quoted("--" + name + "=" + value)).join(" "); }
    const lines = pairs.map(([name, value]) => "    " + key(name) + ": " + value).join(",\n");
    return language === "python" ? "params = {\n" + lines + ",\n}" : "{\n" + lines + "\n}";
  };

  // ------------------------------------------------------------------ copying
  function copy(content) {
    if (navigator.clipboard && window.isSecureContext) { return navigator.clipboard.writeText(content); }
    const area = document.body.appendChild(document.createElement("textarea"));
    area.value = content;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("refused"));
  }
  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-copy]");
    if (!button || !report.data) { return; }
    const number = Number(button.dataset.trial || document.getElementById("trial").value);
    const said = button.parentElement.querySelector(".copied");
    copy(report.configuration(number, button.dataset.copy)).then(
      function () { said.textContent = "Copied trial " + number + "."; },
      function () { said.textContent = "The browser does not allow copying here."; },
    );
  });

  // ------------------------------------------------------------------ sorting and filtering
  const tests = {
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
    "=": (a, b) => a === b, "!=": (a, b) => a !== b,
  };
  function named(name) {
    const lower = name.toLowerCase();
    return columns.find((column) => column.name === name) || columns.find((column) => column.name.toLowerCase() === lower);
  }
  function comparison(column, sign, value) {
    const number = Number(value), bare = value.replace(/^['"]|['"]$/g, "").toLowerCase();
    return function (i) {
      const cell = column.values[i];
      if (missing(cell)) { return false; }
      const words = column.kind === "choice" ? column.choices[cell][3] : String(cell);
      const both = !isNaN(number) && words.trim() !== "" && !isNaN(Number(words));
      return both ? tests[sign](Number(words), number) : tests[sign](words.toLowerCase(), bare);
    };
  }
  // "depth > 5 model=tree fast": comparisons of columns, and words that any cell contains.
  function conditions(wanted) {
    const found = [];
    const left = wanted.replace(/([^\s<>=!]+)\s*(<=|>=|!=|=|<|>)\s*(\S+)/g, function (all, name, sign, value) {
      const column = named(name);
      if (!column) { return all; }
      found.push(comparison(column, sign, value));
      return " ";
    });
    left.trim().toLowerCase().split(/\s+/).filter(Boolean).forEach(function (word) {
      found.push((i) => columns.some((column) => shown(column, i).toLowerCase().includes(word)));
    });
    return found;
  }
  function arrange() {
    const wanted = conditions(filter.value), all = report.data.table.numbers.length;
    rows = report.data.table.numbers.map((_, i) => i).filter((i) => wanted.every((holds) => holds(i)));
    const column = columns[sorted.column], turn = sorted.down ? -1 : 1;
    // Infinities are texts in a column of numbers.
    const keys = column.values.map(function (value, i) {
      if (missing(value)) { return null; }
      return column.kind === "choice" ? shown(column, i) : column.kind === "text" ? value : Number(String(value).replace("inf", "Infinity"));
    });
    rows.sort(function (a, b) {
      const x = keys[a], y = keys[b];
      if (x === null || y === null) { return (x === null) - (y === null) || a - b; }
      return turn * (x < y ? -1 : x > y ? 1 : 0) || a - b;
    });
    document.getElementById("count").textContent = (rows.length === all ? all : rows.length + " of " + all) + (all === 1 ? " trial" : " trials");
    place.scrollTop = 0;
    fill();
  }
  function gap(body, count) {
    const row = body.appendChild(document.createElement("tr"));
    row.style.height = count * ROW + "px";
    row.setAttribute("aria-hidden", "true");
  }
  // Only the rows in view exist, so that thousands of trials scroll without lag.
  function fill() {
    const body = document.getElementById("rows"), best = new Set(report.data.table.best);
    const from = Math.max(0, Math.floor(place.scrollTop / ROW) - AROUND);
    const to = Math.min(rows.length, from + Math.ceil((place.clientHeight || 460) / ROW) + 2 * AROUND);
    body.textContent = "";
    if (from > 0) { gap(body, from); }
    rows.slice(from, to).forEach(function (i) {
      const row = body.appendChild(document.createElement("tr")), number = report.data.table.numbers[i];
      if (best.has(number)) { row.className = "best"; }
      columns.forEach(function (column, j) {
        const words = shown(column, i), cell = report.text(row, "td", j ? words : "");
        if (j === 0) { report.text(cell, "a", words).href = "#trial-" + number; }
        if (words.length > 18) { cell.title = report.printable(words); }
      });
    });
    if (to < rows.length) { gap(body, rows.length - to); }
  }
  function titles() {
    const head = document.getElementById("titles");
    columns.forEach(function (column, j) {
      const cell = report.text(head, "th", ""), button = report.text(cell, "button", column.name);
      cell.scope = "col";
      button.type = "button";
      button.addEventListener("click", function () {
        sorted = { column: j, down: sorted.column === j && !sorted.down };
        mark();
        arrange();
      });
    });
    mark();
  }
  function mark() {
    Array.from(document.getElementById("titles").children).forEach(function (cell, j) {
      cell.setAttribute("aria-sort", j !== sorted.column ? "none" : sorted.down ? "descending" : "ascending");
    });
  }

  report.startTable = function () {
    const table = report.data.table;
    position = new Map(table.numbers.map((number, i) => [number, i]));
    columns.push({ name: "trial", kind: "number", values: table.numbers }, ...table.columns);
    if (!filter) { return; }
    titles();
    arrange();
    let asked = 0, waiting = false;
    filter.addEventListener("input", function () { clearTimeout(asked); asked = setTimeout(arrange, 80); });
    place.addEventListener("scroll", function () {
      if (!waiting) { waiting = true; requestAnimationFrame(function () { waiting = false; fill(); }); }
    }, { passive: true });
  };
})();
