// Rich text: sections, lists, quotes and preformatted text, and what stands in them.
import { el } from "./dom.js";
import { dated, exact } from "./dates.js";
import { broadcast, channelMention, emojiNode, groupMention, link, userMention } from "./mrkdwn.js";

const STYLES = { bold: "strong", italic: "em", strike: "s", underline: "u", code: "code" };

export function richText(block) {
  const out = el("div", { class: "rich" });
  let lists = [];
  for (const part of block.elements) {
    if (part.type === "rich_text_list") {
      lists = addList(out, lists, part);
      continue;
    }
    lists = [];
    const tag = { rich_text_preformatted: "pre", rich_text_quote: "blockquote" }[part.type] ?? "div";
    out.append(el(tag, {}, ...part.elements.map((each) => piece(each, tag === "pre"))));
  }
  return out;
}

function addList(out, open, part) {
  const depth = part.indent ?? 0;
  const tag = part.style === "ordered" ? "ol" : "ul";
  const lists = open.slice(0, depth + 1);
  let list = lists[depth];
  if (!list || list.tagName.toLowerCase() !== tag) {
    list = el(tag, { class: `depth-${depth % 3}`, start: tag === "ol" ? (part.offset ?? 0) + 1 : undefined });
    (lists[depth - 1]?.lastElementChild ?? out).append(list);
    lists[depth] = list;
  }
  for (const item of part.elements) list.append(el("li", {}, ...item.elements.map((each) => piece(each))));
  return lists;
}

function piece(part, isPreformatted = false) {
  let node = bare(part);
  if (!isPreformatted)
    for (const [style, tag] of Object.entries(STYLES)) if (part.style?.[style]) node = el(tag, {}, node);
  return node;
}

function bare(part) {
  switch (part.type) {
    case "text":
      return document.createTextNode(part.text);
    case "link":
      return link(part.url, part.text || part.url);
    case "emoji":
      return emojiNode(part.name);
    case "user":
      return userMention(part.user_id);
    case "usergroup":
      return groupMention(part.usergroup_id);
    case "channel":
      return channelMention(part.channel_id);
    case "broadcast":
      return broadcast(part.range);
    case "color":
      return colour(part.value);
    case "date":
      return el("time", { title: exact(part.timestamp) }, dated(part.timestamp, part.format) ?? part.fallback ?? "");
    default:
      return document.createTextNode("");
  }
}

function colour(value) {
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = value;
  return el("span", {}, swatch, value);
}
