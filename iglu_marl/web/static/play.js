// The page of a game, for both roles.
import {$, ask, clock, make, named, nameOf, t, title, translate} from "./common.js";
import {Completing} from "./completing.js";
import {Connection} from "./connection.js";
import {GROUND, NAMES, Painter, clamp, paintCross, paintScene, setColors} from "./drawing.js";
import {Hands} from "./hands.js";
import {placeable, reach} from "./motion.js";
import {SIDES, Team, paintName, paintSides} from "./team.js";
import {Tutorial} from "./tutorial.js";
import {Glide, Prediction, STEP_MS, World, inWords} from "./world.js";

const HOME = {azimuth: 18, elevation: 34, zoom: 1}, PENDING_MS = 800, NOTE_MS = 4000, FRAME_MS = 15, TYPING_MS = 2000;
// [texts]
const QUICK = {builder: ["What now?", "What color?", "Where does it go?", "Is it right?"], architect: ["Yes.", "No.", "Good!", "Remove it."]};
const EVENTS = {
  "place: nothing in reach": "Too far away: look at a block or at the ground near you.", "place: eye inside a block": "You are inside of a block.",
  "place: outside the zone": "Blocks can only stand on the white ground.", "place: none left": "No block of this colour is left.",
  "place: builder in the way": "You stand in the way: step back.", "remove: nothing in reach": "Too far away to break it.", "remove: ground": "The ground cannot be broken.",
};
const ENDS = {
  complete: ["Complete!", "All blocks are right."], time: ["Time is up.", ""], left: ["The game is over.", "Somebody has left."],
  idle: ["The game is over.", "Nothing has happened for a long time."], ended: ["The game is over.", "This page can be closed."], failed: ["The game has failed.", "Something went wrong on the server. The game so far is recorded."],
};
// [/texts]

const world = new World(), prediction = new Prediction(), glide = new Glide(), glides = [];
const view = new Painter($("view")), plan = new Painter($("target"));
const camera = {...HOME}, state = {role: "", watching: false, ghost: true, status: {state: "waiting", here: {}}, joined: false, facts: {}, shownEvent: 0, quiet: 0};
let connection = null, tutorial = null, completing = null, stepped = 0, drawn = 0, changed = true;
const inside = () => state.role === "builder" && !state.watching;
const busy = () => document.querySelector("dialog[open]") !== null || !$("veil").hidden;

const hands = new Hands($("view"), {
  busy: () => !inside() || busy(), talk: () => { hands.release(); $("words").focus(); }, help: () => openHelp(), lockChanged: (locked) => { $("click").hidden = locked || !inside(); },
  chosen: () => showHotbar(),
  placing: () => {
    const body = poseBody(), found = body && reach(world.grid, body);
    if (placeable(found, body, ...world.others) && world.inventory[hands.active - 1] > 0) world.pending.set(((found.before[1] + 1) * 11 + found.before[0] + 5) * 11 + found.before[2] + 5, [hands.active, performance.now() + PENDING_MS]);
  },
  endTurn,
});
function poseBody() { const pose = prediction.pose(hands.turned, performance.now()); return pose ? {x: pose[0], y: pose[1], z: pose[2], yaw: pose[3], pitch: pose[4]} : world.body; }

/** The players of the game but this one, and how a player is called: as in the dialogue. */
const others = () => Object.keys(state.facts.speakers).filter((player) => player !== state.facts.player);
const called = (player) => state.facts.speakers[player];

// ---------------------------------------------------------------- messages of the server

