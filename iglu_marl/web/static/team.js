// What only games of a team show: who plays, the plan from a side, and the names of builders.
import {title} from "./common.js";

const PARTS = {
  layers: (what) => `layers ${what}`, half: (what) => `the ${what} half`, color: (what) => `what is ${what}`,
  side: (what) => `the ${what} side`,
};
const partName = (part) => { const [kind, what] = part.split(":"); return PARTS[kind](what); };
// The view from each side: where the camera looks, and what is at its left and right.
export const SIDES = {
  north: {number: 0, azimuth: 180, left: "E", right: "W"}, east: {number: 1, azimuth: 270, left: "S", right: "N"},
  south: {number: 2, azimuth: 0, left: "W", right: "E"}, west: {number: 3, azimuth: 90, left: "N", right: "S"},
};

/** A team as one of its players sees it. */
export class Team {
  constructor(facts) {
    const {role, player, speakers} = this.facts = facts, hearers = facts.hearers?.[player];
    const parts = facts.sees?.[player] || [role === "architect" ? "all" : "none"];
    this.parts = parts; this.all = parts.includes("all"); this.knows = parts.some((part) => part !== "none");
    this.sides = this.all ? [] : parts.filter((part) => part.startsWith("side:")).map((part) => part.slice(5));
    this.cells = !this.sides.length || this.sides.length < parts.length;  // whether it sees more than sides
    this.listeners = hearers && hearers.filter((one) => one !== player).map((one) => title(speakers[one]));
  }

  get roster() {
    const {player, agents, speakers} = this.facts, others = Object.entries(speakers).filter(([one]) => one !== player);
    const names = others.map(([one, name]) => agents[one] ? `${title(name)} (agent)` : title(name)).join(", ");
    return `with ${names}`;
  }
  get plan() {
    if (this.all) return "Plan";
    const parts = this.parts.filter((part) => part.includes(":")).map(partName).join(", ");
    return this.knows ? `Your part of the plan: ${parts}` : "You do not see the plan";
  }
  get help() {
    const me = this.facts.speakers[this.facts.player];
    return `You are ${me}, ${this.roster}. ${this.all ? "You see the plan" : this.plan}. Talk to each other: nobody may know everything.`;
  }
  get waits() { return Object.values(this.facts.speakers).includes("builder") ? "The builder waits" : "The builders wait"; }
  get ended() { return "You have ended your turn."; }
  get waiting() { return ["Waiting for the others", "Send each link to one person:"]; }
  placeholder(keys) {
    const text = this.listeners ? `Say something to ${this.listeners.join(", ") || "nobody"}` : "Say something";
    return text + (keys && this.facts.role === "builder" ? " (T)" : "");
  }
  away(names) { return names.length > 1 ? `Away: ${names.join(", ")}. ` : ""; }
  event(kind) { return kind === "place: builder in the way" ? "Somebody stands in the way: step back." : ""; }
}

/** Paint the views of some sides, each as it looks from there: rows from the ground up, columns from left to right. */
export function paintSides(canvas, views, sides, colors) {
  const sharp = Math.min(window.devicePixelRatio || 1, 2.5), width = canvas.clientWidth * sharp, height = canvas.clientHeight * sharp;
  if (!width || !height) return;
  if (canvas.width !== Math.round(width) || canvas.height !== Math.round(height)) { canvas.width = width; canvas.height = height; }
  const tops = sides.map((side) => views[SIDES[side].number].findLastIndex((row) => row.some((color) => color > 0)));
  const rows = Math.min(9, 3 + Math.max(1, ...tops));
  const pen = canvas.getContext("2d"), across = width / sides.length, cell = Math.min(across / 13.5, (height - 34 * sharp) / (rows + 2.2));
  pen.clearRect(0, 0, width, height);
  pen.textAlign = "center"; pen.textBaseline = "middle"; pen.font = `${Math.max(11 * sharp, .7 * cell)}px system-ui, sans-serif`;
  sides.forEach((side, k) => {
    const {number, left, right} = SIDES[side], x0 = (k + .5) * across - 5.5 * cell, ground = height - 1.9 * cell;
    const large = pen.font, small = `${Math.max(8 * sharp, .5 * cell)}px system-ui, sans-serif`;
    pen.strokeStyle = "#ffffff1c"; pen.lineWidth = Math.max(1, .03 * cell);
    for (let row = 0; row < rows; row++) for (let column = 0; column < 11; column++) {
      const color = views[number][row][column], x = x0 + column * cell, y = ground - (row + 1) * cell;
      if (color > 0) { pen.fillStyle = colors[color - 1]; pen.fillRect(x, y, cell, cell); }
      pen.strokeRect(x, y, cell, cell);
    }
    pen.fillStyle = "#8c97ae";
    pen.fillRect(x0 - .5 * cell, ground, 12 * cell, Math.max(2, .08 * cell));
    pen.font = small;
    for (let column = 0; column < 11; column++) pen.fillText(column, x0 + (column + .5) * cell, ground + .55 * cell);
    for (let row = 0; row < rows; row++) pen.fillText(row, x0 - .6 * cell, ground - (row + .5) * cell);
    pen.font = large;
    const whole = `from the ${side}`, name = pen.measureText(whole).width < 9 * cell ? whole : side;
    [left, name, right].forEach((text, at) => pen.fillText(text, x0 + 5.5 * at * cell, ground + 1.35 * cell));
  });
}

/** Write a builder's name above its head. */
export function paintName(painter, [x, y, z], name) {
  const off = [x - painter.eye[0], y + .62 - painter.eye[1], z - painter.eye[2]];
  const [across, above, depth] = painter.axes.map((axis) => axis[0] * off[0] + axis[1] * off[1] + axis[2] * off[2]);
  if (depth < painter.near || !name) return;
  const {pen} = painter, size = Math.max(11 * Math.min(window.devicePixelRatio || 1, 2.5), Math.min(.24 * painter.focus / depth, 26));
  const at = [.5 * painter.width + painter.focus * across / depth, .5 * painter.height - painter.focus * above / depth];
  pen.font = `600 ${size}px system-ui, sans-serif`; pen.textAlign = "center"; pen.textBaseline = "middle";
  const wide = pen.measureText(name).width + .8 * size;
  pen.fillStyle = "#141821c0"; pen.fillRect(at[0] - wide / 2, at[1] - .7 * size, wide, 1.4 * size);
  pen.fillStyle = "#48cac4"; pen.fillText(name, ...at);
}
