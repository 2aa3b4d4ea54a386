// The dialogs an app opens: the one on top is in sight, sent with its values, or closed.
import { button, el, icon } from "./dom.js";
import { makeBlocks } from "./blocks.js";
import { plainText, textObject } from "./mrkdwn.js";
import { act, store, user } from "./store.js";

let dialog = null;
let shown = "";

export function showModals() {
  const view = store.whole.modals.at(-1);
  const sign = view ? JSON.stringify([store.me, view.id, view.hash, view.errors, view.trouble]) : "";
  if (sign === shown) return;
  const former = shown && view && JSON.parse(shown)[1] === view.id ? gather(dialog) : {};
  shown = sign;
  const old = dialog;
  dialog = view ? make(view, former) : null;
  if (dialog) {
    document.body.append(dialog);
    dialog.showModal();
    (
      dialog.querySelector(".wrong input, .wrong textarea") ??
      dialog.querySelector(".modal-body input, .modal-body textarea")
    )?.focus();
  }
  old?.remove();
}

function make(view, former) {
  const context = {
    errors: view.errors,
    value: (block, element) => former[block.block_id]?.[element.action_id] ?? kept(view, block, element),
    use: (block, element, value) => use(view, block, element, value),
  };
  const close = () => act("close", { view: view.id });
  const submit = view.submit
    ? button(
        {
          class: "b-button big primary",
          data: { role: "submit" },
          onclick: () => send(view, node),
        },
        plainText(view.submit.text),
      )
    : null;
  const node = el(
    "dialog",
    { class: "modal", "aria-label": view.title.text, data: { viewId: view.id } },
    el(
      "header",
      {},
      appFace(),
      el("h2", {}, textObject(view.title)),
      button({ class: "quiet", "aria-label": "Close", onclick: close }, icon("close")),
    ),
    el(
      "div",
      { class: "modal-body" },
      makeBlocks(view.blocks, context),
      view.trouble ? el("p", { class: "trouble", role: "alert" }, icon("warning", 16), view.trouble) : null,
    ),
    el(
      "footer",
      {},
      button(
        { class: "b-button big", data: { role: "close" }, onclick: close },
        view.close ? plainText(view.close.text) : submit ? "Cancel" : "Close",
      ),
      submit,
    ),
  );
  node.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("input.b-input") || event.isComposing) return;
    event.preventDefault();
    submit?.click();
  });
  return node;
}

function appFace() {
  return el("span", { class: "avatar bot small", "aria-hidden": "true", title: user(store.whole.bot).real_name }, "🧟");
}

function kept(view, block, element) {
  const state = view.values[block.block_id]?.[element.action_id];
  return state?.selected_option?.value ?? state?.value ?? undefined;
}

async function send(view, node) {
  node.classList.add("waiting");
  await act("submit", { view: view.id, values: gather(node) });
  node.classList.remove("waiting");
}

export function gather(node) {
  const values = {};
  for (const block of node?.querySelectorAll(".b-input-block") ?? []) {
    const element = block.querySelector("[data-action-id]");
    if (element) values[block.dataset.blockId] = { [element.dataset.actionId]: element.value };
  }
  return values;
}

export function use(view, block, element, value) {
  return act("click-in-view", { view: view.id, block_id: block.block_id, action_id: element.action_id, value });
}
