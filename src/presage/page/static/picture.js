// Pictures of what is on the screen, drawn by the server as the command line draws them.

import { download, post } from "./dom.js";

/** Asks for a picture of panels and offers it as a file; `button` says what goes on. */
export async function picture(format, name, title, panels, button) {
  // Whether the button may be pressed at all is for its panel to say.
  if (button.dataset.busy) return;
  button.dataset.busy = "yes";
  const before = button.textContent;
  try {
    const response = await post(`picture?format=${format}`, JSON.stringify({ title, panels: panels.filter(Boolean) }));
    download(`${name}.${format}`, await response.blob());
  } catch (error) {
    button.textContent = "Failed";
    button.title = error.message;
    setTimeout(() => (button.textContent = before), 3000);
  } finally {
    delete button.dataset.busy;
  }
}
