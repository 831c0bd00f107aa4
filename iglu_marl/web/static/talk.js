// The dialogue: lines, words that are on their way, and who is typing.
import {$, make, title} from "./common.js";
import {note} from "./panel.js";
import {called, inside, state} from "./state.js";

const TYPING_MS = 2000, MOST_LINES = 300;

const isLow = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 60;

/** Whether a message is too long; the player gets a note of it. */
function isTooLong(text) {
  const limit = state.facts.limit, count = text.trim().length;
  if (count > limit) note(`A message has at most ${limit} characters, this one has ${count}.`);
  return count > limit;
}

/** Show below the dialogue for a moment what a player does: “Builder is typing …”; "" = nothing. */
export function showTyping(text) {
  const list = $("lines"), low = isLow(list);
  clearTimeout(state.typist);
  delete list.dataset.typing;
  if (text) {
    list.dataset.typing = text;
    state.typist = setTimeout(() => showTyping(""), 1.5 * TYPING_MS);
  }
  if (low) list.scrollTop = list.scrollHeight;
}

const line = (kind, who, text) => make("li", {className: kind}, make("small", {textContent: who}), make("span", {textContent: text}));

export function addLine(speaker, text, fresh = false) {
  const mine = speaker === called(state.facts.player), list = $("lines"), low = isLow(list);
  if (!mine) showTyping("");
  else if (state.completing) state.completing.spoken = true;
  const kind = `${speaker.split(" ")[0]}${mine ? " mine" : ""}${fresh ? " fresh" : ""}`;
  list.insertBefore(line(kind, mine ? "You" : title(speaker), text), list.querySelector(".pending"));
  while (list.children.length > MOST_LINES) list.firstChild.remove();
  if (low || mine) list.scrollTop = list.scrollHeight;
}

/** Show the own words that have not arrived yet, and empty the field when its words have. */
export function showOutbox() {
  const {words} = state.connection, list = $("lines"), low = isLow(list), field = $("words");
  list.querySelectorAll(".pending").forEach((one) => one.remove());
  const waiting = words.filter(({text}) => text);
  list.append(...waiting.map(({text}) => line(`${state.role} mine pending`, "You (not sent yet)", text)));
  if (state.sent !== undefined && !words.some(({text}) => text === state.sent)) {
    if (field.value.trim() === state.sent) field.value = "";
    state.sent = undefined;
  }
  field.classList.toggle("sending", state.sent !== undefined && field.value.trim() === state.sent);
  if (low || words.length) list.scrollTop = list.scrollHeight;
}

/** What the game cannot say goes back into the field. */
export function giveBack(text) {
  note(text);
  state.sent = undefined;
}

export function say(text, how = "typed") {
  const silent = state.facts.turns && state.role === "architect";
  if (!(text.trim() || silent) || isTooLong(text)) return false;
  const typed_s = how !== "button" && state.typing ? Math.round((performance.now() - state.typing) / 100) / 10 : 0;
  state.connection.say({text: text.trim(), how, typed_s});
  state.completing?.said();
  state.tutorial?.did("said");
  return true;
}

function submit(event) {
  event.preventDefault();
  const field = $("words");
  if (state.sent !== undefined && field.value.trim() === state.sent) return;  // these words are on their way
  state.sent = field.value.trim();
  if (!say(field.value, state.how)) { state.sent = undefined; return; }
  state.typing = state.how = undefined;
  field.select();
  if (inside()) { field.blur(); $("view").focus(); }
}

export function listenToWords() {
  const field = $("words");
  $("talk").addEventListener("submit", submit);
  field.addEventListener("keydown", (event) => {
    if (state.completing?.press(event.key)) event.preventDefault();
    else if (event.key === "Escape") { field.blur(); event.preventDefault(); }
    event.stopPropagation();
  });
  field.addEventListener("focus", () => { state.hands.release(); if (state.sent !== undefined) field.select(); });
  field.addEventListener("input", () => {
    const now = performance.now();
    isTooLong(field.value);
    field.classList.remove("sending");
    state.sent = undefined;
    state.typing ||= now;
    if (!field.value) state.typing = state.how = undefined;
    else if (!(now - state.shownTyping < TYPING_MS)) { state.shownTyping = now; state.connection.send({t: "typing"}); }
  });
}
