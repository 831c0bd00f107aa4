// The tutorial: each step ends when the person has done it. A study has it in a game of its own, or nowhere.
import {$} from "./common.js";

const STEPS = {
  builder: {
    looked: "Click into the world and look around with the mouse (arrow keys and dragging do, too).",
    walked: "Walk with W, A, S and D. Space jumps.",
    placed: "Choose a colour with the keys 1 to 6, look at the ground in front of you, and place a block with the right button (or E).",
    removed: "Look at your block and break it with the left button (or Q).",
    said: "The chat shows what the architect says. Press T to ask something.",
  },
  touch: {
    looked: "Drag to look around.",
    walked: "Walk with the stick on the left.",
    placed: "Choose a colour below, point the cross at the ground in front of you, and press Place.",
    removed: "Point the cross at your block, and press Break.",
    said: "The chat shows what the architect says. Tap on the field below it to ask something.",
  },
  architect: {
    turned: "This is the build, with a ghost of the plan. Drag to look around.",
    said: "The builder does not see the plan. Write: “Place a red block in the middle.”",
    waited: "Missing blocks are faint, wrong ones have a bright rim. Continue until all blocks fit!",
  },
};
const KNOWN = "iglu-marl-tutorial-";

export class Tutorial {
  /** facts: of the game; `coach`: whether this game has the tutorial, null = once in each browser. report: of each step. */
  constructor({role, examples, coach}, report) {
    Object.assign(this, {role, examples, report, number: 0, begin: null});
    this.kept = coach === null || coach === undefined;
    this.over = this.kept ? localStorage.getItem(KNOWN + role) === "done" : !coach;
    $("skip").addEventListener("click", () => this.end(this.number === this.steps.length - 1));
    this.show();
  }
  get steps() { return Object.entries(STEPS[this.role === "builder" && document.body.classList.contains("touch") ? "touch" : this.role]); }
  show() {
    $("coach").hidden = this.over;
    if (this.over) return;
    const steps = this.steps, [wanted, text] = steps[this.number];
    const more = wanted === "said" && this.role === "architect" && this.examples ? " Help has more examples." : "";
    $("step").textContent = text + more;
    $("progress").textContent = `${this.number + 1} of ${steps.length}`;
    $("skip").textContent = this.number === steps.length - 1 ? "Got it" : "Skip";
  }
  end(done) {
    this.over = true;
    if (this.kept) localStorage.setItem(KNOWN + this.role, "done");
    else this.report(done ? "done" : "skipped");
    this.show();
  }
  /** Who writes before having looked around has learned that, too. */
  did(what) {
    if (this.over) return;
    const steps = this.steps, found = steps.findIndex(([wanted], k) => k >= this.number && wanted === what);
    const [now] = steps[this.number], skips = this.role === "architect" && what === "said";
    if (skips && now === "waited") { this.end(true); return; }
    if (found < 0 || (found > this.number && !skips)) return;
    if (!this.kept) this.report(what);
    this.number = found + 1; this.begin = null;
    if (this.number === steps.length) this.end(true); else this.show();
  }
  /** After each frame: has the body moved, have blocks come or gone? */
  see(world) {
    if (this.over || this.role !== "builder" || !world.body) return;
    const {x, z, yaw, pitch} = world.body, blocks = world.grid.reduce((count, cell) => count + (cell !== 0), 0);
    this.begin ||= {x, z, yaw, pitch, blocks};
    const turned = Math.abs(((yaw - this.begin.yaw) % 360 + 540) % 360 - 180) + Math.abs(pitch - this.begin.pitch);
    if (turned > 30) this.did("looked");
    if (Math.hypot(x - this.begin.x, z - this.begin.z) > 1) this.did("walked");
    else if (blocks > this.begin.blocks) this.did("placed");
    else if (blocks < this.begin.blocks) this.did("removed");
  }
}
