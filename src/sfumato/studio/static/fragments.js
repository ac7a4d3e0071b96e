// Fetches parts of the page and puts them in their place. Everything it does is a plain request that the server answers
// without it too; what to fetch, when, and where it goes stands in attributes:
//   data-get="/address" data-on="load input" data-into="#place" [data-delay="40"]   forms are sent as they stand
//   data-post="/address" data-into="#place"      a form whose answer is a part of this page
//   data-upload="/address/"                      a form whose file is sent as it is
//   data-sets="id" [data-logarithmic]            a slider and the number beside it
//   data-copy                                    a button that copies the text before it
//   data-reload                                  the page has to be drawn anew
//   data-stays="name" with parts data-part="name"  a piece that is asked for again and again: while it is the same, only
//                                                its parts are replaced, so that a button beside them can be pressed

const running = new Map(); // by place: the newest request; an older one is given up

function address(element) {
  const query = element instanceof HTMLFormElement ? new URLSearchParams(new FormData(element)).toString() : "";
  return query ? `${element.dataset.get}?${query}` : element.dataset.get;
}

async function fetchInto(element, url, options = {}) {
  const where = element.dataset.into;
  running.get(where)?.abort();
  const mine = new AbortController();
  running.set(where, mine);
  document.querySelector(where)?.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(url, { ...options, signal: mine.signal, headers: { "x-fragment": "1" } });
    const text = await answer.text();
    if (running.get(where) !== mine) return;
    if (answer.status === 204) {
      // Nothing has changed: ask again later.
      setTimeout(() => element.isConnected && fetchInto(element, url), Number(element.dataset.delay));
      return;
    }
    replace(document.querySelector(where), answer.ok ? text : "");
    if (!answer.ok) say(where, "The studio could not answer. Is it still running in its terminal?");
  } catch (error) {
    if (error.name !== "AbortError" && !("quiet" in element.dataset)) {
      say(where, "The studio does not answer. Is it still running in its terminal?");
    }
  } finally {
    if (running.get(where) === mine) {
      running.delete(where);
      document.querySelector(where)?.removeAttribute("aria-busy");
    }
  }
}

function say(where, sentence) {
  const place = document.querySelector(where);
  if (!place) return;
  const told = document.createElement("p");
  told.className = "problem";
  told.setAttribute("role", "alert");
  told.textContent = sentence;
  place.replaceChildren(told);
}

function renew(place, text) {
  const old = place.querySelector("[data-stays]");
  if (!old) return false;
  const arrived = document.createElement("template");
  arrived.innerHTML = text;
  const same = arrived.content.querySelector("[data-stays]");
  if (same?.dataset.stays !== old.dataset.stays) return false;
  for (const part of same.querySelectorAll("[data-part]")) {
    old.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`)?.replaceWith(part);
  }
  begin(place);
  return true;
}

function replace(place, text) {
  if (!place || renew(place, text)) return;
  const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
  // What was unfolded stays so: parts are told apart by the words one clicks on.
  const open = new Set([...place.querySelectorAll("details[open] > summary")].map((each) => each.textContent));
  place.innerHTML = text;
  for (const each of place.querySelectorAll("details > summary")) {
    if (open.has(each.textContent)) each.parentElement.open = true;
  }
  if (focused) document.getElementById(focused)?.focus();
  judge(place);
  begin(place);
  document.dispatchEvent(new CustomEvent("placed", { detail: place }));
}

// What an answer says of a field is said under the field, and the field is marked.
function judge(place) {
  const form = document.querySelector(`form[data-into="#${CSS.escape(place.id)}"]`);
  if (!form) return;
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  for (const told of form.querySelectorAll('.problem[id^="problem-"]')) told.textContent = "";
  for (const told of place.querySelectorAll("[data-invalid]")) {
    const name = told.dataset.invalid;
    const field = document.getElementById(name) ?? document.getElementById(`${name}-by`);
    const under = document.getElementById(`problem-${name}`);
    if (!under) continue;
    field?.setAttribute("aria-invalid", "true");
    under.textContent = told.textContent;
    told.textContent = "Correct the field that is marked.";
  }
}

function begin(root) {
  if (root.querySelector("[data-reload]")) {
    location.reload();
    return;
  }
  for (const element of root.querySelectorAll("[data-get]")) {
    const on = (element.dataset.on ?? "load").split(" ");
    const delay = Number(element.dataset.delay ?? 0);
    if (on.includes("load")) setTimeout(() => element.isConnected && fetchInto(element, address(element)), on.includes("input") ? 0 : delay);
    if (on.includes("input")) listen(element, delay);
  }
}

function listen(form, delay) {
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => fetchInto(form, address(form)), delay);
  });
}

// A slider and its number set each other; only the number is part of the form.
document.addEventListener("input", (event) => {
  const slider = event.target.closest?.("input[data-sets]");
  if (slider) {
    const number = document.getElementById(slider.dataset.sets);
    const value = "logarithmic" in slider.dataset ? 10 ** Number(slider.value) : Number(slider.value);
    number.value = String(Number(value.toPrecision(3)));
    return;
  }
  const own = event.target.id && document.querySelector(`input[data-sets="${CSS.escape(event.target.id)}"]`);
  if (own && event.target.value !== "") {
    const value = Number(event.target.value);
    own.value = String("logarithmic" in own.dataset ? Math.log10(Math.max(value, 1e-300)) : value);
  }
}, true);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.post) {
    event.preventDefault();
    fetchInto(form, form.dataset.post, { method: "POST" });
  } else if (form.dataset.upload) {
    event.preventDefault();
    upload(form);
  } else if (form.dataset.get && !form.getAttribute("action")) {
    event.preventDefault();
    fetchInto(form, address(form));
  }
});

function upload(form) {
  const file = form.querySelector("input[type=file]").files[0];
  const bar = form.querySelector("progress");
  const problem = form.querySelector(".problem");
  if (!file) return;
  problem.textContent = "";
  bar.hidden = false;
  // Not fetch: it does not say how much has been sent.
  const request = new XMLHttpRequest();
  request.open("PUT", form.dataset.upload + encodeURIComponent(file.name));
  request.upload.addEventListener("progress", (event) => { bar.value = event.lengthComputable ? event.loaded / event.total : 0; });
  request.addEventListener("load", () => {
    if (request.status === 201) {
      location.assign(JSON.parse(request.responseText).go);
      return;
    }
    bar.hidden = true;
    try { problem.textContent = JSON.parse(request.responseText).problem; }
    catch { problem.textContent = "That was refused. Give the path of the file instead."; }
  });
  request.addEventListener("error", () => { bar.hidden = true; problem.textContent = "The file could not be sent; it may be too large. Give its path instead."; });
  request.send(file);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const text = button.parentElement.querySelector("code").textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(button.parentElement.querySelector("code"));
    button.textContent = "Press Ctrl-C";
  }
});

// On a phone the pages are a row that scrolls: the one that is open must be seen.
document.querySelector(".steps [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
begin(document);