const HEARD = {
  welcome(message) {
    Object.assign(state, {role: message.role, watching: message.watching, facts: message, joined: true});
    document.body.dataset.role = message.role; document.body.classList.toggle("watching", message.watching); document.body.classList.toggle("inside", inside());
    setColors(message.colors);
    prediction.moves = !message.turns;
    $("lines").dataset.none = t("Nothing was said yet.");
    if (message.token) history.replaceState(null, "", `#${message.token}`);
    $("task").textContent = title(message.task);
    const keys = !matchMedia("(pointer: coarse), (max-width: 700px)").matches;
    $("words").placeholder = state.role === "architect" ? t("Instruct the builder") : keys ? t("Ask the architect (T)") : t("Ask the architect");
    state.team = "architect" in message.speakers ? null : new Team(message);
    if (state.team) showTeam(state.team, keys);
    state.endsAt = message.left_s === undefined ? null : performance.now() + 1000 * message.left_s;
    showLinks();
    hands.restart();
    showHotbar(); showQuick();
    if (message.completes && state.role === "architect" && !message.watching) completing ||= new Completing(() => { state.how = "example"; });
  },
  status(message) {
    const before = state.status;
    state.status = message;
    const [other] = others(), agent = state.facts.agents?.[other];
    const partner = state.facts.partner || (agent ? (agent === "agent" ? t("an agent") : `the ${nameOf(agent).replace(/^./, (letter) => letter.toLowerCase())}`) : message.here[other] ? t("a person") : "");
    $("who").textContent = state.team ? state.team.roster : state.watching ? t("You watch") : partner && t("with {0}", partner);
    $("who").title = $("who").textContent;
    showLinks();
    if (message.state === "paused" && before.state === "playing") hands.release();
    showVeil();
  },
  frame(message) {
    const fresh = world.take(message);
    if (message.whole) $("lines").replaceChildren();
    for (const [speaker, text] of fresh) addLine(speaker, text);
    if (message.ack !== undefined) hands.answered(message.ack);
    if (message.whole && state.role === "builder") { hands.active = world.active; showHotbar(); }
    if (message.inventory || message.whole) showHotbar();
    if (world.event && world.event[0] > state.shownEvent) { state.shownEvent = world.event[0]; if (EVENTS[world.event[1]] && inside()) note(state.team?.event(world.event[1]) || t(EVENTS[world.event[1]])); }
    showFacts();
    changed = true;
    tutorial?.see(world, fresh);
  },
  note(message) { note(t(message.text, ...(message.values || []))); },
  typing(message) { showTyping(t("{0} is typing …", named(called(message.who), title))); },
  thinking(message) { showTyping(t("{0} is thinking …", named(called(message.who), title))); },
  closed(message) { veil(t("You cannot play here."), t(message.text), true); },
  elsewhere() { veil(t("The game continues elsewhere."), t("It was opened in another tab or on another device."), true); },
};

// ---------------------------------------------------------------- the page

function note(text) {
  $("note").textContent = text;
  clearTimeout(state.noting);
  state.noting = setTimeout(() => { $("note").textContent = ""; }, NOTE_MS);
}

const isLow = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 60;

/** Whether a message is too long; the player gets a note of it. */
function isTooLong(text) {
  const limit = state.facts.limit, over = text.trim().length > limit;
  if (over) note(t("A message has at most {0} characters, this one has {1}.", limit, text.trim().length));
  return over;
}

/** Show below the dialogue for a moment what a player does: “Builder is typing …”; "" = nothing. */
function showTyping(text) {
  const list = $("lines"), low = isLow(list);
  clearTimeout(state.typist);
  if (text) list.dataset.typing = text;
  else delete list.dataset.typing;
  if (text) state.typist = setTimeout(() => showTyping(""), 1.5 * TYPING_MS);
  if (low) list.scrollTop = list.scrollHeight;
}

function addLine(speaker, text) {
  const mine = speaker === called(state.facts.player) && !state.watching, list = $("lines"), low = isLow(list);
  if (mine) completing?.said(); else showTyping("");
  list.append(make("li", {className: `${speaker.split(" ")[0]}${mine ? " mine" : ""}`}, make("small", {textContent: mine ? t("You") : named(speaker, title)}), make("span", {textContent: text})));
  while (list.children.length > 300) list.firstChild.remove();
  if (low || mine) list.scrollTop = list.scrollHeight;
}

/** The invitations that nobody has used: player and token. */
const invitations = () => Object.entries(state.facts.invites || {}).filter(([player]) => !state.status.open || state.status.open.includes(player));

/** What is special about a seat of a team: its part of the plan, and who hears it. */
function showTeam(team, keys) {
  const azimuth = team.sides.length ? SIDES[team.sides[0]].azimuth + 18 : HOME.azimuth;
  if (azimuth !== HOME.azimuth) { HOME.azimuth = azimuth; Object.assign(camera, HOME); }
  document.body.classList.toggle("knows", team.knows);
  $("target").hidden = !team.cells; $("sides").hidden = !team.sides.length;
  $("goal").classList.toggle("both", team.cells && team.sides.length > 0);
  $("plan").textContent = team.plan; $("words").placeholder = team.placeholder(keys);
}

