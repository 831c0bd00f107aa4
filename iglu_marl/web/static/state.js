// What all parts of a game's page share: the world as this role sees it, the camera, and who plays.
import {Painter} from "./drawing.js";
import {$} from "./common.js";
import {Glide, Prediction, World} from "./world.js";

export const world = new World(), prediction = new Prediction(), glide = new Glide();
export const view = new Painter($("view")), plan = new Painter($("target"));
export const HOME = {azimuth: 18, elevation: 34, zoom: 1}, camera = {...HOME};
export const state = {
  role: "", ghost: true, joined: false, facts: {}, team: null, shownEvent: 0, changed: true,
  status: {state: "waiting", here: {}}, connection: null, tutorial: null, completing: null, hands: null,
};
view.detailed = plan.detailed = true;

export const inside = () => state.role === "builder";
export const busy = () => document.querySelector("dialog[open]") !== null;

/** The players of the game but this one, and how a player is called: as in the dialogue. */
export const others = () => Object.keys(state.facts.speakers).filter((player) => player !== state.facts.player);
export const called = (player) => state.facts.speakers[player];
