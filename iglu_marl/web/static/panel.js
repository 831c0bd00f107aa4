// All of a game's page but world and dialogue: the line at the top, blocks left, notes, help, and what covers the game.
import {$, ask, clock, make, nameOf, title} from "./common.js";
import {NAMES} from "./drawing.js";
import {say} from "./talk.js";
import {SIDES} from "./team.js";
import {HOME, called, camera, inside, others, state, world} from "./state.js";

const NOTE_MS = 4000;
export const BACK = "iglu-marl-back";  // the page from which this tab came to its game
const QUICK = {
  builder: ["What now?", "What colour?", "Where does it go?", "Is it right?"],
  architect: ["Yes.", "No.", "Good!", "Remove it."],
};
const ENDS = {
  complete: ["Complete!", "All blocks are right."],
  time: ["Time is up.", ""],
  left: ["The game is over.", "Somebody has left."],
  idle: ["The game is over.", "Nothing has happened for a long time."],
  ended: ["The game is over.", "This page can be closed."],
  failed: ["The game has failed.", "Something went wrong on the server. The game so far is recorded."],
  disk: ["The game was interrupted.", "The server could not record it. It does not count."],
  tutorial: ["Well done!", "Now you know how it works."],
  practice: ["Well done!", "That was enough practice."],
};
const TOUCH = [
  ["Drag", "look around"], ["Stick", "walk"], ["Jump, Break, Place", "what the cross points at"],
  ["Colours", "choose a colour"], ["End turn", "end your turn"],
];
const DESK = [
  ["Mouse, arrows", "look around"], ["W A S D", "walk"], ["Space", "jump"], ["Right button, E", "place a block"],
  ["Left button, Q", "break a block"], ["1 to 6, wheel", "choose a colour"], ["T", "talk; Enter sends, Esc cancels"],
  ["Y", "end your turn"], ["Esc", "release the mouse"], ["H", "this help"],
  ["Gamepad", "sticks walk and look; A jumps, RT places, LT breaks, LB and RB choose"],
];
const ARCHITECT = [
  ["Type, Enter", "say something"], ["Drag, wheel", "look around, come closer"],
  ["Ghost", "what is missing is faint, what is wrong has a bright rim"], ["Top", "look from above; north is up"],
];

export function note(text) {
  $("note").textContent = text;
  clearTimeout(state.noting);
  state.noting = setTimeout(() => { $("note").textContent = ""; }, NOTE_MS);
}

/** What is wrong with the network; "" = nothing. It stays until it is better. */
export function showNet(text) { if ($("net").textContent !== text) $("net").textContent = text; }

// ---------------------------------------------------------------- who plays

/** The invitations that nobody has used: player and token. */
function invitations() {
  const {open} = state.status;
  return Object.entries(state.facts.invites || {}).filter(([player]) => !open || open.includes(player));
}

function partnerName() {
  const [other] = others(), agent = state.facts.agents?.[other];
  if (state.facts.partner) return state.facts.partner;
  if (agent === "agent") return "an agent";
  if (agent) return `the ${nameOf(agent).replace(/^./, (letter) => letter.toLowerCase())}`;
  return state.status.here[other] ? "a person" : "";
}

/** "the builder", or in a team "builder 0". */
const theOne = (player) => (state.team ? called(player) : `the ${called(player)}`);

export function showPlayers() {
  const partner = partnerName(), who = $("who");
  who.textContent = state.team ? state.team.roster : partner && `with ${partner}`;
  who.title = who.textContent;
  $("me").textContent = `You are ${theOne(state.facts.player)}`;
  showLinks();
}

/** What is special about a seat of a team: its part of the plan, and who hears it. */
export function showTeam(team, keys) {
  const azimuth = team.sides.length ? SIDES[team.sides[0]].azimuth + 18 : HOME.azimuth;
  if (azimuth !== HOME.azimuth) { HOME.azimuth = azimuth; Object.assign(camera, HOME); }
  document.body.classList.toggle("knows", team.knows);
  $("target").hidden = !team.cells; $("sides").hidden = !team.sides.length;
  $("goal").classList.toggle("both", team.cells && team.sides.length > 0);
  $("plan").textContent = team.plan; $("words").placeholder = team.placeholder(keys);
}

