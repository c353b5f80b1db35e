// One lasting connection. Questions have growing ids; what is older than the newest of its kind is dropped.

const WAITS = [500, 1000, 2000, 4000, 5000];

/** The connection to the server, which comes back by itself when it is lost. */
export class Connection {
  #socket = null;
  #next = 1;
  #newest = new Map();
  #hearers = new Map();
  #failures = 0;

  /** `hears` has opened(), lost() and told(message), the last for what answers no question. */
  constructor(address, hears) {
    this.address = address;
    this.hears = hears;
    // A browser may keep a page that one has left, with its socket: nothing is to be computed for it.
    window.addEventListener("pagehide", () => this.#socket.close());
    this.#open();
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Sends a question; `hear` gets each of its answers until a newer one of its kind. The id, or null when there is no connection. */
  ask(kind, question, hear) {
    if (!this.isOpen) return null;
    const id = this.#next++;
    this.forget(kind);
    this.#newest.set(kind, id);
    this.#hearers.set(id, hear);
    this.#socket.send(JSON.stringify({ id, ask: kind, ...question }));
    return id;
  }

  /** Drops what still comes of the newest question of this kind. */
  forget(kind) {
    this.#hearers.delete(this.#newest.get(kind));
    this.#newest.delete(kind);
  }

  /** Asks the server to stop a running question; its end still comes. */
  stop(kind) {
    if (this.isOpen) this.#socket.send(JSON.stringify({ id: this.#next++, ask: "stop", what: kind }));
  }

  #open() {
    const socket = new WebSocket(this.address);
    this.#socket = socket;
    socket.onopen = () => {
      this.#failures = 0;
      this.hears.opened();
    };
    socket.onmessage = (event) => this.#hear(JSON.parse(event.data));
    socket.onclose = () => {
      this.#hearers.clear();
      this.#newest.clear();
      this.hears.lost();
      setTimeout(() => this.#open(), WAITS[Math.min(this.#failures++, WAITS.length - 1)]);
    };
  }

  #hear(message) {
    if (message.id === null || message.id === undefined) {
      this.hears.told(message);
      return;
    }
    const hear = this.#hearers.get(message.id);
    if (!hear) return;
    if (message.kind === "end") this.#hearers.delete(message.id);
    hear(message);
  }
}
