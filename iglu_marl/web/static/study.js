// A participant's way through a study; the server chooses the next stage.
import {$, ask, clock, make} from "./common.js";

const DRAFT = "iglu-marl-draft", FIRST_MS = 500, LONGEST_MS = 8000;
const BACK = "iglu-marl-back";  // where the page of a game returns to: here, with the participant's code
let view = null, waiting = null, sound = null, over = 0;

const paragraph = (text) => [make("p", {textContent: text})];
function button(text, act, main = true) {
  const made = make("button", {type: "button", textContent: text, className: main ? "main" : ""});
  made.addEventListener("click", act);
  return made;
}
async function attempt(work) {
  $("trouble").textContent = "";
  try { await work(); } catch (error) { $("trouble").textContent = error.message; }
}
const next = (facts) => attempt(async () => show(await ask("/api/study/next", {token: view.token, stage: view.stage, ...facts})));

function field(question) {
  const {name, text, kind} = question;
  if (kind === "note") return make("div", {className: "note", innerHTML: question.html});
  const box = make("fieldset", {className: `question ${kind}`}, make("legend", {textContent: text}));
  if (kind === "text") box.append(make("textarea", {name, rows: 3, maxLength: 2000, required: question.required}));
  else {
    const values = kind === "choice" ? question.options : Array.from({length: question.steps}, (_, k) => String(k + 1));
    const radio = (value) => make("input", {type: "radio", name, value, required: question.required});
    const labels = values.map((value) => make("label", {}, radio(value), make("span", {textContent: value})));
    const ends = kind === "likert" ? [question.low, question.high].map((textContent) => make("small", {textContent})) : ["", ""];
    box.append(make("div", {className: "options"}, ends[0], ...labels, ends[1]));
  }
  return box;
}

const shownCode = (text) => (view.code ? [make("p", {}, text, make("b", {className: "code", textContent: view.code}))] : []);
function ending(text, code = "Your code: ") {
  const back = view.url ? [make("a", {className: "main", href: view.url, textContent: "Back to the platform"})] : [];
  return [[...paragraph(text), ...shownCode(code)], back];
}
const asking = (text) => [paragraph(text), [...view.questions.map(field), make("button", {textContent: "Send", className: "main"})]];
/** Pages one after the other; the last one has the buttons. */
function pages(buttons, number = 0) {
  const turn = (to) => button(to > number ? "Continue" : "Back", () => fill(...pages(buttons, to)), to > number);
  const more = number + 1 < view.pages.length ? [turn(number + 1)] : buttons;
  return [[make("div", {innerHTML: view.pages[number]})], [...(number ? [turn(number - 1)] : []), ...more]];
}
function role(name) {
  return paragraph(name === "builder" ? "You build." : "You explain what to build.");
}
/** When a practice game is over. */
function until(goal) {
  const [kind, count] = goal.split(":");
  if (!goal) return [];
  return paragraph(kind === "blocks" ? `It ends when ${count} blocks are right.`
    : kind === "minutes" ? `It ends after ${count} minutes.` : "It ends when all blocks are right.");
}
function game() {
  const text = view.tutorial ? "First, a short tutorial: try out what you can do. It does not count."
    : view.practice ? `A practice game (${view.number} of ${view.of}).`
      : view.of > 1 ? `Game ${view.number} of ${view.of}.` : "Now the game.";
  const own = view.role ? role(view.role) : paragraph("You get your role when your partner is here.");
  return [[...paragraph(text), ...own, ...until(view.until)], [button("Play", play)]];
}

const STAGES = {
  consent: () => pages([button("I agree", () => next({agree: true})), button("I do not agree", () => next({agree: false}), false)]),
  instructions: () => pages([button("Continue", () => next({}))]),
  quiz: () => asking("Some questions about the instructions. If an answer is wrong, you can read them again."),
  before: () => asking("Some questions before you begin."),
  between: () => asking("Some questions about the last game."),
  game,
  questions: () => asking("Some questions about your games."),
  done: () => ending("That was all. Thank you!", "Your completion code: "),
  screened: () => ending(
    "Thank you for your time. You cannot take part, because some of your answers about the instructions were wrong.",
  ),
  failed: () => ending(
    "Thank you for your time. Some of your answers did not pass our attention checks, so they do not count in the study.",
  ),
  expired: () => ending("The time for this study is over. Thank you; you can close this page."),
  left: () => ending("Thank you for your time. You ended a game before it had really begun, so it does not count in the study."),
  dismissed: () => ending("You cannot play on now. Thank you for your time; you can close this page."),
  refused: () => ending("You do not take part. Thank you for your time; you can close this page."),
};

function fill(text, parts) { $("text").replaceChildren(...text); $("form").replaceChildren(...parts); scrollTo(0, 0); }

