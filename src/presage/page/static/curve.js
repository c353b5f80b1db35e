// The learning curve in any field, with the present point, thresholds, what is beside it, pins and trained dots.

import { afterRest, byId, download, make, onceAFrame, say, sentences } from "./dom.js";
import { dimensionsOf, drawDots, drawMarks } from "./dots.js";
import { bar, general, numberOf } from "./numbers.js";
import { picture } from "./picture.js";
import { colours, legendEntry, Plot, SHAPES } from "./plot.js";
import { boxes, fillMenu, fillRange, readRange, readWhole } from "./settings.js";
import { announce, nameOf, numberFields, on, problem, problemKey, shownToTests, state } from "./state.js";
import { trainedAlong } from "./trained.js";

const REST = 150;
const HERE = "here";
const SMALLEST = 1e-8;
const BEGUN_BESIDE = 2;
const BESIDE_LOOKS = [["green", [8, 5]], ["pink", [3, 3]], ["sky", [10, 4, 2, 4]]];
const PIN_LOOKS = [["orange", [12, 4]], ["sky", [4, 3]], ["pink", [10, 4, 2, 4]], ["green", [2, 4]], ["muted", [14, 3, 3, 3]]];

let plot;
let controls;
let curve = null;
let askedKey = null;
let point = null;
let pins = [];
let drawn = {};

/** Prepares the panel. */
export function startCurve() {
  plot = new Plot(byId("curve"));
  controls = boxes("curve", "along", "observable", "low", "high", "points");
  const draw = onceAFrame(drawAll);
  const askSoon = afterRest(REST, askCurve);
  on("model", () => {
    fillSettings({});
    askedKey = null;
    point = null;
  });
  on("problem", () => {
    markStale();
    askSoon();
  });
  on("settings", askSoon);
  on("opened", () => {
    askedKey = null;
    askSoon();
  });
  on("point", (answer) => {
    point = answer;
    draw();
  });
  on("trained", draw);
  on("theme", draw);
  on("cells", draw);
  controls.along.addEventListener("change", () => {
    fillRange(controls.low, controls.high, controls.along.value);
    announce("settings");
  });
  for (const name of ["low", "high", "points"]) controls[name].addEventListener("change", () => announce("settings"));
  controls.observable.addEventListener("change", () => {
    draw();
    announce("address");
  });
  byId("pin").addEventListener("click", pin);
  byId("clear-pins").addEventListener("click", () => {
    pins = [];
    draw();
  });
  for (const format of ["png", "svg"]) byId(`curve-${format}`).addEventListener("click", (event) => curve && picture(format, "curve", point?.title ?? "", [curvePanel()], event.target));
  byId("curve-csv").addEventListener("click", () => curve && download("curve.csv", csv(), "text/csv"));
  byId("curve-table").addEventListener("toggle", drawAll);
}

/** Sets the settings, from an address or a figure; what is not given begins as declared. */
export function fillSettings({ along, observable, low, high, points, beside }) {
  const chosen = fillMenu(controls.along, numberFields(), along);
  fillMenu(controls.observable, state.model.observables, observable);
  fillRange(controls.low, controls.high, chosen);
  if (low !== undefined) controls.low.value = low;
  if (high !== undefined) controls.high.value = high;
  if (points !== undefined) controls.points.value = points;
  const chosenNames = beside?.split(",");
  byId("curve-beside").replaceChildren(
    ...state.model.beside.map(({ name, words }, k) => {
      const checked = chosenNames ? chosenNames.includes(name) : k < BEGUN_BESIDE;
      const box = make("input", { type: "checkbox", value: name, checked, onchange: () => announce("settings") });
      return make("label", {}, box, ` ${words}`);
    }),
  );
}

/** The settings as texts, as the address has them. */
export function curveSettings() {
  const texts = Object.fromEntries(Object.entries(controls).map(([name, box]) => [name, box.value]));
  return { ...texts, beside: chosenBeside().join(",") };
}

/** The settings as a question has them, or null where they cannot be read. */
export function curveQuestion() {
  const along = controls.along.value;
  const range = along ? readRange(controls.low, controls.high, along, byId("curve-message")) : null;
  if (!range) return null;
  return { along, low: range[0], high: range[1], points: readWhole(controls.points, 2, state.bounds.points ?? 200), beside: chosenBeside() };
}

