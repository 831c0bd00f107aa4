// The games that were recorded, each with a link to the page that replays it.
import {$, ask, clock, make, title} from "./common.js";

const games = await ask("/api/gallery").catch(() => []);
$("none").hidden = games.length > 0;
$("games").append(...games.map((game) => make("li", {},
  make("a", {href: `/replay/${game.name}`},
    make("b", {textContent: title(game.task || "A structure")}),
    make("span", {textContent: `${game.agents.architect} explains, ${game.agents.builder} builds`}),
    make("span", {className: game.completed ? "good" : "", textContent: game.completed ? "complete" : `${game.right} of ${game.blocks} blocks`}),
    make("span", {textContent: clock(game.seconds)})))));
document.body.dataset.ready = "yes";
