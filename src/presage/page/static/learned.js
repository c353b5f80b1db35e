// What is learned: asks for the present point while sliders move, shows its numbers and its spectrum.

import { byId, make, say, sentences } from "./dom.js";
import { clearErrors, showError } from "./fields.js";
import { showSpectrum } from "./spectrum.js";
import { announce, on, problem, shownToTests, state } from "./state.js";

const PATIENCE = 100;
const SLOW = 400;

let inFlight = false;
let waiting = false;
let overtaken = 0;
let timer = null;
let slow = null;
let rows = new Map();

/** Prepares the panel. */
export function startLearned() {
  on("model", () => {
    rows = new Map();
    byId("observables").replaceChildren();
  });
  on("problem", askPoint);
  on("lost", () => {
    inFlight = waiting = false;
    clearTimeout(timer);
    clearTimeout(slow);
  });
}

/** Asks for the present point: at once if nothing is under way, else the newest when the draft has come. */
export function askPoint() {
  if (inFlight) waiting = true;
  else send();
}

function send() {
  clearTimeout(timer);
  waiting = false;
  const asked = problem();
  const id = state.connection.ask("point", asked, (message) => hear(message, asked));
  if (id === null) return;
  inFlight = true;
  shownToTests.asked = id;
  // A draft that takes long is overtaken by the newest question, but less and less eagerly: else nothing would ever be shown.
  timer = setTimeout(overtake, PATIENCE * 2 ** Math.min(overtaken, 4));
  clearTimeout(slow);
  slow = setTimeout(() => say(byId("stage"), "computing…"), SLOW);
}

function overtake() {
  inFlight = false;
  if (!waiting) return;
  overtaken++;
  send();
}

function settled() {
  clearTimeout(timer);
  inFlight = false;
  if (waiting) send();
}

function hear(message, asked) {
  clearTimeout(slow);
  if (message.kind === "point") {
    overtaken = 0;
    if (inFlight) settled();
    if (asked.model !== state.model.name) return;
    clearErrors();
    show(message, asked);
  } else if (message.kind === "error") {
    if (inFlight) settled();
    const atField = showError(message.field, message.message);
    say(byId("failure"), atField ? "" : message.message);
    byId("content").classList.add("stale");
    say(byId("stage"), "");
  }
}

function show(answer, asked) {
  answer.asked = asked;
  shownToTests.shown = answer;
  byId("content").classList.remove("stale");
  say(byId("failure"), "");
  say(byId("stage"), answer.stage);
  byId("stage").title = answer.stage === "draft" ? "quick numbers, to be refined once you rest" : "numbers in full precision";
  numbers(answer);
  sentences(byId("caveats"), answer.caveats);
  sentences(byId("hints"), answer.hints);
  showSpectrum(answer);
  shownToTests.redraws++;
  announce("point", answer);
  if (answer.stage === "refined") speak(answer);
}

function numbers(answer) {
  const names = answer.rows.map(({ name }) => name);
  if (names.join() !== [...rows.keys()].join()) {
    rows = new Map(answer.rows.map((row) => [row.name, rowOf(row)]));
    byId("observables").replaceChildren(...[...rows.values()].map(({ element }) => element));
  }
  for (const row of answer.rows) {
    const { value, bar } = rows.get(row.name);
    say(value, row.text);
    say(bar, row.bar_text ? `± ${row.bar_text}` : "");
  }
}

function rowOf({ name, words }) {
  const value = make("td", { className: "value" });
  const bar = make("td", { className: "bar" });
  const label = state.model.observables.find((observable) => observable.name === name)?.label ?? name.replaceAll("_", " ");
  return { value, bar, element: make("tr", { "data-observable": name }, make("th", { scope: "row" }, label), value, bar, make("td", { className: "meaning" }, words)) };
}

function speak({ rows: told }) {
  const brief = new Map(state.model.observables.filter((observable) => observable.brief).map(({ name, label }) => [name, label]));
  say(byId("spoken"), told.filter(({ name }) => brief.has(name)).map(({ name, text }) => `${brief.get(name)} ${text}`).join(", "));
}
