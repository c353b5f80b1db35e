// The learning curve in any field, with the present point, thresholds, what is beside it, pins and trained dots.

import { afterRest, byId, download, make, onceAFrame, say, sentences } from "./dom.js";
import { drawDots, drawMarks, groupsOf } from "./dots.js";
import { allow, pointIsReady } from "./fresh.js";
import { general, isFlat, numberOf } from "./numbers.js";
import { picture } from "./picture.js";
import { clearPins, differences, MOST_PINS, pin, pinnedCurves, refreshPins, unpin } from "./pins.js";
import { colours, legendEntry, Plot, SHAPES } from "./plot.js";
import { boxes, fillMenu, fillRange, readRange, readWhole } from "./settings.js";
import { csvOf, fillTable, inWords, panelOf, withBar } from "./sheet.js";
import { announce, isPresent, modelNamed, nameOf, numberFields, on, problem, problemKey, shownToTests, state } from "./state.js";
import { trainedAlong } from "./trained.js";

const REST = 150;
const HERE = "here";
const SMALLEST = 1e-8;
const BEGUN_BESIDE = 2;
const BESIDE_LOOKS = [["green", [8, 5]], ["pink", [3, 3]], ["sky", [10, 4, 2, 4]]];
const GREYED = ["curve", "curve-legend", "curve-notes", "curve-table"];

let plot;
let controls;
let curve = null;
let askedKey = null;
let point = null;
let isStale = false;
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
  on("settings", () => {
    markStale();
    askSoon();
  });
  on("stale", allowAll);
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
  // Not while one types: the box is put right once one has done so.
  controls.points.addEventListener("change", () => (controls.points.value = pointsNow()));
  for (const name of ["low", "high", "points"]) controls[name].addEventListener("change", () => announce("settings"));
  controls.observable.addEventListener("change", () => {
    draw();
    announce("address");
  });
  byId("pin").addEventListener("click", () => {
    pin(curve);
    announce("cells");
  });
  byId("clear-pins").addEventListener("click", () => {
    clearPins();
    drawAll();
  });
  for (const format of ["png", "svg"]) byId(`curve-${format}`).addEventListener("click", (event) => picture(format, "curve", point.title, [curvePanel()], event.target));
  byId("curve-csv").addEventListener("click", () => download("curve.csv", csvOf(curve, HERE), "text/csv"));
  byId("curve-table").addEventListener("toggle", drawAll);
  allowAll();
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

/** The settings as a question has them, or null where they cannot be read; why is said if it `speaks`. */
export function curveQuestion(speaks) {
  const along = controls.along.value;
  const range = along ? readRange(controls.low, controls.high, along, speaks ? byId("curve-message") : null) : null;
  if (!range) return null;
  return { along, low: range[0], high: range[1], points: pointsNow(), beside: chosenBeside() };
}

const pointsNow = () => readWhole(controls.points, 2, state.bounds.points ?? 200);

const chosenBeside = () => [...byId("curve-beside").querySelectorAll("input:checked")].map((box) => box.value);

const keyOf = (asked, question) => `${problemKey(asked, question.along)} ${JSON.stringify(question)}`;

function askCurve() {
  const question = curveQuestion(true);
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
  const question = curveQuestion(false);
  isStale = !question || keyOf(problem(), question) !== curve.key;
  for (const id of GREYED) byId(id).classList.toggle("stale", isStale);
  if (isStale) say(byId("curve-readout"), "");
  allowAll();
}

const isWhole = () => Boolean(curve?.done) && !isStale;

function allowAll() {
  const isFull = pinnedCurves().length >= MOST_PINS;
  allow(isWhole() && !isFull, "pin");
  byId("pin").title = isFull ? `at most ${MOST_PINS} curves are kept: unpin one first` : "keep this curve and move on";
  allow(pinnedCurves().length > 0, "clear-pins");
  allow(isWhole() && pointIsReady(), "curve-png", "curve-svg", "curve-csv");
}

/** Whether the curve is all there and of the present problem; a model without numbers has none. */
export const curveIsReady = () => numberFields().length === 0 || isWhole();

/** Whether the line of this verb is on the screen. */
export const isDrawn = (verb) => Boolean(drawn.lines?.some((line) => line.source === curve && line.verb === verb));

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
    fresh.isBroken = true;
    askedKey = null;
  } else if (message.kind === "end") {
    fresh.done = !fresh.isBroken;
    if (fresh.done) refreshPins(fresh);
    byId("curve-panel").setAttribute("aria-busy", "false");
    markStale();
    // What was refused may have been mended in the meantime, in the curve's own field: that is not part of the key.
    if (fresh.isBroken && !isPresent(fresh.problem)) askCurve();
  }
  announce("cells");
}

const observableNow = () => state.model.observables.find(({ name }) => name === controls.observable.value);

// All lines that the present settings can show, each with its look.
function linesNow(observable, theme) {
  const lines = [];
  const add = (source, which, look, words, extra) => {
    const cells = source.lines[which];
    const values = cells && Array.from(source.x, (_, i) => (cells[i] === undefined ? undefined : (cells[i]?.[observable.name] ?? null)));
    if (!values?.some(Boolean)) return;
    lines.push({ x: source.x, y: values.map((value) => value && value[0]), bar: values.map((value) => value && value[1]), colour: theme[look[0]], dash: look[1], words, source, verb: which === HERE ? modelNamed(source.problem.model).verb : which, ...extra });
  };
  const here = problem();
  for (const pinned of pinnedCurves()) if (pinned.along === curve.along && pinned.key !== curve.key) add(pinned, HERE, pinned.look, differences(pinned.problem, here, curve.along) || "pinned", { pinned });
  state.model.beside.forEach(({ name, words }, k) => add(curve, name, BESIDE_LOOKS[k % BESIDE_LOOKS.length], words));
  // Words that set the present curve apart are needed only where a pin is drawn that differs from it.
  const apart = new Set(lines.filter(({ pinned }) => pinned).flatMap(({ pinned }) => differences(curve.problem, pinned.problem, curve.along).split(", ")).filter(Boolean));
  add(curve, HERE, ["blue", undefined], apart.size ? `here: ${[...apart].join(", ")}` : "here", { isHere: true });
  return lines;
}