/** The answers so far, kept in the browser until they are sent. */
const draft = () => `${DRAFT} ${view.token} ${view.stage} ${view.game}`;
function keepDraft() { if (view?.questions) localStorage.setItem(draft(), JSON.stringify(Object.fromEntries(new FormData($("form"))))); }
function fillDraft() {
  for (const [name, value] of Object.entries(JSON.parse(localStorage.getItem(draft()) || "{}"))) {
    const found = $("form").elements.namedItem(name);
    if (found) found.value = value;
  }
}

function show(answered) {
  view = answered;
  $("progress").hidden = !answered.steps;
  if (answered.steps) {
    $("progress").firstElementChild.max = answered.steps; $("progress").firstElementChild.value = answered.step;
    $("progress").lastElementChild.textContent = `Step ${answered.step} of ${answered.steps}`;
  }
  $("title").textContent = document.title = answered.title;
  over = answered.left_s ? performance.now() + 1000 * answered.left_s : 0;
  fill(...STAGES[answered.stage]());
  if (answered.questions) fillDraft();
  document.body.dataset.stage = answered.stage;
  delete document.body.dataset.waiting;
}

/** Enter the game, or wait for a partner. */
async function play() {
  sound ||= window.AudioContext && new AudioContext();
  await attempt(async () => follow(await ask("/api/study/game", {token: view.token, ready: false})));
}

async function follow(answered) {
  if (answered.play) { location.assign(`/play#${answered.play}`); return; }
  if (answered.stage) { show(await ask("/api/study/enter", {token: view.token})); return; }
  if (!waiting) wait();
  showWaiting(answered);
}

/** Wait on a connection, which returns by itself; closing the page ends the waiting at once. */
function wait(pause = FIRST_MS) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = waiting = new WebSocket(`${scheme}//${location.host}/ws/study`);
  let ended = false;
  socket.onopen = () => { $("trouble").textContent = ""; socket.send(JSON.stringify({t: "join", token: view.token})); };
  socket.onmessage = (event) => {
    const answered = JSON.parse(event.data);
    pause = FIRST_MS; ended = Boolean(answered.play || answered.stage);
    attempt(() => follow(answered));
  };
  socket.onclose = () => {
    waiting = null;
    if (ended) return;
    $("trouble").textContent = "The connection is lost. It will be tried again.";
    setTimeout(() => wait(Math.min(2 * pause, LONGEST_MS)), pause);
  };
}

/** Show that the page waits, or that a partner is there and both have to confirm it. */
function showWaiting(answered) {
  const offered = answered.offered && !answered.confirmed, stay = "Please keep this page open.";
  const soon = `Your partner is here. Press Begin within ${answered.wait} seconds, or you lose this place.`;
  const lines = offered ? [soon] : answered.offered ? ["Waiting for your partner to begin …"]
    : ["Waiting for your partner …", answered.open ? stay : `At most ${answered.wait} seconds more. ${stay}`];
  $("text").replaceChildren(...lines.flatMap(paragraph), ...(answered.role ? role(answered.role) : []));
  $("form").replaceChildren(...(offered ? [button("Begin", () => waiting?.send(JSON.stringify({t: "ready"})))] : []));
  document.title = offered ? "Your partner is here!" : view.title;
  document.body.dataset.waiting = offered ? "offered" : answered.offered ? "confirmed" : "waiting";
  if (offered) beep();
}

/** Make a short sound; a browser allows it after a click. */
function beep() {
  if (sound?.state !== "running") return;
  const tone = sound.createOscillator(), loud = sound.createGain();
  tone.connect(loud).connect(sound.destination);
  tone.frequency.value = 660; loud.gain.value = .08;
  tone.start(); tone.stop(sound.currentTime + .25);
}

function askForCode() {
  const field = make("input", {name: "code", required: true, maxLength: 64});
  $("title").textContent = "Study";
  $("form").replaceChildren(
    make("label", {className: "field"}, "Your participant code", field),
    make("p", {}, make("button", {textContent: "Continue", className: "main"})),
  );
}

const facts = await ask("/api/study/parameters"), asked = new URLSearchParams(location.search);
/** The address keeps the code: a reload and the return from a game come back to this participant, and nobody else does. */
async function enter(code) {
  const parameters = Object.fromEntries(facts.parameters.map((name) => [name, asked.get(name)]));
  const touch = matchMedia("(pointer: coarse)").matches;
  show(await ask("/api/study/enter", {code, key: asked.get("key"), touch, parameters}));
  asked.set(facts.parameter, code);
  history.replaceState(null, "", `/?${asked}`);
  sessionStorage.setItem(BACK, `/?${asked}`);
}

$("form").addEventListener("input", keepDraft);
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData($("form")));
  if (view?.questions) {
    const sent = draft();
    next({answers: given}).then(() => { if (draft() !== sent) localStorage.removeItem(sent); });
  } else if (given.code) attempt(() => enter(given.code));
});
setInterval(() => {
  const left = Math.max(0, over - performance.now()) / 1000;
  $("left").textContent = over ? `${clock(left)} left` : "";
}, 1000);

const code = asked.get(facts.parameter);
if (code) await attempt(() => enter(code)); else askForCode();
document.body.dataset.ready = "yes";
