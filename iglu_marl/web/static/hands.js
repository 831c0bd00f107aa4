// The builder's input: keys, mouse and touch become one command frame per 1/20 s.
import {KEYS} from "./motion.js";

const MOUSE_DEG = 0.14, TOUCH_DEG = 0.3, KEY_DEG = 4;
const MOVES = {KeyW: "forward", KeyS: "back", KeyA: "left", KeyD: "right", Space: "up"};
const LOOKS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
const PAD_DEG = 6, DEAD = .2;  // of a gamepad's sticks
const AFTER_FRAMES = 20;  // frames continue for a second after the last input, because the builder may be in the air

/** The keys of a stick's direction. */
const bitsOf = (x, y) => (y < -.35 ? KEYS.forward : y > .35 ? KEYS.back : 0) | (x < -.35 ? KEYS.left : x > .35 ? KEYS.right : 0);

export class Hands {
  /** screen: element with the view; doings: other actions of keys and buttons, and busy(): whether input is ignored. */
  constructor(screen, doings) {
    this.screen = screen; this.doings = doings;
    this.number = 0; this.unanswered = []; this.active = 1; this.quiet = AFTER_FRAMES;
    this.release();
  }

  release() {
    this.keys = new Set(); this.pressed ||= new Set(); this.tapped = this.stick = this.padded = 0;
    this.events = []; this.turned = [0, 0];
  }

  get held() {
    let bits = this.tapped | this.stick | this.padded;
    for (const code of this.keys) if (MOVES[code]) bits |= KEYS[MOVES[code]];
    return bits;
  }

  // -- actions

  turn(yaw, pitch) {
    const last = this.events[this.events.length - 1];
    if (last && last[0] === "turn") { last[1] += yaw; last[2] += pitch; } else this.add(["turn", yaw, pitch]);
    this.turned[0] += yaw; this.turned[1] += pitch;
  }
  add(event) { if (this.events.length < 15) this.events.push(event); }
  choose(color) { this.active = color; this.add(["choose", color]); this.doings.chosen(); }
  cycle(by) { this.choose((this.active - 1 + by + 6) % 6 + 1); }
  place() { this.add(["place"]); this.doings.placing(); }
  remove() { this.add(["remove"]); }
  endTurn() { this.add(["yield"]); }

  /** Discard the input of this step, except keys that stay down. */
  skip() { this.events = []; this.tapped = 0; this.turned = [0, 0]; }

  /** The frame of this step, or null without input. */
  frame() {
    this.readGamepad();
    for (const code of this.keys) if (LOOKS[code]) this.turn(KEY_DEG * LOOKS[code][0], KEY_DEG * LOOKS[code][1]);
    const held = this.held, events = this.events;
    this.quiet = held || events.length ? 0 : this.quiet + 1;
    this.events = []; this.tapped = 0; this.turned = [0, 0];
    if (this.quiet > AFTER_FRAMES) return null;
    for (const event of events.filter(([kind]) => kind === "turn"))
      for (const k of [1, 2]) event[k] = Math.max(-700, Math.min(700, Math.round(1e4 * event[k]) / 1e4));
    const frame = {n: ++this.number, held, events};
    this.unanswered.push(frame);
    if (this.unanswered.length > 100) this.unanswered.shift();
    return frame;
  }
  answered(number) { this.unanswered = this.unanswered.filter((frame) => frame.n > number); }
  restart() { this.number = 0; this.unanswered = []; this.release(); }

  // -- sources of input

  get locked() { return document.pointerLockElement === this.screen; }
  lock() {
    const asked = this.screen.requestPointerLock?.({unadjustedMovement: true});
    asked?.catch?.(() => this.screen.requestPointerLock()?.catch?.(() => {}));
  }

