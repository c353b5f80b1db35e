// Whether what is on the screen is of what is typed: as long as one reason says no, the numbers are grey.

import { byId } from "./dom.js";
import { announce, isPresent, shownToTests } from "./state.js";

const reasons = new Set();

/** Greys the numbers for a reason, or takes this reason back. */
export function grey(reason, isGrey) {
  if (reasons.has(reason) === isGrey) return;
  if (isGrey) reasons.add(reason);
  else reasons.delete(reason);
  tell();
}

/** Takes all reasons back: they were those of another model. */
export function forgetReasons() {
  reasons.clear();
  tell();
}

/** Whether the numbers and the spectrum are those of the present problem, in full precision. */
export function pointIsReady() {
  const { shown } = shownToTests;
  return reasons.size === 0 && shown?.stage === "refined" && isPresent(shown.asked);
}

/** Lets buttons be pressed only while what they hand out is of the present problem and whole. */
export function allow(isReady, ...ids) {
  for (const id of ids) byId(id).disabled = !isReady;
}

function tell() {
  byId("content").classList.toggle("stale", reasons.size > 0);
  announce("stale");
}
