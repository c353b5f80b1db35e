// The phase diagram in any two fields, filled from coarse to fine while its panel is open.

import { afterRest, byId, download, onceAFrame, say, sentences } from "./dom.js";
import { allow } from "./fresh.js";
import { general, linearTicks, logarithmicTicks, numberOf, placeOf, tickText } from "./numbers.js";
import { colourAt, colourScale } from "./palette.js";
import { picture } from "./picture.js";
import { colours, font } from "./plot.js";
import { boxes, fillMenu, fillRange, readRange, readWhole } from "./settings.js";
import { withBar } from "./sheet.js";
import { announce, fieldNamed, handOver, isPresent, nameOf, numberFields, on, problem, problemKey, shownToTests, state } from "./state.js";

const REST = 300;
const STEPS = ["across", "across-low", "across-high", "up", "up-low", "up-high", "observable", "side"];

let panel;
let canvas;
let controls;
let map = null;
let askedKey = null;
let isStale = false;
let place = null;
let frame = null;

/** Prepares the panel. */
export function startMap() {
  panel = byId("map-panel");
  canvas = byId("map-canvas");
  controls = boxes("map", ...STEPS);
  const draw = onceAFrame(drawMap);
  const askSoon = afterRest(REST, askMap);
  on("model", () => {
    fillMapSettings({});
    map = shownToTests.map = askedKey = place = null;
    say(byId("map-readout"), "");
    markStale();
  });
  const moved = () => {
    askSoon();
    markStale();
    draw();
  };
  for (const event of ["problem", "map-settings"]) on(event, moved);
  on("opened", () => {
    askedKey = null;
    askSoon();
  });
  on("map-cells", draw);
  on("theme", draw);
  panel.addEventListener("toggle", () => {
    askMap();
    markStale();
    draw();
    announce("address");
  });
  new ResizeObserver(draw).observe(byId("map"));
  for (const name of ["across", "up"]) {
    controls[name].addEventListener("change", () => {
      fillRange(controls[`${name}-low`], controls[`${name}-high`], controls[name].value);
      announce("map-settings");
      announce("settings");
    });
  }
  controls.side.addEventListener("change", () => (controls.side.value = sideNow()));
  for (const name of ["across-low", "across-high", "up-low", "up-high", "side"]) {
    controls[name].addEventListener("change", () => {
      announce("map-settings");
      announce("settings");
    });
  }
  controls.observable.addEventListener("change", () => {
    draw();
    announce("address");
  });
  listen(draw);
  for (const format of ["png", "svg"]) byId(`map-${format}`).addEventListener("click", (event) => picture(format, "map", "", [mapPanel()], event.target));
  byId("map-csv").addEventListener("click", () => download("map.csv", csv(), "text/csv"));
  markStale();
}

/** Sets the settings, from an address; what is not given begins as declared. */
export function fillMapSettings(texts) {
  const fields = numberFields();
  panel.hidden = fields.length < 2;
  if (panel.hidden) return;
  const across = fillMenu(controls.across, fields, texts.across);
  const up = fillMenu(controls.up, fields, texts.up ?? fields.find(({ name }) => name !== across).name);
  const brief = state.model.observables.find(({ fraction }) => fraction) ?? state.model.observables[0];
  fillMenu(controls.observable, state.model.observables, texts.observable ?? brief?.name);
  fillRange(controls["across-low"], controls["across-high"], across);
  fillRange(controls["up-low"], controls["up-high"], up);
  for (const name of STEPS) if (texts[name] !== undefined && !["across", "up", "observable"].includes(name)) controls[name].value = texts[name];
  if (texts.open) panel.open = true;
}

/** The settings as texts, as the address has them: only while the panel is open. */
export const mapSettings = () => (panel.open && !panel.hidden ? { open: "1", ...Object.fromEntries(Object.entries(controls).map(([name, box]) => [name, box.value])) } : {});

/** The settings as a question has them, or null where there is nothing to ask; why is said if it `speaks`. */
export function mapQuestion(speaks) {
  if (!panel.open || panel.hidden) return null;
  const [across, up] = [controls.across.value, controls.up.value];
  const message = speaks ? byId("map-message") : null;
  if (across === up) {
    if (message) say(message, "Choose two different fields.");
    return null;
  }
  const acrossRange = readRange(controls["across-low"], controls["across-high"], across, message);
  const upRange = acrossRange && readRange(controls["up-low"], controls["up-high"], up, message);
  if (!upRange) return null;
  return { across, up, across_range: acrossRange, up_range: upRange, side: sideNow() };
}

