// The colours of a map.

import { isFlat } from "./numbers.js";

// Viridis in nine steps: its lightness grows evenly, so that it can be read without colours too.
const STEPS = ["440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725"].map((text) => [0, 2, 4].map((k) => parseInt(text.slice(k, k + 2), 16)));

/** The ends of the colours for these values; those of a fraction are 0 and 1. */
export function colourScale(values, isFraction) {
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
  if (isFraction && low >= -0.02 && high <= 1.02) [low, high] = [0, 1];
  const logarithmic = low > 0 && high / low >= 1000;
  if (isFlat(low, high)) high = low + (Math.abs(low) || 1) * 1e-3;
  return { low, high, logarithmic };
}

/** Red, green and blue at a part of the way, 0 to 1. */
export function colourAt(part) {
  const scaled = Math.min(0.99999, Math.max(0, part)) * (STEPS.length - 1);
  const k = Math.floor(scaled);
  return STEPS[k].map((from, c) => Math.round(from + (scaled - k) * (STEPS[k + 1][c] - from)));
}
