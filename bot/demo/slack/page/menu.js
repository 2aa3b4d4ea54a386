// Menus and small questions that lie above the page.
import { avatar, button, el, icon } from "./dom.js";
import { plainText, textObject } from "./mrkdwn.js";
import { store } from "./store.js";

export function openMenu(
  anchor,
  groups,
  onPick,
  { searchable = false, chosen = [], multiple = false } = {},
) {
  const picked = new Set(chosen);
  const list = el("div", { class: "menu-list", role: "listbox" });
  const search =
    searchable ? el("input", { class: "menu-search", placeholder: "Search", "aria-label": "Search" }) : null;
  const menu = el("div", { class: "menu", popover: "auto" }, search, list);
  let active = 0;

  function fill() {
    const wanted = (search?.value ?? "").trim().toLowerCase();
    list.replaceChildren();
    for (const group of groups) {
      const found = group.options.filter((each) => each.label.toLowerCase().includes(wanted));
      if (group.label && found.length) list.append(el("div", { class: "menu-group" }, group.label));
      for (const option of found) list.append(row(option));
    }
    if (!list.children.length) list.append(el("div", { class: "menu-none" }, "No results"));
    move(0);
  }

  function row(option) {
    const isChosen = picked.has(option.value);
    return button(
      {
        class: "menu-row",
        role: "option",
        "aria-selected": String(isChosen),
        data: { value: option.value },
        onclick: () => pick(option),
      },
      option.face ?? null,
      el(
        "span",
        { class: "menu-words" },
        el("span", {}, option.label),
        option.hint ? el("small", {}, option.hint) : null,
      ),
      isChosen ? icon("check", 16) : null,
    );
  }

  function pick(option) {
    if (!multiple) {
      close();
      onPick(option.value, option.label);
      return;
    }
    if (!picked.delete(option.value)) picked.add(option.value);
    onPick([...picked]);
    fill();
  }

  function move(by) {
    const rows = [...list.querySelectorAll(".menu-row")];
    active = Math.max(0, Math.min(rows.length - 1, by === 0 ? 0 : active + by));
    rows.forEach((each, at) => each.classList.toggle("active", at === active));
    rows[active]?.scrollIntoView({ block: "nearest" });
  }

  function close() {
    if (menu.isConnected) menu.hidePopover();
  }

  menu.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter") list.querySelectorAll(".menu-row")[active]?.click();
    else return;
    event.preventDefault();
  });
  menu.addEventListener("toggle", (event) => event.newState === "closed" && menu.remove());
  search?.addEventListener("input", fill);
  fill();
  (anchor.closest("dialog") ?? document.body).append(menu);
  menu.showPopover();
  place(menu, anchor);
  (search ?? list.querySelector(".menu-row"))?.focus();
}

function place(menu, anchor) {
  if (!anchor.isConnected) return; // its message was drawn anew meanwhile: the menu stays where it is
  const box = anchor.getBoundingClientRect();
  const height = menu.offsetHeight;
  const below = box.bottom + 4 + height < innerHeight;
  menu.style.left = `${Math.max(8, Math.min(box.left, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${below ? box.bottom + 4 : Math.max(8, box.top - height - 4)}px`;
}

export function optionGroups(element) {
  const group = (options, label) => ({
    label,
    options: options.map((option) => ({
      value: option.value,
      label: plainText(option.text.text),
      hint: option.description ? plainText(option.description.text) : "",
      url: option.url,
    })),
  });
  if (element.option_groups)
    return element.option_groups.map((each) => group(each.options, plainText(each.label.text)));
  return [group(element.options ?? [])];
}

export function userGroups() {
  const people = Object.values(store.whole.users).filter((each) => each.name !== "slackbot");
  const options = people.map((each) => ({
    value: each.id,
    label: each.real_name,
    hint: each.name,
    face: avatar(each, 20),
  }));
  return [{ options }];
}

export function channelGroups() {
  const places = store.whole.channels.filter((each) => !each.is_direct);
  return [{ options: places.map((each) => ({ value: each.id, label: `#${each.name}` })) }];
}

export function confirmed(confirm) {
  return new Promise((resolve) => {
    const answer = (value) => () => {
      resolve(value);
      dialog.close();
    };
    const dialog = el(
      "dialog",
      { class: "confirm", "aria-label": confirm.title.text },
      el(
        "header",
        {},
        el("h2", {}, textObject(confirm.title)),
        button({ class: "quiet", "aria-label": "Close", onclick: answer(false) }, icon("close")),
      ),
      el("div", { class: "confirm-body" }, textObject(confirm.text)),
      el(
        "footer",
        {},
        button({ class: "b-button big", onclick: answer(false) }, plainText(confirm.deny.text)),
        button(
          { class: `b-button big ${confirm.style ?? "primary"}`, onclick: answer(true) },
          plainText(confirm.confirm.text),
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      resolve(false);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
