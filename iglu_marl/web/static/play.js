// The page of a game, for both roles: messages of the server, and the loop that steps and draws.
import {$, title} from "./common.js";
import {Completing} from "./completing.js";
import {Connection} from "./connection.js";
import {setColors} from "./drawing.js";
import {Hands} from "./hands.js";
import {
  endTurn, listenToPanel, note, openHelp, showFacts, showHotbar, showNet, showPlayers, showQuick, showTeam, showVeil, veil,
} from "./panel.js";
import {aimed, listenToCamera, paint} from "./scene.js";
import {busy, called, camera, inside, prediction, state, world} from "./state.js";
import {addLine, giveBack, listenToWords, say, showOutbox, showTyping} from "./talk.js";
import {Team} from "./team.js";
import {Tutorial} from "./tutorial.js";
import {STEP_MS} from "./world.js";

const PENDING_MS = 800, FRAME_MS = 15;
const MOST_UNANSWERED = 20;  // steps that the server has not taken; with more, hands wait for the network
const EVENTS = {
  "place: nothing in reach": "Too far away: look at a block or at the ground near you.",
  "place: eye inside a block": "You are inside of a block.",
  "place: outside the zone": "Blocks can only stand on the white ground.",
  "place: none left": "No block of this colour is left.",
  "place: builder in the way": "You stand in the way: step back.",
  "remove: nothing in reach": "Too far away to break it.",
  "remove: ground": "The ground cannot be broken.",
};
let stepped = 0, drawn = 0;

const hands = state.hands = new Hands($("view"), {
  busy: () => !inside() || busy(),
  talk: () => { hands.release(); $("words").focus(); },
  help: openHelp,
  lockChanged: (locked) => { $("click").hidden = locked || !inside(); },
  chosen: showHotbar,
  placing: () => {
    const found = aimed(poseBody());
    if (!found?.free) return;
    const [x, y, z] = found.before;
    world.pending.set(((y + 1) * 11 + x + 5) * 11 + z + 5, [hands.active, performance.now() + PENDING_MS]);
  },
  endTurn,
});
function poseBody() {
  const pose = prediction.pose(hands.turned, performance.now());
  return pose ? {x: pose[0], y: pose[1], z: pose[2], yaw: pose[3], pitch: pose[4]} : world.body;
}

// ---------------------------------------------------------------- messages of the server

function welcome(message) {
  Object.assign(state, {role: message.role, facts: message, joined: true});
  document.body.dataset.role = message.role;
  document.body.classList.toggle("inside", inside());
  setColors(message.colors);
  prediction.moves = !message.turns;
  $("lines").dataset.none = "Nothing was said yet.";
  if (message.token) history.replaceState(null, "", `#${message.token}`);
  $("task").textContent = title(message.task);
  const keys = !matchMedia("(pointer: coarse), (max-width: 700px)").matches;
  $("words").placeholder = state.role === "architect" ? "Instruct the builder"
    : keys ? "Ask the architect (T)" : "Ask the architect";
  state.team = "architect" in message.speakers ? null : new Team(message);
  if (state.team) showTeam(state.team, keys);
  state.endsAt = message.left_s === undefined ? null : performance.now() + 1000 * message.left_s;
  showPlayers();
  hands.restart();
  showHotbar(); showQuick();
  if (message.completes && state.role === "architect") state.completing ||= new Completing(() => { state.how = "example"; });
  state.tutorial ||= new Tutorial(message, (step) => state.connection.send({t: "tutorial", step}));
}

function frame(message) {
  const before = state.lost, fresh = world.take(message);
  if (message.whole) $("lines").replaceChildren();
  fresh.forEach(([speaker, text], k) => addLine(speaker, text, before && k >= before.said));
  if (message.whole) showOutbox();
  if (before && message.whole) showMeanwhile(before);
  if (message.ack !== undefined) hands.answered(message.ack);
  if (message.whole && state.role === "builder") { hands.active = world.active; showHotbar(); }
  if (message.inventory) showHotbar();
  if (world.event && world.event[0] > state.shownEvent) {
    const [number, kind] = world.event;
    state.shownEvent = number;
    if (EVENTS[kind] && inside()) note(state.team?.event(kind) || EVENTS[kind]);
  }
  showFacts();
  state.changed = true;
  state.tutorial?.see(world, fresh);
}

