// The connection to a game. It notices silence, reconnects until the server ends it, and sends words until they are confirmed.
const FIRST_MS = 300, LONGEST_MS = 5000, LEAVE_MS = 8000;
const SILENT_MS = 3000;  // the server sends something each second
const CONNECT_MS = 8000, LOOK_MS = 500, AGAIN_MS = 1000;
const HEARD = 1000;  // the code with which the server closes the connection of somebody who leaves
const TAB = "iglu-marl-tab", OUTBOX = "iglu-marl-outbox ";

/** A name of this tab that survives a reload: by it the server knows a return from a second tab. */
function tab() {
  const name = sessionStorage.getItem(TAB) || Math.random().toString(36).slice(2);
  sessionStorage.setItem(TAB, name);
  return name;
}

export class Connection {
  /**
   * hear(message) handles a message of the server; lost() and back() are called when the connection breaks and returns,
   * and changed() when words are waiting or have arrived.
   */
  constructor(token, {hear, lost, back, changed}) {
    Object.assign(this, {token, hear, lost, back, changed, pause: FIRST_MS, ended: false, open: false, left: null});
    this.words = []; this.said = 0;  // words that are not confirmed, and the number of those that are
    Object.assign(this, JSON.parse(sessionStorage.getItem(OUTBOX + token) || "{}"));
    setInterval(() => this.look(), LOOK_MS);
    setInterval(() => this.sendWords(), AGAIN_MS);
    this.connect();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = this.socket = new WebSocket(`${scheme}//${location.host}/ws`);
    this.heard = performance.now();
    socket.onopen = () => socket.send(JSON.stringify({t: "join", token: this.token, page: tab()}));
    socket.onmessage = (event) => {
      this.heard = performance.now();
      this.take(JSON.parse(event.data));
    };
    socket.onclose = ({code}) => this.closed(code);
  }

  take(message) {
    if (message.t === "welcome") this.welcome(message);
    if (message.t === "said") this.confirm(message.n);
    if (message.t === "refused") this.words.shift();
    if (message.t === "closed" || message.t === "elsewhere") this.ended = true;
    this.hear(message);
    if (message.t === "welcome" || message.t === "refused") this.sendWords();
    if (["welcome", "said", "refused"].includes(message.t)) this.keep();
  }

  welcome(message) {
    if (message.token && message.token !== this.token) sessionStorage.removeItem(OUTBOX + this.token);
    this.token = message.token || this.token; this.pause = FIRST_MS; this.open = true;
    this.confirm(message.said || 0);
    this.back();
    if (this.left) this.send({t: "leave"});
  }

  closed(code) {
    const was = this.open;
    this.open = false;
    if (this.ended || (this.left && code === HEARD)) { this.left?.(); return; }
    if (was) this.lost();
    setTimeout(() => this.connect(), this.pause);
    this.pause = Math.min(2 * this.pause, LONGEST_MS);
  }

  /** Give up a connection on which nothing comes; its socket may take minutes to notice. */
  look() {
    const {socket} = this;
    if (this.ended || socket.readyState > WebSocket.OPEN) return;
    if (performance.now() - this.heard < (this.open ? SILENT_MS : CONNECT_MS)) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
    this.closed(0);
  }

  /** Send a message if connected, and return whether it was sent; nothing is sent later. */
  send(message) {
    if (!this.open || this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  // -- words

  say(words) {
    this.words.push(words);
    this.keep();
    this.send({t: "say", n: this.said + this.words.length, ...words});
  }

  sendWords() { this.words.forEach((words, k) => this.send({t: "say", n: this.said + 1 + k, ...words})); }

  /** So many words have arrived in all. */
  confirm(number) {
    this.words.splice(0, Math.max(0, number - this.said));
    this.said = number;
  }

  keep() {
    sessionStorage.setItem(OUTBOX + this.token, JSON.stringify({words: this.words, said: this.said}));
    this.changed();
  }

  // -- the end

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
