// The tutorial of the first minute: each step ends when the person has done it.
import {$, t} from "./common.js";

// [texts]
const STEPS = {
  builder: {
    looked: "Click into the world and look around with the mouse (arrow keys and dragging do, too).",
    walked: "Walk with W, A, S and D. Space jumps.",
    placed: "Choose a colour with the keys 1 to 6, look at the ground in front of you, and place a block with the right button (or E).",
    removed: "Look at your block and break it with the left button (or Q).",
    said: "The chat shows what the architect says. Press T to ask. Now follow the instructions!",
  },
  touch: {
    looked: "Drag to look around.",
    walked: "Walk with the stick on the left.",
    placed: "Choose a colour below, point the cross at the ground in front of you, and press Place.",
    removed: "Point the cross at your block, and press Break.",
    said: "The chat shows what the architect says. Tap on the field below it to ask. Now follow the instructions!",
  },
  architect: {
    turned: "This is the build, with a ghost of the plan. Drag to look around.",
    said: "The builder does not see the plan. Write: “Place a red block in the middle.”",
    waited: "Missing blocks are faint, wrong ones have a bright rim. Continue until all blocks fit!",
  },
};
// [/texts]
const KNOWN = "iglu-marl-tutorial-";

export class Tutorial {
  constructor(role, examples) {
    this.role = role; this.examples = examples; this.number = 0; this.begin = null; this.blocks = null;
    this.over = localStorage.getItem(KNOWN + role) === "done";
    $("skip").addEventListener("click", () => this.end());
    this.show();
  }
  get steps() { return Object.entries(STEPS[this.role === "builder" && document.body.classList.contains("touch") ? "touch" : this.role]); }
  show() {
    $("coach").hidden = this.over;
    if (this.over) return;
    const steps = this.steps, [wanted, text] = steps[this.number];
    $("step").textContent = t(text) + (wanted === "said" && this.role === "architect" && this.examples ? ` ${t("Help has more examples.")}` : "");
    $("progress").textContent = t("{0} of {1}", this.number + 1, steps.length);
    $("skip").textContent = this.number === steps.length - 1 ? t("Got it") : t("Skip");
  }
  end() { this.over = true; localStorage.setItem(KNOWN + this.role, "done"); this.show(); }
  did(what) {
    if (this.over || this.steps[this.number][0] !== what) return;
    this.number += 1; this.begin = null;
    if (this.number === this.steps.length) this.end(); else this.show();
  }
  /** After each frame: has the body moved, have blocks come or gone? */
  see(world) {
    if (this.over || this.role !== "builder" || !world.body) return;
    const {x, z, yaw, pitch} = world.body, blocks = world.grid.reduce((count, cell) => count + (cell !== 0), 0);
    this.begin ||= {x, z, yaw, pitch, blocks};
    const turned = Math.abs(((yaw - this.begin.yaw) % 360 + 540) % 360 - 180) + Math.abs(pitch - this.begin.pitch);
    if (turned > 30) this.did("looked");
    else if (Math.hypot(x - this.begin.x, z - this.begin.z) > 1) this.did("walked");
    else if (blocks > this.begin.blocks) this.did("placed");
    else if (blocks < this.begin.blocks) this.did("removed");
  }
}
