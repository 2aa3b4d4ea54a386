// Elements are built, never parsed: whatever an alert or a note holds ends in a text node.
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const button = (words, onclick, look = "") => el("button", { type: "button", class: look, onclick }, words);
export const named = (word) => word[0].toUpperCase() + word.slice(1);
export const pill = (status) => el("span", { class: `pill ${status}` }, named(status));

export function ago(at) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1000));
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return seconds < 86400 ? `${Math.floor(seconds / 3600)} h ago` : new Date(at).toLocaleDateString();
}

export const when = (at) =>
  el("time", { datetime: at, title: new Date(at).toLocaleString() }, new Date(at).toLocaleTimeString());

// Addresses in a text become links, and nothing else of it does.
export function linked(text) {
  return text.split(/(https?:\/\/[^\s<>"]+)/).map((part, at) =>
    at % 2 ? el("a", { href: part, target: "_blank", rel: "noopener noreferrer" }, part) : part,
  );
}