/** Show the links to share; a used invitation is hidden. */
function showLinks() {
  const invite = invitations()[0]?.[1] || "";
  $("invite").hidden = state.watching || !(invite || state.facts.watch); $("watchbox").hidden = !state.facts.watch; $("invite").textContent = invite ? t("Invite") : t("Share");
  for (const [id, token] of [["invitelink", invite], ["watchlink", state.facts.watch]]) $(id).value = `${location.origin}/play#${token}`;
  $("invitelink").parentElement.hidden = $("invitelink").parentElement.previousElementSibling.hidden = !invite;
  $("invitecard").querySelector("h2").textContent = invite ? t("Play with a person") : t("Let others watch");
}

function showFacts() {
  const left = state.endsAt && Math.max(0, state.endsAt - performance.now()) / 1000;
  $("time").textContent = clock(world.tick / 20) + (state.facts.back === "Continue" && left !== null ? ` · ${t("{0} left", clock(left))}` : "");
  const waited = world.floor === "architect" && world.said.length > 0;
  $("floor").textContent = state.role === "architect" && waited ? state.team ? state.team.waits : t("The builder waits for you") : "";
  $("score").hidden = !world.score;
  if (world.score) {
    const [right, all] = world.score;
    $("count").textContent = t("{0} of {1}", right, all);
    $("bar").firstChild.style.width = `${100 * right / Math.max(all, 1)}%`;
  }
}

function showHotbar() {
  if (state.role !== "builder") return;
  $("hotbar").replaceChildren(...world.inventory.map((count, k) => {
    const color = k + 1, button = make("button", {type: "button", title: `${t(NAMES[color])} (${color})`, ariaLabel: t("{0}, {1} left", t(NAMES[color]), count)}, make("i"), make("b", {textContent: String(count)}));
    button.firstChild.style.background = state.facts.colors?.[k] || "";
    button.setAttribute("aria-pressed", String(color === (state.watching ? world.active : hands.active)));
    button.addEventListener("click", () => { if (inside()) hands.choose(color); });
    return button;
  }));
}

function showQuick() {
  const asks = (state.facts.examples ? QUICK[state.role] : []).map((text) => {
    const button = make("button", {type: "button", textContent: t(text)});
    button.addEventListener("click", () => say(t(text), "button"));
    return button;
  });
  if (inside()) {
    const button = make("button", {type: "button", id: "endturn", textContent: t("End turn"), title: t("I am done; what is next? (Y)")});
    button.addEventListener("click", endTurn);
    asks.push(button);
  }
  $("quick").replaceChildren(...asks);
}

function veil(heading, text, lobby = false, ...links) {
  $("veiltitle").textContent = heading; $("veiltext").textContent = text;
  $("veillinks").replaceChildren(...links, ...(lobby ? [make("a", {href: "/", className: "main", textContent: t(state.facts.back || "To the lobby")})] : []));
  $("veil").hidden = false;
  document.exitPointerLock?.();
}

function showVeil() {
  const {state: stands, how, here, wait_s: patience} = state.status, open = invitations();
  if (stands === "playing") { $("veil").hidden = true; return; }
  if (state.status.paused && stands !== "over") { veil(t("The game waits"), t("It was paused, and continues soon.")); return; }
  if (stands === "over") {
    const [heading, text] = ENDS[how] || ENDS.left, links = [];
    if (state.facts.replay) links.push(make("a", {href: `/replay/${state.facts.replay}`, textContent: t("Watch the replay")}));
    veil(t(heading), t(text), how !== "ended", ...links);
    connection.ended = true;
    return;
  }
  if (stands === "waiting" && open.length) {
    const links = open.flatMap(([player, token], k) => {
      const field = make("input", {readOnly: true, value: `${location.origin}/play#${token}`, id: k ? "" : "waitlink", ariaLabel: called(player)}), button = make("button", {type: "button", textContent: t("Copy")});
      button.addEventListener("click", () => copy(field, button));
      return open.length > 1 ? [make("label", {className: "invited"}, make("b", {textContent: named(called(player), title)}), field, button)] : [field, button];
    });
    const texts = open.length > 1 ? state.team.waiting : [t("Waiting for the {0}", named(called(open[0][0]))), t("Send this link to the person you want to play with:")];
    veil(...texts, false, ...links);
    return;
  }
  const away = Object.keys(here).filter((player) => !here[player] && (state.watching || player !== state.facts.player));
  veil(away.length === 1 ? t("The {0} is away", named(called(away[0]))) : t("The game waits"), (state.team?.away(away.map(called)) || "") + t("It continues when everybody is there, or ends in {0} seconds.", Math.round(patience)));
}

