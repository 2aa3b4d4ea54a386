// Block Kit's elements: what a person clicks, chooses and fills in.
// `use(element, value)` is called with what they did; in a dialog, nothing is told before it is sent.
import { button, el, icon } from "./dom.js";
import { channelGroups, confirmed, openMenu, optionGroups, userGroups } from "./menu.js";
import { plainText, textObject } from "./mrkdwn.js";

const MAKERS = {
  button: makeButton,
  icon_button: makeButton,
  feedback_buttons: makeFeedback,
  static_select: (element, context) => makeMenu(element, context, optionGroups(element)),
  multi_static_select: (element, context) => makeMenu(element, context, optionGroups(element), true),
  users_select: (element, context) => makeMenu(element, context, userGroups()),
  multi_users_select: (element, context) => makeMenu(element, context, userGroups(), true),
  channels_select: (element, context) => makeMenu(element, context, channelGroups()),
  conversations_select: (element, context) => makeMenu(element, context, channelGroups()),
  overflow: makeOverflow,
  checkboxes: (element, context) => makeTicks(element, context, "checkbox"),
  radio_buttons: (element, context) => makeTicks(element, context, "radio"),
  datepicker: makeDate,
  plain_text_input: makeText,
  number_input: makeText,
};

export function makeElement(element, context) {
  const node = MAKERS[element.type]?.(element, context) ?? el("span", { class: "unknown" }, `[${element.type}]`);
  node.dataset.actionId = element.action_id ?? "";
  node.dataset.kind = element.type;
  return node;
}

async function used(element, context, value) {
  if (element.confirm && !(await confirmed(element.confirm))) return false;
  await context.use(element, value);
  return true;
}

function makeButton(element, context) {
  const style = element.style ?? "";
  const node = button(
    {
      class: `b-button ${style}`,
      "aria-label": element.accessibility_label,
      onclick: async () => {
        if (element.url && /^https?:/i.test(element.url)) window.open(element.url, "_blank", "noopener,noreferrer");
        node.classList.add("waiting");
        await used(element, context);
        node.classList.remove("waiting");
      },
    },
    plainText(element.text.text, element.text.emoji !== false),
  );
  return node;
}

function makeFeedback(element, context) {
  const sides = [element.positive_button, element.negative_button].map((side) =>
    button(
      { class: "b-button", "aria-label": side.accessibility_label, onclick: () => used(element, context, side.value) },
      plainText(side.text.text, false),
    ),
  );
  return el("span", { class: "b-feedback" }, ...sides);
}

const INITIAL = {
  static_select: (e) => e.initial_option && [e.initial_option.value],
  multi_static_select: (e) => e.initial_options?.map((each) => each.value),
  users_select: (e) => e.initial_user && [e.initial_user],
  multi_users_select: (e) => e.initial_users,
  channels_select: (e) => e.initial_channel && [e.initial_channel],
  conversations_select: (e) => e.initial_conversation && [e.initial_conversation],
};

function makeMenu(element, context, groups, multiple = false) {
  const all = groups.flatMap((group) => group.options);
  let chosen = context.value?.(element) ?? INITIAL[element.type]?.(element) ?? [];
  if (!Array.isArray(chosen)) chosen = [chosen];
  const words = el("span", { class: "select-words" });
  const node = button({ class: "b-select", "aria-haspopup": "listbox", onclick: open }, words, icon("down", 16));

  function show() {
    const labels = chosen.map((value) => all.find((each) => each.value === value)?.label ?? value);
    words.textContent = labels.length ? labels.join(", ") : plainText(element.placeholder?.text ?? "Choose an option");
    words.classList.toggle("placeholder", !labels.length);
    node.chosen = multiple ? chosen : (chosen[0] ?? null);
  }

  function open() {
    openMenu(node, groups, pick, { searchable: all.length > 8 || element.type.includes("users"), chosen, multiple });
  }

  async function pick(value) {
    const former = chosen;
    chosen = multiple ? value : [value];
    show();
    if (!(await used(element, context, node.chosen))) {
      chosen = former;
      show();
    }
  }

  show();
  return node;
}

function makeOverflow(element, context) {
  const groups = optionGroups(element);
  const node = button(
    {
      class: "b-button overflow",
      "aria-label": "More actions",
      onclick: () =>
        openMenu(node, groups, (value) => {
          const url = groups[0].options.find((each) => each.value === value)?.url;
          if (url && /^https?:/i.test(url)) window.open(url, "_blank", "noopener,noreferrer");
          used(element, context, value);
        }),
    },
    icon("more", 16),
  );
  return node;
}

let groupCount = 0;

function makeTicks(element, context, kind) {
  const name = `ticks-${(groupCount += 1)}`;
  const initial = element.initial_options ?? (element.initial_option ? [element.initial_option] : []);
  const chosen = [context.value?.(element) ?? initial.map((each) => each.value)].flat();
  const node = el("div", { class: "b-ticks", role: kind === "radio" ? "radiogroup" : "group" });
  const read = () => {
    const values = [...node.querySelectorAll("input:checked")].map((each) => each.value);
    node.chosen = kind === "radio" ? (values[0] ?? null) : values;
    return node.chosen;
  };
  for (const option of element.options) {
    const input = el("input", { type: kind, name, value: option.value, checked: chosen.includes(option.value) });
    input.addEventListener("change", () => used(element, context, read()));
    const words = el(
      "span",
      {},
      textObject(option.text),
      option.description ? el("small", {}, textObject(option.description)) : null,
    );
    node.append(el("label", {}, input, words));
  }
  read();
  return node;
}

function makeDate(element, context) {
  const node = el("input", { type: "date", class: "b-input date" });
  node.value = context.value?.(element) ?? element.initial_date ?? "";
  node.addEventListener("change", () => used(element, context, node.value));
  return node;
}

function makeText(element, context) {
  const isLong = element.multiline === true;
  const node = el(isLong ? "textarea" : "input", {
    class: "b-input",
    type: isLong ? undefined : "text",
    inputMode: element.type === "number_input" ? "decimal" : "text",
    placeholder: element.placeholder ? plainText(element.placeholder.text) : "",
    maxLength: element.max_length ?? 3000,
    rows: isLong ? 4 : undefined,
    autocomplete: "off",
  });
  node.value = context.value?.(element) ?? element.initial_value ?? "";
  if (element.focus_on_load) queueMicrotask(() => node.focus());
  if (element.dispatch_action_config || context.dispatches)
    node.addEventListener("keydown", (event) => event.key === "Enter" && !isLong && used(element, context, node.value));
  return node;
}

export function valueOf(node) {
  return node.matches("input, textarea") ? node.value : node.chosen;
}
