// The address carries the state: a link re-opens what is on the screen.

import { afterRest, byId, say } from "./dom.js";
import { curveSettings, fillSettings } from "./curve.js";
import { fillMapSettings, mapSettings } from "./map.js";
import { announce, chooseModel, modelNamed, on, state } from "./state.js";
import { fillTraining, trainingSettings } from "./training.js";

const LONGEST = 6000;

/** Keeps the address up to date and follows one that is typed or pasted. */
export function startAddress() {
  const write = afterRest(120, () => {
    history.replaceState(null, "", hash());
    say(byId("link-note"), lawsLeftOut().length ? "The list of values is too long for a link: it is left out of it. Take it as a .npy file under “Take it with you”." : "");
  });
  for (const event of ["problem", "settings", "address"]) on(event, write);
  window.addEventListener("hashchange", readAddress);
}

/** Restores what the address says; without a word in it, the beginning of the default model. */
export function readAddress(fallback) {
  const texts = new Map();
  for (const part of location.hash.slice(1).split("&").filter(Boolean)) {
    const equals = part.indexOf("=");
    try {
      texts.set(decodeURIComponent(part.slice(0, equals)), decodeURIComponent(part.slice(equals + 1)));
    } catch {
      // A broken part of a link is left out, the rest of it still serves.
    }
  }
  const group = (prefix) => Object.fromEntries([...texts].filter(([name]) => name.startsWith(`${prefix}.`)).map(([name, text]) => [name.slice(prefix.length + 1), text]));
  const named = modelNamed(texts.get("model"));
  const name = named?.name ?? (typeof fallback === "string" ? fallback : state.model.name);
  chooseModel(name, named ? Object.fromEntries(texts) : {});
  fillSettings(group("curve"));
  fillMapSettings(group("map"));
  fillTraining(group("train"));
  announce("settings");
  announce("map-settings");
}

/** The whole link to what is on the screen. */
export const link = () => location.href.split("#")[0] + hash();

/** The laws that are too long for a link. */
export const lawsLeftOut = () => state.model.fields.filter(({ kind, name }) => kind === "law" && state.texts[name].length > LONGEST).map(({ name }) => name);

// Signs that addresses allow anyway stay readable.
const written = (text) => encodeURIComponent(text).replace(/%(3A|2C|40|2F)/g, decodeURIComponent);

function hash() {
  const left = lawsLeftOut();
  const parts = [["model", state.model.name]];
  for (const field of state.model.fields) {
    if (left.includes(field.name)) continue;
    if (!state.off.has(field.name)) parts.push([field.name, state.texts[field.name]]);
    else if (field.begin !== null) parts.push([field.name, ""]);
  }
  for (const [prefix, settings] of [["curve", curveSettings()], ["map", mapSettings()], ["train", trainingSettings()]]) {
    for (const [name, text] of Object.entries(settings)) parts.push([`${prefix}.${name}`, text]);
  }
  return `#${parts.map(([name, text]) => `${written(name)}=${written(text)}`).join("&")}`;
}
