// What this person sees, kept true by the live wire; and what they do, sent to the workspace.
import { toast } from "./dom.js";

export const store = { me: sessionStorage.getItem("as") || "alice", whole: null, unread: new Set() };
const listeners = [];
let wire = null;
let scheduled = false;
let isPressed = false;

export function onChange(listener) {
  listeners.push(listener);
}

export function changed() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(show);
}

// Nothing is drawn anew while the mouse is pressed: if what is under it were replaced, the browser would see no click.
function show() {
  if (isPressed) {
    requestAnimationFrame(show);
    return;
  }
  scheduled = false;
  if (store.whole) listeners.forEach((listener) => listener());
}

addEventListener("pointerdown", () => (isPressed = true), true);
for (const end of ["pointerup", "pointercancel", "contextmenu"]) addEventListener(end, () => (isPressed = false), true);
addEventListener("blur", () => (isPressed = false)); // of the window; an element's does not come here
// Released where the page is not told, as on a scroll bar.
addEventListener("pointermove", (event) => (isPressed &&= event.buttons !== 0), true);

export function connect() {
  if (wire) wire.onclose = null;
  wire?.close();
  const mine = (wire = new WebSocket(`ws://${location.host}/page/live?as=${encodeURIComponent(store.me)}`));
  mine.onmessage = (event) => take(JSON.parse(event.data));
  mine.onclose = () => {
    document.body.classList.add("offline");
    setTimeout(() => mine === wire && connect(), 1000);
  };
  mine.onopen = () => document.body.classList.remove("offline");
}

export function actAs(user) {
  store.me = user;
  store.unread.clear();
  sessionStorage.setItem("as", user);
  connect();
}

function take(whole) {
  if (store.whole?.me === whole.me) noteUnread(store.whole, whole);
  store.whole = whole;
  store.me = whole.me;
  changed();
}

function noteUnread(before, now) {
  for (const [place, messages] of Object.entries(now.messages)) {
    const known = new Set(before.messages[place]?.map((each) => each.ts));
    const isNews = (each) => !known.has(each.ts) && each.user !== now.me && (!each.is_reply || each.is_broadcast);
    if (messages.some(isNews)) store.unread.add(place);
  }
}

export const user = (id) => store.whole.users[id] ?? { id, name: id, real_name: id };
export const channel = (id) => store.whole.channels.find((each) => each.id === id);
export const messages = (id) => store.whole.messages[id] ?? [];
export const replies = (id, ts) => messages(id).filter((each) => each.is_reply && each.thread_ts === ts);

// How many replies each thread of a channel has, and which is the last: counted once for a whole list.
export function threads(id) {
  const found = new Map();
  for (const each of messages(id)) {
    if (each.is_reply) found.set(each.thread_ts, `${Number.parseInt(found.get(each.thread_ts) ?? 0) + 1} ${each.ts}`);
  }
  return found;
}

export async function act(name, given) {
  let answer;
  try {
    const response = await fetch(`/page/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ as: store.me, ...given }),
    });
    answer = response.ok ? await response.json() : { ok: false, says: await response.text() };
  } catch {
    answer = { ok: false, says: "The workspace does not answer. Has the demo ended?" };
  }
  if (!answer.ok) toast(answer.says);
  else if (answer.came?.failure && name !== "home") toast("That didn’t reach the app. Try again?");
  return answer.ok ? answer.came : null;
}
