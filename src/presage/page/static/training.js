// Train it: real networks, watched while they train, and what the comparison says.

import { byId, make, onceAFrame, say, sentences } from "./dom.js";
import { isDrawn } from "./curve.js";
import { general, isFlat, numberOf } from "./numbers.js";
import { at, colours, inside, legendEntry, Plot } from "./plot.js";
import { announce, isPresent, modelNamed, on, problem, shownToTests, state } from "./state.js";
import { forgetTrained, keepTrained } from "./trained.js";

const PRESS = 400;
const KEPT_STEPS = 300;
const LOOKS = [["blue", undefined], ["orange", [7, 4]], ["green", [2, 3]], ["pink", [9, 3, 2, 3]]];

let plot;
let run = null;
let begun = -Infinity;
let drawLosses;

/** Prepares the panel. */
export function startTraining() {
  plot = new Plot(byId("losses"));
  drawLosses = onceAFrame(draw);
  on("model", () => {
    release();
    fillTraining({});
    sayWhere();
  });
  on("problem", belongs);
  on("point", holdDimension);
  on("theme", drawLosses);
  on("lost", () => run?.isRunning && finish("The connection was lost, and the training with it. Press Train to begin again."));
  on("drawn", sayWhere);
  byId("train").addEventListener("click", press);
  for (const id of ["train-d", "train-seeds", "train-trainer"]) byId(id).addEventListener("change", () => announce("address"));
}

/** Sets the settings, from an address; what is not given stays as it is. */
export function fillTraining({ d, seeds, trainer }) {
  const { trainers, untrainable, dimension } = state.model;
  byId("train-controls").hidden = !canTrain();
  say(byId("train-none"), untrainable ?? "");
  // A model may train in one way that has no name.
  byId("train-trainer").parentElement.hidden = trainers.length === 0;
  byId("train-d").title = dimension ?? "";
  byId("train-trainer").replaceChildren(...trainers.map((name) => make("option", { value: name }, name)));
  if (trainers.includes(trainer)) byId("train-trainer").value = trainer;
  // What an address says of d is for a model whose networks can have any: another holds its own, and keeps this for later.
  if (d !== undefined) byId("train-d").value = byId("train-d").dataset.free = d;
  if (seeds !== undefined) byId("train-seeds").value = seeds;
}

// Networks of a problem that says its own dimension have that one, and no other can be typed.
function holdDimension({ own_dimension: own }) {
  if (own === null) return release();
  const box = byId("train-d");
  if (!box.readOnly && !("free" in box.dataset)) box.dataset.free = box.value;
  box.readOnly = true;
  box.value = own;
}

function release() {
  const box = byId("train-d");
  if (box.readOnly) box.value = box.dataset.free;
  box.readOnly = false;
  delete box.dataset.free;
}

const canTrain = () => state.model.untrainable === null;

/** The settings as texts, as the address has them. */
export const trainingSettings = () => (canTrain() ? { d: byId("train-d").readOnly ? byId("train-d").dataset.free : byId("train-d").value, seeds: byId("train-seeds").value, trainer: byId("train-trainer").value } : {});

/** The settings as a question has them, or null with a sentence about what is wrong. */
export function trainingQuestion(speaks = true) {
  if (!canTrain()) return null;
  const bounds = { d: 1000, dimensions: 4, seeds: 64, ...state.bounds };
  const sizes = [...new Set(byId("train-d").value.split(/[\s,;]+/).filter(Boolean).map(numberOf))].sort((a, b) => a - b);
  const seeds = numberOf(byId("train-seeds").value);
  const isWhole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
  let wrong = "";
  if (sizes.length === 0 || !sizes.every((d) => isWhole(d, 2, bounds.d))) wrong = `Give d as whole numbers from 2 to ${bounds.d}, such as 50, 100.`;
  else if (sizes.length > bounds.dimensions) wrong = `Give at most ${bounds.dimensions} dimensions at once.`;
  else if (!isWhole(seeds, 1, bounds.seeds)) wrong = `Give a whole number of seeds from 1 to ${bounds.seeds}.`;
  if (speaks) say(byId("train-message"), wrong);
  return wrong ? null : { d: sizes, seeds, trainer: byId("train-trainer").value || null };
}

// The second press of a double one is neither a cancel nor another run.
function press() {
  if (performance.now() - begun < PRESS) return;
  if (run?.isRunning) cancel();
  else begin();
}

