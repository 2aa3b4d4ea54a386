"use strict";
// Beside each time in UTC, the same in the reader's own zone. Nothing is lost where scripts do not run.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
if (new Date().getTimezoneOffset() !== 0) {
  const format = new Intl.DateTimeFormat(undefined, {
    weekday: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
    timeZoneName: "short",
  });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const here = document.createElement("span");
    here.className = "here";
    here.textContent = format.format(new Date(time.dateTime));
    time.after(here);
  }
  document.getElementById("zone").textContent = `Times are UTC, and beside it ${zone}.`;
}

// What is folded is printed, and opened where a link of the contents leads to it.
const opened = (within) => within.querySelectorAll("details").forEach((fold) => { fold.open = true; });
addEventListener("beforeprint", () => opened(document));
addEventListener("hashchange", () => opened(document.querySelector(":target") ?? document.createElement("p")));
