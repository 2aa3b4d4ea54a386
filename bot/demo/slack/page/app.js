// The page: where one is, and all panes shown anew whenever something changed.
// Where one is stands in the address: `#CHANNEL`, `#CHANNEL/THREAD`, `#home`, or nothing (a phone's first pane).
import { showModals } from "./modal.js";
import { ChannelPane, HomePane, ThreadPane } from "./panes.js";
import { setTheme, showRail, showSidebar } from "./sidebar.js";
import { changed, connect, messages, onChange, store } from "./store.js";

const rail = document.getElementById("rail");
const sidebar = document.getElementById("sidebar");
const main = document.getElementById("main");
const channelPane = new ChannelPane(main);
const homePane = new HomePane(main);
const threadPane = new ThreadPane(document.getElementById("thread"));
let pointed = null;
let former = "";

function fromPermalink() {
  const found = /^\/archives\/(\w+)\/p(\d+)(\d{6})$/.exec(location.pathname);
  if (!found) return;
  const thread = new URLSearchParams(location.search).get("thread_ts");
  pointed = `${found[2]}.${found[3]}`;
  history.replaceState(null, "", `/#${found[1]}${thread ? `/${thread}` : ""}`);
}

function whereAmI() {
  const [channel, thread] = decodeURIComponent(location.hash.slice(1)).split("/");
  if (channel === "home") return { home: true };
  const first = store.whole.channels.find((each) => !each.is_direct)?.id;
  return { channel: channel || first, thread, isFirstPane: !channel };
}

function show() {
  const place = whereAmI();
  document.body.dataset.pane = place.isFirstPane ? "list" : place.thread ? "thread" : place.home ? "home" : "channel";
  if (document.visibilityState === "visible") store.unread.delete(place.channel);
  showRail(rail);
  showSidebar(sidebar, place);
  const entered = `${store.me} ${location.hash}`;
  if (place.home) {
    if (entered !== former) homePane.enter();
    homePane.show();
    threadPane.show({});
  } else {
    channelPane.show(place);
    threadPane.show(place);
  }
  former = entered;
  showModals();
  if (pointed && messages(place.channel).length) {
    if ((place.thread ? threadPane : channelPane).list.point(pointed)) pointed = null;
  }
  const title = store.whole.channels.find((each) => each.id === place.channel)?.name ?? "Home";
  document.title = `${store.unread.size ? "* " : ""}${title} – ${store.whole.team} (simulated)`;
}

function typesElsewhere(event) {
  return event.target.closest("input, textarea, dialog, [popover]") || event.ctrlKey || event.metaKey || event.altKey;
}

setTheme(localStorage.getItem("theme") ?? "auto");
fromPermalink();
// The token has done its work: the cookie stands for it, and the address can be shared on a screen.
if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", `/${location.hash}`);
onChange(show);
addEventListener("hashchange", changed);
document.addEventListener("visibilitychange", changed);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && whereAmI().thread && !typesElsewhere(event)) location.hash = whereAmI().channel;
});
connect();
