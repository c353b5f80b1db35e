// Curves that are kept while one moves on.

import { nameOf } from "./state.js";

const LOOKS = [["orange", [12, 4]], ["sky", [4, 3]], ["pink", [10, 4, 2, 4]], ["green", [2, 4]], ["muted", [14, 3, 3, 3]]];

/** How many curves can be kept: one a look. */
export const MOST_PINS = LOOKS.length;

let pins = [];

/** The curves that are kept, each with its look. */
export const pinnedCurves = () => pins;

/** Keeps a curve. */
export function pin(curve) {
  if (pins.length >= MOST_PINS || pins.some(({ key }) => key === curve.key)) return;
  pins.push({ ...curve, look: LOOKS.find((candidate) => !pins.some(({ look }) => look === candidate)) });
}

/** Lets go of one curve. */
export function unpin(one) {
  pins = pins.filter((other) => other !== one);
}

/** Lets go of all curves. */
export function clearPins() {
  pins = [];
}

/** Puts a curve that was computed anew in the place of what was kept of it. */
export function refreshPins(curve) {
  pins = pins.map((one) => (one.key === curve.key ? { ...curve, look: one.look } : one));
}

/** What one problem differs in from another, in its own values; the field `along` does not count. */
export function differences(one, other, along) {
  const parts = one.model === other.model ? [] : [one.model];
  for (const [name, text] of Object.entries(one.fields)) {
    if (name === along || other.fields[name] === text) continue;
    parts.push(`${nameOf(name)} ${text.length > 24 ? `${text.slice(0, 22)}…` : text}`);
  }
  for (const name of Object.keys(other.fields)) if (!(name in one.fields) && one.model === other.model && name !== along) parts.push(`without ${nameOf(name)}`);
  return parts.join(", ");
}
