// Light and dark: as the system says, unless one chooses.

import { byId } from "./dom.js";
import { announce } from "./state.js";

const KEY = "presage-theme";
const CHOICES = ["auto", "light", "dark"];

/** Prepares the button; plots hear of every change. */
export function startTheme() {
  const button = byId("theme");
  let chosen = kept();
  const show = () => {
    document.documentElement.dataset.theme = chosen;
    button.textContent = `Theme: ${chosen}`;
  };
  show();
  button.addEventListener("click", () => {
    chosen = CHOICES[(CHOICES.indexOf(chosen) + 1) % CHOICES.length];
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // Where nothing may be kept, the choice lasts as long as the page.
    }
    show();
    announce("theme");
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => announce("theme"));
}

function kept() {
  try {
    const theme = localStorage.getItem(KEY);
    return CHOICES.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}
