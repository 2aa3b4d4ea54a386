// Block Kit's blocks, each turned into elements.
// Defined in https://docs.slack.dev/reference/block-kit/blocks
import { el } from "./dom.js";
import { makeElement } from "./elements.js";
import { plainText, textObject } from "./mrkdwn.js";
import { richText } from "./richtext.js";

const actions = (block, context) =>
  el("div", { class: "b-actions" }, ...block.elements.map((each) => makeElement(each, within(context, block))));

const MAKERS = {
  section,
  header: (block) => el("h3", { class: "b-header" }, plainText(block.text.text)),
  divider: () => el("hr", {}),
  context,
  actions,
  context_actions: actions,
  image: (block) => imageBlock(block),
  input,
  rich_text: richText,
  table,
  data_table: table,
  container,
  file: (block) => el("div", { class: "b-unknown" }, `Remote file ${block.external_id}`),
};

export function makeBlocks(blocks, context) {
  const out = el("div", { class: "blocks" });
  for (const block of blocks) {
    const node = MAKERS[block.type]?.(block, context) ?? el("div", { class: "b-unknown" }, `[${block.type}]`);
    node.classList.add("block");
    node.dataset.blockId = block.block_id ?? "";
    out.append(node);
  }
  return out;
}

const within = (context, block) => ({
  ...context,
  use: (element, value) => context.use(block, element, value),
  value: context.value ? (element) => context.value(block, element) : undefined,
  dispatches: block.dispatch_action,
});

function section(block, context) {
  const words = el("div", { class: "b-words" });
  if (block.text) words.append(textObject(block.text));
  if (block.fields)
    words.append(el("div", { class: "b-fields" }, ...block.fields.map((each) => el("div", {}, textObject(each)))));
  const node = el("div", { class: "b-section" }, words);
  if (block.accessory?.type === "image") node.append(picture(block.accessory, "b-thumb"));
  else if (block.accessory)
    node.append(el("div", { class: "b-accessory" }, makeElement(block.accessory, within(context, block))));
  return node;
}

function context(block) {
  return el(
    "div",
    { class: "b-context" },
    ...block.elements.map((each) =>
      each.type === "image" ? picture(each, "b-icon") : el("div", {}, textObject(each)),
    ),
  );
}

export function address(image) {
  if (image.slack_file?.id) return `/page/files/${encodeURIComponent(image.slack_file.id)}`;
  const wanted = image.slack_file?.url ?? image.image_url;
  try {
    const url = new URL(wanted, location.origin);
    return url.origin === location.origin && url.pathname.startsWith("/page/files/") ? url.pathname : null;
  } catch {
    return null;
  }
}

function picture(image, name) {
  const source = address(image);
  if (source) return el("img", { class: name, src: source, alt: image.alt_text, title: image.alt_text });
  return el(
    "span",
    {
      class: `${name} elsewhere`,
      role: "img",
      "aria-label": image.alt_text,
      title: `${image.alt_text} (pictures from elsewhere are not fetched here)`,
    },
    "🖼",
  );
}

function imageBlock(block) {
  const title = block.title ? el("div", { class: "b-title" }, plainText(block.title.text)) : null;
  const source = address(block);
  const shown = source
    ? el(
        "a",
        { href: source, target: "_blank", rel: "noopener" },
        el("img", { class: "b-picture", src: source, alt: block.alt_text }),
      )
    : el("div", { class: "b-picture elsewhere" }, "🖼 ", block.alt_text);
  return el("figure", { class: "b-image" }, title, shown);
}

function input(block, context) {
  const element = makeElement(block.element, within(context, block));
  const label = el("span", { class: "b-label" }, plainText(block.label.text));
  if (block.optional) label.append(el("small", {}, " (optional)"));
  const error = context.errors?.[block.block_id];
  const tag = element.matches("input, textarea") ? "label" : "div";
  return el(
    "div",
    { class: `b-input-block${error ? " wrong" : ""}` },
    el(tag, {}, label, element),
    error ? el("div", { class: "b-error", role: "alert" }, error) : null,
    block.hint ? el("div", { class: "b-hint" }, textObject(block.hint)) : null,
  );
}

function container(block, context) {
  const inside = makeBlocks(block.child_blocks, context);
  const title = plainText(block.title.text);
  if (!block.is_collapsible) return el("div", { class: "b-container" }, el("b", {}, title), inside);
  const node = el("details", { class: "b-container" }, el("summary", {}, title), inside);
  node.open = !block.default_collapsed;
  return node;
}

const LONGEST_PART = 18;

function table(block) {
  const settings = block.column_settings ?? [];
  const rows = block.rows.map((row, at) =>
    el(
      "tr",
      {},
      ...row.map((cell, column) => {
        const node = el(
          at === 0 ? "th" : "td",
          {},
          cell.type === "rich_text" ? richText(cell) : String(cell.text ?? cell.value),
        );
        node.style.textAlign = settings[column]?.align ?? "left";
        // A data table says nothing of wrapping: its sentences wrap, its names stay whole.
        const isSentence = block.type === "data_table" && String(cell.text ?? "").length > 40;
        if (settings[column]?.is_wrapped || isSentence) node.classList.add("wrapped");
        if (isSentence) node.classList.add("sentence");
        // A name that no hyphen breaks is broken anywhere, rather than pushing what comes after it off the screen.
        if (node.textContent.split(/[\s-]/).some((part) => part.length > LONGEST_PART)) node.classList.add("unbroken");
        return node;
      }),
    ),
  );
  return el(
    "div",
    { class: "b-table", tabIndex: 0 },
    el("table", {}, el("thead", {}, rows[0]), el("tbody", {}, ...rows.slice(1))),
  );
}
