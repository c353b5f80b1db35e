// The chooser of a law: its forms with their numbers, two atoms, a pasted list or a file.

import { afterRest, make, post, say, sentences } from "./dom.js";
import { grey } from "./fresh.js";
import { general, numberOf } from "./numbers.js";
import { Slider } from "./slider.js";
import { state } from "./state.js";

const MASSES = "masses";
const ATOMS = "two atoms";
const LIST = "list";
const TEXT = "text";
const PASTED = "pasted.txt";

/** The controls of one law, which travels as a text. */
export class LawChooser {
  #sliders = [];
  #form = null;
  #sent = 0;

  constructor(field, id, describedBy, changed) {
    this.field = field;
    this.changed = changed;
    this.describedBy = describedBy;
    this.lists = field.forms.some((form) => form.kind === MASSES);
    const choices = field.forms.filter((form) => form.kind !== MASSES && !form.listed).map((form) => [form.kind, form.words]);
    if (this.lists) choices.push([ATOMS, ATOMS], [LIST, "a list or a file"]);
    choices.push([TEXT, "as text"]);
    this.menu = make("select", { id, "aria-describedby": describedBy, onchange: () => this.#choose(this.menu.value) }, ...choices.map(([value, words]) => make("option", { value }, words)));
    this.numbers = make("div", { className: "law-numbers" });
    this.written = make("input", { type: "text", className: "law-text", spellcheck: false, autocomplete: "off", "aria-label": `${field.words}, as text`, onchange: () => this.#set(this.written.value.trim()) });
    this.complaint = make("p", { className: "message", role: "status", "aria-live": "polite" });
    this.list = this.#listControls();
    this.element = make("div", { className: "law" }, this.menu, this.numbers, this.complaint, this.list.element, this.written);
  }

  /** Shows a law given as a text. */
  set(text) {
    if (this.#read() !== text) this.#show(text);
  }

  #show(text) {
    this.#accept();
    const form = this.#formOf(text);
    this.menu.value = form;
    this.#build(form);
    const rest = text.slice(text.indexOf(":") + 1);
    if (form === ATOMS) {
      const [[a], [b, weight]] = rest.split(",").map((pair) => pair.split("@"));
      [a, b, weight].forEach((value, k) => this.#sliders[k].set(value));
    } else if (form === LIST) {
      this.list.text = text;
      const values = rest.split(",");
      this.list.box.value = values.join("\n");
      say(this.list.message, `${values.length} ${this.field.of}.`);
    } else if (form !== TEXT) {
      // Numbers at the end that are left out are as they begin.
      const values = text.includes(":") ? rest.split(",") : [];
      this.#sliders.forEach((slider, k) => slider.set(values[k] ?? slider.declared.begin));
    }
    this.written.value = text;
  }

  // Which of the choices can show this text without losing a part of it.
  #formOf(text) {
    const colon = text.indexOf(":");
    const [kind, parts] = colon < 0 ? [text, []] : [text.slice(0, colon), text.slice(colon + 1).split(",")];
    if (kind === MASSES && this.lists) {
      const pairs = parts.map((part) => part.split("@"));
      if (pairs.every((pair) => pair.length === 1)) return LIST;
      const weights = pairs.map((pair) => numberOf(pair[1]));
      return pairs.length === 2 && Math.abs(weights[0] + weights[1] - 1) < 1e-9 ? ATOMS : TEXT;
    }
    const form = this.field.forms.find((candidate) => candidate.kind === kind);
    const isWhole = !form?.listed && form?.numbers.length >= parts.length && form.numbers.slice(parts.length).every(({ begin }) => begin);
    return isWhole ? kind : TEXT;
  }

  // The text that the controls say now.
  #read() {
    if (this.#form === TEXT) return this.written.value.trim();
    if (this.#form === LIST) return this.list.text;
    const values = this.#sliders.map((slider) => slider.box.value.trim());
    if (this.#form === ATOMS) {
      const [a, b, weight] = values;
      return `${MASSES}:${a}@${general(1 - numberOf(weight), 12)},${b}@${weight}`;
    }
    if (this.#form === null) return null;
    return values.length ? `${this.#form}:${values.join(",")}` : this.#form;
  }

  #choose(form) {
    // The last law that was taken: what is typed now may be none.
    const before = this.written.value.trim();
    this.#sent++;
    this.#accept();
    this.#build(form);
    if (form === ATOMS) this.#set(`${MASSES}:0@0.5,1@0.5`);
    else if (form === TEXT) {
      this.written.value = before;
      this.written.focus();
    } else if (form === LIST) {
      this.list.text = before;
      // What the box still has from before is to be the law again.
      if (this.list.box.value.trim()) this.#paste(this.list.box.value);
      else say(this.list.message, `Nothing is listed yet: the law is still ${before}.`);
    } else this.#set(this.field.forms.find((candidate) => candidate.kind === form).example);
  }

  #set(text) {
    this.#show(text);
    this.changed(text);
  }

  #build(form) {
    this.list.element.hidden = form !== LIST;
    this.written.hidden = form === LIST;
    if (form === this.#form) return;
    this.#form = form;
    const declared = form === ATOMS ? this.#atoms() : (this.field.forms.find((candidate) => candidate.kind === form)?.numbers ?? []);
    this.#sliders = declared.map((number) => this.#number(number));
    this.numbers.replaceChildren(...this.#sliders.map((slider) => slider.row));
  }

  #number(declared) {
    const id = `${this.menu.id}-${declared.name}`;
    const slider = new Slider(declared, id, this.describedBy, () => this.#moved());
    const title = declared.symbol ? `${declared.symbol}  ${declared.words}` : declared.words;
    slider.title = title;
    slider.row = make("div", { className: "law-number", "data-number": declared.name }, make("label", { for: id }, title), slider.element);
    return slider;
  }

  #moved() {
    if (this.#form === ATOMS && !Number.isFinite(numberOf(this.#sliders[2].box.value))) {
      say(this.complaint, "The weight must be a number; the numbers shown are those of the law before.");
      grey(this.#reason, true);
      return;
    }
    this.#accept();
    this.written.value = this.#read();
    this.changed(this.written.value);
  }

  get #reason() {
    return `law ${this.field.name}`;
  }

  // What the controls say is a law, as far as can be seen here.
  #accept() {
    this.list.element.classList.remove("wrong");
    say(this.complaint, "");
    grey(this.#reason, false);
  }

  // What is typed is no list: the law stays as it was.
  #refuse(words) {
    this.list.element.classList.add("wrong");
    say(this.list.message, words);
    sentences(this.list.notes, []);
    grey(this.#reason, true);
  }

  // The weights of two atoms add up to one, so that one slider moves both.
  #atoms() {
    const low = this.field.of.startsWith("singular") ? 0 : -1;
    const value = (name, words) => ({ name, words, low, high: 4, scale: "linear" });
    return [value("first", "first value"), value("second", "second value"), { name: "weight", words: "weight of the second", low: 0.01, high: 0.99, scale: "linear" }];
  }

  #listControls() {
    const { field } = this;
    // Ids are unique in a document: the first law of a model has the plain ones.
    const suffix = state.model.fields.find(({ kind }) => kind === "law") === field ? "" : `-${field.name}`;
    const box = make("textarea", {
      id: `law-list${suffix}`,
      rows: 4,
      spellcheck: false,
      placeholder: `${field.of}, one a line or with commas`,
      "aria-label": `list of ${field.of}`,
      oninput: afterRest(400, () => this.#paste(box.value)),
    });
    const file = make("input", { type: "file", id: `law-file${suffix}`, accept: ".npy,.csv,.txt", "aria-label": `file of ${field.of}`, onchange: () => file.files[0] && this.#send(file.files[0], file.files[0].name) });
    const message = make("p", { id: `law-message${suffix}`, className: "law-message", role: "status", "aria-live": "polite" });
    const notes = make("div", { className: "notes" });
    const drop = make("div", { className: "drop" }, make("span", {}, "Drop a .npy or .csv file here, or choose one:"), file);
    const over = (isOver) => (event) => {
      event.preventDefault();
      drop.classList.toggle("over", isOver);
    };
    drop.addEventListener("dragover", over(true));
    drop.addEventListener("dragleave", over(false));
    drop.addEventListener("drop", (event) => {
      over(false)(event);
      const dropped = event.dataTransfer.files[0];
      if (dropped) this.#send(dropped, dropped.name);
    });
    return { element: make("div", { className: "law-list", hidden: true }, box, drop, message, notes), box, message, notes, text: "" };
  }

  // Numbers however they are parted, sent one a line: a pasted list is no table.
  #paste(text) {
    // The rest after typing may end when another form or another model has been chosen.
    if (!this.element.isConnected || this.#form !== LIST) return;
    const parts = text.split(/[\s,;]+/).filter(Boolean);
    if (parts.length) this.#send(new Blob([parts.join("\n")]), PASTED);
    else {
      this.#sent++;
      this.#refuse("Give at least one number; the numbers shown are those of the law before.");
    }
  }

  async #send(blob, name) {
    const mine = ++this.#sent;
    const isOld = () => mine !== this.#sent || this.#form !== LIST || !this.element.isConnected;
    const { message, notes } = this.list;
    const { upload } = state.bounds;
    if (upload && blob.size > upload) {
      this.#refuse(`${name} has ${general(blob.size / 1e6, 3)} MB. The most that is read is ${general(upload / 1e6, 3)} MB.`);
      return;
    }
    try {
      const response = await post(`values?name=${encodeURIComponent(name)}&of=${encodeURIComponent(this.field.of)}`, blob);
      const answer = await response.json();
      if (isOld()) return;
      this.#accept();
      this.list.text = answer.text;
      this.written.value = answer.text;
      if (name !== PASTED) this.list.box.value = answer.values.map((value) => general(value, 10)).join("\n");
      say(message, answer.words);
      sentences(notes, answer.notes ?? []);
      this.changed(answer.text);
    } catch (error) {
      if (!isOld()) this.#refuse(error.message);
    }
  }
}
