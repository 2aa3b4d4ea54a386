// The rail and the list of conversations; on a phone, the first pane.
import { avatar, button, el, icon } from "./dom.js";
import { openMenu } from "./menu.js";
import { actAs, store, user } from "./store.js";

const THEMES = { auto: "Like the system", light: "Light", dark: "Dark" };

export function setTheme(theme) {
  localStorage.setItem("theme", theme);
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const signs = new Map();

// Made anew only when something in it changed, so that whoever tabs through it is not thrown out.
function isSame(node, ...about) {
  const sign = JSON.stringify(about);
  const known = signs.get(node);
  signs.set(node, sign);
  return known === sign;
}

export function showRail(node) {
  if (isSame(node, store.me, store.whole.users)) return;
  const me = user(store.whole.me);
  node.replaceChildren(
    el(
      "span",
      { class: "team", title: `${store.whole.team} (simulated: nothing leaves this machine)` },
      store.whole.team[0],
    ),
    el("a", { class: "rail-item", href: "#", "aria-label": "Home" }, icon("home", 20), el("span", {}, "Home")),
    el("a", { class: "rail-item", href: `#${direct()?.id ?? ""}` }, icon("message", 20), el("span", {}, "DMs")),
    el("span", { class: "gap" }),
    themeButton(),
    personButton(me),
  );
}

function themeButton() {
  const node = button(
    {
      class: "rail-item",
      "aria-label": "Theme",
      onclick: () => openMenu(node, [{ options }], setTheme, { chosen: [now] }),
    },
    icon("theme", 20),
    el("span", {}, "Theme"),
  );
  const now = localStorage.getItem("theme") ?? "auto";
  const options = Object.entries(THEMES).map(([value, label]) => ({ value, label }));
  return node;
}

function personButton(me) {
  const people = Object.values(store.whole.users).filter((each) => !each.is_bot);
  const options = people.map((each) => ({
    value: each.name,
    label: each.real_name,
    hint: each.is_guest ? "guest" : each.name,
    face: avatar(each, 24),
  }));
  const node = button(
    {
      class: "person",
      "aria-label": `You are ${me.real_name}; act as somebody else`,
      title: "Act as…",
      onclick: () => openMenu(node, [{ label: "Act as", options }], actAs, { chosen: [me.name] }),
    },
    avatar(me, 36),
  );
  return node;
}

const direct = () =>
  store.whole.channels.find(
    (each) => each.person === store.whole.me || (each.is_direct && each.members.includes(store.whole.me)),
  );

export function showSidebar(node, place) {
  const { channels, bot } = store.whole;
  if (isSame(node, store.me, channels, store.whole.users, [...store.unread], place)) return;
  const item = (each, label, face) =>
    el(
      "a",
      {
        class: `item${place.channel === each.id ? " here" : ""}${store.unread.has(each.id) ? " unread" : ""}`,
        href: `#${each.id}`,
        data: { channel: each.id },
        "aria-current": place.channel === each.id ? "page" : undefined,
      },
      face,
      el("span", {}, label),
    );
  const me = user(store.whole.me);
  node.replaceChildren(
    el(
      "header",
      {},
      el("h1", {}, store.whole.team),
      el("span", { class: "simulated" }, "simulated"),
      el("span", { class: "gap phone" }),
      el("span", { class: "phone" }, themeButton()),
      el("span", { class: "phone" }, personButton(me)),
    ),
    el("div", { class: "acting" }, "Acting as ", el("b", {}, me.real_name)),
    el("h2", {}, icon("down", 14), "Channels"),
    ...channels
      .filter((each) => !each.is_direct)
      .map((each) => item(each, each.name, icon(each.is_private ? "lock" : "hash", 16))),
    el("h2", {}, icon("down", 14), "Direct messages"),
    ...channels.filter((each) => each.is_direct).map((each) => item(each, user(bot).real_name, avatar(user(bot), 20))),
    el("h2", {}, icon("down", 14), "Apps"),
    el(
      "a",
      { class: `item${place.home ? " here" : ""}`, href: "#home", data: { channel: "home" } },
      avatar(user(bot), 20),
      el("span", {}, `${user(bot).real_name} home`),
    ),
  );
}