const chosenBeside = () => [...byId("curve-beside").querySelectorAll("input:checked")].map((box) => box.value);

const keyOf = (asked, question) => `${problemKey(asked, question.along)} ${JSON.stringify(question)}`;

function askCurve() {
  const question = curveQuestion();
  if (!question) return;
  const asked = problem();
  const key = keyOf(asked, question);
  if (key === askedKey) return;
  const fresh = { ...question, problem: asked, key, x: null, label: "", logarithmic: false, marks: [], caveats: [], lines: {}, failed: {}, stage: "draft", done: false };
  const id = state.connection.ask("curve", { ...asked, ...question }, (message) => hear(message, fresh));
  if (id === null) return;
  askedKey = key;
  byId("curve-panel").setAttribute("aria-busy", "true");
}

// The curve on the screen is of another problem as soon as something else than its own field has moved.
function markStale() {
  if (!curve) return;
  const question = curveQuestion();
  byId("curve").classList.toggle("stale", !question || keyOf(problem(), question) !== curve.key);
}

function hear(message, fresh) {
  if (message.kind === "axis") Object.assign(fresh, { x: message.x, label: message.label, logarithmic: message.logarithmic });
  else if (message.kind === "marks") fresh.marks = message.marks;
  else if (message.kind === "caveats") fresh.caveats = message.caveats;
  else if (message.kind === "cells") {
    const line = (fresh.lines[message.which] ??= new Array(fresh.x.length));
    for (const { i, values, failed } of message.cells) {
      line[i] = values ?? null;
      if (failed && message.which === HERE) fresh.failed[i] = failed;
    }
    fresh.stage = message.stage;
    if (curve !== fresh) {
      // The old curve stays until the new one has something to show.
      curve = shownToTests.curve = fresh;
      markStale();
    }
  } else if (message.kind === "error") {
    say(byId("curve-message"), message.message);
    askedKey = null;
  } else if (message.kind === "end") {
    fresh.done = true;
    byId("curve-panel").setAttribute("aria-busy", "false");
  }
  announce("cells");
}

// Keeps the present curve while one moves on.
function pin() {
  if (!curve || curve.problem.model !== state.model.name || pins.some((other) => other.key === curve.key)) return;
  const look = PIN_LOOKS.find((candidate) => !pins.some((other) => other.look === candidate)) ?? PIN_LOOKS[pins.length % PIN_LOOKS.length];
  pins.push({ ...curve, look });
  announce("cells");
}

// What a pin differs in from the present problem, in its own values or in those of here.
function differences(one, other, along) {
  const parts = one.model === other.model ? [] : [one.model];
  for (const [name, text] of Object.entries(one.fields)) {
    if (name === along || other.fields[name] === text) continue;
    parts.push(`${nameOf(name)} ${text.length > 24 ? `${text.slice(0, 22)}…` : text}`);
  }
  for (const name of Object.keys(other.fields)) if (!(name in one.fields) && one.model === other.model && name !== along) parts.push(`without ${nameOf(name)}`);
  return parts.join(", ");
}

const observableNow = () => state.model.observables.find(({ name }) => name === controls.observable.value);

// All lines that the present settings can show, each with its look.
function linesNow(observable, theme) {
  const lines = [];
  const add = (source, which, look, words, extra) => {
    const cells = source.lines[which];
    const values = cells && Array.from(source.x, (_, i) => (cells[i] === undefined ? undefined : (cells[i]?.[observable.name] ?? null)));
    if (!values?.some(Boolean)) return;
    lines.push({ x: source.x, y: values.map((value) => value && value[0]), bar: values.map((value) => value && value[1]), colour: theme[look[0]], dash: look[1], words, source, ...extra });
  };
  const here = problem();
  for (const pinned of pins) if (pinned.along === curve.along && pinned.key !== curve.key) add(pinned, HERE, pinned.look, differences(pinned.problem, here, curve.along) || "pinned", { pinned });
  state.model.beside.forEach(({ name, words }, k) => add(curve, name, BESIDE_LOOKS[k % BESIDE_LOOKS.length], words));
  // Words that set the present curve apart are needed only where a pin is drawn that differs from it.
  const apart = new Set(lines.filter(({ pinned }) => pinned).flatMap(({ pinned }) => differences(curve.problem, pinned.problem, curve.along).split(", ")).filter(Boolean));
  add(curve, HERE, ["blue", undefined], apart.size ? `here: ${[...apart].join(", ")}` : "here", { isHere: true });
  return lines;
}

