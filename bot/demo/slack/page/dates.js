// Times as Slack writes them, and its date tokens.
// Tokens: https://docs.slack.dev/messaging/formatting-message-text#date-formatting

const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const seconds = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit", second: "2-digit" });

export const instant = (ts) => new Date(Number(ts) * 1000);
export const time = (ts) => clock.format(instant(ts));
export const exact = (ts) => `${long(instant(ts))} at ${seconds.format(instant(ts))}`;
const months = (form) => (day) => day.toLocaleDateString("en", { month: form });
const month = months("long");
const monthShort = months("short");

function ordinal(day) {
  const tens = day % 100;
  if (tens > 10 && tens < 14) return `${day}th`;
  return `${day}${["th", "st", "nd", "rd"][day % 10] ?? "th"}`;
}

const plain = (day) => `${month(day)} ${ordinal(day.getDate())}, ${day.getFullYear()}`;
const short = (day) => `${monthShort(day)} ${day.getDate()}, ${day.getFullYear()}`;
const long = (day) => `${day.toLocaleDateString("en", { weekday: "long" })}, ${plain(day)}`;
const numeric = (day) =>
  [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, "0")).join("-");

function near(day) {
  const start = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
  const away = Math.round((start(day) - start(new Date())) / 86_400_000);
  return { 0: "today", "-1": "yesterday", 1: "tomorrow" }[away];
}

const pretty = (form) => (day) => near(day) ?? form(day);
const FORMS = {
  date_num: numeric,
  date: plain,
  date_short: short,
  date_long: long,
  date_pretty: pretty(plain),
  date_short_pretty: pretty(short),
  date_long_pretty: pretty(long),
  time: (day) => clock.format(day),
  time_secs: (day) => seconds.format(day),
  ago,
};

export function dated(timestamp, format) {
  const day = new Date(timestamp * 1000);
  if (Number.isNaN(day.getTime())) return null;
  const text = format.replace(/\{(\w+)\}/g, (whole, name) => FORMS[name]?.(day) ?? whole);
  return text.startsWith("today") || text.startsWith("yesterday") || text.startsWith("tomorrow")
    ? text[0].toUpperCase() + text.slice(1)
    : text;
}

export function ago(day) {
  const minutes = Math.round((Date.now() - day) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} minute${minutes > 1 ? "s" : ""} ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 24) return `${hours} hour${hours > 1 ? "s" : ""} ago`;
  const days = Math.round(hours / 24);
  return `${days} day${days > 1 ? "s" : ""} ago`;
}

export function dayName(ts) {
  const day = instant(ts);
  const word = near(day);
  if (word) return word[0].toUpperCase() + word.slice(1);
  return `${day.toLocaleDateString("en", { weekday: "long" })}, ${month(day)} ${ordinal(day.getDate())}`;
}
