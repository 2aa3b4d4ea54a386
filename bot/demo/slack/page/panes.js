// The panes beside the sidebar: a conversation, a thread, the app's home.
import { avatar, el, icon } from "./dom.js";
import { makeBlocks } from "./blocks.js";
import { Composer } from "./composer.js";
import { guide } from "./guide.js";
import { MessageList } from "./list.js";
import { use } from "./modal.js";
import { act, channel, messages, replies, store, threads, user } from "./store.js";

const back = (address) => el("a", { class: "quiet back", href: address, "aria-label": "Back" }, icon("back", 22));

function titleOf(place) {
  return place.is_direct ? user(store.whole.bot).real_name : place.name;
}

export class ChannelPane {
  constructor(node) {
    this.node = node;
    this.list = new MessageList("Messages");
    this.composer = new Composer("Message");
    this.header = el("header", { class: "pane-header" });
    this.inside = el("div", { class: "pane" }, this.header, this.list.node, this.list.newer, this.composer.node);
  }

  show(place) {
    const found = channel(place.channel);
    if (!found) {
      this.node.replaceChildren(
        el(
          "div",
          { class: "nothing" },
          el("p", {}, `${user(store.whole.me).real_name} is not in this channel.`),
          el("a", { href: "#" }, "Back"),
        ),
      );
      return;
    }
    if (this.inside.parentNode !== this.node) this.node.replaceChildren(this.inside);
    const people = found.members.map((id) => user(id));
    this.header.replaceChildren(
      back("#"),
      el(
        "h1",
        {},
        found.is_direct ? avatar(user(store.whole.bot), 24) : icon(found.is_private ? "lock" : "hash", 18),
        titleOf(found),
      ),
      el("span", { class: "topic" }, found.topic),
      el("span", { class: "gap" }),
      found.is_direct
        ? el("a", { class: "b-button", href: "#home" }, "Home")
        : el(
            "span",
            { class: "members", title: people.map((each) => each.real_name).join(", ") },
            ...people.slice(0, 3).map((each) => avatar(each, 22)),
            String(people.length),
          ),
    );
    const shown = messages(found.id).filter((each) => !each.is_reply || each.is_broadcast);
    this.list.show(`${store.me} ${found.id}`, shown, {
      before: () => beginning(found),
      threads: threads(found.id),
    });
    this.composer.show(found.id, null, `Message ${found.is_direct ? "" : "#"}${titleOf(found)}`);
  }
}

function beginning(place) {
  const bot = user(store.whole.bot);
  const words = place.is_direct
    ? `This is the very beginning of your direct messages with ${bot.real_name}.`
    : place.members.includes(bot.id)
      ? `This is the very beginning of #${place.name}. Type /zombie or @zombie to ask.`
      : `This is the very beginning of #${place.name}. ${bot.real_name} is no member here: /invite @${bot.name}`;
  return el(
    "div",
    { class: "beginning" },
    el("h2", {}, place.is_direct ? bot.real_name : `# ${place.name}`),
    el("p", {}, words),
    guide(place),
  );
}

export class ThreadPane {
  constructor(node) {
    this.node = node;
    this.list = new MessageList("Thread");
    this.composer = new Composer("Reply");
    this.header = el("header", { class: "pane-header" });
    node.append(el("div", { class: "pane" }, this.header, this.list.node, this.list.newer, this.composer.node));
  }

  show(place) {
    const parent = place.thread && messages(place.channel).find((each) => each.ts === place.thread);
    this.node.hidden = !parent;
    if (!parent) return;
    const found = channel(place.channel);
    this.header.replaceChildren(
      back(`#${place.channel}`),
      el("h1", {}, "Thread"),
      el("span", { class: "topic" }, found.is_direct ? titleOf(found) : `# ${found.name}`),
      el("span", { class: "gap" }),
      el("a", { class: "quiet close", href: `#${place.channel}`, "aria-label": "Close thread" }, icon("close")),
    );
    this.list.show(`${store.me} ${place.channel} ${place.thread}`, [parent, ...replies(place.channel, place.thread)], {
      inThread: true,
    });
    this.composer.show(place.channel, place.thread, "Reply…");
  }
}

export class HomePane {
  constructor(node) {
    this.node = node;
    this.sign = "";
  }

  enter() {
    act("home", {});
  }

  show() {
    const view = store.whole.home;
    const sign = JSON.stringify([store.me, view?.id, view?.hash]);
    if (sign === this.sign && this.node.querySelector(".home")) return;
    this.sign = sign;
    const bot = user(store.whole.bot);
    const direct = store.whole.channels.find((each) => each.is_direct);
    const body = view
      ? makeBlocks(view.blocks, {
          use: (block, element, value) => use(view, block, element, value),
        })
      : el("p", { class: "nothing" }, `${bot.real_name} has nothing to show here yet.`);
    this.node.replaceChildren(
      el(
        "div",
        { class: "pane home" },
        el(
          "header",
          { class: "pane-header" },
          back("#"),
          el("h1", {}, avatar(bot, 24), bot.real_name, el("span", { class: "app" }, "APP")),
        ),
        el(
          "div",
          { class: "tabs" },
          el("a", { class: "here", href: "#home" }, "Home"),
          direct ? el("a", { href: `#${direct.id}` }, "Messages") : null,
        ),
        el("div", { class: "home-body", tabIndex: 0 }, body),
      ),
    );
  }
}
