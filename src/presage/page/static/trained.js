// What was trained on this page: one entry a problem, a verb and a dimension, kept until the page is closed.

import { modelNamed, problemKey } from "./state.js";

const entries = [];

/** Takes in what networks of one dimension have given so far. `verb` is what they are to be set beside. */
export function keepTrained(problem, trainer, { d, done, of, means, histogram, verb }) {
  const key = problemKey(problem);
  const place = entries.findIndex((other) => other.key === key && other.d === d && other.verb === verb);
  if (place >= 0) entries.splice(place, 1);
  entries.push({ problem, key, d, done, of, means, histogram, trainer, verb });
}

/** What was trained at exactly this problem for the answer of this verb, the newest last. */
export const trainedHere = (problem, verb) => entries.filter((entry) => entry.key === problemKey(problem) && entry.verb === verb);

/** What was trained for the answer of this verb at problems that differ from this one in `along` at most. */
export function trainedAlong(problem, along, verb) {
  const key = problemKey(problem, along);
  return entries.filter((entry) => entry.verb === verb && along in entry.problem.fields && problemKey(entry.problem, along) === key);
}

/** Forgets what was trained at exactly this problem for the answer of this verb, as it is trained anew. */
export function forgetTrained(problem, verb) {
  const key = problemKey(problem);
  for (let k = entries.length - 1; k >= 0; k--) if (entries[k].key === key && entries[k].verb === verb) entries.splice(k, 1);
}

/** What was trained, in words; a trainer is named where it is not the model's first. */
export function trainedWords({ d, trainer, problem }) {
  const isUsual = !trainer || trainer === modelNamed(problem.model)?.trainers[0];
  return `trained${isUsual ? "" : ` by ${trainer}`}, d = ${d}`;
}
