// Boxes in perspective on a canvas. `setColors` takes the six block colours, "#rrggbb".
const $ = (id) => document.getElementById(id);
const GROUND = -1.5, BOARD = 6.45, SLAB = 0.45;
const NAMES = ["air", "blue", "yellow", "green", "orange", "purple", "red"];
const rgb = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));
const COLORS = [null];
function setColors(texts) { COLORS.splice(1, 6, ...texts.map(rgb)); }
const css = (color, light = 1) => `rgb(${color.map((part) => Math.round(part * light)).join(",")})`;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const radians = (deg) => deg * Math.PI / 180;
const cellOf = (x, y, z) => ((y + 1) * 11 + x + 5) * 11 + z + 5;
function gridOf(blocks) {
  const grid = new Int8Array(1089);
  for (const [x, y, z, color] of blocks) grid[cellOf(x, y, z)] = color;
  return grid;
}

// ---------------------------------------------------------------- a camera and a painter of boxes

/** Unit vectors right, up and forward of a line of sight. */
function axesOf(yaw, pitch) {
  const a = radians(yaw), b = radians(pitch);
  const right = [Math.cos(a), 0, Math.sin(a)];
  const forward = [Math.sin(a) * Math.cos(b), Math.sin(b), -Math.cos(a) * Math.cos(b)];
  const up = [[1, 2], [2, 0], [0, 1]].map(([a, b]) => right[a] * forward[b] - right[b] * forward[a]);
  return [right, up, forward];
}
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

class Painter {
  constructor(canvas) { this.canvas = canvas; this.pen = canvas.getContext("2d"); }

  /** Make the canvas as sharp as the screen; false while it has no size. */
  fit() {
    const {clientWidth, clientHeight} = this.canvas, sharp = Math.min(window.devicePixelRatio || 1, 2.5);
    const width = Math.round(clientWidth * sharp), height = Math.round(clientHeight * sharp);
    if (!width || !height) return false;
    if (this.canvas.width !== width || this.canvas.height !== height) { this.canvas.width = width; this.canvas.height = height; }
    this.width = width; this.height = height;
    return true;
  }

  look(eye, yaw, pitch, fov, near) {
    this.eye = eye; this.axes = axesOf(yaw, pitch); this.near = near;
    this.focus = 0.5 * this.height / Math.tan(radians(fov) / 2);
  }

  /** Set the camera: it looks along azimuth, elevation downwards, and fits the board up to `top`; zoom enlarges. */
  orbit(azimuth, elevation, top, zoom) {
    const axes = axesOf(azimuth, -elevation), fov = 26, margin = 0.94;
    const tanY = Math.tan(radians(fov) / 2) * margin, tanX = tanY * this.width / this.height;
    let right = -1e9, left = 1e9, high = -1e9, low = 1e9;
    for (const [edge, y] of [[BOARD, GROUND - SLAB], [BOARD, GROUND], [5.5, top]])
      for (const x of [-edge, edge]) for (const z of [-edge, edge]) {
        const [across, above, depth] = axes.map((axis) => dot(axis, [x, y, z]));
        right = Math.max(right, across - tanX * depth); left = Math.min(left, across + tanX * depth);
        high = Math.max(high, above - tanY * depth); low = Math.min(low, above + tanY * depth);
      }
    const distance = Math.max((high - low) / (2 * tanY), (right - left) / (2 * tanX)) / zoom;
    const place = [0.5 * (right + left), 0.5 * (high + low), -distance];
    this.look([0, 1, 2].map((k) => place[0] * axes[0][k] + place[1] * axes[1][k] + place[2] * axes[2][k]), azimuth, -elevation, fov, 1);
  }