/** Show an invitation that nobody has used. */
function showLinks() {
  const invite = invitations()[0]?.[1] || "";
  $("invite").hidden = !invite;
  $("invitelink").value = `${location.origin}/play#${invite}`;
}

export function showFacts() {
  const left = state.endsAt && Math.max(0, state.endsAt - performance.now()) / 1000;
  const rest = state.facts.back === "Continue" && left !== null ? ` · ${clock(left)} left` : "";
  $("time").textContent = clock(world.tick / 20) + rest;
  const waited = state.role === "architect" && world.floor === "architect" && world.said.length > 0;
  $("floor").textContent = waited ? state.team ? state.team.waits : "The builder waits for you" : "";
  $("score").hidden = !world.score;
  if (world.score) {
    const [right, all] = world.score;
    $("count").textContent = `${right} of ${all}`;
    $("bar").firstChild.style.width = `${100 * right / Math.max(all, 1)}%`;
  }
}

// ---------------------------------------------------------------- buttons

/** The blocks left; the buttons stay, so that one keeps the focus. */
export function showHotbar() {
  if (state.role !== "builder") return;
  const bar = $("hotbar");
  while (bar.children.length < 6) {
    const color = bar.children.length + 1, button = make("button", {type: "button"}, make("i"), make("b"));
    button.addEventListener("click", () => { if (inside()) state.hands.choose(color); });
    bar.append(button);
  }
  const chosen = state.hands.active;
  [...bar.children].forEach((button, k) => {
    const name = NAMES[k + 1], count = world.inventory[k];
    button.title = `${name} (${k + 1})`; button.ariaLabel = `${name}, ${count} left`;
    button.firstChild.style.background = state.facts.colors?.[k] || "";
    button.lastChild.textContent = String(count);
    button.setAttribute("aria-pressed", String(k + 1 === chosen));
  });
}

export function showQuick() {
  const asks = (state.facts.examples ? QUICK[state.role] : []).map((text) => {
    const button = make("button", {type: "button", textContent: text});
    button.addEventListener("click", () => say(text, "button"));
    return button;
  });
  if (inside()) {
    const about = {type: "button", id: "endturn", textContent: "End turn", title: "I am done; what is next? (Y)"};
    const button = make("button", about);
    button.addEventListener("click", endTurn);
    asks.push(button);
  }
  $("quick").replaceChildren(...asks);
}

export function endTurn() {
  if (!inside()) return;
  state.hands.endTurn();
  note(state.team ? state.team.ended : "You have ended your turn. The architect speaks next.");
}

// ---------------------------------------------------------------- the dialog over a game that stands still

/** Cover the game. Words can still be written while it waits for somebody. */
export function veil(heading, text, lobby = false, ...links) {
  const card = $("veil"), focused = document.activeElement;
  const back = sessionStorage.getItem(BACK) || "/";
  if (lobby) links.push(make("a", {href: back, className: "main", textContent: state.facts.back || "To the lobby"}));
  $("veiltitle").textContent = heading;
  if ($("veiltext").textContent !== text) $("veiltext").textContent = text;
  const drawn = links.map((one) => one.outerHTML).join("");
  if (card.dataset.links !== drawn) { card.dataset.links = drawn; $("veillinks").replaceChildren(...links); }
  document.exitPointerLock?.();
  if (card.open) return;
  card.show();
  if (focused === $("words")) focused.focus();
}

function unveil() {
  if ($("veil").open) $("veil").close();
}

