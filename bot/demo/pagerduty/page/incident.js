// One incident: what it is about, what can be done with it, its alerts, its notes and all that happened, newest first.
import { button, el, linked, named, pill, when } from "./dom.js";

const OFFERED = { triggered: ["acknowledge", "resolve"], acknowledged: ["resolve"], resolved: ["reopen"] };
const SAID = {
  triggered: "triggered this incident",
  acknowledged: "acknowledged it",
  resolved: "resolved it",
  reopened: "reopened it",
  annotated: "added a note",
};

export function incident(page, act) {
  const acts = OFFERED[page.status].map((name, at) =>
    button(named(name), () => act(name, { page: page.id }), at ? "" : "primary"),
  );
  return [
    el("a", { class: "back", href: "#" }, "‹ Incidents"),
    el(
      "div",
      { class: "summary" },
      el("div", { class: "meta" }, pill(page.status), el("span", {}, `Incident #${page.number}`)),
      el("h1", {}, page.title),
      el("div", { class: "acts" }, ...acts),
    ),
    facts([
      ["Service", page.service],
      ["Urgency", named(page.urgency)],
      ["Opened", when(page.created_at)],
      ["Assigned to", page.assigned_to || "nobody"],
      ["Acknowledged by", page.acknowledged_by || "nobody"],
    ]),
    el("div", { class: "columns" }, timeline(page, act), alerts(page)),
  ];
}

const facts = (rows) =>
  el("dl", { class: "facts" }, ...rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

function timeline(page, act) {
  const notes = new Map(page.notes.map((note) => [note.id, note]));
  return el(
    "section",
    { class: "timeline" },
    el("h2", {}, "Notes and timeline"),
    noteForm(page, act),
    el("ol", {}, ...[...page.log].reverse().map((happened) => entry(happened, notes.get(happened.note)))),
  );
}

function entry(happened, note) {
  return el(
    "li",
    { class: happened.kind },
    el(
      "div",
      { class: "told" },
      el("b", {}, happened.by || "Somebody"),
      ` ${SAID[happened.kind] ?? happened.kind}`,
      note?.edited ? " (edited)" : null,
      " · ",
      when(happened.at),
    ),
    note ? el("pre", { class: "note" }, ...linked(note.content)) : null,
  );
}

function noteForm(page, act) {
  const words = el("textarea", { id: "note", rows: 2, placeholder: "Add a note", "aria-label": "Note", maxlength: 10000 });
  const send = async (event) => {
    event.preventDefault();
    if (words.value.trim() && (await act("note", { page: page.id, content: words.value }))) words.value = "";
  };
  return el("form", { class: "write", onsubmit: send }, words, el("button", { type: "submit" }, "Add note"));
}

function alerts(page) {
  const more = page.alerts - page.signals.length;
  return el(
    "section",
    { class: "alerts" },
    el("h2", {}, `Alerts (${page.alerts})`),
    ...page.signals.map((signal) =>
      el(
        "article",
        {},
        el("div", { class: "meta" }, el("span", { class: `severity ${signal.severity}` }, named(signal.severity)), pill(signal.status)),
        el("p", {}, signal.summary),
        facts(Object.entries(signal.details)),
      ),
    ),
    more > 0 ? el("p", { class: "soft" }, `and ${more} more`) : null,
  );
}
