// Where one types: Enter sends, hints for commands, people and channels.
import { avatar, button, el, icon } from "./dom.js";
import { act, store, user } from "./store.js";

const MARKS = [
  ["bold", "Bold", "*"],
  ["italic", "Italic", "_"],
  ["strike", "Strikethrough", "~"],
  ["code", "Code", "`"],
];

export class Composer {
  constructor(label) {
    this.place = null;
    this.drafts = new Map();
    this.input = el("textarea", { rows: 1, "aria-label": label, autocomplete: "off", spellcheck: false });
    this.hints = el("div", { class: "hints", role: "listbox", hidden: true });
    this.send = button({ class: "send", "aria-label": "Send now", onclick: () => this.say() }, icon("send", 18));
    const tools = MARKS.map(([name, title, mark]) =>
      button({ class: "quiet", title, "aria-label": title, onclick: () => this.wrap(mark) }, icon(name, 16)),
    );
    const insert = (name, title, text) =>
      button({ class: "quiet", title, "aria-label": title, onclick: () => this.insert(text) }, icon(name, 17));
    this.node = el(
      "div",
      { class: "composer" },
      this.hints,
      el("div", { class: "tools" }, ...tools),
      this.input,
      el(
        "div",
        { class: "actions" },
        insert("at", "Mention somebody", "@"),
        insert("slash", "Run a command", "/"),
        el("span", { class: "gap" }),
        this.send,
      ),
    );
    this.hints.addEventListener("take", (event) => this.take(event.target));
    this.input.addEventListener("input", () => this.typed());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => setTimeout(() => (this.hints.hidden = true), 150));
  }

  show(channel, threadTs, placeholder) {
    const place = `${store.me} ${channel} ${threadTs ?? ""}`;
    if (place !== this.place) {
      if (this.place) this.drafts.set(this.place, this.input.value);
      this.place = place;
      this.input.value = this.drafts.get(place) ?? "";
      this.typed();
    }
    this.channel = channel;
    this.threadTs = threadTs;
    this.input.placeholder = placeholder;
    this.grow();
  }

  async say() {
    const text = this.input.value.trim();
    if (!text) return;
    this.input.value = "";
    this.typed();
    await act("say", { channel: this.channel, text, thread_ts: this.threadTs });
  }

  key(event) {
    if (event.isComposing) return;
    const open = !this.hints.hidden;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (open && !this.isWhole()) this.take(this.rows()[this.active]);
      else this.say();
    } else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.mark(this.active + (event.key === "ArrowDown" ? 1 : -1));
    } else if (open && event.key === "Tab") {
      event.preventDefault();
      this.take(this.rows()[this.active]);
    } else if (open && event.key === "Escape") this.hints.hidden = true;
  }

  typed() {
    this.grow();
    this.send.classList.toggle("ready", this.input.value.trim() !== "");
    this.hint();
  }

  grow() {
    this.input.style.height = "auto";
    // Out of sight it has no height to go by.
    if (this.input.scrollHeight) this.input.style.height = `${Math.min(this.input.scrollHeight, 220)}px`;
  }

  // --- hints

  hint() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const found = this.found(before);
    this.hints.replaceChildren(...found.rows);
    this.hints.hidden = !found.rows.length || document.activeElement !== this.input;
    this.start = before.length - (found.word?.length ?? 0);
    this.mark(0);
  }

  found(before) {
    const word = /(?:^|\s)([@#][\w.-]*)$/.exec(before)?.[1];
    if (before.startsWith("/") && !before.includes("\n")) return { word: before, rows: commandRows(before) };
    if (!word) return { rows: [] };
    const wanted = word.slice(1).toLowerCase();
    return { word, rows: word[0] === "@" ? peopleRows(wanted, this.channel) : channelRows(wanted) };
  }

  rows() {
    return [...this.hints.querySelectorAll(".hint")];
  }

  isWhole() {
    // Enter on what is typed out already sends it; a person who typed `/zombie check node-1` wants no hint.
    const row = this.rows()[this.active];
    return (
      !row || row.dataset.insert.trim() === this.input.value.slice(this.start).trim() || row.dataset.only === "shown"
    );
  }

  mark(at) {
    const rows = this.rows();
    this.active = Math.max(0, Math.min(rows.length - 1, at));
    rows.forEach((each, index) => each.classList.toggle("active", index === this.active));
    rows[this.active]?.scrollIntoView({ block: "nearest" });
  }

  take(row) {
    if (!row) return;
    const end = this.input.selectionStart;
    this.input.setRangeText(row.dataset.insert, this.start, end, "end");
    this.input.focus();
    this.typed();
  }

  insert(text) {
    const before = this.input.value.slice(0, this.input.selectionStart);
    this.input.focus();
    this.input.setRangeText(
      /\S$/.test(before) && text !== "/" ? ` ${text}` : text,
      this.input.selectionStart,
      this.input.selectionEnd,
      "end",
    );
    this.typed();
  }

  wrap(mark) {
    const { selectionStart: from, selectionEnd: to } = this.input;
    this.input.focus();
    this.input.setRangeText(
      `${mark}${this.input.value.slice(from, to)}${mark}`,
      from,
      to,
      from === to ? "end" : "select",
    );
    if (from === to) this.input.setSelectionRange(from + 1, from + 1);
    this.typed();
  }
}

function row(insert, face, label, words, isOnlyShown = false) {
  const node = el(
    "div",
    { class: "hint", role: "option", data: { insert, only: isOnlyShown ? "shown" : "" } },
    face,
    el("b", {}, label),
    el("span", {}, words),
  );
  node.addEventListener("mousedown", (event) => {
    event.preventDefault();
    node.dispatchEvent(new CustomEvent("take", { bubbles: true }));
  });
  return node;
}

function commandRows(typed) {
  const known = [
    ...store.whole.commands.map((each) => ({ ...each, face: user(store.whole.bot) })),
    {
      name: "/invite",
      usage_hint: "@zombie",
      description: "Add somebody to this channel",
      face: user(store.whole.slackbot),
    },
  ];
  const [name, ...rest] = typed.split(" ");
  const found = known.filter((each) => (rest.length ? each.name === name : each.name.startsWith(name)));
  return found.map((each) =>
    row(`${each.name} `, avatar(each.face, 24), `${each.name} ${each.usage_hint}`, each.description, rest.length > 0),
  );
}

function peopleRows(wanted, place) {
  const members = store.whole.channels.find((each) => each.id === place)?.members ?? [];
  const people = Object.values(store.whole.users).filter(
    (each) =>
      each.name !== "slackbot" && (each.name.startsWith(wanted) || each.real_name.toLowerCase().includes(wanted)),
  );
  const rows = people.map((each) =>
    row(
      `@${each.name} `,
      avatar(each, 24),
      each.real_name,
      members.includes(each.id) ? each.name : `${each.name} · not in this channel`,
    ),
  );
  const groups = Object.values(store.whole.groups).filter((handle) => handle.startsWith(wanted));
  return [...rows, ...groups.map((handle) => row(`@${handle} `, icon("at", 20), `@${handle}`, "User group"))];
}

function channelRows(wanted) {
  const found = store.whole.channels.filter((each) => !each.is_direct && each.name.startsWith(wanted));
  return found.map((each) => row(`#${each.name} `, icon("hash", 20), each.name, each.topic));
}
