// The picture of the world, for both roles, and the camera of those who look from outside.
import {$, title} from "./common.js";
import {clamp, paintCross, paintScene} from "./drawing.js";
import {placeable, reach} from "./motion.js";
import {HOME, called, camera, glide, inside, others, plan, prediction, state, view, world} from "./state.js";
import {paintName, paintSides} from "./team.js";
import {Glide, inWords} from "./world.js";

const AIM = "#ffc43d", UPRIGHT = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], glides = [];

/** Where a block would be placed now, and what is in sight: {hit, before, free}; null if nothing is in reach. */
export function aimed(body) {
  const found = body && reach(world.grid, body);
  if (!found) return null;
  const free = placeable(found, body, ...world.others) && world.inventory[state.hands.active - 1] > 0;
  return {...found, free: Boolean(free)};
}

/** The axis of the face of the cell in sight that looks at the cell before it. */
function faceAxis({hit, before}, body) {
  if (hit[1] === -2) return before ? 1 : undefined;
  const axes = [0, 1, 2].filter((axis) => before && before[axis] !== hit[axis]), eye = [body.x, body.y, body.z];
  return axes.sort((a, b) => Math.abs(eye[b] - hit[b]) - Math.abs(eye[a] - hit[a]))[0];
}

/** The rim of the block in reach, the face that is aimed at, and the ghost of the block that a click would place. */
function paintAim(painter, found, body) {
  if (!found) return;
  const {before, free} = found, {pen} = painter, axis = faceAxis(found, body), ground = found.hit[1] === -2;
  const [x, y, z] = ground && free ? [before[0], -2, before[2]] : found.hit;
  pen.lineJoin = "round";
  const rim = (color) => (corners) => painter.trace(corners) && painter.stroke(color, .02, corners[0]);
  if (!ground) painter.box([x, y, z], [.503, .503, .503], UPRIGHT, rim(AIM));
  if (axis !== undefined) {
    const middle = [x, y, z], u = (axis + 1) % 3, v = (axis + 2) % 3;
    middle[axis] += .506 * (ground ? 1 : Math.sign(before[axis] - middle[axis]));
    const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([p, q]) =>
      middle.map((value, k) => value + (k === u ? .5 * p : k === v ? .5 * q : 0)));
    painter.fill(corners, ground && !free ? "#0002" : `${AIM}66`);
    if (painter.trace(corners)) painter.stroke(ground && !free ? "#0006" : AIM, .03, corners[0]);
  }
  if (!free) return;
  pen.globalAlpha = .32;
  painter.box(before, [.49, .49, .49], UPRIGHT, (corners) => painter.fill(corners, state.facts.colors[state.hands.active - 1]));
  pen.globalAlpha = .9;
  painter.box(before, [.49, .49, .49], UPRIGHT, rim("#fff"));
  pen.globalAlpha = 1;
}

function showCompass(yaw) {
  const strip = $("compass"), names = {0: "N", 90: "E", 180: "S", 270: "W"};
  if (!strip.children.length) {
    for (let angle = 0; angle < 360; angle += 15) {
      const mark = document.createElement("span");
      mark.textContent = names[angle] || "·"; mark.className = angle ? "" : "north";
      strip.append(mark);
    }
  }
  [...strip.children].forEach((mark, k) => {
    const off = ((15 * k - yaw) % 360 + 540) % 360 - 180;
    mark.style.transform = `translateX(${2.2 * off}px)`; mark.style.opacity = Math.abs(off) > 50 ? 0 : 1;
  });
}

function highest() {
  let top = 2.5;
  for (const grid of [world.grid, world.target_grid]) {
    if (!grid) continue;
    for (let cell = 1088; cell >= 0; cell--) if (grid[cell]) { top = Math.max(top, Math.floor(cell / 121) - .5); break; }
  }
  return top;
}

/** Poses of the other builders, gliding, and their names in a team of several. */
const posesOfOthers = (now) => world.others.map((body, k) => (glides[k] ||= new Glide()).pose(body, now));
function nameBuilders(...poses) {
  if (!world.others.length) return;
  const builds = state.role === "builder", own = builds && !inside() ? [state.facts.player] : [];
  const rest = (builds ? others() : Object.keys(state.facts.speakers)).filter((player) => player.startsWith("builder"));
  [...own, ...rest].forEach((player, k) => paintName(view, poses[k], title(called(player))));
}