// Trained dots of a line: at the value of the field they were trained at.
function dotsOf(line, observable) {
  return trainedAlong(line.source.problem, curve.along)
    .filter(({ means }) => means[observable.name])
    .map(({ problem: { fields }, d, done, of, means }) => ({ x: numberOf(fields[curve.along]), y: means[observable.name][0], error: means[observable.name][1], d, done, of }));
}

function presentPoint(observable) {
  const row = point?.asked.model === state.model.name ? point.rows.find(({ name }) => name === observable.name) : null;
  const x = numberOf(point?.asked.fields[curve.along]);
  return row && Number.isFinite(x) && Number.isFinite(row.value) ? { x, y: row.value, text: row.text } : null;
}

function drawAll() {
  const observable = observableNow();
  // The curve of another model stays, greyed, until the new one has something to show.
  if (!curve?.x || !observable || curve.problem.model !== state.model.name) return;
  const theme = colours();
  const lines = linesNow(observable, theme);
  const dots = lines.filter(({ isHere, pinned }) => isHere || pinned).map((line) => [line, dotsOf(line, observable)]);
  const present = presentPoint(observable);
  drawn = { lines, dots, present, observable };
  const isLog = setRanges(observable, lines, dots.flatMap(([, list]) => list), present);
  // What lies below a logarithmic axis lies on its lower edge.
  const onPlot = (value) => (isLog && Number.isFinite(value) ? Math.max(value, plot.ranges.y[0]) : value);
  const moved = (y, bars, sign) => y.map((value, i) => (Number.isFinite(value) ? onPlot(value + sign * (bars[i] ?? 0)) : value));
  const tables = lines.map(({ x, y, bar: bars }) => [x, y.map(onPlot), moved(y, bars, 1), moved(y, bars, -1)]);
  // Without a line there still is an axis with the present point on it.
  const data = tables.length ? uPlot.join(tables) : [curve.x, curve.x.map(() => null)];
  const signature = JSON.stringify([lines.map(({ colour, dash }) => [colour, dash]), curve.label, curve.logarithmic, isLog, observable.name, state.model.name]);
  plot.draw(signature, () => options(isLog), data);
  markStale();
  legend(theme);
  describe();
  table();
}

function options(isLog) {
  const { lines, observable } = drawn;
  const series = lines.flatMap(({ colour, dash, isHere }) => [
    { stroke: colour, width: isHere ? 2.5 : 2, dash, points: { show: false } },
    { stroke: "transparent", width: 0, points: { show: false } },
    { stroke: "transparent", width: 0, points: { show: false } },
  ]);
  return {
    xlabel: curve.label,
    ylabel: observable.label,
    xlog: curve.logarithmic,
    ylog: isLog,
    series: series.length ? series : [{ stroke: "transparent" }],
    bands: lines.map(({ colour }, k) => ({ series: [3 * k + 2, 3 * k + 3], fill: `${colour}33` })),
    hooks: { drawAxes: [(u) => drawMarks(u, curve.marks)], draw: [(u) => drawDots(u, drawn)], setCursor: [readOut] },
  };
}

function setRanges(observable, lines, dots, present) {
  plot.ranges.x = [curve.x[0], curve.x[curve.x.length - 1]];
  const values = lines.flatMap(({ x, y, source }) => (source === curve ? y : y.filter((_, i) => x[i] >= plot.ranges.x[0] && x[i] <= plot.ranges.x[1]))).filter(Number.isFinite);
  values.push(...dots.flatMap(({ y, error }) => [y - 2 * (error ?? 0), y + 2 * (error ?? 0)]).filter(Number.isFinite));
  if (present && present.x >= plot.ranges.x[0] && present.x <= plot.ranges.x[1]) values.push(present.y);
  if (values.length === 0) values.push(0, 1);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (observable.fraction && low >= -0.02 && high <= 1.02) {
    plot.ranges.y = [-0.02, 1.03];
    return false;
  }
  // Neither a rounding error at zero nor what is beside the curve is a reason for more decades.
  const own = lines.filter(({ isHere, pinned }) => isHere || pinned).flatMap(({ y }) => y);
  const least = Math.max(high * SMALLEST, Math.min(...own.filter((value) => value > 0)));
  if (high > 0 && low > -1e-3 * high && high / least >= 1000) {
    plot.ranges.y = [least / 1.5, high * 1.5];
    return true;
  }
  const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
  const bottom = low >= 0 && low < 0.4 * high ? 0 : low - room;
  plot.ranges.y = [bottom, high + room];
  return false;
}

