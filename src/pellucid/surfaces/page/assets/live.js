"use strict";
// In the head of a page that is served: asks the server for its version, and loads the page again when there is a newer
// one. What the reader does survives: scroll position, theme, fields, opened details and focus.
(function () {
  const EVERY = 2000, SLOW = 15000, PATIENCE = 10000;
  // Milliseconds without any act of the reader before the page may be loaded again; longer while a field has the focus.
  const IDLE = 1500, IDLE_IN_FIELD = 8000;
  const READER = "pellucid:reader", PAUSED = "pellucid:paused";
  const FIELDS = "input[id], select[id], textarea[id]", ACTS = ["keydown", "input", "pointerdown", "wheel", "touchmove"];
  const root = document.documentElement;
  const version = Number(document.querySelector('meta[name="version"]').content);

  // A browser that stores nothing for this page still shows it.
  function stored(name) { try { return sessionStorage.getItem(name); } catch (error) { return null; } }
  function store(name, value) {
    try {
      if (value === null) { sessionStorage.removeItem(name); } else { sessionStorage.setItem(name, value); }
    } catch (error) { /* See above. */ }
  }

  // ------------------------------------------------------------------ what the reader does
  const preferred = function () { return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"; };
  const all = function (selector) { return Array.from(document.querySelectorAll(selector)); };
  const named = function (details) { return details.id || details.firstElementChild.textContent; };
  const ticks = function (field) { return field.type === "checkbox" || field.type === "radio"; };
  // Only what the reader has changed is kept: a default may be another one on the next page.
  function changed(field) {
    if (ticks(field)) { return field.checked !== field.defaultChecked; }
    if (field.tagName !== "SELECT") { return field.value !== field.defaultValue; }
    const chosen = field.options[field.selectedIndex];
    return Boolean(chosen) && !chosen.defaultSelected;
  }
  function place() {
    const parts = all("main > [id]").filter(function (part) { return part.getBoundingClientRect().top <= 1; });
    const part = parts[parts.length - 1];
    return part ? { id: part.id, top: part.getBoundingClientRect().top } : { id: "", top: -window.scrollY };
  }
  function save() {
    const fields = all(FIELDS).filter(changed), active = document.activeElement;
    store(READER, JSON.stringify({
      theme: root.dataset.theme === preferred() ? "" : root.dataset.theme,
      fields: fields.map(function (field) { return [field.id, ticks(field) ? field.checked : field.value]; }),
      details: all("details").map(function (details) { return [named(details), details.open]; }),
      place: place(),
      focus: active ? active.id : "",
      caret: active && active.type === "text" ? [active.selectionStart, active.selectionEnd] : null,
    }));
  }
  function restorePlace(place) {
    const part = place.id ? document.getElementById(place.id) : root;
    if (part) { window.scrollBy({ top: part.getBoundingClientRect().top - place.top, behavior: "instant" }); }
  }
  function restoreDetails(pairs) {
    const wanted = new Map(pairs);
    all("details").forEach(function (each) { if (wanted.has(named(each))) { each.open = wanted.get(named(each)); } });
  }
  function restoreFields(pairs) {
    pairs.forEach(function (pair) {
      const field = document.getElementById(pair[0]);
      if (!field) { return; }
      if (ticks(field)) {
        field.checked = pair[1];
      } else if (field.tagName !== "SELECT" || Array.from(field.options).some(function (option) { return option.value === pair[1]; })) {
        field.value = pair[1];
      } else { return; }
      ["input", "change"].forEach(function (name) { field.dispatchEvent(new Event(name, { bubbles: true })); });
    });
  }
  function restoreFocus(reader) {
    const element = reader.focus && document.getElementById(reader.focus);
    if (!element) { return; }
    element.focus({ preventScroll: true });
    if (reader.caret && element.type === "text") { element.setSelectionRange(reader.caret[0], reader.caret[1]); }
  }

  let acted = -Infinity, pressed = false;
  ACTS.forEach(function (name) {
    // Scripts cause events too, which are not trusted.
    window.addEventListener(name, function (event) { if (event.isTrusted) { acted = performance.now(); } }, { capture: true, passive: true });
  });
  window.addEventListener("pointerdown", function () { pressed = true; }, true);
  ["pointerup", "pointercancel", "blur"].forEach(function (name) {
    window.addEventListener(name, function () { pressed = false; }, true);
  });
  function busy() {
    const active = document.activeElement, field = active && active.matches("input, select, textarea");
    const selected = window.getSelection();
    if (pressed || (selected && !selected.isCollapsed)) { return true; }
    return performance.now() - acted < (field ? IDLE_IN_FIELD : IDLE);
  }

  // ------------------------------------------------------------------ the line in the header
  const line = document.createElement("p"), words = document.createElement("span");
  const notice = document.createElement("span"), button = document.createElement("button");
  line.id = "live";
  line.className = "soft";
  notice.className = "doubt";
  // Only what is out of the ordinary is read out: not every renewal.
  notice.setAttribute("role", "status");
  button.id = "pause";
  button.type = "button";
  line.append(words, " ", notice, " ", button);
  // The same height with and without the button, so that what is below never moves.
  Object.assign(line.style, { width: "100%", margin: "0", minHeight: "2rem" });
  Object.assign(button.style, { padding: "0 8px", marginLeft: "4px" });
  const clock = function (milliseconds) { return new Date(milliseconds).toLocaleTimeString([], { hourCycle: "h23" }); };
  const counted = function (n) { return n + (n === 1 ? " trial" : " trials"); };
  let paused = stored(PAUSED) === "yes";
  function say(element, text) { if (element.textContent !== text) { element.textContent = text; } }
  // What the server said last; null if it does not answer. `waits`: how many times a newer page was not loaded.
  let latest = null, waits = 0;
  function span(milliseconds) {
    const seconds = Math.round(milliseconds / 1000), minutes = Math.round(seconds / 60), hours = Math.round(minutes / 60);
    return seconds < 60 ? seconds + " s" : minutes < 60 ? minutes + " min" : hours + " h";
  }
  function situation() {
    if (latest.version === version) {
      const from = counted(latest.trials);
      if (!latest.whole) { return from + "; the answers are being computed, since " + span(latest.computing) + "."; }
      const now = latest.now ? "; " + latest.now + " now" + (latest.computing ? ", the next page is being computed" : "") : "";
      return "computed " + span(latest.age) + " ago from " + from + now + ".";
    }
    return "a page with " + counted(latest.trials) + " is waiting" + (paused ? "." : " until you have finished typing or selecting.");
  }
  function show() {
    say(button, paused ? "Go on" : "Pause");
    button.hidden = latest === null;
    if (latest === null) { return; }
    // A reader who is busy for a moment need not be told.
    if (latest.version === version || paused || waits > 1) { say(words, (paused ? "Paused: " : "Live: ") + situation()); }
    const problem = latest.problem ? "Not renewed since " + clock(latest.since) + ": " + latest.problem + " The command goes on trying." : "";
    say(notice, problem);
  }
  function gone() {
    latest = null;
    say(words, "");
    say(notice, "Not live any more: the command has ended; this page stays as it is.");
    show();
  }
  button.addEventListener("click", function () {
    paused = !paused;
    store(PAUSED, paused ? "yes" : null);
    show();
    next(0);
  });
  window.addEventListener("beforeprint", function () { line.hidden = true; });
  window.addEventListener("afterprint", function () { line.hidden = false; });

  // ------------------------------------------------------------------ asking
  let timer = 0, leaving = false;
  function next(wait) {
    window.clearTimeout(timer);
    if (!document.hidden && !leaving) { timer = window.setTimeout(ask, wait); }
  }
  function ask() {
    fetch("/state", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) }).then(function (answer) {
      if (!answer.ok) { throw new Error(answer.statusText); }
      return answer.json();
    }).then(function (state) {
      latest = state;
      // Version 0: the command was started again and has no page yet.
      const newer = state.version !== 0 && state.version !== version;
      if (newer && !paused && !busy()) { return renew(); }
      waits = newer ? waits + 1 : 0;
      if (state.version !== 0) { show(); }
      next(EVERY);
    }).catch(function () { if (!leaving) { gone(); next(SLOW); } });
  }
  function renew() {
    leaving = true;
    save();
    history.scrollRestoration = "manual";
    location.reload();
  }
  document.addEventListener("visibilitychange", function () { next(0); });

  // ------------------------------------------------------------------ after a renewal
  const reader = JSON.parse(stored(READER) || "null");
  store(READER, null);
  if (reader && reader.theme) { root.dataset.theme = reader.theme; }
  // The old page stays on the screen until this one is at the same place.
  if (reader) { root.style.visibility = "hidden"; }
  // From now on the browser keeps the place if the reader loads the page again.
  window.addEventListener("load", function () { window.setTimeout(function () { history.scrollRestoration = "auto"; }); });
  document.addEventListener("DOMContentLoaded", function () {
    const header = document.querySelector("header");
    header.insertBefore(line, header.querySelector(":scope > nav"));
    show();
    if (reader) {
      restoreDetails(reader.details);
      restorePlace(reader.place);
    }
    root.style.visibility = "";
    const drawn = new MutationObserver(begin);
    function begin() {
      if (document.body.dataset.ready !== "yes") { return; }
      drawn.disconnect();
      if (reader) {
        restoreFields(reader.fields);
        // Scripts may have added something since, and the reader may have gone on.
        if (acted < 0) { restoreDetails(reader.details); restorePlace(reader.place); restoreFocus(reader); }
      }
      next(0);
    }
    drawn.observe(document.body, { attributes: true, attributeFilter: ["data-ready"] });
    begin();
  });
})();
