// One message: who, when, what it says, what hangs on it.
import { avatar, button, el, icon } from "./dom.js";
import { makeBlocks } from "./blocks.js";
import { exact, instant, ago, time, dayName } from "./dates.js";
import { mrkdwn } from "./mrkdwn.js";
import { act, changed, replies, store, user } from "./store.js";

const TOGETHER_SECONDS = 300;
const chosen = new Map(); // by person and message: what they chose in its menus, until the app replaces its blocks

export function follows(message, former) {
  return (
    former !== undefined &&
    former.user === message.user &&
    Number(message.ts) - Number(former.ts) < TOGETHER_SECONDS &&
    !message.is_ephemeral &&
    !former.is_ephemeral &&
    !message.is_broadcast &&
    !former.reply_count &&
    dayName(former.ts) === dayName(message.ts)
  );
}

export function makeMessage(message, { isCompact = false, inThread = false } = {}) {
  const who = user(message.user);
  const body = el("div", { class: "body" });
  if (message.is_ephemeral) body.append(el("div", { class: "private" }, icon("eye", 14), "Only visible to you"));
  if (message.is_broadcast)
    body.append(
      el(
        "div",
        { class: "private" },
        inThread ? "Also sent to the channel" : "replied to a thread: ",
        inThread ? null : threadLink(message),
      ),
    );
  if (!isCompact)
    body.append(
      el(
        "div",
        { class: "who" },
        el("span", { class: "name" }, who.real_name),
        who.is_bot ? el("span", { class: "app" }, "APP") : null,
        who.is_guest ? el("span", { class: "app" }, "GUEST") : null,
        stamp(message),
      ),
    );
  body.append(content(message));
  for (const file of message.files ?? []) body.append(shownFile(file));
  if (!inThread && !message.is_reply && replyCount(message)) body.append(threadBar(message));
  const side = isCompact
    ? el("div", { class: "side" }, stamp(message, true))
    : el("div", { class: "side" }, avatar(who));
  return el(
    "article",
    {
      class: `message${isCompact ? " compact" : ""}${message.is_ephemeral ? " ephemeral" : ""}`,
      data: { ts: message.ts, user: message.user, channel: message.channel },
      "aria-label": `${who.real_name}, ${time(message.ts)}`,
    },
    side,
    body,
    inThread || message.is_ephemeral ? null : hoverBar(message),
  );
}

function stamp(message, isShort = false) {
  const words = isShort ? time(message.ts).replace(/\s?[AP]M/i, "") : time(message.ts);
  return el("time", { class: "time", title: exact(message.ts), dateTime: instant(message.ts).toISOString() }, words);
}

function content(message) {
  const out = el("div", { class: "content" });
  const context = {
    use: (block, element, value) => click(message, block, element, value),
    value: (block, element) => choicesIn(message)[`${block.block_id} ${element.action_id}`],
  };
  if (message.blocks?.length) out.append(makeBlocks(message.blocks, context));
  else if (message.text) out.append(mrkdwn(message.text));
  if (message.edited) {
    const mark = el("span", { class: "edited", title: exact(message.edited.ts) }, "(edited)");
    const last = out.lastElementChild;
    (last?.classList.contains("mrkdwn") ? last : out).append(" ", mark);
  }
  return out;
}

const keyOf = (message) => `${store.me} ${message.channel} ${message.ts}`;
export const choicesIn = (message) => chosen.get(keyOf(message)) ?? {};

function click(message, block, element, value) {
  if (value !== undefined) {
    chosen.set(keyOf(message), { ...choicesIn(message), [`${block.block_id} ${element.action_id}`]: value });
    changed();
  }
  return act("click", { ...placeOf(message, block, element), value });
}

// The element goes along as it was shown: the message may have been edited under an open menu, and an edit gives its
// blocks new ids.
function placeOf(message, block, element) {
  const { channel, ts } = message;
  return { channel, ts, block_id: block.block_id, action_id: element.action_id, shown: element };
}

const replyCount = (message) => replies(message.channel, message.ts).length;
const threadAddress = (message) => `#${message.channel}/${message.thread_ts ?? message.ts}`;

function threadLink(message) {
  return el("a", { href: threadAddress(message) }, "view thread");
}

function threadBar(message) {
  const all = replies(message.channel, message.ts);
  const people = [...new Set(all.map((each) => each.user))].slice(0, 4);
  const words = `${all.length} ${all.length === 1 ? "reply" : "replies"}`;
  return el(
    "a",
    { class: "thread-bar", href: threadAddress(message) },
    ...people.map((id) => avatar(user(id), 24)),
    el("b", {}, words),
    el("span", { class: "last" }, `Last reply ${ago(instant(all.at(-1).ts))}`),
    el("span", { class: "view" }, "View thread"),
  );
}

function hoverBar(message) {
  return el(
    "div",
    { class: "hover-bar" },
    el(
      "a",
      { class: "quiet", href: threadAddress(message), "aria-label": "Reply in thread", title: "Reply in thread" },
      icon("thread"),
    ),
  );
}

function shownFile(file) {
  const source = `/page/files/${encodeURIComponent(file.id)}`;
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.mimetype))
    return el(
      "figure",
      { class: "file-picture" },
      el("figcaption", {}, file.title),
      el(
        "a",
        { href: source, target: "_blank", rel: "noopener" },
        el("img", { src: source, alt: file.alt_txt || file.title }),
      ),
    );
  const preview = el("pre", { class: "preview" });
  const node = el(
    "div",
    { class: "file" },
    el(
      "a",
      { class: "file-card", href: source, target: "_blank", rel: "noopener" },
      icon("file", 28),
      el("span", {}, el("b", {}, file.title), el("small", {}, `${file.filetype.toUpperCase()} · ${size(file.size)}`)),
    ),
  );
  if (file.mimetype.startsWith("text/") && file.mimetype !== "text/html") {
    node.append(preview);
    showStart(source, preview);
  }
  return node;
}

const size = (bytes) => (bytes < 1024 ? `${bytes} B` : `${Math.round(bytes / 1024)} kB`);

async function showStart(source, preview) {
  const response = await fetch(source);
  if (!response.ok) return;
  const lines = (await response.text()).split("\n");
  const cut = lines.slice(0, 6).join("\n").slice(0, 2000);
  preview.textContent = cut;
  if (lines.length <= 6) return;
  const more = button(
    {
      class: "link",
      onclick: () => {
        preview.textContent = lines.join("\n").slice(0, 200_000);
        more.remove();
      },
    },
    `Show all ${lines.length} lines`,
  );
  preview.after(more);
}

export const isMine = (message) => message.user === store.whole.me;