const sideNow = () => readWhole(controls.side, 2, state.bounds.side ?? 60);

const keyOf = (asked, question) => `${problemKey(asked, question.across, question.up)} ${JSON.stringify(question)}`;

// The map on the screen is of another problem as soon as something else than its own two fields has moved.
function markStale() {
  const question = mapQuestion(false);
  isStale = !map || !question || keyOf(problem(), question) !== map.key;
  if (isStale) place = null;
  byId("map").classList.toggle("stale", isStale);
  allow(isWhole(), "map-png", "map-svg", "map-csv");
}

const isWhole = () => Boolean(map?.done) && !isStale;

/** Whether the map is all there and of the present problem; one that is closed is not missed. */
export const mapIsReady = () => !panel.open || panel.hidden || isWhole();

function askMap() {
  const question = mapQuestion(true);
  if (!question) return;
  const asked = problem();
  const key = keyOf(asked, question);
  if (key === askedKey) return;
  const fresh = { ...question, problem: asked, key, x: null, y: null, cells: [], known: 0, failed: 0, done: false };
  const id = state.connection.ask("map", { ...asked, ...question }, (message) => hear(message, fresh));
  if (id !== null) askedKey = key;
}

function hear(message, fresh) {
  if (message.kind === "axes") {
    Object.assign(fresh, { x: message.x, y: message.y, x_label: message.x_label, y_label: message.y_label, x_logarithmic: message.x_logarithmic, y_logarithmic: message.y_logarithmic });
    fresh.cells = message.y.map(() => new Array(message.x.length));
  } else if (message.kind === "cells") {
    for (const cell of message.cells) {
      if (!fresh.cells[cell.j][cell.i]) fresh.known++;
      fresh.cells[cell.j][cell.i] = cell;
    }
    map = shownToTests.map = fresh;
    markStale();
  } else if (message.kind === "caveats") sentences(byId("map-notes"), message.caveats);
  else if (message.kind === "error") {
    say(byId("map-message"), message.message);
    fresh.isBroken = true;
    askedKey = null;
  } else if (message.kind === "end") {
    fresh.done = !fresh.isBroken;
    markStale();
    // What was refused may have been mended in the meantime, in a field that is not part of the key.
    if (fresh.isBroken && !isPresent(fresh.problem)) askMap();
  }
  announce("map-cells");
}

const observableNow = () => state.model.observables.find(({ name }) => name === controls.observable.value);

// Every cell that is not known yet is that of the nearest one that is, so that the picture is whole from the first.
function filled() {
  const [width, height] = [map.x.length, map.y.length];
  const whole = map.cells.map((row) => [...row]);
  let edge = [];
  whole.forEach((row, j) => row.forEach((cell, i) => cell && edge.push([i, j])));
  while (edge.length) {
    const next = [];
    for (const [i, j] of edge) {
      for (const [a, b] of [[i + 1, j], [i - 1, j], [i, j + 1], [i, j - 1]]) {
        if (a < 0 || b < 0 || a >= width || b >= height || whole[b][a]) continue;
        whole[b][a] = whole[j][i];
        next.push([a, b]);
      }
    }
    edge = next;
  }
  return whole;
}

