// A list of messages that changes only where it has to, and stays at its end while one is reading there.
import { button, el, icon } from "./dom.js";
import { dayName } from "./dates.js";
import { choicesIn, follows, makeMessage } from "./message.js";
import { changed } from "./store.js";

const NEAR = 60;
const AT_ONCE = 150; // more is laid out only for who asks: a thousand cards cost a second at each change

export class MessageList {
  constructor(label) {
    this.node = el("div", { class: "list", role: "log", "aria-label": label, tabIndex: 0 });
    this.newer = button(
      { class: "newer", hidden: true, onclick: () => this.toEnd() },
      icon("down", 16),
      "Latest messages",
    );
    this.known = new Map();
    this.about = "";
    this.node.addEventListener("scroll", () => (this.newer.hidden = this.newer.hidden || this.isAtEnd()));
    // Pictures and opened previews make what is above the end taller.
    new ResizeObserver(() => this.wasAtEnd && this.toEnd()).observe(this.node);
    this.node.addEventListener("load", () => this.wasAtEnd && this.toEnd(), true);
    this.node.addEventListener("scroll", () => (this.wasAtEnd = this.isAtEnd()));
    this.wasAtEnd = true;
  }

  isAtEnd() {
    return this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < NEAR;
  }

  toEnd() {
    this.node.scrollTop = this.node.scrollHeight;
    this.newer.hidden = true;
  }

  show(about, messages, { inThread = false, before = null, threads = new Map() } = {}) {
    const isOther = about !== this.about;
    if (isOther) {
      this.known.clear();
      this.node.replaceChildren();
      this.about = about;
      this.most = AT_ONCE;
    }
    const stay = isOther || this.wasAtEnd;
    const count = this.known.size;
    const wanted = [];
    const earlier = messages.length - this.most;
    if (earlier > 0) {
      wanted.push(this.keep("earlier", earlier, () => this.more(earlier)));
      messages = messages.slice(earlier);
    } else if (before) wanted.push(this.keep("before", about, () => before()));
    let former;
    messages.forEach((message, at) => {
      const day = dayName(message.ts);
      if (!inThread && (!former || dayName(former.ts) !== day)) {
        wanted.push(this.keep(`line ${day}`, day, () => el("hr", { class: "day-line" })));
        wanted.push(this.keep(`day ${day}`, day, () => divider(day)));
      }
      const isCompact = follows(message, former) && !(inThread && at === 1);
      const sign = `${isCompact} ${threads.get(message.ts)} ${JSON.stringify(message)} ${JSON.stringify(choicesIn(message))}`;
      wanted.push(this.keep(message.ts, sign, () => makeMessage(message, { isCompact, inThread })));
      if (inThread && at === 0) wanted.push(this.keep("count", messages.length, () => counted(messages.length - 1)));
      former = message;
    });
    wanted.forEach(
      (node, at) => this.node.children[at] !== node && this.node.insertBefore(node, this.node.children[at] ?? null),
    );
    while (this.node.children.length > wanted.length) this.node.lastElementChild.remove();
    if (stay) this.toEnd();
    else if (this.known.size > count) this.newer.hidden = false;
  }

  more(count) {
    return button({ class: "earlier", onclick: () => this.showMore(AT_ONCE) }, `Show earlier messages (${count})`);
  }

  showMore(count) {
    this.wasAtEnd = false;
    this.most += count;
    changed();
  }

  keep(key, sign, make) {
    const known = this.known.get(key);
    if (known && known.sign === sign) return known.node;
    const node = make();
    if (known) known.node.replaceWith(node);
    this.known.set(key, { sign, node });
    return node;
  }

  point(ts) {
    const found = [...this.node.querySelectorAll("article")].find((each) => each.dataset.ts === ts);
    if (!found) {
      if (this.most < Infinity) this.showMore(Infinity);
      return false;
    }
    this.wasAtEnd = false;
    found.scrollIntoView({ block: "center" });
    found.classList.add("pointed");
    setTimeout(() => found.classList.remove("pointed"), 2500);
    return true;
  }
}

const divider = (day) => el("div", { class: "day", role: "separator" }, el("span", {}, day));
const counted = (count) =>
  el("div", { class: "counted", role: "separator" }, count ? `${count} ${count === 1 ? "reply" : "replies"}` : "");
