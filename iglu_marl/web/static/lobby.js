// The lobby: choose a role, a partner and a task, and start.
import {$, PARTNERS, ask, make, nameOf, title} from "./common.js";
import {Painter, cellOf, paintScene, setColors} from "./drawing.js";

const roleOf = () => document.querySelector("input[name=role]:checked").value;
let known = null;

function showPartners() {
  const other = roleOf() === "builder" ? "architect" : "builder", chosen = $("partner").value;
  $("partner").replaceChildren(
    ...known.agents[other].map((name) => make("option", {value: name, textContent: nameOf(name)})),
    make("option", {value: "person", textContent: "A person, by a link"}),
  );
  if ([...$("partner").options].some((option) => option.value === chosen)) $("partner").value = chosen;
  showManner();
}
function showManner() {
  const name = $("partner").value;
  $("manner").textContent = name === "person" ? "You get a link to send." : title((PARTNERS[name] || ["", known.about[name] || ""])[1]);
}

async function begin(event) {
  event.preventDefault();
  $("start").disabled = true; $("trouble").textContent = "";
  try {
    const {token} = await ask("/api/games", {role: roleOf(), partner: $("partner").value, task: $("task").value || null});
    location.assign(`/play#${token}`);
  } catch (error) {
    $("trouble").textContent = error.message;
  }
  $("start").disabled = false;
}

/** A small rotating structure, as decoration. */
function decorate() {
  setColors(["#00a2e8", "#ffd500", "#35b04a", "#ff8c1a", "#8e44ad", "#e5322d"]);
  const painter = new Painter($("picture")), grid = new Int8Array(1089);
  for (const [x, y, z, color] of [[-2, -1, 0, 1], [-2, 0, 0, 1], [2, -1, 0, 1], [2, 0, 0, 1], [-2, 1, 0, 6], [-1, 1, 0, 2], [0, 1, 0, 2], [1, 1, 0, 2], [2, 1, 0, 6], [0, -1, 1, 3], [0, -1, -1, 3], [0, 2, 0, 4]])
    grid[cellOf(x, y, z)] = color;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches, pose = [0, -.25, 3.4, 0, 8];
  const draw = (time) => {
    if (painter.fit()) { painter.orbit(28 + (still ? 0 : 12 * Math.sin(time / 4000)), 24, 3, 1.02); paintScene(painter, grid, null, pose, false); }
    if (!still && !document.hidden) setTimeout(() => requestAnimationFrame(draw), 40);
    else if (!still) document.addEventListener("visibilitychange", () => requestAnimationFrame(draw), {once: true});
  };
  requestAnimationFrame(draw);
}

known = await ask("/api/lobby");
$("task").append(make("option", {value: "", textContent: "Any"}), ...known.tasks.map(([name, blocks]) => make("option", {value: name, textContent: `${title(name)} (${blocks})`})));
$("gallery").hidden = !known.gallery;
for (const radio of document.querySelectorAll("input[name=role]")) radio.addEventListener("change", showPartners);
$("partner").addEventListener("change", showManner);
$("choice").addEventListener("submit", begin);
showPartners();
decorate();
document.body.dataset.ready = "yes";
