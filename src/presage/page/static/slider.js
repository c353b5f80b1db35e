// A number with a slider and a box to type it in. What is typed stays as typed.

import { make } from "./dom.js";
import { general, isLogarithmic, numberOf, placeOf, valueAt } from "./numbers.js";

const STEPS = 240;

/** A slider and a text box for one declared number; `changed` gets the new text. */
export class Slider {
  #low = NaN;
  #high = NaN;
  #changed;

  constructor(declared, id, describedBy, changed) {
    this.declared = declared;
    this.#changed = changed;
    this.range = make("input", { type: "range", id, "aria-describedby": describedBy, oninput: () => this.#slid(), onchange: () => this.#follow(this.box.value) });
    this.box = make("input", {
      type: "text",
      inputMode: "decimal",
      autocomplete: "off",
      spellcheck: false,
      "aria-describedby": describedBy,
      oninput: () => Number.isFinite(numberOf(this.box.value)) && this.#typed(),
      onchange: () => this.#typed(),
      onkeydown: (event) => event.key === "Enter" && this.#typed(),
    });
    this.element = make("div", { className: "slider" }, this.range, this.box);
    this.#setEnds(declared.low, declared.high);
  }

  /** The words that a screen reader says for the text box. */
  set title(words) {
    this.box.setAttribute("aria-label", `${words}, typed`);
  }

  set enabled(isEnabled) {
    this.range.disabled = this.box.disabled = !isEnabled;
  }

  /** Shows a text as typed, and puts the slider where it says. */
  set(text) {
    this.box.value = text;
    this.#follow(text);
  }

  /** A value in the middle, for a field that has none yet. */
  get middle() {
    const value = valueAt(0.5, this.#low, this.#high, this.#isLogarithmic);
    return this.declared.whole ? String(Math.round(value)) : general(value, 3);
  }

  get #isLogarithmic() {
    return isLogarithmic(this.declared);
  }

  #setEnds(low, high) {
    if (low === this.#low && high === this.#high) return;
    [this.#low, this.#high] = [low, high];
    const { range } = this;
    if (this.#isLogarithmic) {
      [range.min, range.max, range.step] = [0, STEPS, 1];
    } else {
      range.min = low;
      range.max = high;
      range.step = this.declared.whole ? 1 : roundStep((high - low) / STEPS);
    }
  }

  #slid() {
    let value = Number(this.range.value);
    if (this.#isLogarithmic) value = valueAt(value / STEPS, this.#low, this.#high, true);
    const text = this.declared.whole ? String(Math.round(value)) : general(value, this.#isLogarithmic ? 3 : 6);
    this.box.value = text;
    this.range.setAttribute("aria-valuetext", text);
    this.#changed(text);
  }

  #typed() {
    this.#follow(this.box.value);
    this.#changed(this.box.value.trim());
  }

  #follow(text) {
    const value = numberOf(text);
    this.range.setAttribute("aria-valuetext", text);
    if (!Number.isFinite(value)) return;
    // A value beyond the declared ends widens the slider as long as it is the present one.
    const { low, high } = this.declared;
    this.#setEnds(this.#isLogarithmic && value <= 0 ? low : Math.min(low, value), Math.max(high, value));
    this.range.value = this.#isLogarithmic ? Math.round(STEPS * placeOf(value, this.#low, this.#high, true)) : value;
  }
}

// Steps of 1, 2 or 5 times a power of ten give values that read well.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * 0.8);
  return Number((factor * power).toPrecision(3));
}