function drawMap() {
  const observable = observableNow();
  if (!panel.open || !map?.x || !observable) return;
  const theme = colours();
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = byId("map");
  if (width < 60 || height < 60) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const ctx = canvas.getContext("2d");
  ctx.scale(ratio, ratio);
  ctx.font = font();
  const text = parseFloat(ctx.font);
  const scale = colourScale(map.cells.flat().map((cell) => cell?.values?.[observable.name]?.[0]).filter(Number.isFinite), observable.fraction);
  const sizes = [...ticks(map.y, map.y_logarithmic, height / 50), 0].map((tick) => ctx.measureText(tickText(tick)).width);
  const left = Math.max(...sizes) + text + 16;
  frame = { left, top: 10, width: width - left - text * 6.5, height: height - 10 - text * 3.4 };

  const small = new OffscreenCanvas(map.x.length, map.y.length);
  const image = new ImageData(map.x.length, map.y.length);
  filled().forEach((row, j) =>
    row.forEach((cell, i) => {
      const value = cell?.values?.[observable.name]?.[0];
      if (!Number.isFinite(value)) return;
      const offset = 4 * ((map.y.length - 1 - j) * map.x.length + i);
      image.data.set([...colourAt(placeOf(value, scale.low, scale.high, scale.logarithmic)), 255], offset);
    }),
  );
  small.getContext("2d").putImageData(image, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.fillStyle = theme.faint;
  ctx.fillRect(frame.left, frame.top, frame.width, frame.height);
  ctx.drawImage(small, frame.left, frame.top, frame.width, frame.height);
  axes(ctx, theme, text);
  colourBar(ctx, theme, text, scale, observable);
  present(ctx, theme);
  if (place) outline(ctx);
  describe(observable, scale);
}

const ticks = (values, logarithmic, count) => (values.length === 1 ? () => values : logarithmic ? logarithmicTicks : linearTicks)(values[0], values[values.length - 1], Math.max(2, count));

// Cells have their value in their middle, so the ends of the axes are half a cell within the frame.
function along(value, values, logarithmic) {
  const count = values.length;
  // A range of whole numbers may have one place only.
  if (count === 1) return value === values[0] ? 0.5 : NaN;
  const part = logarithmic ? Math.log(value / values[0]) / Math.log(values[count - 1] / values[0]) : (value - values[0]) / (values[count - 1] - values[0]);
  return (part * (count - 1) + 0.5) / count;
}

const placeX = (value) => frame.left + along(value, map.x, map.x_logarithmic) * frame.width;
const placeY = (value) => frame.top + (1 - along(value, map.y, map.y_logarithmic)) * frame.height;

function axes(ctx, theme, text) {
  ctx.fillStyle = theme.muted;
  ctx.strokeStyle = theme.muted;
  ctx.lineWidth = 1;
  const bottom = frame.top + frame.height;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  ctx.beginPath();
  for (const tick of ticks(map.x, map.x_logarithmic, frame.width / 70)) {
    ctx.moveTo(placeX(tick), bottom);
    ctx.lineTo(placeX(tick), bottom + 4);
    ctx.fillText(tickText(tick), placeX(tick), bottom + 6);
  }
  ctx.fillText(map.x_label, frame.left + frame.width / 2, bottom + text + 11);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const tick of ticks(map.y, map.y_logarithmic, frame.height / 45)) {
    ctx.moveTo(frame.left, placeY(tick));
    ctx.lineTo(frame.left - 4, placeY(tick));
    ctx.fillText(tickText(tick), frame.left - 7, placeY(tick));
  }
  ctx.stroke();
  ctx.save();
  ctx.translate(text * 0.7, frame.top + frame.height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "center";
  ctx.fillText(map.y_label, 0, 0);
  ctx.restore();
}

function colourBar(ctx, theme, text, scale, observable) {
  const [x, width] = [frame.left + frame.width + text, text];
  const rows = Math.round(frame.height);
  for (let k = 0; k < rows; k++) {
    ctx.fillStyle = `rgb(${colourAt(1 - k / rows)})`;
    ctx.fillRect(x, frame.top + k, width, 1.5);
  }
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const tick of ticks([scale.low, scale.high], scale.logarithmic, frame.height / 45)) {
    ctx.fillText(tickText(tick), x + width + 4, frame.top + (1 - placeOf(tick, scale.low, scale.high, scale.logarithmic)) * frame.height);
  }
  ctx.save();
  ctx.translate(frame.left + frame.width + text * 5.8, frame.top + frame.height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "center";
  ctx.fillText(observable.label, 0, 0);
  ctx.restore();
}

function present(ctx, theme) {
  if (state.off.has(map.across) || state.off.has(map.up)) return;
  const [x, y] = [placeX(numberOf(state.texts[map.across])), placeY(numberOf(state.texts[map.up]))];
  if (!(x >= frame.left && x <= frame.left + frame.width && y >= frame.top && y <= frame.top + frame.height)) return;
  for (const [colour, width] of [[theme.card, 5], [theme.ink, 2.5]]) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(x, y, 7, 0, 2 * Math.PI);
    ctx.stroke();
  }
}

