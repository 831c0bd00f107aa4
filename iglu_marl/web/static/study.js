// A participant's way through a study; the server chooses the next stage.
import {$, ask, clock, make, t, title, translate} from "./common.js";

const KEPT = "iglu-marl-study", HIT = "iglu-marl-hit", DRAFT = "iglu-marl-draft", FIRST_MS = 500, LONGEST_MS = 8000;
let view = null, waiting = null, sound = null, until = 0;

const paragraph = (text) => [make("p", {textContent: text})];
function button(text, act, main = true) {
  const made = make("button", {type: "button", textContent: text, className: main ? "main" : ""});
  made.addEventListener("click", act);
  return made;
}
async function attempt(work) {
  $("trouble").textContent = "";
  try { await work(); } catch (error) { $("trouble").textContent = t(error.message); }
}
const next = (facts) => attempt(async () => show(await ask("/api/study/next", {token: view.token, stage: view.stage, ...facts})));

function field(question) {
  const {name, text, kind} = question;
  if (kind === "note") return make("div", {className: "note", innerHTML: question.html});
  const box = make("fieldset", {className: `question ${kind}`}, make("legend", {textContent: text}));
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
const ending = (text, code = t("Your code: ")) => [[...paragraph(text), ...shownCode(code)], !view.url || (view.url === "mturk" && !localStorage.getItem(HIT)) ? [] : view.url === "mturk" ? [button(t("Submit"), submitHit)] : [make("a", {className: "main", href: view.url, textContent: t("Back to the platform")})]];
/** Send the form by which MTurk learns that the HIT is done. */
function submitHit() {
  const [assignmentId, site] = JSON.parse(localStorage.getItem(HIT)), {code, stage} = view;
  const fields = Object.entries({assignmentId, code, stage}).map(([name, value]) => make("input", {type: "hidden", name, value}));
  const form = make("form", {id: "hit", method: "post", action: new URL("/mturk/externalSubmit", site).href}, ...fields);
  document.body.append(form);
  form.submit();
}
const asking = (text) => [paragraph(text), [...view.questions.map(field), make("button", {textContent: t("Send"), className: "main"})]];
/** Pages one after the other; the last one has the buttons. */
function pages(buttons, number = 0) {
  const more = number + 1 < view.pages.length, turn = (to) => button(to > number ? t("Continue") : t("Back"), () => fill(...pages(buttons, to)), to > number);
  return [[make("div", {innerHTML: view.pages[number]})], [...(number ? [turn(number - 1)] : []), ...(more ? [turn(number + 1)] : buttons)]];
}
const role = (name) => paragraph(name.includes("_") ? t("You are the {0}.", t(title(name.replace("_", " ")))) : name === "builder" ? t("You build.") : t("You explain what to build."));

const STAGES = {
  consent: () => pages([button(t("I agree"), () => next({agree: true})), button(t("I do not agree"), () => next({agree: false}), false)]),
  instructions: () => pages([button(t("Continue"), () => next({}))]),
  quiz: () => asking(t("Some questions about the instructions. If an answer is wrong, you can read them again.")),
  before: () => asking(t("Some questions before you begin.")),
  between: () => asking(t("Some questions about the last game.")),
  game: () => [[...paragraph(view.practice ? t("A practice game ({0} of {1}).", view.number, view.of) : view.of > 1 ? t("Game {0} of {1}.", view.number, view.of) : t("Now the game.")), ...(view.role ? role(view.role) : [])], [button(t("Play"), play)]],
  questions: () => asking(t("Some questions about your games.")),
  done: () => ending(t("That was all. Thank you!"), t("Your completion code: ")),
  screened: () => ending(t("Thank you for your time. You cannot take part, because some of your answers about the instructions were wrong.")),
  failed: () => ending(t("Thank you for your time. Some of your answers did not pass our attention checks, so they do not count in the study.")),
  expired: () => ending(t("The time for this study is over. Thank you; you can close this page.")),
  left: () => ending(t("Thank you for your time. You ended a game before it had really begun, so it does not count in the study.")),
  dismissed: () => ending(t("You cannot play on now. Thank you for your time; you can close this page.")),
  refused: () => ending(t("You do not take part. Thank you for your time; you can close this page.")),
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
  localStorage.setItem(KEPT, answered.token);
  $("title").textContent = document.title = answered.title;
  until = answered.left_s ? performance.now() + 1000 * answered.left_s : 0;
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
    if (answered.t === "note") { $("notice").textContent = answered.text; beep(); return; }
    pause = FIRST_MS; ended = Boolean(answered.play || answered.stage);
    attempt(() => follow(answered));
  };
  socket.onclose = () => {
    waiting = null;
    if (ended) return;
    $("trouble").textContent = t("The connection is lost. It will be tried again.");
    setTimeout(() => wait(Math.min(2 * pause, LONGEST_MS)), pause);
  };
}

/** Show that the page waits, or that a partner is there and both have to confirm it. */
function showWaiting(answered) {
  const offered = answered.offered && !answered.confirmed, many = answered.people > 2;
  const lines = offered ? [many ? t("Your partners are here.") : t("Your partner is here.")] : answered.offered ? [many ? t("Waiting for your partners to begin …") : t("Waiting for your partner to begin …")]
    : [many ? t("Waiting for your partners …") : t("Waiting for your partner …"), answered.open ? t("Please keep this page open.") : t("At most {0} seconds more. Please keep this page open.", answered.wait)];
  $("text").replaceChildren(...lines.map((textContent) => make("p", {textContent})));
  $("form").replaceChildren(...(offered ? [button(t("Begin"), () => waiting?.send(JSON.stringify({t: "ready"})))] : []));
  document.title = !offered ? view.title : many ? t("Your partners are here!") : t("Your partner is here!");
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
  $("title").textContent = t("Study");
  $("form").replaceChildren(make("label", {className: "field"}, t("Your participant code"), make("input", {name: "code", required: true, maxLength: 64})), make("p", {}, make("button", {textContent: t("Continue"), className: "main"})));
}

const facts = await translate(), asked = new URLSearchParams(location.search);
const enter = (code) => attempt(async () => show(await ask("/api/study/enter", {
  code, key: asked.get("key"), touch: matchMedia("(pointer: coarse)").matches, parameters: Object.fromEntries(facts.parameters.map((name) => [name, asked.get(name)])),
})));

$("form").addEventListener("input", keepDraft);
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData($("form")));
  if (view?.questions) { const sent = draft(); next({answers: given}).then(() => { if (draft() !== sent) localStorage.removeItem(sent); }); }
  else if (given.code) enter(given.code);
});
setInterval(() => {
  const left = Math.max(0, until - performance.now()) / 1000;
  $("left").textContent = until ? t("{0} left", clock(left)) : "";
}, 1000);

const token = localStorage.getItem(KEPT), code = asked.get(facts.parameter), assignment = asked.get("assignmentId");
if (asked.has("turkSubmitTo")) localStorage.setItem(HIT, JSON.stringify([assignment, asked.get("turkSubmitTo")]));
if (assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") fill(paragraph(t("Please accept the task on the platform's page to begin.")), []);
else if (code) await enter(code);
else if (token) await attempt(async () => show(await ask("/api/study/enter", {token}))).then(() => { if (!view) askForCode(); });
else askForCode();
document.body.dataset.ready = "yes";
