// The connection to a game: it is made again when it breaks, until the server says that it is over.
const FIRST_MS = 300, LONGEST_MS = 5000;

export class Connection {
  /** hear(message) gets what the server says; lost(seconds) is called when the connection breaks, and back() after. */
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
      const told = JSON.parse(event.data);
      if (told.t === "welcome") { this.token = told.token || this.token; this.pause = FIRST_MS; this.open = true; this.back(); }
      if (told.t === "closed" || told.t === "elsewhere") this.ended = true;
      this.hear(told);
    };
    socket.onclose = () => {
      this.open = false;
      if (this.ended) return;
      this.lost();
      setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_MS);
    };
  }

  /** Whether it was sent: what is done while the connection is broken is not made up for. */
  send(message) {
    if (!this.open || this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  suspend() { this.ended = true; this.socket.close(); }
  leave() { this.send({t: "leave"}); this.suspend(); }
}