function paintPlan(top) {
  if (!$("target").hidden && world.target_grid && plan.fit()) {
    plan.orbit(camera.azimuth, camera.elevation, top, 1);
    paintScene(plan, world.target_grid, null, null, false);
  }
  const sides = !$("sides").hidden && state.team && world.target_sides;
  if (sides) paintSides($("sides"), sides, state.team.sides, state.facts.colors);
}

function paintInside(now) {
  const pose = prediction.pose(state.hands.turned, now);
  if (!pose) return;
  view.look(pose.slice(0, 3), pose[3], pose[4], 90, .1);
  const pending = world.withPending(now), figures = posesOfOthers(now);
  paintScene(view, world.grid, pending, null, true, figures);
  nameBuilders(...figures);
  if (document.body.classList.contains("knows")) paintPlan(highest());
  const body = {x: pose[0], y: pose[1], z: pose[2], yaw: pose[3], pitch: pose[4]}, found = aimed(body);
  paintAim(view, found, body);
  paintCross(view);
  showCompass(pose[3]);
  const stand = inWords(Math.round(pose[0]), Math.round(pose[1]) - 2, Math.round(pose[2])).replace(/,.*/, "");
  $("you").textContent = `You: ${stand}`;
  $("aim").textContent = found ? `Aim: ${nameAim(found)}` : "";
}

/** The place of the new block, or of what is in sight where none can be placed. */
function nameAim({hit, before, free}) {
  if (free) return inWords(...before);
  return hit[1] === -2 ? inWords(...hit).replace(/,.*/, ", ground") : inWords(...hit);
}

function paintOutside(now) {
  const pose = glide.pose(world.body, now), figures = posesOfOthers(now), top = highest(), {wanted} = world;
  if (state.facts.sees) for (const id of ["ghost", "legend"]) $(id).hidden = !wanted || (id === "legend" && !state.ghost);
  view.orbit(camera.azimuth, camera.elevation, top, camera.zoom);
  paintScene(view, world.grid, state.ghost ? wanted : null, pose, false, figures);
  nameBuilders(pose, ...figures);
  paintPlan(top);
}

export function paint(now) {
  if (!world.body || !view.fit()) return;
  if (inside()) paintInside(now); else paintOutside(now);
}

// ---------------------------------------------------------------- the camera

function move(grips, id, at) {
  const grip = grips.get(id);
  if (grips.size === 1) {
    camera.azimuth = (camera.azimuth + .4 * (at[0] - grip[0]) + 360) % 360;
    camera.elevation = clamp(camera.elevation + .3 * (at[1] - grip[1]), 5, 90);
    state.tutorial?.did("turned");
  } else {
    const [other] = [...grips].filter(([one]) => one !== id).map(([, place]) => place);
    const far = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
    camera.zoom = clamp(camera.zoom * far(at) / Math.max(far(grip), 1), .6, 5);
  }
  grips.set(id, at);
  state.changed = true;
}

function set(id, pressed) {
  $(id).setAttribute("aria-pressed", String(pressed));
  state.changed = true;
}

export function listenToCamera() {
  $("ghost").addEventListener("click", () => { state.ghost = !state.ghost; $("legend").hidden = !state.ghost; set("ghost", state.ghost); });
  $("above").addEventListener("click", () => {
    const above = camera.elevation < 90;
    Object.assign(camera, above ? {azimuth: 0, elevation: 90} : HOME);
    set("above", above);
  });
  $("home").addEventListener("click", () => { Object.assign(camera, HOME); set("above", false); });
  const grips = new Map();
  for (const canvas of [$("view"), $("target")]) {
    canvas.addEventListener("pointerdown", (event) => {
      if (inside()) return;
      grips.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (grips.has(event.pointerId)) move(grips, event.pointerId, [event.clientX, event.clientY]);
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => grips.delete(event.pointerId));
  }
  $("view").addEventListener("wheel", (event) => {
    if (inside()) return;
    event.preventDefault();
    camera.zoom = clamp(camera.zoom * Math.exp(-.0012 * event.deltaY), .6, 5);
    state.changed = true;
  }, {passive: false});
}
