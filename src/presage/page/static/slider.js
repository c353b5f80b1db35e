// A number with a slider and a box to type it in. What is typed stays as typed.

import { make } from "./dom.js";
import { general, isLogarithmic, numberOf, placeOf, valueAt } from "./numbers.js";

const STEPS = 240;

/** A slider and a text box for one declared number; `changed` gets the new text. */
export class Slider {
  #low;
  #high;
  #changed;

  constructor(declared, id, describedBy, changed) {
    this.declared = declared;
    this.#low = declared.low;
    this.#high = declared.high;
    this.#changed = changed;
    this.range = make("input", { type: "range", id, "aria-describedby": describedBy, oninput: () => this.#slid() });
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
    this.#setEnds();
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

  #setEnds() {
    const { range } = this;
    if (this.#isLogarithmic) {
      [range.min, range.max, range.step] = [0, STEPS, 1];
    } else {
      range.min = this.#low;
      range.max = this.#high;
      range.step = this.declared.whole ? 1 : roundStep((this.#high - this.#low) / STEPS);
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
    if (value > this.#high || (value < this.#low && !(this.#isLogarithmic && value <= 0))) {
      this.#low = Math.min(this.#low, value);
      this.#high = Math.max(this.#high, value);
      this.#setEnds();
    }
    this.range.value = this.#isLogarithmic ? Math.round(STEPS * placeOf(value, this.#low, this.#high, true)) : value;
  }
}

// Steps of 1, 2 or 5 times a power of ten give values that read well.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * 0.8);
  return Number((factor * power).toPrecision(3));
}