// Trained dots of a line: at the value of the field they were trained at, and only those that seek what the line is of.
function dotsOf(line, observable) {
  return trainedAlong(line.source.problem, curve.along, line.verb)
    .filter(({ means }) => means[observable.name])
    .map((entry) => ({ ...entry, x: numberOf(entry.problem.fields[curve.along]), y: entry.means[observable.name][0], error: entry.means[observable.name][1] }));
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
  const dots = lines.map((line) => [line, dotsOf(line, observable)]);
  const present = presentPoint(observable);
  drawn = { lines, dots, present, observable };
  const isLog = setRanges(observable, lines, dots.flatMap(([, list]) => list), present);
  // What lies below a logarithmic axis lies on its lower edge.
  const onPlot = (value) => (isLog && Number.isFinite(value) ? Math.max(value, plot.ranges.y[0]) : value);
  const moved = (y, bars, sign) => y.map((value, i) => (Number.isFinite(value) ? onPlot(value + sign * (bars[i] ?? 0)) : value));
  const tables = lines.map(({ x, y, bar: bars }) => [x, y.map(onPlot), moved(y, bars, 1), moved(y, bars, -1)]);
  // Without a line there still is an axis with the present point on it.
  const data = tables.length ? uPlot.join(tables) : [curve.x, curve.x.map(() => null)];
  const signature = JSON.stringify([lines.map(({ colour, dash }) => [colour, dash]), curve.label, curve.logarithmic, isLog, isOnePlace(), observable.name, state.model.name]);
  plot.draw(signature, () => options(isLog), data);
  markStale();
  legend(theme);
  describe();
  if (byId("curve-table").open) fillTable(byId("curve-table").querySelector("table"), curve, drawn);
  announce("drawn");
}

function options(isLog) {
  const { lines, observable } = drawn;
  const series = lines.flatMap(({ colour, dash, isHere }) => [
    { stroke: colour, width: isHere ? 2.5 : 2, dash, points: { show: isOnePlace() } },
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

// A range of whole numbers may have one place only: it still needs an axis, and a dot for want of a line.
const isOnePlace = () => curve.x.length === 1;

function ends() {
  const [low, high] = [curve.x[0], curve.x[curve.x.length - 1]];
  if (!isOnePlace()) return [low, high];
  return curve.logarithmic ? [low / 1.5, high * 1.5] : [low - 0.5, high + 0.5];
}

function setRanges(observable, lines, dots, present) {
  plot.ranges.x = ends();
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
  const room = isFlat(low, high) ? Math.abs(high) * 0.1 || 1 : (high - low) * 0.08;
  const bottom = low >= 0 && low < 0.4 * high ? 0 : low - room;
  plot.ranges.y = [bottom, high + room];
  return false;
}

function legend(theme) {
  const { lines, dots, present, observable } = drawn;
  const entries = inWords(lines).map(({ colour, dash, words, pinned }) => ({ colour, dash, words, pinned }));
  for (const pinned of pinnedCurves()) {
    const why = pinned.along === curve.along ? `it has no ${observable.label}` : `along ${nameOf(pinned.along)}`;
    if (pinned.key === curve.key) entries.push({ colour: theme[pinned.look[0]], words: "pinned: the present curve", pinned });
    else if (!lines.some((line) => line.pinned === pinned)) entries.push({ colour: theme.faint, words: `${differences(pinned.problem, problem(), "") || "pinned"}: not drawn here (${why})`, pinned });
  }
  if (present) entries.push({ colour: theme.blue, mark: "round", words: "the present point" });
  groupsOf(dots).forEach(({ words, line }, k) => entries.push({ colour: line.isHere || line.pinned ? theme.ink : line.colour, mark: SHAPES[k % SHAPES.length], words: `${words}, ± 2 standard errors` }));
  const key = JSON.stringify(entries.map(({ colour, dash, mark, words, pinned }) => [colour, dash, mark, words, pinned?.key]));
  const list = byId("curve-legend");
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  const letGo = (pinned) => {
    unpin(pinned);
    announce("cells");
  };
  const button = (pinned) => make("button", { type: "button", className: "small", "aria-label": "unpin this curve", title: "unpin", onclick: () => letGo(pinned) }, "×");
  list.replaceChildren(...entries.map((entry) => legendEntry({ ...entry, after: entry.pinned && button(entry.pinned) })));
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
      return i >= 0 && Number.isFinite(y[i]) ? `${words} ${withBar(y[i], bars[i])}` : null;
    })
    .filter(Boolean);
  say(box, parts.length ? `${nameOf(curve.along)} ${general(x)}: ${parts.join("; ")}` : "");
}

/** What a picture of the curve is made from; null where there is none. */
export function curvePanel() {
  return curve?.x && drawn.lines && isWhole() ? panelOf(curve, drawn, plot.u?.scales.y.distr === 3) : null;
}

/** The curve with its settings and pins, as the JSON of everything has it. */
export function curveData() {
  const plain = ({ problem: of, along, x, label, logarithmic, marks, caveats, lines, failed, stage }) => ({ ...of, along, x, label, logarithmic, marks, caveats, lines, failed, stage });
  return curve && { ...plain(curve), observable: controls.observable.value, pins: pinnedCurves().map(plain) };
}