  /** Path of a polygon on the screen, clipped at the near plane; false if nothing of it is in front. */
  trace(points, close = true) {
    const seen = points.map((point) => {
      const off = [point[0] - this.eye[0], point[1] - this.eye[1], point[2] - this.eye[2]];
      return this.axes.map((axis) => dot(axis, off));
    });
    const kept = [];
    for (let k = 0; k < seen.length; k++) {
      const a = seen[k], b = seen[(k + 1) % seen.length];
      if (a[2] >= this.near) kept.push(a);
      if ((close || k < seen.length - 1) && (a[2] >= this.near) !== (b[2] >= this.near)) {
        const t = (this.near - a[2]) / (b[2] - a[2]);
        kept.push(a.map((value, axis) => value + t * (b[axis] - value)));
      }
    }
    if (kept.length < 2) return false;
    this.pen.beginPath();
    for (const [across, above, depth] of kept) {
      // limit the coordinates of points far outside of the picture
      const x = clamp(0.5 * this.width + this.focus * across / depth, -1e5, 1e5);
      const y = clamp(0.5 * this.height - this.focus * above / depth, -1e5, 1e5);
      this.pen.lineTo(x, y);
    }
    if (close) this.pen.closePath();
    return true;
  }

  /** Fill a polygon; `closed` covers the thin gap between it and its neighbours. */
  fill(points, color, closed = false) {
    if (!this.trace(points)) return;
    this.pen.fillStyle = color; this.pen.fill();
    if (closed) { this.pen.strokeStyle = color; this.pen.lineWidth = 1; this.pen.stroke(); }
  }

  /** A line over points; its width (in cells) is that at the first one. */
  line(points, color, width) { if (this.trace(points, false)) this.stroke(color, width, points[0]); }

  /** A straight stripe on the ground. */
  stripe(x0, z0, x1, z1, color, width) {
    const long = Math.hypot(x1 - x0, z1 - z0), dx = width * (z1 - z0) / (2 * long), dz = -width * (x1 - x0) / (2 * long);
    this.fill([[x0 + dx, GROUND, z0 + dz], [x1 + dx, GROUND, z1 + dz], [x1 - dx, GROUND, z1 - dz], [x0 - dx, GROUND, z0 - dz]], color);
  }

  /** Stroke the path with a width in cells at a point. */
  stroke(color, width, at) {
    const depth = Math.max(dot(this.axes[2], at.map((value, k) => value - this.eye[k])), this.near);
    this.pen.strokeStyle = color; this.pen.lineWidth = Math.max(width * this.focus / depth, 0.6); this.pen.stroke();
  }

  /** The visible faces of a box around a centre, turned by `axes`, except those with `hidden(axis, side)`. */
  box(center, halves, axes, face, hidden = null) {
    for (let axis = 0; axis < 3; axis++) for (const side of [-1, 1]) {
      const middle = center.map((value, k) => value + side * halves[axis] * axes[axis][k]);
      if (side * dot(axes[axis], this.eye.map((value, k) => value - middle[k])) <= 1e-6 || (hidden && hidden(axis, side))) continue;
      const u = (axis + 1) % 3, v = (axis + 2) % 3;
      const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([p, q]) =>
        middle.map((value, k) => value + p * halves[u] * axes[u][k] + q * halves[v] * axes[v][k]));
      face(corners, axis, side);
    }
  }
}

// ---------------------------------------------------------------- contents of a picture

const UPRIGHT = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
const LETTERS = {
  N: [[-.22, -.3], [-.22, .3], [.22, -.3], [.22, .3]],
  E: [[.2, -.3], [-.2, -.3], [-.2, 0], [.12, 0], [-.2, 0], [-.2, .3], [.2, .3]],
  S: [[-.2, -.22], [-.1, -.3], [.1, -.3], [.2, -.22], [.2, -.08], [-.2, .08], [-.2, .22], [-.1, .3], [.1, .3], [.2, .22]],
  W: [[-.3, .3], [-.15, -.3], [0, .15], [.15, -.3], [.3, .3]],
};
const MARKS = {N: "rgb(255,196,61)", other: "rgb(128,141,166)"};
const LETTER_AT = {N: [0, -6], E: [6, 0], S: [0, 6], W: [-6, 0]};
const BODY = [  // below or above the eye; half width, height, depth; colour
  [-.93, [.19, .32, .13], [58, 74, 122]], [-.43, [.25, .19, .15], [0, 170, 160]],
  [-.01, [.23, .23, .23], [242, 201, 160]], [.2, [.25, .08, .25], [94, 62, 40]],
];

