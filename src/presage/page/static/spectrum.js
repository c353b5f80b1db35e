// The spectrum of what is learned, with the target behind it and trained networks on it.

import { byId, download, say } from "./dom.js";
import { allow, pointIsReady } from "./fresh.js";
import { general, isFlat } from "./numbers.js";
import { picture } from "./picture.js";
import { at, font, inside, legendEntry, colours, Plot } from "./plot.js";
import { modelNamed, on } from "./state.js";
import { trainedHere, trainedWords } from "./trained.js";

let plot;
let shown = null;
let trained = null;
let cutAt = null;

/** Prepares the panel. */
export function startSpectrum() {
  plot = new Plot(byId("spectrum"));
  on("trained", () => shown && showSpectrum(shown));
  on("theme", () => shown?.spectrum && legend());
  for (const event of ["problem", "stale"]) on(event, allowAll);
  allowAll();
  for (const format of ["png", "svg"]) byId(`spectrum-${format}`).addEventListener("click", (event) => picture(format, "spectrum", shown.title, [spectrumPanel()], event.target));
  byId("spectrum-csv").addEventListener("click", () => download("spectrum.csv", csv(), "text/csv"));
}

function allowAll() {
  allow(Boolean(shown?.spectrum) && pointIsReady(), "spectrum-png", "spectrum-svg", "spectrum-csv");
}

/** Draws the spectrum of an answer. */
export function showSpectrum(answer) {
  shown = answer;
  allowAll();
  const { spectrum } = answer;
  byId("spectrum-panel").classList.toggle("without", !spectrum);
  say(byId("spectrum-none"), spectrum ? "" : answer.no_spectrum || "There is no spectrum here.");
  if (!spectrum) {
    trained = null;
    return;
  }
  // Networks that seek another answer than the one drawn would be beside the wrong spectrum.
  trained = trainedHere(answer.asked, modelNamed(answer.asked.model).verb).findLast((entry) => entry.histogram) ?? null;
  const data = uPlot.join([line(answer.target?.bulks ?? []), line(spectrum.bulks)]);
  setRanges(answer);
  plot.draw(`${answer.words}`, options, data);
  legend();
  describe(answer);
}

/** What a picture of the spectrum is made from; null where there is none. */
export function spectrumPanel() {
  if (!shown?.spectrum) return null;
  return { kind: "spectrum", spectrum: shown.spectrum, target: shown.target, words: shown.words, histogram: trained?.histogram ?? null };
}

function options({ muted, blue }) {
  return {
    xlabel: shown.words.replace(/ies$/, "y").replace(/s$/, ""),
    ylabel: "density",
    series: [
      { stroke: muted, width: 1.5, dash: [6, 4], fill: `${muted}22`, points: { show: false } },
      { stroke: blue, width: 2, fill: `${blue}44`, points: { show: false } },
    ],
    hooks: { draw: [drawRest] },
    cursor: { show: false },
  };
}

// Bulks as one line that comes down to zero at their ends and is broken between them.
function line(bulks) {
  const points = new Map();
  let last = -Infinity;
  for (const { x, density } of bulks) {
    if (x.length === 0) continue;
    const width = (x[x.length - 1] - x[0]) * 1e-6 || 1e-9;
    if (points.size > 0) points.set((last + x[0]) / 2, null);
    points.set(x[0] - width, 0);
    x.forEach((value, k) => points.set(value, density[k]));
    last = x[x.length - 1] + width;
    points.set(last, 0);
  }
  const sorted = [...points].sort((a, b) => a[0] - b[0]);
  return sorted.length ? [sorted.map(([x]) => x), sorted.map(([, y]) => y)] : [[0], [null]];
}

// The density below which four fifths of the mass lies: a narrow peak above a few of these would hide the rest.
function usualDensity(pieces) {
  const sorted = pieces.filter(([density, mass]) => density > 0 && mass > 0).sort((a, b) => a[0] - b[0]);
  const total = sorted.reduce((sum, [, mass]) => sum + mass, 0);
  let below = 0;
  for (const [density, mass] of sorted) {
    below += mass;
    if (below >= 0.8 * total) return density;
  }
  return 0;
}

