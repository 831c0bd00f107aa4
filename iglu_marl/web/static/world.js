// This role's view of the game, updated by frames; and the builder as it is drawn.
import {cellOf, clamp} from "./drawing.js";
import {stepBody} from "./motion.js";

const GRIDS = ["grid", "target_grid", "ghost"], NEAR_S = 0.07, CORRECT_S = 0.1, JUMPED = 3;
const PLAIN = ["tick", "floor", "inventory", "score", "event", "look", "active", "target_mask", "target_sides"];
export const STEP_MS = 50;

export class World {
  constructor() { this.forget(); }

  forget() {
    this.tick = 0; this.floor = "architect"; this.said = []; this.inventory = [20, 20, 20, 20, 20, 20];
    this.score = this.event = null; this.active = 1;
    for (const name of GRIDS) this[name] = null;
    this.grid = new Int8Array(1089);
    this.target_mask = this.target_sides = null; this.others = [];
    this.body = null; this.look = [0, 0]; this.pending = new Map(); this.edits = 0;
  }

  /** Take a frame; returns the utterances that are new. */
  take(message) {
    if (message.whole) this.forget();
    for (const name of GRIDS) if (message[name]) {
      if (message.whole || !this[name]) this[name] = new Int8Array(1089);
      for (const [x, y, z, color] of message[name]) {
        this[name][cellOf(x, y, z)] = color;
        if (name === "grid") { this.pending.delete(cellOf(x, y, z)); this.edits += 1; }
      }
    }
    for (const name of PLAIN) if (message[name] !== undefined) this[name] = message[name];
    if (message.others) this.others = message.others.map(bodyOf);
    if (message.agentPos) {
      const poses = Array.isArray(message.agentPos[0]) ? message.agentPos : [message.agentPos], {x, y, z, pitch, yaw} = bodyOf(poses[0]);
      if (poses.length > 1) this.others = poses.slice(1).map(bodyOf);
      this.body = Object.assign(this.body || {speed: 0, slices: 2}, {x, y, z, pitch, yaw});
    }
    if (message.body && this.body) [this.body.speed, this.body.slices] = message.body;
    const said = message.said || [];
    this.said.push(...said);
    return said;
  }

  /** What is missing and what is wrong: of a part of the plan, where it is seen. */
  get wanted() {
    if (this.ghost || !this.target_mask) return this.ghost;
    const mask = this.target_mask.flat(2);
    return mask.includes(1) ? this.grid.map((color, cell) => (mask[cell] ? this.target_grid[cell] : color)) : null;
  }

  /** The build, with blocks that were placed here and not yet confirmed by the server. */
  withPending(now) {
    for (const [cell, [, until]] of this.pending) if (now > until) this.pending.delete(cell);
    if (!this.pending.size) return null;
    const grid = this.grid.slice();
    for (const [cell, [color]] of this.pending) if (!grid[cell]) grid[cell] = color;
    return grid;
  }
}

const bodyOf = ([x, y, z, pitch, yaw]) => ({x, y, z, pitch, yaw});
const turnTo = (from, to) => ((to - from) % 360 + 540) % 360 - 180;

/** Another person's builder: it glides towards its last known pose. */
export class Glide {
  pose(body, now) {
    const wanted = [body.x, body.y, body.z, body.yaw, body.pitch];
    if (!this.shown || [0, 1, 2].some((k) => Math.abs(this.shown[k] - wanted[k]) > JUMPED)) this.shown = wanted;
    const kept = Math.exp(-Math.min(now - (this.at || now), 1000) / 1000 / NEAR_S);
    this.at = now;
    const near = (value, k) => (k === 3 ? wanted[3] - kept * turnTo(value, wanted[3]) : wanted[k] + kept * (value - wanted[k]));
    this.shown = this.shown.map(near);
    return this.shown;
  }
}

/** The own builder, ahead of the server by the frames that were not yet answered. */
export class Prediction {
  constructor() { this.last = null; this.next = null; this.off = [0, 0, 0]; this.at = 0; this.moves = true; }

  /** After each step: the pose after all frames that were sent. fresh: the last frame is of this step. */
  step(world, unanswered, fresh, now) {
    if (!world.body) return;
    const body = {...world.body, yaw: world.body.yaw + world.look[0], pitch: clamp(world.body.pitch + world.look[1], -90, 90)};
    let base = {...body};
    for (const frame of unanswered) {
      base = {...body};
      let yaw = 0, pitch = 0;
      for (const event of frame.events) if (event[0] === "turn") { yaw += event[1]; pitch += event[2]; }
      if (this.moves) stepBody(body, frame.held, yaw, pitch, world.grid);
      else Object.assign(body, {yaw: body.yaw + yaw, pitch: clamp(body.pitch + pitch, -90, 90)});
    }
    if (!fresh) base = {...body};
    if (this.next) {
      // the difference between the shown and the server's pose fades away
      const off = ["x", "y", "z"].map((axis) => this.next[axis] - base[axis]);
      this.off = Math.max(...off.map(Math.abs)) > JUMPED ? [0, 0, 0] : this.off.map((value, k) => value + off[k]);
    }
    this.last = base; this.next = body; this.at = now;
  }

  /** The pose to draw, with the turn since the last step. */
  pose(turned, now) {
    if (!this.next) return null;
    const share = clamp((now - this.at) / STEP_MS, 0, 1), kept = Math.exp(-(now - (this.drawn || now)) / 1000 / CORRECT_S);
    this.drawn = now;
    this.off = this.off.map((value) => value * kept);
    const place = ["x", "y", "z"].map((axis, k) => this.last[axis] + share * (this.next[axis] - this.last[axis]) + this.off[k]);
    return [...place, this.next.yaw + turned[0], clamp(this.next.pitch + turned[1], -90, 90)];
  }
}

/** The place of a cell, as architects write it: "2 E 3 N, height 1". */
export function inWords(x, y, z) {
  const axes = [[x, "E", "W"], [-z, "N", "S"]].filter(([count]) => count);
  const steps = axes.map(([count, plus, minus]) => `${Math.abs(count)} ${count > 0 ? plus : minus}`);
  return `${steps.join(" ") || "middle"}, height ${y + 2}`;
}