/** After a return: what happened in between. */
function showMeanwhile(before) {
  const blocks = world.grid.reduce((count, color, cell) => count + (color !== before.grid[cell]), 0);
  const seconds = Math.round((performance.now() - before.at) / 1000);
  state.lost = null;
  note(`You were away for ${seconds} s. New: ${world.said.length - before.said} messages, ${blocks} blocks.`);
}

function status(message) {
  const before = state.status;
  state.status = message;
  showPlayers();
  if (message.state === "paused" && before.state === "playing") hands.release();
  showVeil();
}

const doing = (player, what) => showTyping(`${title(called(player))} is ${what} …`);
const HEARD = {
  welcome, frame, status,
  note: (message) => note(message.text),
  refused: (message) => giveBack(message.text),
  typing: (message) => doing(message.who, "typing"),
  thinking: (message) => doing(message.who, "thinking"),
  closed: (message) => veil("You cannot play here.", message.text, true),
  elsewhere: () => veil("The game continues elsewhere.", "It was opened in another tab or on another device.", true),
};

// ---------------------------------------------------------------- time

function step(now) {
  const {connection} = state;
  if (!inside() || state.status.state !== "playing" || !connection.open) {
    hands.unanswered = []; hands.release();
    prediction.step(world, [], false, now);
    return;
  }
  const slow = hands.unanswered.length >= MOST_UNANSWERED;
  if (slow) hands.skip();
  const next = slow ? null : hands.frame();
  if (next) connection.send({t: "in", n: next.n, held: next.held, events: next.events});
  prediction.step(world, hands.unanswered, next !== null, now);
  if (slow) showNet("Slow connection: please wait.");
  else if (hands.unanswered.length < MOST_UNANSWERED / 2) showNet("");
}

function loop(now) {
  requestAnimationFrame(loop);
  if (!state.joined) return;
  if (now - stepped > 5 * STEP_MS) stepped = now - STEP_MS;  // the page was suspended
  while (now - stepped >= STEP_MS) { stepped += STEP_MS; step(stepped); state.changed = true; }
  // views from outside change only with frames and interpolation: drawing 60 times a second would waste power
  if (now - drawn < (inside() ? FRAME_MS - 5 : 2 * FRAME_MS) || (!state.changed && !inside())) return;
  drawn = now; state.changed = false;
  paint(now);
}

// ---------------------------------------------------------------- the beginning

function listen() {
  listenToWords(); listenToPanel(); listenToCamera();
  $("place").addEventListener("click", () => hands.place());
  $("break").addEventListener("click", () => hands.remove());
  for (const [name, down] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]])
    $("jump").addEventListener(name, () => { hands.keys[down ? "add" : "delete"]("Space"); if (down) hands.tapped |= 16; });
  hands.useStick($("pad"), $("knob"));
  hands.listen();
  if (matchMedia("(pointer: coarse)").matches) document.body.classList.add("touch");
  addEventListener("resize", () => { $("lines").scrollTop = $("lines").scrollHeight; });  // a phone turns, or shows its keyboard
  addEventListener("hashchange", () => location.reload());  // another link in the same tab
}

function connect(token) {
  state.connection = new Connection(token, {
    hear: (message) => HEARD[message.t]?.(message),
    changed: () => { if (state.joined) showOutbox(); },
    lost: () => {
      document.body.classList.add("lost");
      showNet("The connection is lost. Reconnecting …");
      state.lost ||= {at: performance.now(), said: world.said.length, grid: world.grid.slice()};
      hands.release();
    },
    back: () => { document.body.classList.remove("lost"); showNet(""); },
  });
  requestAnimationFrame(loop);
  // browsers may keep a page that was left, with its connection; close it, so that others see that the person is away
  addEventListener("pagehide", () => state.connection.suspend());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

listen();
const token = location.hash.slice(1);
if (/^[\w-]{10,60}$/.test(token)) connect(token);
else veil("There is no such game.", "The link is incomplete.", true);
window.play = {world, state, hands, camera, prediction, say: (text) => say(text), get connection() { return state.connection; }};
