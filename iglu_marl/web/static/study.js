// A participant's way through a study; the server chooses the next stage.
import {$, ask, make} from "./common.js";

const KEPT = "iglu-marl-study", FIRST_MS = 500, LONGEST_MS = 8000;
let view = null, waiting = null, sound = null;

const paragraphs = (text) => text.split(/\n\s*\n/).map((part) => make("p", {textContent: part.trim()}));
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
  const {name, text, kind} = question, box = make("fieldset", {className: `question ${kind}`}, make("legend", {textContent: text}));
  if (kind === "text") box.append(make("textarea", {name, rows: 3, maxLength: 2000, required: question.required}));
  else {
    const values = kind === "choice" ? question.options : Array.from({length: question.steps}, (_, k) => String(k + 1));
    const row = make("div", {className: "options"}, ...values.map((value) => make("label", {}, make("input", {type: "radio", name, value, required: question.required}), make("span", {textContent: value}))));
    if (kind === "likert") { row.prepend(make("small", {textContent: question.low})); row.append(make("small", {textContent: question.high})); }
    box.append(row);
  }
  return box;
}

const shownCode = (text) => (view.code ? [make("p", {}, text, make("b", {className: "code", textContent: view.code}))] : []);

const STAGES = {
  consent: () => [paragraphs(view.text), [button("I agree", () => next({agree: true})), button("I do not agree", () => next({agree: false}), false)]],
  instructions: () => [paragraphs(view.text || "You are going to play a game."), [button("Continue", () => next({}))]],
  game: () => [paragraphs(view.practice ? "First, a practice game." : view.games > 1 ? `Game ${view.game} of ${view.games}.` : "Now the game."), [button("Play", play)]],
  questions: () => [paragraphs("Some questions about your games."), [...view.questions.map(field), make("button", {textContent: "Send", className: "main"})]],
  done: () => [[...paragraphs("That was all. Thank you!"), ...shownCode("Your completion code: ")], []],
  failed: () => [[...paragraphs("Thank you for your time. Some of your answers did not pass our attention checks, so they do not count in the study."), ...shownCode("Your code: ")], []],
  expired: () => [[...paragraphs("The time for this study is over. Thank you; you can close this page."), ...shownCode("Your code: ")], []],
  left: () => [[...paragraphs("Thank you for your time. You ended a game before it had really begun, so it does not count in the study."), ...shownCode("Your code: ")], []],
  dismissed: () => [[...paragraphs("No partner is there for you now. Thank you for waiting; you can close this page."), ...shownCode("Your code: ")], []],
  refused: () => [paragraphs("You do not take part. Thank you for your time; you can close this page."), []],
};

function show(answered) {
  view = answered;
  localStorage.setItem(KEPT, answered.token);
  $("title").textContent = document.title = answered.title;
  const [text, parts] = STAGES[answered.stage]();
  $("text").replaceChildren(...text); $("form").replaceChildren(...parts);
  document.body.dataset.stage = answered.stage;
  delete document.body.dataset.waiting;
  scrollTo(0, 0);
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
  const offered = answered.offered && !answered.confirmed;
  const lines = offered ? ["Your partner is here."] : answered.offered ? ["Waiting for your partner to begin …"]
    : ["Waiting for your partner …", answered.open ? "Please keep this page open." : `At most ${answered.wait} seconds more. Please keep this page open.`];
  $("text").replaceChildren(...lines.map((textContent) => make("p", {textContent})));
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
  $("title").textContent = "Study";
  $("form").replaceChildren(make("label", {className: "field"}, "Your participant code", make("input", {name: "code", required: true, maxLength: 64})), make("p", {}, make("button", {textContent: "Continue", className: "main"})));
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData($("form")));
  if (view?.stage === "questions") next({answers: given});
  else if (given.code) attempt(async () => show(await ask("/api/study/enter", {code: given.code})));
});

const {parameter} = await ask("/api/study/about", {}), token = localStorage.getItem(KEPT);
const code = new URLSearchParams(location.search).get(parameter);
if (code) await attempt(async () => show(await ask("/api/study/enter", {code})));
else if (token) await attempt(async () => show(await ask("/api/study/enter", {token}))).then(() => { if (!view) askForCode(); });
else askForCode();
document.body.dataset.ready = "yes";