function begin() {
  const question = trainingQuestion();
  if (!question) return;
  const asked = problem();
  const fresh = { ...question, problem: asked, losses: new Map(), networks: [], trained: {}, comparison: null, verb: null, isRunning: true, before: run };
  const id = state.connection.ask("train", { ...asked, ...question }, (message) => hear(message, fresh));
  if (id === null) return;
  begun = performance.now();
  run = shownToTests.training = fresh;
  byId("train").textContent = "Starting…";
  setTimeout(() => fresh.isRunning && say(byId("train"), "Cancel"), PRESS);
  byId("train").classList.add("running");
  byId("training").hidden = false;
  byId("train-progress").max = question.d.length * question.seeds;
  byId("train-progress").value = 0;
  byId("train-progress").hidden = false;
  say(byId("train-status"), "Sampling and training…");
  showComparison(null);
  belongs();
  drawLosses();
}

function cancel() {
  state.connection.stop("train");
  say(byId("train-status"), "Stopping…");
}

function finish(words) {
  run.isRunning = false;
  byId("train").textContent = "Train";
  byId("train").classList.remove("running");
  byId("train-progress").hidden = true;
  say(byId("train-status"), words);
  if (run.networks.length === 0 && run.before) goBack();
  run.before = null;
}

function hear(message, fresh) {
  if (fresh !== run) return;
  if (message.kind === "waiting") say(byId("train-status"), message.words);
  else if (message.kind === "loss") {
    const name = `${message.d} ${message.seed}`;
    if (!run.losses.has(name)) run.losses.set(name, { d: message.d, steps: [] });
    run.losses.get(name).steps.push(...message.steps);
    drawLosses();
  } else if (message.kind === "network") {
    run.networks.push({ d: message.d, seed: message.seed, values: message.values, failed: message.failed });
    byId("train-progress").value = run.networks.length;
    const loss = run.losses.get(`${message.d} ${message.seed}`);
    if (loss) loss.steps = thinned(loss.steps);
    if (message.failed) say(byId("train-message"), `d = ${message.d}, seed ${message.seed}: ${message.failed}`);
  } else if (message.kind === "trained") {
    // Only now there is something in the place of what was trained here before.
    if (!run.verb) forgetTrained(run.problem, message.verb);
    run.verb = message.verb;
    run.trained[message.d] = message;
    keepTrained(run.problem, run.trainer, message);
    say(byId("train-status"), `d = ${message.d}: ${message.done} of ${message.of} networks.`);
    announce("trained");
  } else if (message.kind === "comparison") {
    run.comparison = message;
    showComparison(message);
  } else if (message.kind === "error") {
    run.wrong = message.message;
    say(byId("train-message"), message.message);
  } else if (message.kind === "end") {
    const count = run.networks.length;
    if (message.stopped) finish(`Stopped after ${count} ${count === 1 ? "network" : "networks"}. What was trained stays.`);
    else finish(run.wrong ? "" : `${count} ${count === 1 ? "network" : "networks"} trained.`);
    announce("trained");
  }
}

// A run that was refused or stopped before its first network leaves what was there before it.
function goBack() {
  run = shownToTests.training = run.before;
  showComparison(run.comparison);
  belongs();
  drawLosses();
}

// About so many steps show all that can be seen of a loss; the first and the last stay.
function thinned(steps) {
  const stride = Math.ceil(steps.length / KEPT_STEPS);
  return steps.filter((_, k) => k % stride === 0 || k === steps.length - 1);
}

// The name of another answer than the model's own, as the curve has it; null for its own.
function otherAnswer({ model }, verb) {
  const { verb: own, beside } = modelNamed(model);
  return !verb || verb === own ? null : (beside.find(({ name }) => name === verb)?.words ?? verb.replaceAll("_", " "));
}

// Networks that seek another answer than the one shown are not drawn over it; the page says where they are.
function sayWhere() {
  const other = run?.problem.model === state.model.name ? otherAnswer(run.problem, run.verb) : null;
  const where = isDrawn(run?.verb) ? "they are drawn on its line of the learning curve, not on the spectrum" : "its line is not in the learning curve, so they are drawn neither there nor on the spectrum";
  say(byId("train-where"), other ? `These networks seek the ${other} answer: ${where}.` : "");
}

