// Take it with you: the same in Python and on the command line, the link, everything as JSON.

import { afterRest, byId, copy, download, make, post, say } from "./dom.js";
import { link, lawsLeftOut } from "./address.js";
import { curveData, curveIsReady, curvePanel, curveQuestion } from "./curve.js";
import { allow, pointIsReady } from "./fresh.js";
import { mapData, mapIsReady, mapPanel, mapQuestion } from "./map.js";
import { picture } from "./picture.js";
import { spectrumPanel } from "./spectrum.js";
import { on, problem, shownToTests, state } from "./state.js";
import { trainingData, trainingQuestion } from "./training.js";
import { wayData } from "./way.js";

const REST = 250;
let askedKey = null;

/** Prepares the panel and the button of the header. */
export function startTaking() {
  const askSoon = afterRest(REST, askTake);
  const anew = () => {
    askedKey = null;
    askSoon();
  };
  for (const event of ["problem", "settings", "address"]) on(event, askSoon);
  on("opened", anew);
  for (const event of ["problem", "settings", "map-settings", "point", "cells", "map-cells", "stale"]) on(event, allowAll);
  byId("take-panel").addEventListener("toggle", () => {
    allowAll();
    askTake();
  });
  byId("copy-link").addEventListener("click", (event) => copy(link(), event.currentTarget));
  byId("take-copy-link").addEventListener("click", (event) => copy(link(), event.currentTarget));
  byId("take-json").addEventListener("click", () => download("presage.json", JSON.stringify(everything(), null, 1), "application/json"));
  byId("take-npy").addEventListener("click", takeLaw);
  for (const format of ["png", "svg"]) {
    byId(`take-${format}`).addEventListener("click", (event) => picture(format, "presage", shownToTests.shown?.title ?? "", [spectrumPanel(), curvePanel(), mapPanel()], event.target));
  }
}

function allowAll() {
  if (byId("take-panel").open) allow(pointIsReady() && curveIsReady() && mapIsReady(), "take-json", "take-png", "take-svg");
}

function askTake() {
  if (!byId("take-panel").open) return;
  showLink();
  const question = { ...problem(), ...curveQuestion(false), ...mapQuestion(false), ...trainingQuestion(false) };
  const key = JSON.stringify(question);
  if (key === askedKey) return;
  byId("take-texts").classList.add("stale");
  const id = state.connection.ask("take", question, (message) => {
    if (message.kind === "take") show(message.texts);
    else if (message.kind === "error") {
      say(byId("take-message"), message.message);
      byId("take-texts").replaceChildren();
    }
  });
  if (id !== null) askedKey = key;
}

function show(texts) {
  say(byId("take-message"), "");
  byId("take-texts").classList.remove("stale");
  byId("take-texts").replaceChildren(
    ...texts.map(({ what, python, command }) =>
      make("section", { className: "take" }, make("h3", {}, what.charAt(0).toUpperCase() + what.slice(1)), ...[["Python", python], ["Command", command]].filter(([, text]) => text).map(([title, text]) => block(title, text, what))),
    ),
  );
}

function block(title, text, what) {
  const button = make("button", { type: "button", className: "small", "aria-label": `Copy: ${title} for ${what}`, onclick: () => copy(text, button) }, "Copy");
  return make("div", { className: "code" }, make("div", { className: "code-title" }, title, button), make("pre", { tabIndex: 0 }, make("code", {}, ...unbroken(text))));
}

// Lines wrap between words only, never at the dashes of an option.
const unbroken = (text) => text.split(/( +)/).map((word) => (word.startsWith("-") ? make("span", { className: "word" }, word) : word));

function showLink() {
  byId("take-link").value = link();
  byId("take-law").hidden = lawsLeftOut().length === 0;
}

async function takeLaw() {
  for (const name of lawsLeftOut()) {
    try {
      const response = await post("npy", JSON.stringify({ text: state.texts[name] }));
      download("target.npy", await response.blob());
    } catch (error) {
      say(byId("take-message"), error.message);
    }
  }
}

function everything() {
  const { shown } = shownToTests;
  return { presage: state.version, problem: problem(), link: link(), point: shown, curve: curveData(), map: mapData(), training: trainingData(), way: wayData() };
}
