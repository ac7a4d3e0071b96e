// Draws every chart of the page, and of each part that is put into it: a chart is data in an attribute.
const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

function draw(root) {
  for (const place of root.querySelectorAll("[data-spec]")) {
    const spec = JSON.parse(place.dataset.spec);
    // ast: expressions are interpreted, so that the page needs no permission to evaluate code.
    window
      .vegaEmbed(place, spec, { mode: "vega-lite", actions: false, renderer: "svg", ast: true, tooltip: { theme } })
      .then(({ view }) => {
        if (place.dataset.chooses) view.addEventListener("click", (event, item) => choose(place.dataset.chooses, item));
      })
      .catch(() => { place.textContent = "This chart could not be drawn; its numbers are in the table."; });
  }
}

// A point is chosen by the button that stands for it in the table, so that keys can do what the mouse does.
function choose(name, item) {
  const value = item?.datum?.[name];
  const button = value && [...document.querySelectorAll(`button[name="${name}"]`)].find((each) => each.value === value);
  button?.click();
}

document.addEventListener("placed", (event) => draw(event.detail));
draw(document);
