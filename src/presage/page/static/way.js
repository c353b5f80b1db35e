// Step by step: what a training shows after every step, predicted, while the panel is open.

import { afterRest, byId, download, onceAFrame, say, sentences } from "./dom.js";
import { allow } from "./fresh.js";
import { general, isFlat } from "./numbers.js";
import { colours, Plot } from "./plot.js";
import { boxes, fillMenu, readWhole } from "./settings.js";
import { withBar } from "./sheet.js";
import { announce, on, problem, problemKey, shownToTests, state } from "./state.js";

const REST = 300;

let panel;
let plot;
let controls;
let way = null;
let askedKey = null;

/** Prepares the panel. */
export function startWay() {
  panel = byId("way-panel");
  plot = new Plot(byId("way"));
  controls = boxes("way", "observable", "steps");
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
  controls.observable.addEventListener("change", () => {
    draw();
    announce("address");
  });
  byId("way-csv").addEventListener("click", () => download("trajectory.csv", csv(), "text/csv"));
  markStale();
}

/** Sets the settings, from an address; what is not given begins as declared. */
export function fillWaySettings({ observable, steps, open }) {
  panel.hidden = state.model.followed.length === 0;
  fillMenu(controls.observable, state.model.followed, observable);
  if (steps !== undefined) controls.steps.value = steps;
  if (open) panel.open = true;
}

/** The settings as texts, as the address has them: only while the panel is open. */
export const waySettings = () => (isOpen() ? { open: "1", observable: controls.observable.value, steps: controls.steps.value } : {});

const isOpen = () => panel.open && !panel.hidden;

const stepsNow = () => readWhole(controls.steps, 1, state.bounds.steps ?? 200);

const keyNow = () => `${problemKey(problem())} ${stepsNow()}`;

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
  const id = state.connection.ask("way", { ...problem(), steps: stepsNow() }, (message) => hear(message, key));
  if (id !== null) askedKey = key;
}

function hear(message, key) {
  if (message.kind === "way") {
    way = shownToTests.way = { ...message, key };
    say(byId("way-message"), "");
  } else if (message.kind === "error") {
    say(byId("way-message"), message.message);
    askedKey = null;
  }
  markStale();
  announce("way");
}

function drawWay() {
  const observable = state.model.followed.find(({ name }) => name === controls.observable.value);
  if (!way || !observable || !isOpen()) return;
  const [values, bars] = way.columns[observable.name];
  const above = values.map((value, i) => value + (bars[i] ?? 0));
  const below = values.map((value, i) => value - (bars[i] ?? 0));
  const [low, high] = [Math.min(...below), Math.max(...above)];
  const room = isFlat(low, high) ? Math.abs(high) * 0.1 || 1 : (high - low) * 0.06;
  plot.ranges.x = [way.times[0], way.times[way.times.length - 1]];
  plot.ranges.y = observable.fraction ? [0, 1.02] : [low - room, high + room];
  const signature = JSON.stringify([observable.name, state.model.name]);
  plot.draw(signature, (theme) => options(observable, theme), [way.times, values, above, below]);
  const last = values.length - 1;
  byId("way").setAttribute("aria-label", `${observable.label} after every step of ${way.trainer}: from ${general(values[0], 3)} to ${general(values[last], 3)} after ${way.times[last]} steps.`);
  sentences(byId("way-notes"), [`Followed: ${way.trainer}.`, ...way.caveats]);
}

function options({ label }, theme) {
  const hidden = { stroke: "transparent", width: 0, points: { show: false } };
  return {
    xlabel: "steps of the training",
    ylabel: label,
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
  say(byId("way-readout"), known ? `step ${way.times[idx]}: ${withBar(pair[0][idx], pair[1][idx])}` : "");
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
