// The connection to a game: reconnects until the server ends it.
const FIRST_MS = 300, LONGEST_MS = 5000;

export class Connection {
  /** hear(message) handles a message of the server; lost() and back() are called when the connection breaks and returns. */
  constructor(token, {hear, lost, back}) {
    this.token = token; this.hear = hear; this.lost = lost; this.back = back;
    this.pause = FIRST_MS; this.ended = false; this.open = false;
    this.connect();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = this.socket = new WebSocket(`${scheme}//${location.host}/ws`);
    socket.onopen = () => socket.send(JSON.stringify({t: "join", token: this.token}));
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.t === "welcome") { this.token = message.token || this.token; this.pause = FIRST_MS; this.open = true; this.back(); }
      if (message.t === "closed" || message.t === "elsewhere") this.ended = true;
      this.hear(message);
    };
    socket.onclose = () => {
      this.open = false;
      if (this.ended) return;
      this.lost();
      setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_MS);
    };
  }

  /** Send a message if connected, and return whether it was sent; nothing is sent later. */
  send(message) {
    if (!this.open || this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  suspend() { this.ended = true; this.socket.close(); }
  leave() { this.send({t: "leave"}); this.suspend(); }
}
