// What the page is about: the models as declared, the problem as typed, and who wants to know of changes.

const listeners = new Map();

/** Calls `act` whenever `event` is announced. */
export function on(event, act) {
  if (!listeners.has(event)) listeners.set(event, []);
  listeners.get(event).push(act);
}

/** Announces an event to all who listen. */
export function announce(event, detail) {
  for (const act of listeners.get(event) ?? []) act(detail);
}

/** Everything the page knows. `texts` has a text a field, `off` the optional fields that are switched off. */
export const state = {
  models: [],
  bounds: {},
  version: "",
  model: null,
  texts: {},
  off: new Set(),
  connection: null,
};

/** What tests and benchmarks may look at. */
export const shownToTests = (window.presage = { redraws: 0, shown: null, asked: null, curve: null, map: null, training: null, way: null });

/** The declaration of a model by its name. */
export const modelNamed = (name) => state.models.find((model) => model.name === name);

/** The declaration of a field of the present model. */
export const fieldNamed = (name) => state.model.fields.find((field) => field.name === name);

/** The fields that a curve or a map can go along. */
export const numberFields = () => state.model.fields.filter((field) => field.kind === "number");

// The problem as a question says it: texts by name, optional ones that are off left out.
function problemFields() {
  const fields = {};
  for (const field of state.model.fields) if (!state.off.has(field.name)) fields[field.name] = state.texts[field.name];
  return fields;
}

/** Model and fields, as every question has them. */
export const problem = () => ({ model: state.model.name, fields: problemFields() });

/** A text that is the same for the same problem, whatever the left-out fields are. */
export function problemKey({ model, fields }, ...leftOut) {
  const names = Object.keys(fields).filter((name) => !leftOut.includes(name));
  return JSON.stringify([model, names.sort().map((name) => [name, sameNumber(fields[name])])]);
}

/** Whether something was asked at exactly the present problem. */
export const isPresent = (asked) => problemKey(asked) === problemKey(problem());

// 0.50 and 0.5 are one value; a law or a choice is itself.
function sameNumber(text) {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : text;
}

/** Chooses a model with its beginning values, or with the given texts where they are given ("" is off). */
export function chooseModel(name, texts = {}) {
  state.model = modelNamed(name) ?? state.models[0];
  state.texts = {};
  state.off = new Set();
  for (const field of state.model.fields) {
    const given = texts[field.name];
    state.texts[field.name] = given || (field.begin ?? "");
    if (field.optional && (given === "" || (given === undefined && field.begin === null))) state.off.add(field.name);
  }
  announce("model");
  announce("problem");
}

/** Sets one field as typed or slid. */
export function setField(name, text) {
  if (state.texts[name] === text && !state.off.has(name)) return;
  state.texts[name] = text;
  state.off.delete(name);
  announce("problem", name);
}

/** Switches an optional field on or off. */
export function switchField(name, isOn, text) {
  if (isOn) {
    state.off.delete(name);
    state.texts[name] = text;
  } else state.off.add(name);
  announce("problem", name);
}

/** Sets fields from outside their controls (a cell of the map, a figure), so that the controls follow. */
export function handOver(texts) {
  for (const [name, text] of Object.entries(texts)) {
    state.texts[name] = text;
    state.off.delete(name);
  }
  announce("handed");
  announce("problem");
}

/** The words of a field beside its number: label or name, with its symbol. */
export function titleOf(field) {
  const words = (field.label || field.name.replaceAll("_", " ")).replace(/\s{2,}/g, "  ");
  return field.symbol && !words.includes(field.symbol) ? `${words}  ${field.symbol}` : words;
}

/** The short name of a field. */
export const nameOf = (name) => name.replaceAll("_", " ");
