// Small helpers around the document: elements, downloads, rests.

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** A new element: properties (dashed ones and `role` become attributes, `on…` listeners), then children. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Writes text only where it changed, so that screen readers do not repeat themselves. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows sentences as paragraphs. */
export function sentences(element, texts) {
  const joined = texts.join("\n");
  if (element.dataset.said === joined) return;
  element.dataset.said = joined;
  element.replaceChildren(...texts.map((text) => make("p", {}, text)));
}

/** Calls `act` once `rest` milliseconds have passed without another call. */
export function afterRest(rest, act) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, rest);
  };
}

/** Calls `act` at most once a frame. A hidden page has no frames, so a timer stands in. */
export function onceAFrame(act) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    const go = () => {
      if (!waiting) return;
      waiting = false;
      act();
    };
    if (document.hidden) setTimeout(go, 50);
    else requestAnimationFrame(go);
  };
}

/** Offers bytes or text as a file. */
export function download(name, content, type = "text/plain") {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Copies text and lets the button say so for a moment. */
export async function copy(text, button) {
  const before = button.dataset.words ?? button.textContent;
  button.dataset.words = before;
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without leave to use the clipboard, or on plain http from another machine: the old way.
    const box = make("textarea", { value: text, className: "unseen" });
    document.body.append(box);
    box.select();
    done = document.execCommand("copy");
    box.remove();
    button.focus();
  }
  button.textContent = done ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = before), 1500);
}

/** Posts a body; answers the response, or throws an error with the server's sentence. */
export async function post(address, body) {
  let response;
  try {
    response = await fetch(address, { method: "POST", body });
  } catch {
    throw new Error("The server does not answer.");
  }
  if (response.ok) return response;
  let message = `The server refused this (status ${response.status}).`;
  try {
    message = (await response.json()).message ?? message;
  } catch {
    // An answer that is no JSON has no better sentence to offer.
  }
  throw new Error(message);
}
