// Elements are built, never parsed: whatever a message holds ends in a text node.

export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== "list" && name !== "role" && name !== "popover") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const PATHS = {
  hash: "M4 9h16M4 15h16M10 3 8 21M16 3l-2 18",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  home: "M4 11 12 4l8 7M6 10v10h12V10",
  message: "M4 5h16v11H9l-5 4z",
  thread: "M4 5h16v11H9l-5 4zM8 9h8M8 12h5",
  close: "M6 6l12 12M18 6 6 18",
  back: "M15 5l-7 7 7 7",
  down: "M7 10l5 5 5-5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  send: "M4 12 20 4l-6 16-3-7z",
  theme: "M12 4a8 8 0 1 0 8 8 6 6 0 0 1-8-8z",
  eye: "M3 12s3.5-6 9-6 9 6 9 6-3.5 6-9 6-9-6-9-6zM12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  bold: "M7 5h6a3.5 3.5 0 0 1 0 7H7zM7 12h7a3.5 3.5 0 0 1 0 7H7z",
  italic: "M10 5h7M7 19h7M14 5l-4 14",
  strike: "M5 12h14M16 7a4 4 0 0 0-4-2c-2.5 0-4 1.3-4 3M8 16.5A4.5 4.5 0 0 0 12 19c2.5 0 4-1.3 4-3",
  code: "M9 7l-5 5 5 5M15 7l5 5-5 5",
  at: "M16 8v5a2.5 2.5 0 0 0 5 0v-1a9 9 0 1 0-4 7.5M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0",
  slash: "M5 4h14v16H5zM14 8l-4 8",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  warning: "M12 4 2.5 20h19zM12 10v4.5M12 17.5h.01",
};

export function icon(name, size = 18) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", width: size, height: size, fill: "none" }))
    svg.setAttribute(key, value);
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export function button(properties, ...children) {
  return el("button", { type: "button", ...properties }, ...children);
}

const COLOURS = ["#1d7fbf", "#b1478f", "#2e8b57", "#c2703d", "#5b5fc7", "#8a6d1f", "#9a4fd0"];

export function avatar(user, size = 36) {
  const face = user.is_bot ? (user.name === "slackbot" ? "💠" : "🧟") : initials(user.real_name);
  const node = el("span", { class: `avatar${user.is_bot ? " bot" : ""}`, "aria-hidden": "true" }, face);
  const spread = [...user.id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 997, 7);
  node.style.setProperty("--size", `${size}px`);
  if (!user.is_bot) node.style.background = COLOURS[spread % COLOURS.length];
  return node;
}

function initials(name) {
  return name
    .split(" ")
    .map((word) => word[0])
    .slice(0, 2)
    .join("");
}

export function toast(text) {
  const node = el("div", { class: "toast" }, icon("warning"), el("span", {}, text));
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), 6000);
}
