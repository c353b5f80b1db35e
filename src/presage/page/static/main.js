// Brings the page up: the models, the connection, the panels, and the address.

import { readAddress, startAddress } from "./address.js";
import { startCurve } from "./curve.js";
import { byId, say } from "./dom.js";
import { startFields } from "./fields.js";
import { askPoint, startLearned } from "./learned.js";
import { startMap } from "./map.js";
import { startPapers } from "./papers.js";
import { Connection } from "./socket.js";
import { startSpectrum } from "./spectrum.js";
import { announce, state } from "./state.js";
import { startTaking } from "./taking.js";
import { startTheme } from "./theme.js";
import { startTraining } from "./training.js";
import { startWay } from "./way.js";
import { startWeights } from "./weights.js";

const LOST = "The server does not answer. Trying again…";
let isPreparing = false;
let refused = "";

function banner(words) {
  say(byId("banner"), words);
  byId("banner").hidden = !words;
}

// Everything is asked again once the server is there (or there again): it remembers nothing of before.
function askAll() {
  if (!state.model) return;
  askPoint();
  announce("opened");
}

const hears = {
  opened() {
    refused = "";
    banner("");
    askAll();
  },
  lost() {
    // A server that closes the door has said why.
    banner(refused || LOST);
    announce("lost");
  },
  told({ kind, words, message }) {
    if (kind === "preparing") {
      isPreparing = true;
      banner(words);
    } else if (kind === "ready") {
      banner("");
      if (isPreparing) askAll();
      isPreparing = false;
    } else if (kind === "error") {
      refused = message;
      banner(message);
    }
  },
};

async function models() {
  for (;;) {
    try {
      const response = await fetch("models");
      if (response.ok) return await response.json();
    } catch {
      // Said by the banner of the connection; tried again below.
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

// The address is the state's, so the link past the controls moves the focus by itself.
function skip(event) {
  event.preventDefault();
  byId("content").focus();
}

async function start() {
  byId("skip").addEventListener("click", skip);
  const asked = models();
  startTheme();
  state.connection = new Connection(new URL("ws", document.baseURI).href.replace(/^http/, "ws").split("#")[0], hears);
  const told = await asked;
  Object.assign(state, { models: told.models, bounds: told.bounds ?? {}, version: told.version });
  say(byId("version"), told.version ?? "");
  startFields();
  startSpectrum();
  startCurve();
  startMap();
  startTraining();
  startWay();
  startTaking();
  startPapers();
  startWeights();
  startLearned();
  startAddress();
  readAddress(told.default);
}

start();