  /** Sticks walk and look; buttons act once when they go down. */
  readGamepad() {
    const pad = navigator.getGamepads?.().find((one) => one?.mapping === "standard");
    if (!pad) return;
    if (this.doings.busy()) { this.padded = 0; return; }
    const [x, y, yaw, pitch] = pad.axes.map((value) => (Math.abs(value) < DEAD ? 0 : value)), down = (k) => pad.buttons[k]?.pressed;
    this.padded = bitsOf(x, y) | (down(0) ? KEYS.up : 0);
    if (yaw || pitch) this.turn(PAD_DEG * yaw, -PAD_DEG * pitch);
    const acts = {7: () => this.place(), 6: () => this.remove(), 5: () => this.cycle(1), 4: () => this.cycle(-1), 3: this.doings.endTurn};
    for (const [k, act] of Object.entries(acts)) {
      if (down(k) && !this.pressed.has(k)) act();
      this.pressed[down(k) ? "add" : "delete"](k);
    }
  }

  listen() {
    const screen = this.screen, doings = this.doings;
    document.addEventListener("keydown", (event) => {
      const {code, target: {tagName}} = event;
      if (event.ctrlKey || event.metaKey || event.altKey || doings.busy() || /^(INPUT|SELECT)$/.test(tagName)) return;
      if (tagName === "BUTTON" && (code === "Space" || code === "Enter")) return;
      const act = {
        KeyE: () => this.place(), KeyQ: () => this.remove(), KeyT: doings.talk, Enter: doings.talk, KeyY: doings.endTurn,
        F1: doings.help, KeyH: doings.help,
      }[code] || (/^Digit[1-6]$/.test(code) && (() => this.choose(Number(code[5]))));
      if (!act && !MOVES[code] && !LOOKS[code]) return;
      event.preventDefault();
      if (event.repeat) return;
      if (act) { act(); return; }
      this.keys.add(code);
      if (MOVES[code]) this.tapped |= KEYS[MOVES[code]];
    });
    document.addEventListener("keyup", (event) => this.keys.delete(event.code));
    window.addEventListener("blur", () => this.release());
    document.addEventListener("pointerlockchange", () => { if (!this.locked) this.release(); doings.lockChanged(this.locked); });
    screen.addEventListener("mousemove", ({movementX, movementY}) => {
      if (this.locked) this.turn(MOUSE_DEG * movementX, -MOUSE_DEG * movementY);
    });
    screen.addEventListener("mousedown", (event) => {
      if (doings.busy()) return;
      event.preventDefault();
      if (!this.locked) { document.activeElement?.blur(); this.lock(); return; }
      if (event.button === 0) this.remove(); else if (event.button === 2) this.place();
    });
    screen.addEventListener("contextmenu", (event) => event.preventDefault());
    screen.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (this.locked) this.cycle(Math.sign(event.deltaY));
    }, {passive: false});
    this.listenToTouch();
  }

  listenToTouch() {
    const grips = new Map();
    this.screen.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse") return;
      document.body.classList.add("touch");
      grips.set(event.pointerId, [event.clientX, event.clientY]); this.screen.setPointerCapture(event.pointerId);
    });
    this.screen.addEventListener("pointermove", (event) => {
      const grip = grips.get(event.pointerId);
      if (!grip) return;
      this.turn(TOUCH_DEG * (event.clientX - grip[0]), -TOUCH_DEG * (event.clientY - grip[1]));
      grips.set(event.pointerId, [event.clientX, event.clientY]);
    });
    for (const name of ["pointerup", "pointercancel"])
      this.screen.addEventListener(name, (event) => grips.delete(event.pointerId));
  }

  /** A stick for the thumb, which holds the keys of its direction. */
  useStick(pad, knob) {
    let grip = null;
    const pull = (event) => {
      const box = pad.getBoundingClientRect(), far = box.width / 2;
      let x = (event.clientX - box.left) / far - 1, y = (event.clientY - box.top) / far - 1;
      const size = Math.hypot(x, y);
      if (size > 1) { x /= size; y /= size; }
      knob.style.transform = `translate(${.55 * far * x}px, ${.55 * far * y}px)`;
      this.stick = size < .3 ? 0 : bitsOf(x, y);
    };
    const letGo = () => { grip = null; this.stick = 0; knob.style.transform = ""; };
    pad.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      document.body.classList.add("touch");
      grip = event.pointerId; pad.setPointerCapture(grip); pull(event);
    });
    pad.addEventListener("pointermove", (event) => { if (event.pointerId === grip) pull(event); });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) pad.addEventListener(name, letGo);
  }
}
