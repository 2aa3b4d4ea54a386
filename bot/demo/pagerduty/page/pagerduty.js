// The page: asks how the account stands, shows anew what changed, and says what a person clicked.
// Where one is stands in the address: `#INCIDENT`, or nothing for the list. A link to an incident leads there.
import { el } from "./dom.js";
import { incident } from "./incident.js";
import { rows, tabs } from "./list.js";

const at = (id) => document.getElementById(id);
const THEMES = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
let whole = null;
let tab = "Open";
const shown = new Map();

function put(node, about, make) {
  const says = JSON.stringify(about);
  if (shown.get(node) === says) return;
  shown.set(node, says);
  node.replaceChildren(...make());
}

async function act(name, body) {
  const headers = { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(`/page/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  } catch {
    at("state").textContent = "The demo has ended.";
    return null;
  }
  if (!answer.ok) at("state").textContent = await answer.text();
  const done = answer.ok ? await answer.json() : null;
  await look();
  return done;
}

function show() {
  if (!whole) return;
  put(at("elsewhere"), whole.elsewhere, () =>
    Object.entries(whole.elsewhere).map(([name, url]) =>
      el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, `Open ${name}`),
    ),
  );
  put(at("what"), whole.suggestions, () => whole.suggestions.map((name) => el("option", {}, name)));
  put(at("me"), whole.me, () => [el("small", {}, "on call "), whole.me]);
  put(at("tabs"), [tab, whole.pages.map((page) => page.status)], () => tabs(whole.pages, tab, choose));
  const minute = Math.floor(Date.now() / 60000); // how long ago something was changes by itself
  put(at("pages"), [tab, minute, whole.pages], () => rows(whole.pages, tab));
  const page = whole.pages.find((each) => each.id === location.hash.slice(1));
  at("list").hidden = Boolean(page);
  at("detail").hidden = !page;
  if (page) showIncident(page);
  document.title = `${page ? `#${page.number} ${page.title}` : "Incidents"} (simulated PagerDuty)`;
  at("state").textContent = whole.says;
}

function showIncident(page) {
  const draft = at("note")?.value ?? ""; // a note that came meanwhile does not take away what is being written
  const [writing, same] = [document.activeElement === at("note"), at("detail").dataset.page === page.id];
  put(at("detail"), page, () => incident(page, act));
  at("detail").dataset.page = page.id;
  if (same && at("note").value !== draft) at("note").value = draft;
  if (same && writing) at("note").focus();
}

function choose(name) {
  tab = name;
  show();
}

function setTheme(theme) {
  localStorage.setItem("pagerduty-theme", theme);
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  at("theme").textContent = THEMES[theme];
}

async function look() {
  try {
    const answer = await fetch("/page/pages");
    if (!answer.ok) at("state").textContent = await answer.text();
    else {
      whole = await answer.json();
      show();
    }
  } catch {
    at("state").textContent = "The demo has ended.";
  }
}

const theme = () => localStorage.getItem("pagerduty-theme") ?? "auto";
at("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  setTheme(names[(names.indexOf(theme()) + 1) % names.length]);
});
at("fire").addEventListener("submit", (event) => {
  event.preventDefault();
  tab = "Open";
  act("fire", { number: at("what").selectedIndex });
});
addEventListener("hashchange", () => {
  show();
  scrollTo(0, 0);
});
setTheme(theme());
const linkedTo = /^\/page\/incidents\/(\w+)$/.exec(location.pathname);
if (linkedTo) history.replaceState(null, "", `/#${linkedTo[1]}`);
else if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", `/${location.hash}`);
await look();
setInterval(() => document.visibilityState === "visible" && look(), 700);
