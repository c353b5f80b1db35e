// The living papers: every published figure as a panel, its problems a click away from the sliders.

import { byId, make, say } from "./dom.js";
import { fillSettings } from "./curve.js";
import { announce, chooseModel, modelNamed } from "./state.js";

/** Fetches the gallery when its panel is opened for the first time. */
export function startPapers() {
  const panel = byId("papers-panel");
  panel.addEventListener("toggle", () => {
    if (panel.open && !panel.dataset.filled) fill(panel);
  });
}

async function fill(panel) {
  panel.dataset.filled = "yes";
  try {
    const response = await fetch("figures");
    if (!response.ok) throw new Error(String(response.status));
    byId("papers").replaceChildren(...(await response.json()).map(card));
    say(byId("papers-message"), "");
  } catch {
    delete panel.dataset.filled;
    say(byId("papers-message"), "The figures could not be fetched. Close this panel and open it again.");
  }
}

function card({ name, title, source, problems }) {
  const address = `figures/${encodeURIComponent(name)}`;
  const image = make("img", { loading: "lazy", src: `${address}.png`, alt: `${title}, ${source}`, width: 640, height: 480 });
  const caption = make("div", { className: "caption" });
  const details = make("details", { ontoggle: () => details.open && explain(address, caption) }, make("summary", {}, "Caption"), caption);
  const buttons = problems.map((given) => make("button", { type: "button", className: "small", title: "hand this problem to the sliders", onclick: () => hand(given), disabled: !modelNamed(given.model) }, given.label));
  return make(
    "article",
    { className: "paper", "data-figure": name },
    make("a", { href: `${address}.png`, target: "_blank", rel: "noopener" }, image),
    make("h3", {}, title),
    make("p", { className: "source" }, source),
    buttons.length ? make("div", { className: "buttons" }, make("span", {}, "To the sliders:"), ...buttons) : null,
    details,
  );
}

async function explain(address, box) {
  if (box.childElementCount) return;
  try {
    const { caption, details } = await (await fetch(address)).json();
    box.replaceChildren(...[caption, details].filter(Boolean).map((text) => make("p", {}, text)));
  } catch {
    say(box, "The caption could not be fetched.");
  }
}

function hand({ model, fields, along }) {
  chooseModel(model, fields);
  fillSettings({ along });
  announce("settings");
  byId("model").focus({ preventScroll: true });
  byId("content").scrollTo({ top: 0, behavior: "smooth" });
  window.scrollTo({ top: 0, behavior: "smooth" });
}
