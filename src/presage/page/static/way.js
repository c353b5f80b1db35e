// Step by step: what a training shows after every step, predicted, while the panel is open.

import { afterRest, byId, download, onceAFrame, say, sentences } from "./dom.js";
import { allow } from "./fresh.js";
import { general, isFlat } from "./numbers.js";
import { colours, Plot } from "./plot.js";
import { boxes, fillMenu, readWhole } from "./settings.js";
import { withBar } from "./sheet.js";
import { announce, on, problem, problemKey, shownToTests, state } from "./state.js";

const REST = 300;
const DECADES = 1000; // ratio of values from which on they are drawn by their logarithm

let panel;
let plot;
let controls;
let way = null;
let askedKey = null;
let wanted = null;

/** Prepares the panel. */
export function startWay() {
  panel = byId("way-panel");
  plot = new Plot(byId("way"));
  controls = boxes("way", "observable", "steps", "trainer", "numbers");
  const draw = onceAFrame(drawWay);
  const askSoon = afterRest(REST, askWay);
  on("model", () => {
    fillWaySettings({});
    way = shownToTests.way = askedKey = null;
    clear();
  });
  for (const event of ["problem", "way-settings"]) {
    on(event, () => {
      markStale();
      askSoon();
    });
  }
  on("opened", () => {
    askedKey = null;
    askSoon();
  });
  on("way", draw);
  on("theme", draw);
  panel.addEventListener("toggle", () => {
    askWay();
    draw();
    announce("address");
  });
  controls.steps.addEventListener("change", () => {
    controls.steps.value = stepsNow();
    announce("way-settings");
    announce("address");
  });
  controls.trainer.addEventListener("change", () => {
    fillNumbers();
    announce("way-settings");
    announce("address");
  });
  controls.numbers.addEventListener("change", () => {
    announce("way-settings");
    announce("address");
  });
  controls.observable.addEventListener("change", () => {
    draw();
    announce("address");
  });
  byId("way-csv").addEventListener("click", () => download("trajectory.csv", csv(), "text/csv"));
  markStale();
}

/** Sets the settings, from an address; what is not given begins as declared. */
export function fillWaySettings({ observable, steps, trainer, numbers, open }) {
  panel.hidden = state.model.followed.length === 0;
  fillMenu(controls.observable, state.model.followed, observable);
  // The observable of an address may be one of a trainer of its own, and is in the menu when that has answered.
  wanted = observable ?? null;
  if (steps !== undefined) controls.steps.value = steps;
  fillMenu(controls.trainer, [{ name: "", label: "the usual one" }, ...state.model.ways.map(({ name }) => ({ name, label: name }))], trainer ?? "");
  byId("way-trainer-label").hidden = state.model.ways.length === 0;
  fillNumbers(numbers);
  if (open) panel.open = true;
}

/** The settings as texts, as the address has them: only while the panel is open. */
export function waySettings() {
  if (!isOpen()) return {};
  const settings = { open: "1", observable: controls.observable.value, steps: controls.steps.value };
  return controls.trainer.value ? { ...settings, trainer: controls.trainer.value, numbers: controls.numbers.value } : settings;
}

// The numbers of the trainer that is chosen, as they begin or as they are given; the usual one has none.
function fillNumbers(numbers) {
  const chosen = state.model.ways.find(({ name }) => name === controls.trainer.value);
  byId("way-numbers-label").hidden = !chosen?.numbers;
  controls.numbers.value = numbers ?? chosen?.numbers ?? "";
}

// The trainer as a command line has it, NAME:RATE=0.1,...; null for the usual one.
function trainerNow() {
  const [name, numbers] = [controls.trainer.value, controls.numbers.value.replaceAll(" ", "")];
  return name ? (numbers ? `${name}:${numbers}` : name) : null;
}

const isOpen = () => panel.open && !panel.hidden;

const stepsNow = () => readWhole(controls.steps, 1, state.bounds.steps ?? 200);

const keyNow = () => `${problemKey(problem())} ${stepsNow()} ${trainerNow()}`;

const isPresent = () => way !== null && way.key === keyNow();

function markStale() {
  byId("way").classList.toggle("stale", way !== null && !isPresent());
  allow(isPresent(), "way-csv");
}