function copy(field, button) {
  field.select();
  const done = () => { button.textContent = t("Copied"); };
  if (navigator.clipboard) navigator.clipboard.writeText(field.value).then(done, done); else { document.execCommand("copy"); done(); }
}

async function openHelp() {
  document.exitPointerLock?.(); hands.release();
  if (!$("helptext").children.length) {
    const none = {instructions: [], questions: []}, texts = state.facts.examples ? await ask("/api/help").catch(() => none) : none, builder = state.role === "builder";
    // [texts]
    const touch = document.body.classList.contains("touch"), keys = builder
      ? touch ? [["Drag", "look around"], ["Stick", "walk"], ["Jump, Break, Place", "what the cross points at"], ["Colours", "choose a colour"], ["End turn", "end your turn"]]
      : [["Mouse, arrows", "look around"], ["W A S D", "walk"], ["Space", "jump"], ["Right button, E", "place a block"], ["Left button, Q", "break a block"], ["1 to 6, wheel", "choose a colour"], ["T", "talk; Enter sends, Esc cancels"], ["Y", "end your turn"], ["Esc", "release the mouse"], ["H", "this help"]]
      : [["Type, Enter", "say something"], ["Drag, wheel", "look around, come closer"], ["Ghost", "what is missing is faint, what is wrong has a bright rim"], ["Top", "look from above; north is up"]];
    // [/texts]
    const list = (heading, examples) => [make("h3", {textContent: heading}), make("ul", {className: "examples"}, ...examples.map((text) => {
      const button = make("button", {type: "button", textContent: text});
      button.addEventListener("click", () => { $("words").value = text; state.how = "example"; $("helpcard").close(); $("words").focus(); completing?.show(); });
      return make("li", {}, button);
    }))];
    $("helptext").append(
      make("p", {textContent: state.team ? state.team.help : builder ? t("The architect sees the plan and explains it. You do not see it: listen, build, and ask.") : t("You see the plan, the builder does not. Say what to build and where; the N marks north.")}),
      make("dl", {}, ...keys.flatMap(([key, meaning]) => [make("dt", {textContent: t(key)}), make("dd", {textContent: t(meaning)})])),
      ...(!state.facts.examples ? [] : builder ? list(t("What an agent answers"), texts.questions) : list(t("What an agent understands, for example"), texts.instructions)),
    );
  }
  if (!$("helpcard").open) $("helpcard").showModal();
}

// ---------------------------------------------------------------- actions

function say(text, how = "typed") {
  if (state.watching || !(text.trim() || (state.facts.turns && state.role === "architect")) || isTooLong(text)) return false;
  const typed_s = how !== "button" && state.typing ? Math.round((performance.now() - state.typing) / 100) / 10 : 0;
  const sent = connection.send({t: "say", text: text.trim(), how, typed_s});
  if (sent) tutorial?.did("said");
  else note(t("Not sent: there is no connection."));
  return sent;
}
function endTurn() { if (!inside()) return; hands.endTurn(); note(state.team ? state.team.ended : t("You have ended your turn. The architect speaks next.")); }

function step(now) {
  if (!inside() || state.status.state !== "playing" || !connection.open) { hands.unanswered = []; hands.release(); prediction.step(world, [], false, now); return; }
  const frame = hands.frame();
  if (frame) connection.send({t: "in", n: frame.n, held: frame.held, events: frame.events});
  prediction.step(world, hands.unanswered, frame !== null, now);
}

// ---------------------------------------------------------------- drawing

/** The rim of the block in reach. */
function paintReach(painter, found, body) {
  if (!found) return;
  const [x, y, z] = found.hit, {pen} = painter;
  pen.lineJoin = "round";
  if (y === -2) {
    painter.trace([[x - .5, GROUND, z - .5], [x + .5, GROUND, z - .5], [x + .5, GROUND, z + .5], [x - .5, GROUND, z + .5]]) && painter.stroke(placeable(found, body, ...world.others) ? "#ffc43d" : "#0006", .025, [x, GROUND, z]);
    return;
  }
  painter.box([x, y, z], [.503, .503, .503], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], (corners) => painter.trace(corners) && painter.stroke("#ffc43d", .02, corners[0]));
}

