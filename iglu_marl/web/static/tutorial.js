// The tutorial of the first minute: each step ends when the person has done it.
import {$} from "./common.js";

const STEPS = {
  builder: [
    ["Click into the world and look around with the mouse (arrow keys and dragging do, too).", "looked"],
    ["Walk with W, A, S and D. Space jumps.", "walked"],
    ["Choose a colour with the keys 1 to 6, look at the ground in front of you, and place a block with the right button (or E).", "placed"],
    ["Look at your block and break it with the left button (or Q).", "removed"],
    ["The chat shows what the architect says. Press T to ask. Now follow the instructions!", "said"],
  ],
  architect: [
    ["This is the build, with a ghost of the plan. Drag to look around.", "turned"],
    ["The builder does not see the plan. Write: \"Place a red block in the middle.\" Help has more examples.", "said"],
    ["Missing blocks are faint, wrong ones have a bright rim. Continue until all blocks fit!", "waited"],
  ],
};
const KNOWN = "iglu-marl-tutorial-";

export class Tutorial {
  constructor(role, examples) {
    this.role = role; this.examples = examples; this.number = 0; this.begin = null; this.blocks = null;
    this.over = localStorage.getItem(KNOWN + role) === "done";
    $("skip").addEventListener("click", () => this.end());
    this.show();
  }
  show() {
    $("coach").hidden = this.over;
    if (this.over) return;
    const steps = STEPS[this.role], [text, wanted] = steps[this.number];
    const shown = this.examples ? text : text.replace(" Help has more examples.", "");
    $("step").textContent = document.body.classList.contains("touch") && wanted === "walked" ? "Walk with the stick on the left." : shown;
    $("progress").textContent = `${this.number + 1} of ${steps.length}`;
    $("skip").textContent = this.number === steps.length - 1 ? "Got it" : "Skip";
  }
  end() { this.over = true; localStorage.setItem(KNOWN + this.role, "done"); this.show(); }
  did(what) {
    if (this.over || STEPS[this.role][this.number][1] !== what) return;
    this.number += 1; this.begin = null;
    if (this.number === STEPS[this.role].length) this.end(); else this.show();
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