function clear() {
  plot.u?.destroy();
  plot.u = null;
  say(byId("way-message"), "");
  say(byId("way-readout"), "");
  sentences(byId("way-notes"), []);
  markStale();
}

function askWay() {
  if (!isOpen() || keyNow() === askedKey) return;
  const key = keyNow();
  const id = state.connection.ask("way", { ...problem(), steps: stepsNow(), trainer: trainerNow() }, (message) => hear(message, key));
  if (id !== null) askedKey = key;
}

function hear(message, key) {
  if (message.kind === "way") {
    way = shownToTests.way = { ...message, key };
    fillMenu(controls.observable, way.observables, wanted ?? controls.observable.value);
    wanted = null;
    say(byId("way-message"), "");
  } else if (message.kind === "error") {
    say(byId("way-message"), message.message);
    askedKey = null;
  }
  markStale();
  announce("way");
}

function drawWay() {
  const observable = way?.observables.find(({ name }) => name === controls.observable.value);
  if (!observable || !isOpen()) return;
  // A logarithmic clock has no room for the start.
  const first = way.logarithmic && way.times[0] === 0 ? 1 : 0;
  const times = way.times.slice(first);
  const [values, bars] = way.columns[observable.name].map((column) => column.slice(first));
  const above = values.map((value, i) => value + (bars[i] ?? 0));
  const below = values.map((value, i) => value - (bars[i] ?? 0));
  const [low, high] = [Math.min(...below), Math.max(...above)];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isLog = !observable.fraction && least > 0 && most / least >= DECADES;
  const room = isFlat(low, high) ? Math.abs(high) * 0.1 || 1 : (high - low) * 0.06;
  plot.ranges.x = [times[0], times[times.length - 1]];
  plot.ranges.y = observable.fraction ? [0, 1.02] : isLog ? [least / 1.5, most * 1.5] : [low - room, high + room];
  const signature = JSON.stringify([observable.name, state.model.name, way.clock, way.logarithmic, isLog]);
  const under = isLog ? below.map((value) => Math.max(value, least / 1.5)) : below;
  plot.draw(signature, (theme) => options(observable, theme, isLog), [times, values, above, under]);
  const last = values.length - 1;
  byId("way").setAttribute("aria-label", `${observable.label} after every ${way.moment} of ${way.trainer}: from ${general(values[0], 3)} to ${general(values[last], 3)} after ${way.moment === "step" ? `${times[last]} steps` : `time ${general(times[last], 3)}`}.`);
  sentences(byId("way-notes"), [`Followed: ${way.trainer}.`, ...way.caveats]);
}

function options({ label }, theme, isLog) {
  const hidden = { stroke: "transparent", width: 0, points: { show: false } };
  return {
    xlabel: way.clock,
    xlog: way.logarithmic,
    ylabel: label,
    ylog: isLog,
    series: [{ stroke: theme.blue, width: 2.5, points: { show: false } }, hidden, hidden],
    bands: [{ series: [2, 3], fill: `${colours().blue}40` }],
    hooks: { setCursor: [readOut] },
  };
}

// The number under the pointer, in words beneath the plot.
function readOut(u) {
  const { idx } = u.cursor;
  const pair = way?.columns[controls.observable.value];
  const known = idx !== null && idx !== undefined && pair;
  const at = known ? idx + way.times.length - u.data[0].length : 0;
  say(byId("way-readout"), known ? `${way.moment} ${general(way.times[at], 4)}: ${withBar(pair[0][at], pair[1][at])}` : "");
}

function csv() {
  const names = Object.keys(way.columns);
  const rows = [["time", ...names.flatMap((name) => [name, `${name}_bar`])]];
  way.times.forEach((time, i) => rows.push([time, ...names.flatMap((name) => [way.columns[name][0][i], way.columns[name][1][i] ?? ""])]));
  return `${rows.map((row) => row.join(",")).join("\n")}\n`;
}

/** The trajectory, as the JSON of everything has it; null while the panel is closed. */
export function wayData() {
  if (!way || !isOpen()) return null;
  const { times, trainer, columns, caveats } = way;
  return { times, trainer, columns, caveats };
}