function outline(ctx) {
  const [width, height] = [frame.width / map.x.length, frame.height / map.y.length];
  for (const [colour, line] of [["#000", 4], ["#fff", 2]]) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = line;
    ctx.strokeRect(frame.left + place.i * width, frame.top + (map.y.length - 1 - place.j) * height, width, height);
  }
}

function describe(observable, scale) {
  const count = map.x.length * map.y.length;
  const progress = map.done ? "" : `${map.known} of ${count} cells. `;
  const failed = map.cells.flat().filter((cell) => cell?.failed);
  const failures = failed.length ? `${failed.length} cells failed, the first: ${failed[0].failed} ` : "";
  const words = isStale ? "This is of the settings before." : place ? `${cellWords(observable)} Enter or a click hands this place to the sliders.` : "The ring is the present point. Click a cell to go there.";
  say(byId("map-readout"), progress + failures + words);
  canvas.setAttribute(
    "aria-label",
    `Phase diagram: ${observable.label} by colour, from ${general(scale.low, 3)} to ${general(scale.high, 3)}, over ${nameOf(map.across)} and ${nameOf(map.up)}. Arrow keys choose a cell, Enter hands its place to the sliders.`,
  );
}

function cellWords(observable) {
  const cell = map.cells[place.j][place.i];
  const value = cell?.values?.[observable.name];
  const told = cell?.failed ?? (value ? `${observable.label} ${withBar(value[0], value[1])}.` : "not known yet.");
  return `${nameOf(map.across)} ${general(map.x[place.i])}, ${nameOf(map.up)} ${general(map.y[place.j])}: ${told}`;
}

function listen(draw) {
  const cellAt = (event) => {
    if (!map?.x || !frame || isStale) return null;
    const i = Math.floor(((event.offsetX - frame.left) / frame.width) * map.x.length);
    const j = map.y.length - 1 - Math.floor(((event.offsetY - frame.top) / frame.height) * map.y.length);
    return i >= 0 && j >= 0 && i < map.x.length && j < map.y.length ? { i, j } : null;
  };
  canvas.addEventListener("mousemove", (event) => {
    place = cellAt(event);
    draw();
  });
  canvas.addEventListener("mouseleave", () => {
    place = null;
    draw();
  });
  canvas.addEventListener("click", (event) => {
    place = cellAt(event);
    go();
  });
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  canvas.addEventListener("keydown", (event) => {
    if (!map?.x || isStale) return;
    if (event.key === "Enter" || event.key === " ") go();
    else if (moves[event.key]) {
      const [right, up] = moves[event.key];
      const from = place ?? { i: Math.floor(map.x.length / 2), j: Math.floor(map.y.length / 2) };
      place = { i: Math.min(map.x.length - 1, Math.max(0, from.i + right)), j: Math.min(map.y.length - 1, Math.max(0, from.j + up)) };
      draw();
    } else return;
    event.preventDefault();
  });
}

function go() {
  if (!place) return;
  const text = (name, value) => (fieldNamed(name).whole ? String(Math.round(value)) : general(value));
  handOver({ [map.across]: text(map.across, map.x[place.i]), [map.up]: text(map.up, map.y[place.j]) });
}

/** What a picture of the map is made from; null where there is none. */
export function mapPanel() {
  const observable = observableNow();
  if (!panel.open || !isWhole() || !observable) return null;
  const values = filled().map((row) => row.map((cell) => cell?.values?.[observable.name]?.[0] ?? null));
  return { kind: "map", xlabel: map.x_label, ylabel: map.y_label, xlog: map.x_logarithmic, ylog: map.y_logarithmic, x: map.x, y: map.y, values, label: observable.label };
}

/** The map as the JSON of everything has it. */
export function mapData() {
  if (!panel.open || !map) return null;
  const { problem: of, across, up, x, y, cells } = map;
  return { ...of, across, up, x, y, cells: cells.flat().filter(Boolean) };
}

function csv() {
  const cells = map.cells.flat().filter(Boolean);
  const names = [...new Set(cells.flatMap(({ values }) => Object.keys(values ?? {})))];
  const rows = [[map.across, map.up, ...names.flatMap((name) => [name, `${name}_bar`])]];
  for (const { i, j, values } of cells) rows.push([map.x[i], map.y[j], ...names.flatMap((name) => [values?.[name]?.[0] ?? "", values?.[name]?.[1] ?? ""])]);
  return `${rows.map((row) => row.join(",")).join("\n")}\n`;
}
