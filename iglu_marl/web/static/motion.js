// How a builder moves: the rules of docs/dynamics.md for walking, so that the page can show motion at once. The server
// decides; differences are corrected.
const SLICES_S = 0.05, GRAVITY = 20, JUMP = 6.928203230275509, WALK = 5, TERMINAL = 50, PADDING = 0.25, LIMIT = 2;
const RADIANS = Math.PI / 180;
const SAMPLES = 40, SAMPLES_PER_CELL = 5;
export const KEYS = {forward: 1, back: 2, left: 4, right: 8, up: 16, fast: 32};

/** The cell of a coordinate; ties to even. */
export function cellOfCoordinate(value) {
  const near = Math.round(value);
  return Math.abs(value - Math.trunc(value)) === 0.5 ? 2 * Math.round(value / 2) : near;
}
const inZone = (x, y, z) => Math.abs(x) <= 5 && Math.abs(z) <= 5 && y >= -1 && y <= 7;
export function solid(grid, x, y, z) {
  if (y === -2) return Math.abs(x) <= 18 && Math.abs(z) <= 18;
  return inZone(x, y, z) && grid[((y + 1) * 11 + x + 5) * 11 + z + 5] !== 0;
}

function collide(body, grid, x, y, z) {
  const cx = cellOfCoordinate(x), cy = cellOfCoordinate(y), cz = cellOfCoordinate(z), at = (a, b, c) => solid(grid, a, b, c);
  let over = y - cy;
  if (over >= PADDING && (at(cx, cy + 1, cz) || at(cx, cy, cz))) { y -= over - PADDING; body.speed = 0; }
  over = cy - y;
  if (over >= PADDING && (at(cx, cy - 1, cz) || at(cx, cy - 2, cz))) { y += over - PADDING; body.speed = 0; }
  over = cx - x;
  if (over >= PADDING && (at(cx - 1, cy, cz) || at(cx - 1, cy - 1, cz))) x += over - PADDING;
  over = x - cx;
  if (over >= PADDING && (at(cx + 1, cy, cz) || at(cx + 1, cy - 1, cz))) x -= over - PADDING;
  over = z - cz;
  if (over >= PADDING && (at(cx, cy, cz + 1) || at(cx, cy - 1, cz + 1))) z -= over - PADDING;
  over = cz - z;
  if (over >= PADDING && (at(cx, cy, cz - 1) || at(cx, cy - 1, cz - 1))) z += over - PADDING;
  Object.assign(body, {x, y, z});
}
const inLimits = (x, y, z) => Math.abs(x) <= 5 + LIMIT && Math.abs(z) <= 5 + LIMIT && -1 - LIMIT <= y && y < 8 + LIMIT;

function fall(body, slice) {
  body.speed -= slice * GRAVITY;
  body.slices = body.speed < -14 ? 12 : body.speed < -10 ? 8 : body.speed < -5 ? 4 : 2;
  body.speed = Math.max(body.speed, -TERMINAL);
}

/** One step of a twentieth of a second: body {x, y, z, yaw, pitch, speed, slices}, keys held, turn in degrees. */
export function stepBody(body, held, yaw, pitch, grid) {
  const on = (key) => (held & KEYS[key] ? 1 : 0);
  if (on("up") && body.speed === 0) body.speed = JUMP;
  body.yaw += yaw; body.pitch = Math.max(-90, Math.min(90, body.pitch + pitch));
  const back = on("back") - on("forward"), right = on("right") - on("left");
  let hx = 0, hz = 0;
  if (back || right) {
    const bearing = (body.yaw + Math.atan2(back, right) / RADIANS) * RADIANS;
    hx = Math.cos(bearing); hz = Math.sin(bearing);
  }
  const slices = body.slices, slice = SLICES_S / slices, far = slice * WALK;
  for (let k = 0; k < slices; k++) {
    fall(body, slice);
    const x = body.x + hx * far, y = body.y + body.speed * slice, z = body.z + hz * far;
    if (inLimits(x, y, z)) collide(body, grid, x, y, z); else collide(body, grid, body.x, y, body.z);
  }
  while (body.yaw > 360) body.yaw -= 360;
  while (body.yaw < 0) body.yaw += 360;
  return body;
}

/** The solid cell in sight within reach and the cell before it, or null. */
export function reach(grid, body) {
  const around = (body.yaw - 90) * RADIANS, tilt = body.pitch * RADIANS, level = Math.cos(tilt);
  const way = [Math.cos(around) * level, Math.sin(tilt), Math.sin(around) * level].map((part) => part / SAMPLES_PER_CELL);
  const at = [body.x, body.y, body.z];
  let before = null;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const cell = at.map(cellOfCoordinate);
    if (solid(grid, ...cell)) return {hit: cell, before};
    if (!before || before.some((value, k) => value !== cell[k])) before = cell;
    for (let k = 0; k < 3; k++) at[k] += way[k];
  }
  return null;
}
const inTheWay = (body, x, y, z) => {
  if (Math.abs(body.x - x) > .5 || Math.abs(body.z - z) > .5) return false;
  const legs = body.y - .75;
  return (y <= legs && legs <= y + 1) || (y <= legs + 1 && legs + 1 <= y + 1);
};
/** Whether a block can be placed there: none of the bodies is in the way. */
export const placeable = (found, ...bodies) =>
  found && found.before && inZone(...found.before) && !bodies.some((body) => inTheWay(body, ...found.before));
