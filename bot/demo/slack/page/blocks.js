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
  image,
  input,
  rich_text: richText,
  table,
  data_table: table,
  container,
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
});

function section(block) {
  return el("div", { class: "b-section" }, el("div", { class: "b-words" }, textObject(block.text)));
}

function context(block) {
  return el("div", { class: "b-context" }, ...block.elements.map((each) => el("div", {}, textObject(each))));
}

function image(block) {
  const source = `/page/files/${encodeURIComponent(block.slack_file.id)}`;
  const shown = el("img", { class: "b-picture", src: source, alt: block.alt_text });
  return el("figure", { class: "b-image" }, el("a", { href: source, target: "_blank", rel: "noopener" }, shown));
}

function input(block, context) {
  const element = makeElement(block.element, within(context, block));
  const label = el("span", { class: "b-label" }, plainText(block.label.text));
  if (block.optional) label.append(el("small", {}, " (optional)"));
  const error = context.errors?.[block.block_id];
  return el(
    "div",
    { class: `b-input-block${error ? " wrong" : ""}` },
    el("label", {}, label, element),
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
          cell.text,
        );
        node.style.textAlign = settings[column]?.align ?? "left";
        // A data table says nothing of wrapping: its sentences wrap, its names stay whole.
        const isSentence = block.type === "data_table" && cell.text.length > 40;
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
