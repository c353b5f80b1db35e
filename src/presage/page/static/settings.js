// Menus and boxes of a panel's settings, which the address and the questions read.

import { byId, make, say } from "./dom.js";
import { general, isLogarithmic, numberOf } from "./numbers.js";
import { fieldNamed, nameOf } from "./state.js";

/** Fills a menu with fields or observables and chooses one of them. */
export function fillMenu(menu, declared, chosen) {
  menu.replaceChildren(...declared.map(({ name, label, symbol }) => make("option", { value: name }, (label ?? nameOf(name)).replace(/\s+/g, " ") || symbol)));
  menu.value = declared.some(({ name }) => name === chosen) ? chosen : (declared[0]?.name ?? "");
  return menu.value;
}

/** Writes the ends of a field's slider into two boxes. */
export function fillRange(lowBox, highBox, name) {
  const field = fieldNamed(name);
  if (!field) return;
  lowBox.value = general(field.low, 6);
  highBox.value = general(field.high, 6);
}

/** The two ends typed into boxes, or null where they are wrong; `message` is where to say so, if at all. */
export function readRange(lowBox, highBox, name, message) {
  const [low, high] = [numberOf(lowBox.value), numberOf(highBox.value)];
  const field = fieldNamed(name);
  let wrong = "";
  if (!Number.isFinite(low) || !Number.isFinite(high)) wrong = "Give a number for each end of the range.";
  else if (low >= high) wrong = "The range has to begin below its end.";
  else if (field && isLogarithmic(field) && low <= 0) wrong = "The range has to begin above zero, for its scale is logarithmic.";
  if (message) say(message, wrong);
  return wrong ? null : [low, high];
}

/** A whole number typed into a box, kept between one bound and the other. */
export function readWhole(box, least, most) {
  const value = Math.round(numberOf(box.value));
  return Math.min(most, Math.max(least, Number.isFinite(value) ? value : least));
}

/** The boxes of settings by short name: `boxes("curve", "low")` has #curve-low as low. */
export const boxes = (panel, ...names) => Object.fromEntries(names.map((name) => [name, byId(`${panel}-${name}`)]));
