// A file of weights: dropped here, read by the server, shown as a map of heads; a click shows one head.

import { byId, download, make, say, sentences } from "./dom.js";

const FIELDS = { heads: "heads", kv_heads: "kv heads", head_dim: "head dim", family: "family" };
const SVG = "http://www.w3.org/2000/svg";
const WIDE = 520, HIGH = 240, LEFT = 44, BELOW = 26;
let file = null, config = null, answer = null, reading = null;

/** Makes the panel take files. */
export function startWeights() {
  const drop = byId("weights-drop"), input = byId("weights-file");
  input.addEventListener("change", () => {
    take([...input.files]);
    input.value = ""; // so that the same file can be chosen again
  });
  for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", over);
      if (name === "drop") take([...event.dataTransfer.files]);
    });
  }
  byId("weights-fields").replaceChildren(
    ...Object.entries(FIELDS).map(([name, words]) => make("label", {}, words, make("input", { type: "text", id: `weights-${name}`, size: name === "family" ? 12 : 4, autocomplete: "off" }))),
    make("label", {}, make("input", { type: "checkbox", id: "weights-fold_norm" }), "fold norm gains"),
  );
  byId("weights-read").addEventListener("click", read);
  byId("weights-cancel").addEventListener("click", () => reading?.abort());
  byId("to-weights").addEventListener("click", () => {
    byId("weights-panel").open = true;
    byId("weights-panel").scrollIntoView({ behavior: "smooth" });
    byId("weights-file").focus({ preventScroll: true });
  });
  byId("weights-json").addEventListener("click", () => download("heads.json", JSON.stringify(answer, null, 1), "application/json"));
}

const CONFIG = "config.json"; // of Hugging Face: the number of heads is in it, and in no other .json

// A file brings its own configuration or none: that of the file before says nothing about it.
function take(files) {
  const configs = files.filter(({ name }) => name === CONFIG), other = files.find(({ name }) => name !== CONFIG && name.endsWith(".json"));
  const weights = files.filter(({ name }) => !name.endsWith(".json"));
  const refused = (words) => say(byId("weights-message"), words);
  if (other?.name.endsWith(".index.json")) return refused(`${other.name} lists the files of a model of several. Read it by \`presage weights FOLDER\`.`);
  if (other) return refused(`The configuration of a model must be called ${CONFIG}: it tells the number of heads. Got ${other.name}. Drop the ${CONFIG} beside the weights, or none.`);
  if (configs.length > 1 || weights.length > 1) return refused(`Drop one file of weights, and one ${CONFIG}. A model of several files is read by \`presage weights FOLDER\`.`);
  if (weights.length) [file, config] = [weights[0], null];
  config = configs[0] ?? config;
  if (!file) return say(byId("weights-message"), "Drop the file of weights too.");
  say(byId("weights-name"), [file.name, config?.name].filter(Boolean).join(" and "));
  read();
}

async function read() {
  if (!file) return say(byId("weights-message"), "Drop a file of weights first.");
  reading?.abort();
  const own = (reading = new AbortController());
  const asked = new URLSearchParams({ name: file.name });
  for (const name of Object.keys(FIELDS)) {
    const text = byId(`weights-${name}`).value.trim();
    if (text) asked.set(name, text);
  }
  if (byId("weights-fold_norm").checked) asked.set("fold_norm", "true");
  const length = new DataView(new ArrayBuffer(8));
  length.setUint32(0, config?.size ?? 0, true);
  byId("weights-found").hidden = true; // what is there is of another file, or of other numbers
  byId("weights-cancel").hidden = false;
  say(byId("weights-message"), "");
  say(byId("weights-state"), `Reading ${file.name}…`);
  try {
    const response = await fetch(`weights?${asked}`, { method: "POST", body: new Blob([length.buffer, config ?? "", file]), signal: own.signal });
    const told = await response.json();
    if (reading !== own) return; // a newer question has taken its place
    if (response.ok) show(told);
    else refuse(told);
  } catch {
    if (reading !== own) return;
    say(byId("weights-message"), own.signal.aborted ? "Cancelled." : "The server did not answer. Read it again.");
  }
  say(byId("weights-state"), "");
  byId("weights-cancel").hidden = true;
}

function refuse({ message, field }) {
  say(byId("weights-message"), message);
  if (field in FIELDS) byId(`weights-${field}`).focus();
}

function show(told) {
  answer = told;
  byId("weights-found").hidden = false;
  sentences(byId("weights-summary"), told.summary);
  sentences(byId("weights-caveats"), [...told.caveats, ...told.skipped.map((line) => `skipped: ${line}`)]);
  const places = [...new Map(told.heads.map((head) => [rowOf(head), head])).keys()];
  const rows = places.map((place) => {
    const own = told.heads.filter((head) => rowOf(head) === place);
    return make("div", { className: "map-row", role: "row" }, make("span", { className: "map-name" }, place), ...own.map(square));
  });
  byId("weights-map").replaceChildren(...rows);
  if (told.heads.length) open(told.heads[0]);
}