function showComparison(comparison) {
  const table = byId("comparison");
  table.hidden = !comparison;
  const verdict = byId("verdict");
  verdict.classList.toggle("agrees", comparison?.agrees === true);
  verdict.classList.toggle("differs", comparison?.agrees === false);
  if (!comparison) {
    sentences(verdict, []);
    return;
  }
  const other = otherAnswer(run.problem, comparison.verb);
  const beside = other ? `Beside the ${other} prediction:` : "";
  const outcome = comparison.agrees === false ? "Prediction and training differ." : comparison.agrees ? "Prediction and training agree." : "";
  const lead = [beside, beside ? outcome.toLowerCase() : outcome].filter(Boolean).join(" ");
  sentences(verdict, [...(lead ? [lead] : []), ...comparison.sentences, ...(comparison.caveats ?? [])]);
  const head = make("tr", {}, ...comparison.headings.map((text) => make("th", { scope: "col" }, text)));
  const rows = comparison.rows.map(([first, ...rest]) => make("tr", {}, make("th", { scope: "row" }, first), ...rest.map((text) => make("td", {}, text ?? ""))));
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

// What was trained belongs to the problem it was trained at; the page says so once the sliders have moved on.
function belongs() {
  if (!run) return;
  say(byId("train-elsewhere"), isPresent(run.problem) ? "" : "The sliders have moved since: this is about the point that was trained.");
}

function draw() {
  if (!run) return;
  // Each network's clock begins with its first step: what came before was preparation.
  const curves = [...run.losses.values()].map(({ d, steps }) => ({ d, steps: steps.filter(([, loss]) => Number.isFinite(loss)).map(([seconds, loss]) => [seconds - steps[0][0], loss]) })).filter(({ steps }) => steps.length);
  byId("losses").hidden = curves.length === 0;
  if (curves.length === 0) return;
  const every = curves.flatMap(({ steps }) => steps);
  const bound = (k, pick) => every.reduce((best, step) => pick(best, step[k]), every[0][k]);
  const [left, right, low, high] = [bound(0, Math.min), bound(0, Math.max), bound(1, Math.min), bound(1, Math.max)];
  const isLog = low > 0 && high / low >= 20;
  const room = isFlat(low, high) ? Math.abs(high) * 0.1 || 1 : (high - low) * 0.06;
  plot.ranges.x = [Math.min(0, left), right > left ? right : left + 1];
  plot.ranges.y = isLog ? [low / 1.3, high * 1.3] : [low - room, high + room];
  const sizes = run.d;
  // The lines are drawn by hand: their number changes all the time, their series would have to be made anew.
  const drawLines = (u) => {
    const theme = colours();
    inside(u, (ctx, bbox, ratio) => {
      for (const { d, steps } of u.curves ?? []) {
        const [colour, dash] = LOOKS[sizes.indexOf(d) % LOOKS.length];
        ctx.strokeStyle = theme[colour];
        ctx.globalAlpha = 0.75;
        ctx.lineWidth = 1.5 * ratio;
        ctx.setLineDash((dash ?? []).map((part) => part * ratio));
        ctx.beginPath();
        for (const [seconds, loss] of steps) ctx.lineTo(at(u, "x", seconds), at(u, "y", loss));
        ctx.stroke();
      }
    });
  };
  const options = () => ({ xlabel: "seconds since the first step", ylabel: "loss", ylog: isLog, series: [{ stroke: "transparent", points: { show: false } }], hooks: { init: [(u) => (u.curves = curves)], draw: [drawLines] }, cursor: { show: false } });
  if (plot.u) plot.u.curves = curves;
  plot.draw(JSON.stringify([isLog, sizes]), options, [plot.ranges.x, plot.ranges.y]);
  const theme = colours();
  const entries = sizes.map((d, k) => ({ colour: theme[LOOKS[k % LOOKS.length][0]], dash: LOOKS[k % LOOKS.length][1], words: `d = ${d}` }));
  byId("losses-legend").replaceChildren(...entries.map(legendEntry));
  byId("losses").setAttribute("aria-label", `The loss of ${curves.length} networks while they train: from ${general(high, 3)} down to ${general(low, 3)} in ${general(right, 3)} seconds.`);
}

/** What was trained, as the JSON of everything has it. */
export function trainingData() {
  if (!run) return null;
  const { problem: of, d, seeds, trainer, networks, trained, comparison } = run;
  return { ...of, d, seeds, trainer, networks, trained, comparison };
}