// The order of the legend: the present curve, what is beside it, pins.
function inWords(lines) {
  const rank = ({ isHere, pinned }) => (isHere ? 0 : pinned ? 2 : 1);
  return [...lines].sort((a, b) => rank(a) - rank(b));
}

function legend(theme) {
  const { lines, dots, present } = drawn;
  const entries = inWords(lines).map(({ colour, dash, words, pinned }) => ({ colour, dash, words, pinned }));
  for (const pinned of pins) {
    if (pinned.key === curve.key) entries.push({ colour: theme[pinned.look[0]], words: "pinned: the present curve", pinned });
    else if (!lines.some((line) => line.pinned === pinned)) entries.push({ colour: theme.faint, words: `${differences(pinned.problem, problem(), "") || "pinned"}: not drawn here (along ${nameOf(pinned.along)})`, pinned });
  }
  if (present) entries.push({ colour: theme.blue, mark: "round", words: "the present point" });
  dimensionsOf(dots).forEach((d, k) => entries.push({ colour: theme.ink, mark: SHAPES[k % SHAPES.length], words: `trained, d = ${d}, ± 2 standard errors` }));
  const key = JSON.stringify(entries.map(({ colour, dash, mark, words, pinned }) => [colour, dash, mark, words, pinned?.key]));
  const list = byId("curve-legend");
  byId("clear-pins").disabled = pins.length === 0;
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  const unpin = (pinned) =>
    make("button", { type: "button", className: "small", "aria-label": "unpin this curve", title: "unpin", onclick: () => { pins = pins.filter((other) => other !== pinned); announce("cells"); } }, "×");
  list.replaceChildren(...entries.map((entry) => legendEntry({ ...entry, after: entry.pinned && unpin(entry.pinned) })));
}