const rowOf = ({ part, kind, layer }) => [part, kind === "self" ? "" : kind, layer].filter((word) => word !== "").join(" ");

function square(head) {
  const known = head.ratio !== null; // of a head that is all zero there is none, which is no colour of the scale
  const power = known ? Math.max(-3, Math.min(3, Math.log2(head.ratio))) : 0;
  const colour = power < 0 ? "var(--orange)" : "var(--blue)";
  const rank = known ? `stable rank ${short(head.stable_rank)}, random ${short(head.stable_rank_null)}` : "all its values are zero";
  const words = `${head.name}: ${head.verdict}; ${rank}`;
  const button = make("button", { type: "button", className: "head", title: words, "aria-label": words, onclick: () => open(head) }, head.verdict === "random" ? "•" : "");
  button.classList.toggle("zero", !known);
  if (known) button.style.background = `color-mix(in srgb, ${colour} ${Math.round((Math.abs(power) / 3) * 100)}%, var(--field))`;
  button.dataset.head = `${rowOf(head)}/${head.head}`;
  return button;
}

const short = (value) => (value === null || value === undefined ? "not known" : Number(value).toPrecision(3));

function open(head) {
  for (const one of byId("weights-map").querySelectorAll(".head")) one.classList.toggle("chosen", one.dataset.head === `${rowOf(head)}/${head.head}`);
  say(byId("weights-head"), `${head.name}: ${head.verdict}`);
  say(byId("weights-sentence"), head.sentence);
  const numbers = { "stable rank": `${short(head.stable_rank)} (random ${short(head.stable_rank_null)})`, "not zero": head.rank, balance: short(head.balance), symmetry: short(head.symmetry), "p, random factors": short(head.p_random), "p, spectrum alone": short(head.p_spectrum), "above all flips of signs": head.at_least ?? "not asked", "p of the bulk": short(head.p_bulk) };
  byId("weights-numbers").replaceChildren(...Object.entries(numbers).map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, String(value)))));
  byId("weights-spectrum").replaceChildren(picture(head));
  sentences(byId("weights-head-caveats"), head.caveats);
}

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Sorted singular values over the band of random heads, what stands out, what may be rounding, what flips reach. */
function picture(head) {
  const label = { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Singular values of ${head.name}` };
  const text = (words, at) => drawn("text", { ...at, fill: "var(--muted)", "font-size": 12 }, words);
  if (!(head.values[0] > 0)) return drawn("svg", label, text("all its values are zero", { x: WIDE / 2, y: HIGH / 2, "text-anchor": "middle" }));
  const { low, high } = answer.bands[head.shape];
  const size = Math.sqrt(head.values.reduce((sum, value) => sum + value * value, 0) / head.values.length);
  const top = 1.08 * Math.max(head.values[0], high[0] * size, head.threshold ?? 0, 1e-300);
  const n = head.values.length;
  const x = (i) => LEFT + ((i + 0.5) / n) * (WIDE - LEFT - 8), y = (value) => HIGH - BELOW - (value / top) * (HIGH - BELOW - 8);
  const band = [...low.map((value, i) => [i, value]), ...high.map((value, i) => [i, value]).reverse()].map(([i, value]) => `${x(i)},${y(value * size)}`).join(" ");
  const dots = head.values.map((value, i) => {
    const colour = value <= head.floor ? "var(--faint)" : i < head.spikes ? "var(--orange)" : "var(--ink)";
    return drawn("circle", { cx: x(i), cy: y(value), r: i < head.spikes ? 4 : 2.5, fill: colour });
  });
  const parts = [
    drawn("polygon", { points: band, fill: "var(--blue)", opacity: 0.3 }),
    drawn("line", { x1: LEFT, x2: WIDE - 8, y1: y(0), y2: y(0), stroke: "var(--edge)" }),
    drawn("line", { x1: LEFT, x2: LEFT, y1: 8, y2: y(0), stroke: "var(--edge)" }),
    ...dots,
    text(short(top / 1.08), { x: 2, y: y(top / 1.08) + 4 }),
    text("0", { x: LEFT - 14, y: y(0) + 4 }),
    text(`${n} singular values, largest first; shaded: 99 % of random heads`, { x: LEFT, y: HIGH - 8 }),
  ];
  if (head.threshold !== null) {
    parts.push(drawn("line", { x1: LEFT, x2: WIDE - 8, y1: y(head.threshold), y2: y(head.threshold), stroke: "var(--orange)", "stroke-dasharray": "5 4" }));
    parts.push(text("reached by flipped signs", { x: WIDE - 8, y: y(head.threshold) - 4, "text-anchor": "end" }));
  }
  return drawn("svg", label, ...parts);
}