function flat(edge, y) { return [[-edge, y, -edge], [edge, y, -edge], [edge, y, edge], [-edge, y, edge]]; }

function paintBoard(painter, inside) {
  if (inside) painter.fill(flat(18.5, GROUND), "rgb(80,82,86)");
  else {
    for (const [nx, nz, light] of [[1, 0, .8], [-1, 0, .8], [0, 1, 1], [0, -1, 1]]) {
      if (painter.eye[0] * nx + painter.eye[2] * nz <= BOARD) continue;
      const a = [BOARD * nx - BOARD * nz, BOARD * nz - BOARD * nx], b = [BOARD * nx + BOARD * nz, BOARD * nz + BOARD * nx];
      const low = GROUND - SLAB, side = [[a[0], GROUND, a[1]], [b[0], GROUND, b[1]], [b[0], low, b[1]], [a[0], low, a[1]]];
      painter.fill(side, css([46, 54, 71], light));
    }
    painter.fill(flat(BOARD, GROUND), "rgb(64,75,96)");
    for (const [letter, [x, z]] of Object.entries(LETTER_AT))
      painter.line(LETTERS[letter].map(([right, up]) => [x + right, GROUND, z - up]), MARKS[letter] || MARKS.other, 0.1);
  }
  painter.fill(flat(5.5, GROUND), inside ? "#fff" : "rgb(243,245,249)");
  if (inside) for (let k = -18; k < 18; k++) {
    const at = k + .5, beside = Math.abs(at) > 5.6;
    for (const [low, high] of beside ? [[-18.5, 18.5]] : [[-18.5, -5.5], [5.5, 18.5]]) {
      painter.stripe(at, low, at, high, "#0007", .05); painter.stripe(low, at, high, at, "#0007", .05);
    }
  }
  for (let k = 0; k <= 11; k++) {
    const at = k - 5.5, color = inside ? "rgb(171,171,171)" : "rgb(203,210,221)", width = inside ? .06 : .04;
    painter.stripe(at, -5.5, at, 5.5, color, width); painter.stripe(-5.5, at, 5.5, at, color, width);
  }
  if (painter.detailed) paintMarks(painter, inside);
}

/** The centre, and from inside the four sides, each to be read by who looks at it from the centre. */
function paintMarks(painter, inside) {
  painter.fill([[-.3, 0], [0, -.3], [.3, 0], [0, .3]].map(([x, z]) => [x, GROUND, z]), "rgb(120,131,155)");
  for (const [k, l] of [[-.5, -.5], [.5, -.5], [.5, .5], [-.5, .5]]) painter.stripe(k, l, -l, k, "rgb(120,131,155)", .09);
  if (!inside) return;
  for (const [letter, place] of Object.entries(LETTER_AT)) {
    const [x, z] = place.map((value) => value * 1.07), [dx, dz] = place.map(Math.sign);
    const points = LETTERS[letter].map(([right, up]) => [x + 1.7 * (up * dx - right * dz), GROUND, z + 1.7 * (up * dz + right * dx)]);
    painter.line(points, MARKS[letter] || "#dfe5f1", .17);
  }
}

