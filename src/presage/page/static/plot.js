// What all plots share: colours by theme, axes, size, legends.

import { make } from "./dom.js";
import { linearTicks, logarithmicTicks, tickText } from "./numbers.js";
import { on } from "./state.js";

const plots = new Set();
on("theme", () => plots.forEach((plot) => plot.rebuild()));

/** The colours of the theme in force. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "muted", "faint", "card", "blue", "orange", "green", "pink", "sky"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const fontSize = () => Math.max(11, Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.78));

/** The font of axes and labels, `ratio` times its usual size. */
export const font = (ratio = 1) => `${Math.round(fontSize() * ratio)}px system-ui, sans-serif`;

/** A uPlot that is rebuilt only where its structure changes; else it gets new data. */
export class Plot {
  #signature = null;
  #options = null;
  #data = null;
  #size = "";

  constructor(container) {
    this.container = container;
    this.ranges = { x: [0, 1], y: [0, 1] };
    this.u = null;
    plots.add(this);
    new ResizeObserver(() => this.#fit()).observe(container);
  }

  /** Draws data; `options` makes the series, hooks and axes and is called again where `signature` differs. */
  draw(signature, options, data) {
    this.#data = data;
    this.#options = options;
    if (this.u && signature === this.#signature) {
      this.u.setData(data);
      return;
    }
    this.#signature = signature;
    this.rebuild();
  }

  /** Begins anew, with the colours of the present theme. */
  rebuild() {
    if (!this.#options) return;
    this.u?.destroy();
    this.u = null;
    const { clientWidth: width, clientHeight: height } = this.container;
    if (width < 40 || height < 40) return;
    this.#size = `${width} ${height}`;
    const made = this.#options(colours());
    const scale = (key, logarithmic) => ({ time: false, distr: logarithmic ? 3 : 1, range: () => this.ranges[key] });
    this.u = new uPlot(
      {
        width,
        height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false }, y: false, ...made.cursor },
        padding: [10, 14, 0, 0],
        scales: { x: scale("x", made.xlog), y: scale("y", made.ylog) },
        axes: [axis(made.xlabel, made.xlog, false), axis(made.ylabel, made.ylog, true)],
        series: [{}, ...made.series],
        bands: made.bands ?? [],
        hooks: made.hooks,
      },
      this.#data,
      this.container,
    );
    this.u.root.setAttribute("aria-hidden", "true");
  }

  #fit() {
    const { clientWidth: width, clientHeight: height } = this.container;
    if (width < 40 || height < 40 || `${width} ${height}` === this.#size) return;
    if (!this.u) this.rebuild();
    else {
      this.#size = `${width} ${height}`;
      this.u.setSize({ width, height });
    }
  }
}

function axis(label, logarithmic, isUp) {
  const { muted, faint } = colours();
  const size = fontSize();
  return {
    label,
    labelFont: font(),
    labelSize: size + 8,
    labelGap: 2,
    font: font(0.94),
    stroke: muted,
    grid: { stroke: faint, width: 1 },
    ticks: { stroke: faint, width: 1, size: 5 },
    gap: 3,
    size: isUp ? (u, values) => Math.max(...(values ?? [""]).map((text) => text.length), 2) * size * 0.56 + 14 : size + 14,
    splits: (u, index, low, high) => (logarithmic ? logarithmicTicks : linearTicks)(low, high, isUp ? u.height / (size * 3.2) : u.width / (size * 6)),
    filter: (u, splits) => splits,
    values: (u, splits) => splits.map(tickText),
  };
}

/** Where a value lies on the canvas. */
export const at = (u, scale, value) => u.valToPos(value, scale, true);

/** Draws inside the plotting area only; `act` gets the context, the area and the canvas pixels a CSS pixel. */
export function inside(u, act) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  act(ctx, bbox, uPlot.pxRatio);
  ctx.restore();
}

/** An entry of a legend: a piece of the line or the mark, and its words. */
export function legendEntry({ colour, dash, mark, words, after }) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  for (const [name, value] of Object.entries({ width: 30, height: 12, "aria-hidden": "true" })) picture.setAttribute(name, value);
  const add = (tag, attributes) => {
    const part = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) part.setAttribute(name, value);
    picture.append(part);
  };
  if (mark === "area") add("rect", { x: 1, y: 2, width: 28, height: 9, fill: colour, "fill-opacity": 0.3, stroke: colour, "stroke-width": 1.5, ...(dash && { "stroke-dasharray": dash.join(" ") }) });
  else if (mark === "up") add("line", { x1: 15, x2: 15, y1: 0, y2: 12, stroke: colour, "stroke-width": 3 });
  else if (mark === "bar") add("rect", { x: 11, y: 0, width: 8, height: 12, fill: colour });
  else if (mark === "steps") add("path", { d: "M1 11V6H8V2H15V5H22V8H29V11", fill: "none", stroke: colour, "stroke-width": 1.5 });
  else if (mark === "round") add("circle", { cx: 15, cy: 6, r: 4, fill: colour });
  else if (mark === "square") add("rect", { x: 11, y: 2, width: 8, height: 8, fill: colour });
  else if (mark === "diamond") add("path", { d: "M15 1L20 6L15 11L10 6Z", fill: colour });
  else if (mark === "triangle") add("path", { d: "M15 1L20 10H10Z", fill: colour });
  else add("line", { x1: 0, x2: 30, y1: 6, y2: 6, stroke: colour, "stroke-width": 2.5, ...(dash && { "stroke-dasharray": dash.join(" ") }) });
  return make("li", {}, picture, make("span", {}, words), after);
}

/** The shapes of trained dots, one a dimension. */
export const SHAPES = ["round", "square", "diamond", "triangle"];

/** Draws a dot of one of the shapes. */
export function dot(ctx, shape, x, y, size) {
  ctx.beginPath();
  if (shape === "square") ctx.rect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
  else if (shape === "diamond") [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]].forEach(([a, b]) => ctx.lineTo(x + a * size, y + b * size));
  else if (shape === "triangle") [[0, -1.2], [1.15, 0.9], [-1.15, 0.9]].forEach(([a, b]) => ctx.lineTo(x + a * size, y + b * size));
  else ctx.arc(x, y, size, 0, 2 * Math.PI);
  ctx.closePath();
}
