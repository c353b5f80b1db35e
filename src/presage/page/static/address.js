// The address carries the state: a link re-opens what is on the screen.

import { afterRest, byId, say } from "./dom.js";
import { curveSettings, fillSettings } from "./curve.js";
import { fillMapSettings, mapSettings } from "./map.js";
import { announce, chooseModel, modelNamed, on, state } from "./state.js";
import { fillTraining, trainingSettings } from "./training.js";
import { fillWaySettings, waySettings } from "./way.js";

const LONGEST = 6000;

// A link that could not be followed stands, with what was said of it, as long as the page is at this hash.
let strange = null;

/** Keeps the address up to date and follows one that is typed or pasted. */
export function startAddress() {
  const write = afterRest(120, () => {
    if (strange?.stands === hash()) return;
    strange = null;
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
  const isStrange = !named && location.hash.length > 1;
  const isFirst = typeof fallback === "string";
  if (!isStrange || isFirst) {
    chooseModel(named?.name ?? (isFirst ? fallback : state.model.name), named ? Object.fromEntries(texts) : {});
    fillSettings(isStrange ? {} : group("curve"));
    fillMapSettings(isStrange ? {} : group("map"));
    fillTraining(isStrange ? {} : group("train"));
    fillWaySettings(isStrange ? {} : group("way"));
    announce("settings");
    announce("map-settings");
    announce("way-settings");
  }
  strange = isStrange ? { stands: hash() } : null;
  if (strange) say(byId("link-note"), `This link names no model of this page: ${texts.get("model") ?? location.hash}.`);
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
  for (const [prefix, settings] of [["curve", curveSettings()], ["map", mapSettings()], ["train", trainingSettings()], ["way", waySettings()]]) {
    for (const [name, text] of Object.entries(settings)) parts.push([`${prefix}.${name}`, text]);
  }
  return `#${parts.map(([name, text]) => `${written(name)}=${written(text)}`).join("&")}`;
}
