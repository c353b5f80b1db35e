// Numbers as texts, and the scales of sliders and axes.

const MOST_TICKS = 1000;

/** A number with so many significant digits, written as C's %g writes it. */
export function general(value, digits = 6) {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent < -4 || exponent >= digits) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${trimmed(mantissa)}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  return trimmed(value.toFixed(Math.max(0, digits - 1 - exponent)));
}

/** An error bar as on the command line. */
export const bar = (value) => (value === 0 ? "0" : value.toExponential(1).replace(/e([+-])(\d)$/, "e$10$2"));

/** The number a text says, or NaN. */
export function numberOf(text) {
  const trimmed = String(text ?? "").trim();
  return trimmed === "" ? NaN : Number(trimmed);
}

/** Whether this declared number lives on a logarithmic scale. */
export const isLogarithmic = (field) => field.scale === "logarithmic" && field.low > 0;

/** Where on the way from low to high a value lies, 0 to 1. */
export function placeOf(value, low, high, logarithmic) {
  const place = logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Number.isFinite(place) ? Math.min(1, Math.max(0, place)) : 0;
}

/** The value at a place between low and high. */
export function valueAt(place, low, high, logarithmic) {
  return logarithmic ? low * (high / low) ** place : low + place * (high - low);
}

/** Whether what lies between is no more than a rounding error. */
export const isFlat = (low, high) => high - low <= 1e-12 * Math.max(Math.abs(low), Math.abs(high));

/** Ticks of a linear axis: about `count` round numbers; none where they cannot be told apart. */
export function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || last - first >= MOST_TICKS) return [];
  const ticks = [];
  for (let k = first; k <= last; k++) ticks.push(k === 0 ? 0 : Number((k * step).toPrecision(12)));
  return ticks;
}

/** Ticks of a logarithmic axis: 1, 2, 5 where there is room, else powers of ten. */
export function logarithmicTicks(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return linearTicks(low, high, count).filter((tick) => tick > 0);
  const steps = decades * 3 <= count ? [1, 2, 5] : decades * 2 <= count * 1.2 ? [1, 3] : [1];
  const stride = steps.length > 1 ? 1 : Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) {
    if (k % stride !== 0) continue;
    for (const step of steps) {
      const tick = Number((step * 10 ** k).toPrecision(3));
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks;
}

/** A tick as a text. */
export const tickText = (value) => general(value, 4);