/** Soft shadows on the ground, below each column of blocks: dark and wide where they touch it, a square where they float. */
function paintShadows(painter, grid) {
  for (let x = -5; x < 6; x++) for (let z = -5; z < 6; z++) {
    let y = -1;
    while (y < 8 && !grid[cellOf(x, y, z)]) y += 1;
    if (y === 8) continue;
    const half = y === -1 ? .66 : .5;
    const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([p, q]) => [x + half * p, GROUND, z + half * q]);
    painter.fill(corners, y === -1 ? "#0a0e1a38" : "#0a0e1a50");
  }
}

/** How light a face is: less below other blocks and beside higher ones, and towards the ground. */
function shade(grid, [x, y, z], axis, side) {
  const solid = (a, b, c) => Math.abs(a) < 6 && Math.abs(c) < 6 && b < 8 && grid[cellOf(a, b, c)] !== 0;
  if (axis !== 1) return .88 + .02 * (y + 1);
  if (side < 0) return 1;
  const beside = [[1, 0], [-1, 0], [0, 1], [0, -1]].filter(([a, c]) => solid(x + a, y + 1, z + c)).length;
  const below = [2, 3, 4].some((far) => solid(x, y + far, z));
  return 1 - .06 * beside - (below ? .2 : 0);
}

/** Non-empty cells, farthest first along each axis, so that nearer ones are drawn over farther ones. */
function cellsFrom(painter, grid, ghost) {
  const found = [];
  for (let y = -1; y < 8; y++) for (let x = -5; x < 6; x++) for (let z = -5; z < 6; z++) {
    const cell = cellOf(x, y, z);
    if (grid[cell] || (ghost && ghost[cell])) found.push([x, y, z, cell]);
  }
  const off = (cell, axis) => Math.abs(cell[axis] - painter.eye[axis]);
  return found.sort((a, b) => off(b, 0) - off(a, 0) || off(b, 1) - off(a, 1) || off(b, 2) - off(a, 2));
}

function paintCell(painter, [x, y, z, cell], grid, ghost, inside) {
  const color = COLORS[grid[cell] || ghost[cell]], missing = !grid[cell];
  const wrong = !missing && ghost && ghost[cell] !== grid[cell];
  const lights = inside ? [.5, 1, .7] : [.7, 1, .84];
  const hidden = (axis, side) => {
    const next = [x, y, z];
    next[axis] += side;
    if (Math.abs(next[0]) > 5 || Math.abs(next[2]) > 5 || next[1] < -1 || next[1] > 7) return axis === 1 && side < 0 && y === -1;
    const place = cellOf(...next);
    return grid[place] !== 0 || (missing && ghost[place] !== 0);
  };
  painter.pen.globalAlpha = missing ? .42 : 1;
  painter.box([x, y, z], [.5, .5, .5], UPRIGHT, (corners, axis, side) => {
    const shaded = painter.detailed && !missing ? shade(grid, [x, y, z], axis, side) : 1;
    const light = shaded * (axis === 1 && side < 0 ? (inside ? .2 : .45) : lights[axis]);
    const edge = wrong ? css([255, 24, 170], Math.sqrt(light)) : css(color, light * (missing ? .55 : .72));
    const inner = corners.map((corner) => corner.map((value, k) => (k === axis ? value : value + .125 * ([x, y, z][k] - value))));
    if (missing) {
      painter.fill(corners, css(color, light));
      painter.trace(corners) && painter.stroke(edge, .05, corners[0]);
      return;
    }
    painter.fill(corners, edge, true);
    painter.fill(inner, css(color, light));
  }, hidden);
  painter.pen.globalAlpha = 1;
}

function paintBuilder(painter, pose) {
  const [x, y, z, yaw] = pose, a = radians(yaw);
  const axes = [[Math.cos(a), 0, Math.sin(a)], [0, 1, 0], [Math.sin(a), 0, -Math.cos(a)]];
  for (const [lift, halves, color] of BODY)
    painter.box([x, y + lift, z], halves, axes, (corners, axis) =>
      painter.fill(corners, css(color, axis === 1 ? 1 : .9 - .25 * Math.abs(axes[axis][0]))));
  const face = [x + .235 * axes[2][0], y, z + .235 * axes[2][2]];
  if (dot(axes[2], painter.eye.map((value, k) => value - face[k])) <= 0) return;
  const at = ([p, q]) => [face[0] + p * axes[0][0], face[1] + q, face[2] + p * axes[0][2]];
  for (const [low, high] of [[-.15, -.05], [.05, .15]])
    painter.fill([[low, -.06], [high, -.06], [high, .05], [low, .05]].map(at), "rgb(40,48,70)");
}

