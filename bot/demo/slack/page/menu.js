// Menus that lie above the page.
import { button, el, icon } from "./dom.js";
import { plainText } from "./mrkdwn.js";

export function openMenu(anchor, groups, onPick, { searchable = false, chosen = [] } = {}) {
  const list = el("div", { class: "menu-list", role: "listbox" });
  const search = searchable
    ? el("input", { class: "menu-search", placeholder: "Search", "aria-label": "Search" })
    : null;
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
    const isChosen = chosen.includes(option.value);
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
    close();
    onPick(option.value);
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

export function optionGroups(options) {
  return [{ options: options.map((option) => ({ value: option.value, label: plainText(option.text.text) })) }];
}