export function showVeil() {
  const {state: stands, how, here, wait_s: patience, paused} = state.status, open = invitations();
  document.body.classList.toggle("away", stands === "paused");
  if (stands === "playing") { unveil(); return; }
  if (stands === "over") { showEnd(how); return; }
  if (paused) { veil("The game waits", "It was paused, and continues soon."); return; }
  if (stands === "waiting" && open.length) { showInvitations(open); return; }
  const away = Object.keys(here).filter((player) => !here[player] && player !== state.facts.player);
  const heading = away.length === 1 ? `${title(theOne(away[0]))} is away` : "The game waits";
  const names = state.team?.away(away.map(called)) || "";
  veil(heading, names + `It continues when everybody is there, or ends in ${Math.round(patience)} seconds.`);
}

function showEnd(how) {
  const [heading, text] = ENDS[how] || ENDS.left;
  veil(heading, text, how !== "ended");
  state.connection.ended = true;
}

function showInvitations(open) {
  if ($("waitlink")) return;
  const links = open.flatMap(([player, token], k) => {
    const value = `${location.origin}/play#${token}`;
    const field = make("input", {readOnly: true, value, id: k ? "" : "waitlink", ariaLabel: called(player)});
    const button = make("button", {type: "button", textContent: "Copy"});
    button.addEventListener("click", () => copy(field, button));
    if (open.length === 1) return [field, button];
    const name = make("b", {textContent: title(called(player))});
    return [make("label", {className: "invited"}, name, field, button)];
  });
  const alone = [`Waiting for ${theOne(open[0][0])}`, "Send this link to the person you want to play with:"];
  veil(...(open.length > 1 ? state.team.waiting : alone), false, ...links);
}

function copy(field, button) {
  field.select();
  const done = () => { button.textContent = "Copied"; };
  if (navigator.clipboard) navigator.clipboard.writeText(field.value).then(done, done);
  else { document.execCommand("copy"); done(); }
}

// ---------------------------------------------------------------- help and sharing

function examples(heading, sentences) {
  const items = sentences.map((text) => {
    const button = make("button", {type: "button", textContent: text});
    button.addEventListener("click", () => {
      $("words").value = text; state.how = "example";
      $("helpcard").close(); $("words").focus(); state.completing?.show();
    });
    return make("li", {}, button);
  });
  return [make("h3", {textContent: heading}), make("ul", {className: "examples"}, ...items)];
}

async function fillHelp() {
  const none = {instructions: [], questions: []}, builder = state.role === "builder";
  const texts = state.facts.examples ? await ask("/api/help").catch(() => none) : none;
  const keys = !builder ? ARCHITECT : document.body.classList.contains("touch") ? TOUCH : DESK;
  const about = state.team ? state.team.help
    : builder ? "The architect sees the plan and explains it. You do not see it: listen, build, and ask."
      : "You see the plan, the builder does not. Say what to build and where; the N marks north.";
  const sentences = !state.facts.examples ? []
    : builder ? examples("What an agent answers", texts.questions)
      : examples("What an agent understands, for example", texts.instructions);
  const rows = keys.flatMap(([key, meaning]) => [make("dt", {textContent: key}), make("dd", {textContent: meaning})]);
  $("helptext").append(make("p", {textContent: about}), make("dl", {}, ...rows), ...sentences);
}

export async function openHelp() {
  document.exitPointerLock?.();
  state.hands.release();
  if (!$("helptext").children.length) await fillHelp();
  if (!$("helpcard").open) $("helpcard").showModal();
}

export function listenToPanel() {
  const back = () => location.assign(sessionStorage.getItem(BACK) || "/");
  $("help").addEventListener("click", openHelp);
  $("invite").addEventListener("click", () => $("invitecard").showModal());
  $("copy").addEventListener("click", () => copy($("invitelink"), $("copy")));
  for (const card of [$("helpcard"), $("invitecard")])
    card.addEventListener("click", (event) => { if (event.target === card || event.target.value === "close") card.close(); });
  $("leave").addEventListener("click", () => {
    const sure = state.status.state === "over" || $("leave").dataset.sure;
    if (sure) { state.connection.leave().then(back); return; }
    $("leave").dataset.sure = "yes"; $("leave").textContent = "Really leave?";
    setTimeout(() => { delete $("leave").dataset.sure; $("leave").textContent = "Leave"; }, 3000);
  });
}
