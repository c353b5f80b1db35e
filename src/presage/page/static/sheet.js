// A curve as a table, as CSV and as the panel of a picture.

import { make } from "./dom.js";
import { groupsOf } from "./dots.js";
import { bar, general } from "./numbers.js";
import { nameOf } from "./state.js";
import { trainedWords } from "./trained.js";

/** Lines in the order of the legend: the present curve, what is beside it, pins. */
export function inWords(lines) {
  const rank = ({ isHere, pinned }) => (isHere ? 0 : pinned ? 2 : 1);
  return [...lines].sort((a, b) => rank(a) - rank(b));
}

/** A value with its error bar. */
export const withBar = (value, error) => `${general(value)}${error ? ` ± ${bar(error)}` : ""}`;

/** Writes the curve and what is beside it into a table. */
export function fillTable(table, curve, { lines, observable }) {
  const own = inWords(lines).filter(({ source }) => source === curve);
  const head = make("tr", {}, make("th", { scope: "col" }, nameOf(curve.along)), ...own.map(({ words }) => make("th", { scope: "col" }, words)));
  const rows = curve.x.map((x, i) => {
    const cells = own.map(({ y, bar: bars }) => make("td", {}, Number.isFinite(y[i]) ? withBar(y[i], bars[i]) : (curve.failed[i] ?? "")));
    return make("tr", {}, make("th", { scope: "row" }, general(x)), ...cells);
  });
  table.replaceChildren(make("caption", {}, `${observable.label} against ${nameOf(curve.along)}`), make("thead", {}, head), make("tbody", {}, ...rows));
}

/** What a picture of the curve is made from. */
export function panelOf(curve, { lines, dots, present, observable }, isLog) {
  const curves = inWords(lines).map(({ x, y, bar: bars, words, isHere }) => {
    const known = Array.from(x, (_, i) => i).filter((i) => Number.isFinite(y[i]));
    return { x: known.map((i) => x[i]), y: known.map((i) => y[i]), bar: known.map((i) => bars[i] ?? null), label: words, trained: false, dashed: !isHere };
  });
  for (const [line, list] of dots) {
    for (const { entries } of groupsOf([[line, list]])) {
      const own = [...entries].sort((a, b) => a.x - b.x);
      const whose = line.isHere ? "" : ` (${line.words})`;
      curves.push({ x: own.map(({ x }) => x), y: own.map(({ y }) => y), bar: own.map(({ error }) => 2 * (error ?? 0)), label: `${trainedWords(own[0])}${whose}`, trained: true, dashed: false });
    }
  }
  if (present) curves.push({ x: [present.x], y: [present.y], bar: [0], label: `the present point, ${present.text}`, trained: true, dashed: false });
  const marks = curve.marks.map(({ label, at }) => ({ label, at }));
  return { kind: "curves", xlabel: curve.label, ylabel: observable.label, xlog: curve.logarithmic, ylog: isLog, curves, marks };
}

/** All numbers of a curve and of what is beside it. */
export function csvOf(curve, here) {
  const columns = [];
  for (const [which, cells] of Object.entries(curve.lines)) {
    const names = [...new Set(cells.flatMap((values) => Object.keys(values ?? {})))];
    for (const name of names) columns.push({ title: which === here ? name : `${which}_${name}`, values: curve.x.map((_, i) => cells[i]?.[name]) });
  }
  const rows = [[curve.along, ...columns.flatMap(({ title }) => [title, `${title}_bar`])]];
  curve.x.forEach((x, i) => rows.push([x, ...columns.flatMap(({ values }) => [values[i]?.[0] ?? "", values[i]?.[1] ?? ""])]));
  return `${rows.map((row) => row.join(",")).join("\n")}\n`;
}
