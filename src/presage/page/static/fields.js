// The controls of the problem: one for each field that the model declares.

import { byId, make, say } from "./dom.js";
import { LawChooser } from "./law.js";
import { Slider } from "./slider.js";
import { chooseModel, on, setField, state, switchField, titleOf } from "./state.js";

let controls = new Map();

/** Fills the menu of models and lets the controls follow the model. */
export function startFields() {
  const menu = byId("model");
  menu.replaceChildren(...state.models.map((model) => make("option", { value: model.name }, model.name)));
  menu.addEventListener("change", () => chooseModel(menu.value));
  on("model", () => {
    menu.value = state.model.name;
    say(byId("model-words"), sentence(state.model.words));
    build();
  });
  on("handed", show);
}

/** Says beneath a field what is wrong with it. */
export function showError(field, message) {
  clearErrors();
  const control = controls.get(field);
  if (!control) return false;
  say(control.message, message);
  control.element.classList.add("wrong");
  return true;
}

/** Takes back what was said about fields. */
export function clearErrors() {
  for (const { element, message } of controls.values()) {
    say(message, "");
    element.classList.remove("wrong");
  }
}

function sentence(words) {
  const text = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function build() {
  controls = new Map(state.model.fields.map((field) => [field.name, control(field)]));
  byId("fields").replaceChildren(...[...controls.values()].map(({ element }) => element));
  show();
}

function show() {
  for (const field of state.model.fields) controls.get(field.name).show(state.texts[field.name], !state.off.has(field.name));
}

function control(field) {
  const message = make("p", { className: "message", role: "status", "aria-live": "polite", id: `message-${field.name}` });
  const words = make("p", { className: "words", id: `words-${field.name}` }, field.words ?? "");
  const made = (makers[field.kind] ?? plain)(field, `words-${field.name} message-${field.name}`);
  const title = make("label", { for: `field-${field.name}` }, titleOf(field));
  const element = make("div", { className: "field", "data-field": field.name }, make("div", { className: "title" }, made.switch, title), made.element, words, message);
  return { element, message, show: made.show };
}

// What a text is shown in depends on its kind; a kind that is not known here is a plain text.
const makers = {
  number(field, describedBy) {
    const slider = new Slider(field, `field-${field.name}`, describedBy, (text) => setField(field.name, text));
    slider.title = titleOf(field);
    const box = field.optional
      ? make("input", {
          type: "checkbox",
          "aria-label": `use ${titleOf(field)}`,
          onchange: () => {
            if (!slider.box.value) slider.set(slider.middle);
            slider.enabled = box.checked;
            switchField(field.name, box.checked, slider.box.value.trim());
          },
        })
      : null;
    return {
      element: slider.element,
      switch: box,
      show(text, isOn) {
        if (text) slider.set(text);
        slider.enabled = isOn;
        if (box) box.checked = isOn;
      },
    };
  },
  choice(field, describedBy) {
    const options = field.options.map((option) => make("option", { value: option }, option));
    const menu = make("select", { id: `field-${field.name}`, "aria-describedby": describedBy, onchange: () => setField(field.name, menu.value) }, ...options);
    return { element: menu, show: (text) => (menu.value = text) };
  },
  law(field, describedBy) {
    const law = new LawChooser(field, `field-${field.name}`, describedBy, (text) => setField(field.name, text));
    return { element: law.element, show: (text) => law.set(text) };
  },
};

function plain(field, describedBy) {
  const box = make("input", { type: "text", id: `field-${field.name}`, "aria-describedby": describedBy, onchange: () => setField(field.name, box.value.trim()) });
  return { element: box, show: (text) => (box.value = text) };
}
