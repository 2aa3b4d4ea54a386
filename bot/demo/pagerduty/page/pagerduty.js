// The page: asks what stands there, shows it anew where it changed, and says what a person clicked.
const pages = document.getElementById("pages");
const what = document.getElementById("what");
const state = document.getElementById("state");
const shown = new Map();

function made(name, text, className) {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  if (className) element.className = className;
  return element;
}

async function act(name, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`/page/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) state.textContent = await answer.text();
  await look();
}

function card(page) {
  const article = made("article");
  article.append(made("h2", `#${page.number} ${page.title}`));
  const line = made("p");
  line.append(made("strong", page.status, page.status), made("span", ` · ${page.service} · ${page.alerts} alert${page.alerts === 1 ? "" : "s"}`));
  article.append(line);
  for (const note of page.notes) {
    article.append(made("p", `Note by ${note.by}${note.edited ? ", edited" : ""}:`), made("pre", note.content));
  }
  const acts = made("div", "", "acts");
  const offered = page.status === "resolved" ? ["reopen"] : page.status === "triggered" ? ["acknowledge", "resolve"] : ["resolve"];
  for (const name of offered) {
    const button = made("button", name[0].toUpperCase() + name.slice(1));
    button.type = "button";
    button.addEventListener("click", () => act(name, { page: page.id }));
    acts.append(button);
  }
  article.append(acts);
  return article;
}

function show(whole) {
  if (what.options.length !== whole.suggestions.length) {
    what.replaceChildren(...whole.suggestions.map((name) => made("option", name)));
  }
  state.textContent = whole.says;
  for (const page of [...whole.pages].reverse()) {
    const says = JSON.stringify(page);
    const before = shown.get(page.id);
    if (before?.says === says) continue;
    const element = card(page);
    if (before) before.element.replaceWith(element);
    else pages.prepend(element);
    shown.set(page.id, { says, element });
  }
}

async function look() {
  try {
    const answer = await fetch("/page/pages");
    if (answer.ok) show(await answer.json());
    else state.textContent = await answer.text();
  } catch {
    state.textContent = "The demo has ended.";
  }
}

document.getElementById("fire").addEventListener("submit", (event) => {
  event.preventDefault();
  act("fire", { number: what.selectedIndex });
});
if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", "/");
await look();
setInterval(() => document.visibilityState === "visible" && look(), 700);
