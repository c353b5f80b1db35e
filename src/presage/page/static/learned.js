// What is learned: asks for the present point while sliders move, shows its numbers and its spectrum.

import { byId, make, say, sentences } from "./dom.js";
import { clearErrors, showError } from "./fields.js";
import { forgetReasons, grey } from "./fresh.js";
import { showSpectrum } from "./spectrum.js";
import { announce, isPresent, on, problem, shownToTests, state } from "./state.js";

const PATIENCE = 100;
const SLOW = 400;
const POINT = "point";

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
    forgetReasons();
    fade("");
  });
  on("problem", askPoint);
  on("lost", () => {
    inFlight = waiting = false;
    clearTimeout(timer);
    clearTimeout(slow);
    if (shownToTests.shown && !isPresent(shownToTests.shown.asked)) fade("");
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
  if (id === null) {
    fade("");
    return;
  }
  inFlight = true;
  shownToTests.asked = id;
  // A draft that takes long is overtaken by the newest question, but less and less eagerly: else nothing would ever be shown.
  arm();
  clearTimeout(slow);
  slow = setTimeout(() => fade("computing…"), SLOW);
}

function arm() {
  timer = setTimeout(overtake, PATIENCE * 2 ** Math.min(overtaken, 4));
}

function overtake() {
  if (!waiting) {
    arm();
    return;
  }
  overtaken++;
  send();
}

// The numbers shown are not those of what is typed.
function fade(stage) {
  grey(POINT, true);
  say(byId("stage"), stage);
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
    fade("");
  }
}

function show(answer, asked) {
  answer.asked = asked;
  shownToTests.shown = answer;
  grey(POINT, false);
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
