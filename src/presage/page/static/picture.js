// Pictures of what is on the screen, drawn by the server as the command line draws them.

import { download, post } from "./dom.js";

/** Asks for a picture of panels and offers it as a file; `button` says what goes on. */
export async function picture(format, name, title, panels, button) {
  const before = button.textContent;
  button.disabled = true;
  try {
    const response = await post(`picture?format=${format}`, JSON.stringify({ title, panels: panels.filter(Boolean) }));
    download(`${name}.${format}`, await response.blob());
  } catch (error) {
    button.textContent = "Failed";
    button.title = error.message;
    setTimeout(() => (button.textContent = before), 3000);
  } finally {
    button.disabled = false;
  }
}