const piecesOf = (bulks) =>
  bulks.flatMap(({ x, density }) => x.slice(1).map((right, k) => [(density[k] + density[k + 1]) / 2, ((density[k] + density[k + 1]) / 2) * (right - x[k])]));

function setRanges({ spectrum, target }) {
  const places = [];
  for (const each of [spectrum, target].filter(Boolean)) {
    for (const { x } of each.bulks) if (x.length) places.push(x[0], x[x.length - 1]);
    places.push(...each.outliers, ...each.atoms.map(([value]) => value));
    if (each.zero > 0) places.push(0);
  }
  const histogram = trained?.histogram;
  if (histogram?.edges.length) places.push(histogram.edges[0], histogram.edges[histogram.edges.length - 1]);
  if (places.length === 0) places.push(-1, 1);
  const [low, high] = [Math.min(...places), Math.max(...places)];
  const room = isFlat(low, high) ? Math.abs(high) * 0.1 || 1 : (high - low) * 0.04;
  plot.ranges.x = [low - room, high + room];

  cutAt = null;
  const heights = [spectrum, target].filter(Boolean).map(({ bulks }) => {
    const top = Math.max(0, ...bulks.flatMap(({ density }) => density));
    const cut = 2.5 * usualDensity(piecesOf(bulks));
    if (cut > 0 && top > cut) {
      cutAt = Math.max(cutAt ?? 0, top);
      return cut;
    }
    return top;
  });
  const steps = histogram?.heights.length ? usualDensity(histogram.heights.map((height, k) => [height, height * (histogram.edges[k + 1] - histogram.edges[k])])) * 1.5 : 0;
  const top = Math.max(...heights, steps) * 1.1 || 1;
  if (cutAt !== null && cutAt <= top) cutAt = null;
  plot.ranges.y = [0, top];
}

function drawRest(u) {
  const { ink, muted, card, blue, orange } = colours();
  const { spectrum, target } = shown;
  const histogram = trained?.histogram;
  inside(u, (ctx, bbox, ratio) => {
    const ground = bbox.top + bbox.height;
    const upright = (value, colour, width, height = bbox.height, dash = []) => {
      ctx.strokeStyle = colour;
      ctx.lineWidth = width * ratio;
      ctx.setLineDash(dash.map((part) => part * ratio));
      ctx.beginPath();
      ctx.moveTo(at(u, "x", value), ground);
      ctx.lineTo(at(u, "x", value), ground - height);
      ctx.stroke();
    };
    // The height of an atom is its mass as a fraction of the plot's, as for the zeros.
    for (const [value, mass] of target?.atoms ?? []) upright(value, muted, 2, mass * bbox.height, [6, 4]);
    for (const [value, mass] of spectrum.atoms) upright(value, blue, 3, Math.max(0.03, mass) * bbox.height);
    for (const value of spectrum.outliers) upright(value, orange, spectrum.outliers.length > 30 ? 1 : 2.5, 0.35 * bbox.height);
    if (histogram?.heights.length) {
      ctx.setLineDash([]);
      ctx.strokeStyle = ink;
      ctx.lineWidth = 1.5 * ratio;
      ctx.beginPath();
      ctx.moveTo(at(u, "x", histogram.edges[0]), ground);
      histogram.heights.forEach((height, k) => {
        const y = at(u, "y", height);
        ctx.lineTo(at(u, "x", histogram.edges[k]), y);
        ctx.lineTo(at(u, "x", histogram.edges[k + 1]), y);
      });
      ctx.lineTo(at(u, "x", histogram.edges[histogram.edges.length - 1]), ground);
      ctx.stroke();
    }
    const zero = at(u, "x", 0);
    const bar = (mass, width, paint) => {
      ctx.beginPath();
      ctx.rect(zero - (width * ratio) / 2, ground - mass * bbox.height, width * ratio, mass * bbox.height + 2 * ratio);
      paint();
    };
    ctx.lineWidth = 1.5 * ratio;
    if (target?.zero > 0) {
      ctx.strokeStyle = muted;
      ctx.setLineDash([5 * ratio, 4 * ratio]);
      bar(target.zero, 18, () => ctx.stroke());
      ctx.setLineDash([]);
    }
    if (spectrum.zero > 0) {
      ctx.fillStyle = `${blue}cc`;
      bar(spectrum.zero, 10, () => ctx.fill());
    }
    if (histogram?.zero > 0) {
      ctx.strokeStyle = ink;
      bar(histogram.zero, 14, () => ctx.stroke());
    }
    if (spectrum.zero > 0) {
      ctx.font = font(ratio);
      ctx.fillStyle = ink;
      const words = `${spectrum.zero_text} zero`;
      const fits = zero + 14 * ratio + ctx.measureText(words).width < bbox.left + bbox.width;
      ctx.textAlign = fits ? "left" : "right";
      ctx.textBaseline = "middle";
      const y = Math.min(ground - 8 * ratio, Math.max(bbox.top + 8 * ratio, ground - spectrum.zero * bbox.height));
      ctx.strokeStyle = card;
      ctx.lineWidth = 4 * ratio;
      ctx.strokeText(words, zero + (fits ? 13 : -13) * ratio, y);
      ctx.fillText(words, zero + (fits ? 13 : -13) * ratio, y);
    }
  });
}

