// Rich text: sections, lists and preformatted text, and what stands in them.
import { el } from "./dom.js";
import { dated, exact } from "./dates.js";
import { groupMention, link, userMention } from "./mrkdwn.js";

const STYLES = { bold: "strong", code: "code" };

export function richText(block) {
  const out = el("div", { class: "rich" });
  for (const part of block.elements) {
    if (part.type === "rich_text_list") {
      const items = part.elements.map((item) => el("li", {}, ...item.elements.map((each) => piece(each))));
      out.append(el(part.style === "ordered" ? "ol" : "ul", {}, ...items));
      continue;
    }
    const tag = part.type === "rich_text_preformatted" ? "pre" : "div";
    out.append(el(tag, {}, ...part.elements.map((each) => piece(each, tag === "pre"))));
  }
  return out;
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
    case "user":
      return userMention(part.user_id);
    case "usergroup":
      return groupMention(part.usergroup_id);
    case "date":
      return el("time", { title: exact(part.timestamp) }, dated(part.timestamp, part.format) ?? part.fallback ?? "");
    default:
      return document.createTextNode("");
  }
}
