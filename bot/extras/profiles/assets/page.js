"use strict";
(() => {
  const told = JSON.parse(document.getElementById("told").textContent);
  const chart = document.getElementById("chart");
  const details = document.getElementById("details");
  const percent = (share) => (100 * share).toFixed(share < 0.1 ? 2 : 1) + " %";
  const label = (node) => {
    const { name, value, delta } = node.data;
    const more = delta === undefined ? "" : `, ${delta < 0 ? "−" : "+"}${percent(Math.abs(delta) / told.tree.value)} of all against before`;
    return `${name}: ${percent(value / told.tree.value)} (${value.toLocaleString("en")})${more}`;
  };
  const graph = window.flamegraph.default()
    .width(Math.max(320, chart.clientWidth))
    .cellHeight(18)
    .minFrameSize(1)
    .transitionDuration(matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250)
    .setLabelHandler(label)
    .setDetailsElement(details)
    // Any text: what somebody types is no expression.
    .setSearchMatch((node, term) => node.data.name.toLowerCase().includes(term.toLowerCase()));
  // Blue is less and orange is more: the two that the colour-blind tell apart. What stayed is grey.
  if (told.compares) {
    const most = Math.max(1, ...told.deltas.map(Math.abs));
    graph.setColorMapper((node) => {
      const delta = node.data.delta || 0;
      const strength = Math.min(1, Math.sqrt(Math.abs(delta) / most));
      const [red, green, blue] = delta < 0 ? [86, 160, 220] : [235, 140, 40];
      const mix = (full) => Math.round(225 + (full - 225) * strength);
      return `rgb(${mix(red)},${mix(green)},${mix(blue)})`;
    });
  } else {
    graph.setColorMapper((node) => {
      let sum = 0;
      for (const letter of node.data.name) sum = (sum * 31 + letter.codePointAt(0)) % 997;
      return `hsl(${28 + (sum % 24)}, ${62 + (sum % 30)}%, ${66 + (sum % 13)}%)`;
    });
  }
  d3.select(chart).datum(told.tree).call(graph);
  const search = document.getElementById("search");
  document.getElementById("form").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", () => {
    if (search.value.trim() === "") { graph.clear(); details.textContent = ""; return; }
    graph.search(search.value.trim());
  });
  document.getElementById("reset").addEventListener("click", () => {
    search.value = "";
    graph.clear();
    graph.resetZoom();
    details.textContent = "";
  });
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { graph.width(Math.max(320, chart.clientWidth)); graph.update(); }, 150);
  });
})();