function showCompass(yaw) {
  const strip = $("compass");
  if (!strip.children.length) for (let angle = 0; angle < 360; angle += 15) strip.append(make("span", {textContent: t({0: "N", 90: "E", 180: "S", 270: "W"}[angle] || "·"), className: angle ? "" : "north"}));
  [...strip.children].forEach((mark, k) => {
    const off = ((15 * k - yaw) % 360 + 540) % 360 - 180;
    mark.style.transform = `translateX(${2.2 * off}px)`; mark.style.opacity = Math.abs(off) > 50 ? 0 : 1;
  });
}

function highest() {
  let top = 2.5;
  for (const grid of [world.grid, world.target_grid]) if (grid) for (let cell = 1088; cell >= 0; cell--) if (grid[cell]) { top = Math.max(top, Math.floor(cell / 121) - .5); break; }
  return top;
}

/** Poses of the other builders, gliding, and their names in a team of several. */
const posesOfOthers = (now) => world.others.map((body, k) => (glides[k] ||= new Glide()).pose(body, now));
function nameBuilders(...poses) {
  if (!world.others.length) return;
  const own = state.role === "builder" && !inside() ? [state.facts.player] : [], rest = (state.role === "builder" ? others() : Object.keys(state.facts.speakers)).filter((player) => player.startsWith("builder"));
  [...own, ...rest].forEach((player, k) => paintName(view, poses[k], named(called(player), title)));
}

function paintPlan(top) {
  if (!$("target").hidden && world.target_grid && plan.fit()) { plan.orbit(camera.azimuth, camera.elevation, top, 1); paintScene(plan, world.target_grid, null, null, false); }
  if (!$("sides").hidden && state.team && world.target_sides) paintSides($("sides"), world.target_sides, state.team.sides, state.facts.colors);
}

function paint(now) {
  if (!world.body || !view.fit()) return;
  if (inside()) {
    const pose = prediction.pose(hands.turned, now);
    if (!pose) return;
    view.look(pose.slice(0, 3), pose[3], pose[4], 90, .1);
    const pending = world.withPending(now), figures = posesOfOthers(now);
    paintScene(view, world.grid, pending, null, true, figures);
    nameBuilders(...figures);
    if (document.body.classList.contains("knows")) paintPlan(highest());
    const body = {x: pose[0], y: pose[1], z: pose[2], yaw: pose[3], pitch: pose[4]}, found = reach(world.grid, body);
    paintReach(view, found, body);
    paintCross(view);
    showCompass(pose[3]);
    $("you").textContent = t("you: {0}", inWords(Math.round(pose[0]), Math.round(pose[1]) - 2, Math.round(pose[2])).replace(/,.*/, ""));
    $("aim").textContent = found ? t("aim: {0}", found.hit[1] === -2 ? inWords(found.hit[0], -2, found.hit[2]).replace(/,.*/, `, ${t("ground")}`) : inWords(...found.hit)) : "";
    return;
  }
  const pose = glide.pose(world.body, now), figures = posesOfOthers(now), top = highest(), wanted = world.wanted;
  if (state.facts.sees) for (const id of ["ghost", "legend"]) $(id).hidden = !wanted || (id === "legend" && !state.ghost);
  view.orbit(camera.azimuth, camera.elevation, top, camera.zoom);
  paintScene(view, world.grid, state.ghost ? wanted : null, pose, false, figures);
  nameBuilders(pose, ...figures);
  paintPlan(top);
}

function loop(now) {
  requestAnimationFrame(loop);
  if (!state.joined) return;
  if (now - stepped > 5 * STEP_MS) stepped = now - STEP_MS;  // the page was suspended
  while (now - stepped >= STEP_MS) { stepped += STEP_MS; step(stepped); changed = true; }
  // views from outside change only with frames and interpolation: drawing 60 times a second would waste power
  if (now - drawn < (inside() ? FRAME_MS - 5 : 2 * FRAME_MS) || (!changed && !inside())) return;
  drawn = now; changed = false;
  paint(now);
}

// ---------------------------------------------------------------- mouse, keys and touch of both roles