const veil = document.createElement("canvas");
/** The builder again, faintly, over the blocks in front of it. */
function shineThrough(painter, pose) {
  const {pen, width, height} = painter;
  veil.width = width; veil.height = height;
  painter.pen = veil.getContext("2d");
  paintBuilder(painter, pose);
  painter.pen = pen;
  pen.globalAlpha = .3; pen.drawImage(veil, 0, 0); pen.globalAlpha = 1;
}

function paintGaze(painter, pose, grid) {
  const [x, y, z, yaw, pitch] = pose, sight = axesOf(yaw, pitch)[2];
  for (let far = .5; far < 3; far += .25) {
    const at = [x + far * sight[0], y + far * sight[1], z + far * sight[2]], cell = at.map(Math.round);
    const outside = Math.abs(cell[0]) > 5 || Math.abs(cell[2]) > 5 || cell[1] < -1 || cell[1] > 7;
    if (at[1] < GROUND || (!outside && grid[cellOf(...cell)])) return;
    painter.line([at, at.map((value, k) => value + .03 * sight[k])], "rgb(255,196,61)", .11);
  }
}

/** Whether a plane separates a cell from the builder, with the builder in front. */
function isBehind(cell, pose, eye) {
  const low = [pose[0] - .27, pose[1] - 1.25, pose[2] - .27], high = [pose[0] + .27, pose[1] + .3, pose[2] + .27];
  return [0, 1, 2].some((k) => (cell[k] - .5 >= high[k] && eye[k] < cell[k] - .5) || (cell[k] + .5 <= low[k] && eye[k] > cell[k] + .5));
}

/** others: poses of further builders. */
function paintScene(painter, grid, ghost, pose, inside, others = []) {
  const {pen, width, height} = painter;
  pen.lineJoin = pen.lineCap = "round";
  pen.clearRect(0, 0, width, height);
  if (inside) { pen.fillStyle = "rgb(128,176,255)"; pen.fillRect(0, 0, width, height); }
  if (painter.eye[1] > GROUND) {
    paintBoard(painter, inside);
    if (painter.detailed) paintShadows(painter, grid);
  }
  const cells = cellsFrom(painter, grid, ghost);
  const far = (one) => Math.hypot(...one.slice(0, 3).map((value, k) => value - painter.eye[k]));
  const builders = [...(pose ? [pose] : []), ...others].sort((a, b) => far(b) - far(a));
  let left = cells;
  for (const one of builders) {
    left.filter((cell) => isBehind(cell, one, painter.eye)).forEach((cell) => paintCell(painter, cell, grid, ghost, inside));
    left = left.filter((cell) => !isBehind(cell, one, painter.eye));
    paintBuilder(painter, one);
  }
  left.forEach((cell) => paintCell(painter, cell, grid, ghost, inside));
  if (left.length && !inside) builders.forEach((one) => shineThrough(painter, one));
  if (pose) paintGaze(painter, pose, grid);
}

function paintCross(painter) {
  const {pen, width, height} = painter, arm = Math.round(.017 * height), x = Math.round(width / 2), y = Math.round(height / 2);
  for (const [color, thick] of [["#141821", 4], ["#fff", 2]]) {
    pen.fillStyle = color;
    pen.fillRect(x - arm, y - thick / 2, 2 * arm, thick); pen.fillRect(x - thick / 2, y - arm, thick, 2 * arm);
  }
}
