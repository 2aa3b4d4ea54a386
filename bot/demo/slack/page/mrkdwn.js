// Slack's own markup, turned into elements.
// Defined in https://docs.slack.dev/messaging/formatting-message-text
import { el } from "./dom.js";
import { emoji, emojiInText } from "./emoji.js";
import { dated, exact } from "./dates.js";
import { store, user, channel } from "./store.js";

const SAFE = /^(https?:\/\/|mailto:|tel:)/i;
const WORD = /[\p{L}\p{N}]/u;
const MARKS = { "*": "strong", _: "em", "~": "s" };

const decoded = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

export function plainText(text, withEmoji = true) {
  return withEmoji ? emojiInText(text) : text;
}

export function textObject(object) {
  if (object.type === "mrkdwn") return mrkdwn(object.text, object.verbatim);
  return el("span", { class: "plain" }, plainText(object.text, object.emoji !== false));
}

export function mrkdwn(text, verbatim = false) {
  const out = el("div", { class: "mrkdwn" });
  const parts = text.split(/```/);
  parts.forEach((part, at) => {
    const isFenced = at % 2 === 1 && at < parts.length - 1;
    if (isFenced) out.append(el("pre", {}, preformatted(part)));
    else if (part) lines(out, (at % 2 ? "```" : "") + part, verbatim, at > 0);
  });
  return out;
}

function preformatted(text) {
  const shown = text.replace(/^\n/, "").replace(/\n$/, "");
  return decoded(shown.replace(/<([^<>|]+)(?:\|([^<>]*))?>/g, (_, target, label) => label ?? target));
}

function lines(out, text, verbatim, afterFence) {
  let rows = text.split("\n");
  if (afterFence && rows[0] === "") rows = rows.slice(1);
  let quote = null;
  rows.forEach((row, at) => {
    const quoted = /^(?:&gt;|>) ?(.*)$/s.exec(row);
    if (quoted) {
      if (!quote) out.append((quote = el("blockquote", {})));
      else quote.append(el("br"));
      quote.append(...inline(quoted[1], verbatim));
    } else {
      const wasQuote = quote !== null;
      quote = null;
      if (at > 0 && !wasQuote) out.append(el("br"));
      out.append(...inline(row, verbatim));
    }
  });
}

export function inline(text, verbatim = false) {
  const nodes = [];
  let plain = "";
  const flush = () => {
    if (plain) nodes.push(document.createTextNode(decoded(plain)));
    plain = "";
  };
  for (let at = 0; at < text.length;) {
    const found = token(text, at, verbatim);
    if (found) {
      flush();
      nodes.push(found.node);
      at += found.length;
    } else plain += text[at++];
  }
  flush();
  return nodes;
}

function token(text, at, verbatim) {
  const rest = text.slice(at);
  const before = at > 0 ? text[at - 1] : " ";
  let found;
  switch (rest[0]) {
    case "`":
      if ((found = /^`([^`\n]+)`/.exec(rest)))
        return { length: found[0].length, node: el("code", {}, preformatted(found[1])) };
      return null;
    case "<":
      if ((found = /^<([^<>\n]+)>/.exec(rest))) return { length: found[0].length, node: control(found[1]) };
      return null;
    case ":":
      if ((found = /^:([\w+-]+):/.exec(rest)) && emoji(found[1]))
        return { length: found[0].length, node: emojiNode(found[1]) };
      return null;
    case "*":
    case "_":
    case "~":
      return WORD.test(before) ? null : emphasis(rest, verbatim);
    case "h":
      if (!verbatim && !WORD.test(before) && (found = /^https?:\/\/[^\s<>|`]+[^\s<>|`.,;:!?)'"\]]/i.exec(rest)))
        return { length: found[0].length, node: link(decoded(found[0]), decoded(found[0])) };
      return null;
    default:
      return null;
  }
}

function emphasis(rest, verbatim) {
  const mark = rest[0];
  for (let end = rest.indexOf(mark, 1); end > 0; end = rest.indexOf(mark, end + 1)) {
    const inner = rest.slice(1, end);
    if (!inner.trim() || /^\s|\s$/.test(inner)) continue;
    if (end + 1 < rest.length && WORD.test(rest[end + 1])) continue;
    return { length: end + 1, node: el(MARKS[mark], {}, ...inline(inner, verbatim)) };
  }
  return null;
}

export function emojiNode(name) {
  return el("span", { class: "emoji", role: "img", title: `:${name}:` }, emoji(name) ?? `:${name}:`);
}

export function link(target, label) {
  if (!SAFE.test(target)) return document.createTextNode(label);
  return el("a", { href: target, target: "_blank", rel: "noopener noreferrer" }, label);
}

function control(inside) {
  const [target, label] = inside.split(/\|(.*)/s);
  if (target.startsWith("@")) return userMention(target.slice(1));
  if (target.startsWith("#")) return channelMention(target.slice(1), label);
  if (target.startsWith("!subteam^")) return groupMention(target.slice(9), label);
  if (target.startsWith("!date^")) return date(target, label);
  if (target.startsWith("!")) return broadcast(target.slice(1), label);
  return link(decoded(target), decoded(label ?? target));
}

export function userMention(id) {
  const isMe = id === store.whole.me;
  return el("span", { class: `mention${isMe ? " me" : ""}`, data: { user: id } }, `@${user(id).name}`);
}

export function groupMention(id, label) {
  return el("span", { class: "mention me" }, `@${store.whole.groups[id] ?? label ?? id}`.replace("@@", "@"));
}

export function channelMention(id, label) {
  const name = channel(id)?.name ?? label ?? "private channel";
  return el("a", { class: "mention", href: `#${id}` }, `#${name}`);
}

export function broadcast(range, label) {
  if (!["here", "channel", "everyone"].includes(range)) return document.createTextNode(label ?? `<${range}>`);
  return el("span", { class: "mention me" }, `@${range}`);
}

function date(target, fallback) {
  const [, timestamp, format, address] = target.split("^");
  const text = dated(Number(timestamp), format ?? "");
  if (!text) return document.createTextNode(decoded(fallback ?? ""));
  const node = address ? link(decoded(address), text) : el("time", {}, text);
  if (node instanceof Element) node.setAttribute("title", exact(timestamp));
  return node;
}
