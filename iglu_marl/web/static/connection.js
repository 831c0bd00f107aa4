// The connection to a game: reconnects until the server ends it.
const FIRST_MS = 300, LONGEST_MS = 5000, LEAVE_MS = 8000;
const HEARD = 1000;  // the code with which the server closes the connection of somebody who leaves

export class Connection {
  /** hear(message) handles a message of the server; lost() and back() are called when the connection breaks and returns. */
  constructor(token, {hear, lost, back}) {
    this.token = token; this.hear = hear; this.lost = lost; this.back = back;
    this.pause = FIRST_MS; this.ended = false; this.open = false; this.left = null;
    this.connect();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = this.socket = new WebSocket(`${scheme}//${location.host}/ws`);
    socket.onopen = () => socket.send(JSON.stringify({t: "join", token: this.token}));
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.t === "welcome") { this.token = message.token || this.token; this.pause = FIRST_MS; this.open = true; this.back(); if (this.left) this.send({t: "leave"}); }
      if (message.t === "closed" || message.t === "elsewhere") this.ended = true;
      this.hear(message);
    };
    socket.onclose = ({code}) => {
      this.open = false;
      if (this.ended || (this.left && code === HEARD)) { this.left?.(); return; }
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

  /** Leave the game for good, if need be after reconnecting; resolves when the server has heard it, or after some seconds. */
  leave() {
    return new Promise((resolve) => {
      this.left = resolve;
      if (this.ended) resolve();
      else this.send({t: "leave"});
      setTimeout(resolve, LEAVE_MS);
    });
  }
}