function describe() {
  const { lines, present, observable } = drawn;
  const name = nameOf(curve.along);
  const parts = [`${observable.label} against ${name}, from ${general(curve.x[0], 3)} to ${general(curve.x[curve.x.length - 1], 3)}.`];
  const here = lines.find(({ isHere }) => isHere);
  const known = here ? here.y.map((value, i) => [here.x[i], value]).filter(([, value]) => Number.isFinite(value)) : [];
  if (known.length > 1) {
    const least = known.reduce((best, entry) => (entry[1] < best[1] ? entry : best));
    parts.push(`It goes from ${general(known[0][1], 3)} to ${general(known[known.length - 1][1], 3)} and is least, ${general(least[1], 3)}, at ${general(least[0], 3)}.`);
  }
  if (present) parts.push(`The present point: ${present.text} at ${general(present.x)}.`);
  if (lines.length > 1) parts.push(`Also drawn: ${lines.filter(({ isHere }) => !isHere).map(({ words }) => words).join("; ")}.`);
  byId("curve").setAttribute("aria-label", parts.join(" "));
  const notes = curve.marks.map(({ label, text, words }) => `${capital(label)} at ${text}: ${words}.`);
  if (present && (present.x < curve.x[0] || present.x > curve.x[curve.x.length - 1])) notes.push(`The present point, ${name} ${general(present.x)}, lies beyond this range.`);
  const [bottom] = plot.ranges.y;
  if (plot.u?.scales.y.distr === 3 && lines.some(({ y }) => y.some((value) => value < bottom))) notes.push(`What lies below ${general(bottom, 2)} is drawn on the lower edge.`);
  const failed = Object.entries(curve.failed);
  if (failed.length) notes.push(`${failed.length} of ${curve.x.length} points failed, the first at ${general(curve.x[failed[0][0]])}: ${failed[0][1]}`);
  sentences(byId("curve-notes"), [...notes, ...curve.caveats]);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// The numbers under the pointer, in words beneath the plot.
function readOut(u) {
  const { idx } = u.cursor;
  const box = byId("curve-readout");
  if (idx === null || idx === undefined || !drawn.lines) {
    say(box, "");
    return;
  }
  const x = u.data[0][idx];
  const parts = inWords(drawn.lines)
    .map(({ words, bar: bars, x: own, y }) => {
      const i = own.indexOf(x);
      return i >= 0 && Number.isFinite(y[i]) ? `${words} ${general(y[i])}${bars[i] ? ` ± ${bar(bars[i])}` : ""}` : null;
    })
    .filter(Boolean);
  say(box, parts.length ? `${nameOf(curve.along)} ${general(x)}: ${parts.join("; ")}` : "");
}

function table() {
  const details = byId("curve-table");
  if (!details.open) return;
  const { lines, observable } = drawn;
  const own = inWords(lines).filter(({ source }) => source === curve);
  const head = make("tr", {}, make("th", { scope: "col" }, nameOf(curve.along)), ...own.map(({ words }) => make("th", { scope: "col" }, words)));
  const rows = curve.x.map((x, i) => {
    const cells = own.map(({ y, bar: bars }) => make("td", {}, Number.isFinite(y[i]) ? `${general(y[i])}${bars[i] ? ` ± ${bar(bars[i])}` : ""}` : (curve.failed[i] ?? "")));
    return make("tr", {}, make("th", { scope: "row" }, general(x)), ...cells);
  });
  details.querySelector("table").replaceChildren(make("caption", {}, `${observable.label} against ${nameOf(curve.along)}`), make("thead", {}, head), make("tbody", {}, ...rows));
}

/** What a picture of the curve is made from; null where there is none. */
export function curvePanel() {
  if (!curve?.x || !drawn.lines) return null;
  const { lines, dots, present, observable } = drawn;
  const curves = inWords(lines).map(({ x, y, bar: bars, words, isHere }) => {
    const known = Array.from(x, (_, i) => i).filter((i) => Number.isFinite(y[i]));
    return { x: known.map((i) => x[i]), y: known.map((i) => y[i]), bar: known.map((i) => bars[i] ?? null), label: words, trained: false, dashed: !isHere };
  });
  for (const [line, list] of dots) {
    for (const d of dimensionsOf([[line, list]])) {
      const own = list.filter((entry) => entry.d === d).sort((a, b) => a.x - b.x);
      const whose = line.isHere ? "" : ` (${line.words})`;
      curves.push({ x: own.map(({ x }) => x), y: own.map(({ y }) => y), bar: own.map(({ error }) => 2 * (error ?? 0)), label: `trained, d = ${d}${whose}`, trained: true, dashed: false });
    }
  }
  if (present) curves.push({ x: [present.x], y: [present.y], bar: [0], label: `the present point, ${present.text}`, trained: true, dashed: false });
  const marks = curve.marks.map(({ label, at: place }) => ({ label, at: place }));
  return { kind: "curves", xlabel: curve.label, ylabel: observable.label, xlog: curve.logarithmic, ylog: plot.u?.scales.y.distr === 3, curves, marks };
}

/** The curve with its settings and pins, as the JSON of everything has it. */
export function curveData() {
  const plain = ({ problem: of, along, x, label, logarithmic, marks, caveats, lines, failed, stage }) => ({ ...of, along, x, label, logarithmic, marks, caveats, lines, failed, stage });
  return curve && { ...plain(curve), observable: controls.observable.value, pins: pins.map(plain) };
}

function csv() {
  const columns = [];
  for (const [which, cells] of Object.entries(curve.lines)) {
    const names = [...new Set(cells.flatMap((values) => Object.keys(values ?? {})))];
    for (const name of names) columns.push({ title: which === HERE ? name : `${which}_${name}`, values: curve.x.map((_, i) => cells[i]?.[name]) });
  }
  const rows = [[curve.along, ...columns.flatMap(({ title }) => [title, `${title}_bar`])]];
  curve.x.forEach((x, i) => rows.push([x, ...columns.flatMap(({ values }) => [values[i]?.[0] ?? "", values[i]?.[1] ?? ""])]));
  return `${rows.map((row) => row.join(",")).join("\n")}\n`;
}

