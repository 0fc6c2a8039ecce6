// Comfort for those who have scripts: results without a new page, threads that open in place, bands that light up.
"use strict";

const status = document.getElementById("status");

function say(text) {
  status.textContent = text;
}

async function fetched(url, options) {
  const response = await fetch(url, { ...options, headers: { Accept: "text/html" } });
  if (!(response.headers.get("content-type") || "").startsWith("text/html")) throw new Error("no page");
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Work that takes more than a second says so, with its time limit and a button that stops it. Returns what ends that.
const slow = document.getElementById("slow");
function slowly(stop) {
  const note = document.createElement("span");
  const button = document.createElement("button");
  const timer = setTimeout(() => slow.append(note), 1000);
  const ended = () => {
    clearTimeout(timer);
    note.remove();
  };
  button.type = "button";
  button.textContent = "Stop";
  button.addEventListener("click", () => {
    ended();
    stop();
    say("Stopped");
  });
  note.append(`This takes a while; the time limit is ${slow.dataset.seconds} seconds. `, button);
  return ended;
}

// A search replaces the results in the page; the address and the Back button are those of a new page.
// Only the last one that was sent does: it ends the one before, whose answer would be older.
let searching = null;
async function search(url) {
  if (searching) searching.abort();
  const mine = new AbortController();
  searching = mine;
  const found = document.getElementById("found");
  const ended = slowly(() => mine.abort());
  found.setAttribute("aria-busy", "true");
  say("Searching");
  try {
    const page = await fetched(url, { signal: mine.signal });
    if (searching !== mine) return;
    if (!page.getElementById("found")) throw new Error("no results");
    history.pushState(null, "", url);
    shownPath = pathOf(location);
    replaced(page);
  } catch {
    if (searching === mine && !mine.signal.aborted) location.assign(url);
  } finally {
    ended();
    if (searching === mine) {
      searching = null;
      found.removeAttribute("aria-busy");
    }
  }
}

function replaced(page) {
  for (const part of ["h1", "#notice", "#found", "footer"]) {
    const fresh = page.querySelector(part);
    const old = document.querySelector(part);
    if (fresh && old) old.replaceWith(document.adoptNode(fresh));
  }
  document.title = page.title;
  prepare(document.getElementById("found"));
  const problem = document.querySelector(".problem");
  const verdict = document.querySelector(".verdict");
  const title = document.getElementById("results-title");
  say(problem ? "" : [title, verdict].filter(Boolean).map((one) => one.textContent).join(". "));
  const target = problem ? document.getElementById("q") : document.getElementById("results");
  if (target) target.focus({ preventScroll: Boolean(problem) });
}

function addressOf(form) {
  const fields = [...new FormData(form)].filter(([, value]) => value !== "");
  return `${form.getAttribute("action")}?${new URLSearchParams(fields)}`;
}

const pathOf = (place) => place.pathname + place.search;
let shownPath = pathOf(location);

let left = () => {};
addEventListener("submit", (event) => {
  if (event.target.id === "search") {
    event.preventDefault();
    search(addressOf(event.target));
  } else {
    left();
    left = slowly(() => window.stop());
  }
});
// A link that searches does so, too: all links of the content, since a page that comes at once says nothing.
addEventListener("click", (event) => {
  const link = event.target.closest("main a[href]");
  const elsewhere = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || elsewhere || event.defaultPrevented || link.origin !== location.origin) return;
  if (link.hash && pathOf(link) === pathOf(location)) return;
  left();
  left = slowly(() => window.stop());
});
addEventListener("pageshow", () => left()); // a page that comes back waits for nothing
if (document.getElementById("search")) {
  addEventListener("popstate", () => {
    if (pathOf(location) !== shownPath) location.reload(); // not for a link within the page
  });
}

// A hit opens in place.
async function open(details) {
  if (!details.open || details.dataset.loaded) return;
  details.dataset.loaded = "yes";
  const place = details.querySelector(".loaded");
  const stopped = new AbortController();
  const ended = slowly(() => stopped.abort());
  place.setAttribute("aria-busy", "true");
  say("Loading");
  try {
    const thread = details.dataset.form && document.getElementById(details.dataset.form);
    const posted = thread && { method: "POST", body: new URLSearchParams([...new FormData(thread)]) };
    const page = await fetched(details.dataset.src, { ...posted, signal: stopped.signal });
    const text = page.getElementById("document");
    if (!text) throw new Error("no document");
    shown(text, place);
    say("Loaded");
  } catch {
    delete details.dataset.loaded;
    say("This text could not be loaded; open it as a page.");
    if (stopped.signal.aborted) details.open = false;
  }
  ended();
  place.removeAttribute("aria-busy");
}

// The page of a document within another page: its headings are two levels deeper, and its ids are its own.
let opened = 0;
function shown(text, place) {
  opened += 1;
  for (const one of text.querySelectorAll("h1, .facts, .compared, #document > .actions")) one.remove();
  for (const heading of [...text.querySelectorAll("h3, h2")]) {
    const lower = document.createElement(`h${Number(heading.tagName[1]) + 2}`);
    if (heading.id) lower.id = heading.id;
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
  text.removeAttribute("id");
  for (const one of text.querySelectorAll("[id]")) one.id += `-${opened}`;
  for (const one of text.querySelectorAll("section")) one.removeAttribute("aria-labelledby"); // no landmark of its own
  place.append(document.adoptNode(text));
  prepare(place);
}

// A word or a band that is pointed at lights up with what belongs to it.
function lights(diagram) {
  diagram.addEventListener("pointerover", (event) => {
    const one = event.target.closest("[data-source], [data-target]");
    diagram.classList.toggle("dimmed", Boolean(one));
    if (!one) return;
    for (const band of diagram.querySelectorAll(".band")) {
      const same = (name) => !(name in one.dataset) || one.dataset[name] === band.dataset[name];
      band.classList.toggle("lit", same("source") && same("target"));
    }
  });
  diagram.addEventListener("pointerleave", () => diagram.classList.remove("dimmed"));
}

function prepare(root) {
  for (const details of root.querySelectorAll("details[data-src]")) {
    details.addEventListener("toggle", () => open(details));
  }
  root.querySelectorAll(".diagram").forEach(lights);
}

// Escape closes what is open around the focus.
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  const details = document.activeElement && document.activeElement.closest("details[open]");
  if (!details) return;
  details.open = false;
  details.querySelector("summary").focus();
});

prepare(document);

// In a comparison, a marked run and its counterparts light up together; without scripts, links lead to them.
function light(event) {
  const place = event.target.closest?.(".beside a.c");
  const flows = place ? [...place.classList].filter((name) => /^f\d+$/.test(name)) : [];
  for (const one of document.querySelectorAll(".c.lit")) one.classList.remove("lit");
  for (const flow of flows) {
    for (const one of document.getElementsByClassName(flow)) one.classList.add("lit");
  }
}
document.addEventListener("pointerover", light);
document.addEventListener("focusin", light);
