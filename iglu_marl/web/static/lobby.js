// The lobby: choose a role, a partner and a task, and start.
import {$, PARTNERS, ask, make, nameOf, title} from "./common.js";
import {NAMES, Painter, cellOf, paintScene, setColors} from "./drawing.js";

const roleOf = () => document.querySelector("input[name=role]:checked").value;
let known = null;
const isTeam = () => !("architect" in known.speakers);

function showPartners() {
  const other = roleOf() === "builder" ? "architect" : "builder", chosen = $("partner").value;
  $("partner").replaceChildren(
    ...known.agents[other].map((name) => make("option", {value: name, textContent: nameOf(name)})),
    make("option", {value: "person", textContent: "A person, by a link"}),
  );
  if ([...$("partner").options].some((option) => option.value === chosen)) $("partner").value = chosen;
  showManner();
}
/** The seats of a team: one is the person's, the others are taken by agents or by link. */
function showSeats() {
  const {speakers, sees, hearers, inventories} = known, called = (player) => title(speakers[player]);
  const about = (player) => [
    !sees?.[player] ? "" : sees[player][0] === "none" ? "sees nothing of the plan"
      : `sees of the plan: ${sees[player].join(", ").replace(/:/g, " ")}`,
    hearers?.[player] ? `is heard by ${hearers[player].filter((one) => one !== player).map(called).join(", ") || "nobody"}` : "",
    inventories?.[player] ? `holds ${NAMES.slice(1).filter((_, k) => inventories[player][k]).join(", ")}` : "",
  ].filter(Boolean).join("; ");
  $("seats").append(...Object.keys(speakers).map((player, k) => {
    const role = player.split("_")[0], explained = make("small", {textContent: about(player)});
    const names = [...known.agents[role].map((name) => [name, nameOf(name)]), ["person", "A person, by a link"]];
    const radio = make("input", {type: "radio", name: "seat", value: player, checked: k === 0});
    const options = names.map(([value, textContent]) => make("option", {value, textContent}));
    return make("div", {className: `seat ${role}`},
      make("label", {}, radio, make("span", {}, make("b", {textContent: called(player)}), explained)),
      make("select", {name: player, ariaLabel: `Who is ${called(player)}?`}, ...options),
      make("i", {textContent: "You"}));
  }));
  for (const one of document.querySelectorAll(".roles, #partner-field")) one.hidden = true;
  $("seats").hidden = false;
  $("about-game").textContent = "Some of you see the plan or a part of it, others have the blocks. Talk, and build it together.";
}
/** What is asked of the server: the own role, and who plays the others. */
function asked() {
  const {value, file} = $("task").selectedOptions[0], task = file ? {file} : {task: value || null};
  if (!isTeam()) return {role: roleOf(), partner: $("partner").value, ...task};
  const role = document.querySelector("input[name=seat]:checked").value;
  return {role, partner: Object.fromEntries([...document.querySelectorAll("#seats select")].map((one) => [one.name, one.value])), ...task};
}
function showManner() {
  const name = $("partner").value;
  $("manner").textContent = name === "person" ? "You get a link to send." : title((PARTNERS[name] || ["", known.about[name] || ""])[1]);
}

async function begin(event) {
  event.preventDefault();
  $("start").disabled = true; $("trouble").textContent = "";
  try {
    const {token} = await ask("/api/games", asked());
    location.assign(`/play#${token}`);
  } catch (error) {
    $("trouble").textContent = error.message;
  }
  $("start").disabled = false;
}

/** Offer the structure of a file as the task. */
function bring(file) {
  if (!file) return;
  const reader = new FileReader();
  reader.onload = () => {
    const content = reader.result.slice(reader.result.indexOf(",") + 1);
    $("task").querySelector(".own")?.remove();
    $("task").append(make("option", {
      className: "own", value: file.name, textContent: `Your file: ${file.name}`, selected: true,
      file: {name: file.name, content},
    }));
  };
  reader.onerror = () => { $("trouble").textContent = `${file.name} cannot be read.`; };
  reader.readAsDataURL(file);
}

/** A small rotating structure, as decoration. */
function decorate() {
  setColors(["#00a2e8", "#ffd500", "#35b04a", "#ff8c1a", "#8e44ad", "#e5322d"]);
  const painter = new Painter($("picture")), grid = new Int8Array(1089);
  for (const [x, y, z, color] of [
    [-2, -1, 0, 1], [-2, 0, 0, 1], [2, -1, 0, 1], [2, 0, 0, 1], [-2, 1, 0, 6], [-1, 1, 0, 2], [0, 1, 0, 2], [1, 1, 0, 2],
    [2, 1, 0, 6], [0, -1, 1, 3], [0, -1, -1, 3], [0, 2, 0, 4],
  ])
    grid[cellOf(x, y, z)] = color;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches, pose = [0, -.25, 3.4, 0, 8];
  const draw = (time) => {
    if (painter.fit()) {
      painter.orbit(28 + (still ? 0 : 12 * Math.sin(time / 4000)), 24, 3, 1.02);
      paintScene(painter, grid, null, pose, false);
    }
    if (!still && !document.hidden) setTimeout(() => requestAnimationFrame(draw), 40);
    else if (!still) document.addEventListener("visibilitychange", () => requestAnimationFrame(draw), {once: true});
  };
  requestAnimationFrame(draw);
}

known = await ask("/api/lobby");
const tasks = known.tasks.map(([name, blocks]) => make("option", {value: name, textContent: `${title(name)} (${blocks})`}));
$("task").append(make("option", {value: "", textContent: "Any"}), ...tasks);
for (const radio of document.querySelectorAll("input[name=role]")) radio.addEventListener("change", showPartners);
$("partner").addEventListener("change", showManner);
$("choice").addEventListener("submit", begin);
$("bring").addEventListener("click", (event) => { event.preventDefault(); $("file").click(); });
$("file").addEventListener("change", () => bring($("file").files[0]));
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => { event.preventDefault(); bring(event.dataTransfer.files[0]); });
showPartners();
if (isTeam()) showSeats();
decorate();
document.body.dataset.ready = "yes";
