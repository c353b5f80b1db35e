// What was trained on this page: one entry a problem and a dimension, kept until the page is closed.

import { problemKey } from "./state.js";

const entries = [];

/** Takes in what networks of one dimension have given so far. */
export function keepTrained(problem, { d, done, of, means, histogram }) {
  const key = problemKey(problem);
  const entry = { problem, key, d, done, of, means, histogram };
  const place = entries.findIndex((other) => other.key === key && other.d === d);
  if (place >= 0) entries.splice(place, 1);
  entries.push(entry);
}

/** What was trained at exactly this problem, the newest last. */
export const trainedHere = (problem) => entries.filter((entry) => entry.key === problemKey(problem));

/** What was trained at problems that differ from this one in `along` at most. */
export function trainedAlong(problem, along) {
  const key = problemKey(problem, along);
  return entries.filter((entry) => along in entry.problem.fields && problemKey(entry.problem, along) === key);
}

/** Forgets what was trained at exactly this problem, before it is trained anew. */
export function forgetTrained(problem) {
  const key = problemKey(problem);
  for (let k = entries.length - 1; k >= 0; k--) if (entries[k].key === key) entries.splice(k, 1);
}
