// Block Kit's elements: what a person clicks, chooses and fills in.
// `use(element, value)` is called with what they did; what is typed into a dialog is told when it is sent.
import { button, el, icon } from "./dom.js";
import { openMenu, optionGroups } from "./menu.js";
import { plainText } from "./mrkdwn.js";

const MAKERS = {
  button: makeButton,
  static_select: makeMenu,
  plain_text_input: makeText,
};

export function makeElement(element, context) {
  const node = MAKERS[element.type]?.(element, context) ?? el("span", { class: "unknown" }, `[${element.type}]`);
  node.dataset.actionId = element.action_id ?? "";
  node.dataset.kind = element.type;
  return node;
}

function makeButton(element, context) {
  const style = element.style ?? "";
  const node = button(
    {
      class: `b-button ${style}`,
      onclick: async () => {
        node.classList.add("waiting");
        await context.use(element);
        node.classList.remove("waiting");
      },
    },
    plainText(element.text.text, element.text.emoji !== false),
  );
  return node;
}

function makeMenu(element, context) {
  const groups = optionGroups(element.options);
  const all = groups[0].options;
  let chosen = context.value?.(element) ?? null;
  const words = el("span", { class: "select-words" });
  const node = button({ class: "b-select", "aria-haspopup": "listbox", onclick: open }, words, icon("down", 16));

  function show() {
    const label = all.find((each) => each.value === chosen)?.label ?? chosen;
    words.textContent = label ?? plainText(element.placeholder?.text ?? "Choose an option");
    words.classList.toggle("placeholder", chosen === null);
  }

  function open() {
    openMenu(node, groups, pick, { searchable: all.length > 8, chosen: [chosen] });
  }

  async function pick(value) {
    chosen = value;
    show();
    await context.use(element, value);
  }

  show();
  return node;
}

function makeText(element, context) {
  const isLong = element.multiline === true;
  const node = el(isLong ? "textarea" : "input", {
    class: "b-input",
    type: isLong ? undefined : "text",
    placeholder: element.placeholder ? plainText(element.placeholder.text) : "",
    maxLength: element.max_length ?? 3000,
    rows: isLong ? 4 : undefined,
    autocomplete: "off",
  });
  node.value = context.value?.(element) ?? "";
  if (element.focus_on_load) queueMicrotask(() => node.focus());
  return node;
}