function listen() {
  $("talk").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!say($("words").value, state.how)) return;
    $("words").value = ""; state.typing = state.how = undefined;
    if (inside()) { $("words").blur(); $("view").focus(); }
  });
  $("words").addEventListener("keydown", (event) => {
    if (completing?.press(event.key)) event.preventDefault();
    else if (event.key === "Escape") { $("words").blur(); event.preventDefault(); }
    event.stopPropagation();
  });
  $("words").addEventListener("focus", () => hands.release());
  $("words").addEventListener("input", () => {
    const now = performance.now();
    isTooLong($("words").value);
    state.typing ||= now;
    if (!$("words").value) state.typing = state.how = undefined;
    else if (!(now - state.shownTyping < TYPING_MS)) { state.shownTyping = now; connection.send({t: "typing"}); }
  });
  $("help").addEventListener("click", openHelp);
  $("invite").addEventListener("click", () => $("invitecard").showModal());
  $("copy").addEventListener("click", () => copy($("invitelink"), $("copy")));
  $("copywatch").addEventListener("click", () => copy($("watchlink"), $("copywatch")));
  for (const card of document.querySelectorAll("dialog")) card.addEventListener("click", (event) => { if (event.target === card || event.target.value === "close") card.close(); });
  $("leave").addEventListener("click", () => {
    if (state.watching || state.status.state === "over" || $("leave").dataset.sure) { connection.leave().then(() => location.assign("/")); return; }
    $("leave").dataset.sure = "yes"; $("leave").textContent = t("Really leave?");
    setTimeout(() => { delete $("leave").dataset.sure; $("leave").textContent = t("Leave"); }, 3000);
  });
  $("ghost").addEventListener("click", () => { state.ghost = !state.ghost; $("ghost").setAttribute("aria-pressed", String(state.ghost)); $("legend").hidden = !state.ghost; changed = true; });
  $("above").addEventListener("click", () => { const above = camera.elevation < 90; Object.assign(camera, above ? {azimuth: 0, elevation: 90} : HOME); $("above").setAttribute("aria-pressed", String(above)); changed = true; });
  $("home").addEventListener("click", () => { Object.assign(camera, HOME); $("above").setAttribute("aria-pressed", "false"); changed = true; });
  const grips = new Map();
  for (const canvas of [$("view"), $("target")]) {
    canvas.addEventListener("pointerdown", (event) => { if (!inside()) { grips.set(event.pointerId, [event.clientX, event.clientY]); canvas.setPointerCapture(event.pointerId); } });
    canvas.addEventListener("pointermove", (event) => {
      const grip = grips.get(event.pointerId);
      if (!grip) return;
      const at = [event.clientX, event.clientY];
      if (grips.size === 1) {
        camera.azimuth = (camera.azimuth + .4 * (at[0] - grip[0]) + 360) % 360; camera.elevation = clamp(camera.elevation + .3 * (at[1] - grip[1]), 5, 90);
        tutorial?.did("turned");
      } else {
        const [other] = [...grips].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const far = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
        camera.zoom = clamp(camera.zoom * far(at) / Math.max(far(grip), 1), .6, 5);
      }
      grips.set(event.pointerId, at); changed = true;
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => grips.delete(event.pointerId));
  }
  $("view").addEventListener("wheel", (event) => { if (!inside()) { event.preventDefault(); camera.zoom = clamp(camera.zoom * Math.exp(-.0012 * event.deltaY), .6, 5); changed = true; } }, {passive: false});
  for (const [id, act] of [["place", () => hands.place()], ["break", () => hands.remove()]]) $(id).addEventListener("click", act);
  for (const [name, down] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]]) $("jump").addEventListener(name, () => { hands.keys[down ? "add" : "delete"]("Space"); if (down) hands.tapped |= 16; });
  hands.useStick($("pad"), $("knob"));
  hands.listen();
  if (matchMedia("(pointer: coarse)").matches) document.body.classList.add("touch");
}

// ----------------------------------------------------------------

await translate();
listen();
addEventListener("resize", () => { $("lines").scrollTop = $("lines").scrollHeight; });  // a phone turns, or shows its keyboard
addEventListener("hashchange", () => location.reload());  // another link in the same tab
const token = location.hash.slice(1);
if (!/^[\w-]{10,60}$/.test(token)) veil(t("There is no such game."), t("The link is incomplete."), true);
else {
  connection = new Connection(token, {
    hear: (message) => { HEARD[message.t]?.(message); if (message.t === "welcome" && !tutorial && !message.watching) tutorial = new Tutorial(message.role, message.examples); },
    lost: () => { document.body.classList.add("lost"); note(t("The connection is lost. Reconnecting …")); hands.release(); },
    back: () => document.body.classList.remove("lost"),
  });
  requestAnimationFrame(loop);
  // browsers may keep a page that was left, with its connection; close it, so that others see that the person is away
  addEventListener("pagehide", () => connection.suspend());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}
window.play = {world, state, hands, camera, prediction, say: (text) => say(text), get connection() { return connection; }};
