// The list of incidents, by how they stand; a row leads to its incident.
import { ago, button, el, pill } from "./dom.js";

const TABS = {
  Open: (page) => page.status !== "resolved",
  Triggered: (page) => page.status === "triggered",
  Acknowledged: (page) => page.status === "acknowledged",
  Resolved: (page) => page.status === "resolved",
  All: () => true,
};

export function tabs(pages, chosen, choose) {
  return Object.entries(TABS).map(([name, of]) => {
    const node = button(`${name} ${pages.filter(of).length}`, () => choose(name), "tab");
    node.setAttribute("role", "tab");
    node.setAttribute("aria-selected", String(name === chosen));
    return node;
  });
}

export function rows(pages, chosen) {
  const found = pages.filter(TABS[chosen]);
  if (!found.length) {
    const fire = "All quiet. Fire an alert above: the bot reads its node and writes a note here.";
    const none = chosen === "Open" || chosen === "All" ? fire : `No incident is ${chosen.toLowerCase()}.`;
    return [el("p", { class: "none" }, none)];
  }
  return found.map((page) =>
    el(
      "a",
      { class: `row ${page.status}`, href: `#${page.id}` },
      pill(page.status),
      el(
        "span",
        { class: "what" },
        el("b", {}, page.title),
        el("small", {}, `#${page.number} · ${page.service} · ${counted(page.alerts, "alert")}${notes(page)}`),
      ),
      el("span", { class: "who" }, page.acknowledged_by || page.assigned_to),
      el("time", { datetime: page.created_at }, ago(page.created_at)),
    ),
  );
}

const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
const notes = (page) => (page.notes.length ? ` · ${counted(page.notes.length, "note")}` : "");
