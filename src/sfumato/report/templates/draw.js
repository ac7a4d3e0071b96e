// Charts come as data beside this script; each is drawn in the figure of the same number.
const specs = JSON.parse(document.getElementById("charts").textContent);
const theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
for (const [number, spec] of specs.entries()) {
  const place = document.getElementById(`chart-${number}`);
  // ast: expressions are interpreted, so that the page needs no permission to evaluate code.
  window
    .vegaEmbed(place, spec, { mode: "vega-lite", actions: false, renderer: "svg", ast: true, tooltip: { theme } })
    .catch(() => { place.textContent = "This chart could not be drawn; its numbers are in the tables."; });
}