function legend() {
  const { ink, muted, blue, orange } = colours();
  const { spectrum, target } = shown;
  const entries = [];
  if (spectrum.bulks.length) entries.push({ colour: blue, mark: "area", words: "learned" });
  if (spectrum.zero > 0) entries.push({ colour: blue, mark: "bar", words: `learned zeros, ${spectrum.zero_text}` });
  if (spectrum.atoms.length) entries.push({ colour: blue, mark: "up", words: "repeated values" });
  if (spectrum.outliers.length) entries.push({ colour: orange, mark: "up", words: spectrum.outliers.length > 1 ? "outliers" : "outlier" });
  if (target) entries.push({ colour: muted, mark: "area", dash: [5, 3], words: "target" });
  if (trained) entries.push({ colour: ink, mark: "steps", words: `${trainedWords(trained)}, ${trained.done} of ${trained.of}` });
  const key = JSON.stringify(entries);
  const list = byId("spectrum-legend");
  if (list.dataset.key !== key) {
    list.dataset.key = key;
    list.replaceChildren(...entries.map(legendEntry));
  }
  const cut = cutAt === null ? "" : `The highest peak, ${general(cutAt, 3)}, is cut so that the rest can be seen.`;
  say(byId("spectrum-note"), [cut, shown.spectrum?.left_out].filter(Boolean).join(" "));
}

function describe({ spectrum, target, words }) {
  const ends = ({ bulks }) => bulks.map(({ x }) => `from ${general(x[0], 3)} to ${general(x[x.length - 1], 3)}`).join(" and ");
  const parts = [`Density of the learned ${words}.`];
  if (spectrum.zero > 0) parts.push(`${spectrum.zero_text} are zero.`);
  if (spectrum.bulks.length) parts.push(`${spectrum.bulks.length > 1 ? "Bulks" : "A bulk"} ${ends(spectrum)}.`);
  if (spectrum.outliers.length) parts.push(`Outliers at ${spectrum.outliers.map((value) => general(value, 3)).join(", ")}.`);
  if (target?.bulks.length) parts.push(`The target goes ${ends(target)}.`);
  if (trained) parts.push(`Steps: trained networks of d = ${trained.d}.`);
  byId("spectrum").setAttribute("aria-label", parts.join(" "));
}

function csv() {
  const rows = ["part,which,x,density_or_mass"];
  for (const [part, each] of Object.entries({ learned: shown.spectrum, target: shown.target })) {
    if (!each) continue;
    if (each.zero > 0) rows.push(`${part},zero,0,${each.zero}`);
    each.bulks.forEach(({ x, density }, k) => x.forEach((value, i) => rows.push(`${part},bulk ${k + 1},${value},${density[i]}`)));
    each.atoms.forEach(([value, mass]) => rows.push(`${part},atom,${value},${mass}`));
    each.outliers.forEach((value) => rows.push(`${part},outlier,${value},`));
  }
  trained?.histogram?.heights.forEach((height, k) => rows.push(`trained d = ${trained.d},bin to ${trained.histogram.edges[k + 1]},${trained.histogram.edges[k]},${height}`));
  return `${rows.join("\n")}\n`;
}
