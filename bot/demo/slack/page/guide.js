// The beginning of the channel where a newcomer starts: commands to click, and who may approve what.
import { avatar, button, el } from "./dom.js";
import { act, actAs, store, user } from "./store.js";

const named = (ids) => ids.map((id) => user(id).real_name).join(" and ");

export function guide(place) {
  const found = store.whole.guide;
  if (found?.channel !== place.id) return null;
  return el(
    "div",
    { class: "guide" },
    el("p", {}, "New here? Click a command to send it:"),
    ...found.suggested.map((each) => chip(place, each)),
    el("p", {}, ...whoApproves(found.approvers)),
    ...found.elsewhere.map(([name, url]) =>
      el("p", {}, "Alerts come by themselves: fire one in ", link(url, name), "."),
    ),
  );
}

const link = (href, name) => el("a", { href, target: "_blank", rel: "noopener noreferrer" }, name);

function chip(place, { command, shows }) {
  const node = button(
    {
      class: "chip",
      onclick: async () => {
        node.disabled = true;
        await act("say", { channel: place.id, text: command });
        node.disabled = false;
      },
    },
    el("code", {}, command),
    el("span", {}, shows),
  );
  return node;
}

// Whoever asked does not approve: the words say who else does, and beside them is how to become that person.
function whoApproves(approvers) {
  const me = user(store.whole.me);
  if (!approvers.length) return [];
  const others = approvers.filter((id) => id !== me.id);
  const may = `${named(approvers)} may approve, each what the other asked for, and nobody their own. `;
  const mine = me.is_guest
    ? `You are ${me.real_name}, a guest: guests may neither ask nor approve. `
    : `You are ${me.real_name}: what you ask for waits for ${named(others)}. `;
  return [may, mine, ...others.map(become)];
}

function become(id) {
  const other = user(id);
  return button({ class: "become", onclick: () => actAs(other.name) }, avatar(other, 20), `Be ${other.real_name}`);
}
