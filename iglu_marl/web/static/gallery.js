// Recorded games, each with a link to its replay.
import {$, ask, clock, make, nameOf, title} from "./common.js";

const who = (name) => (name === "person" ? "a person" : `the ${nameOf(name).replace(/^./, (letter) => letter.toLowerCase())}`);
const sentence = ({architect, builder, ...team}) => architect ? title(`${who(architect)} explains, ${who(builder)} builds`)
  : Object.entries(team).map(([player, name]) => `${title(player)}: ${who(name)}`).join(", ");
/** When it started, from its name: 20261122-153012-... */
const day = (name) => name.replace(/^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d).*/, "$1-$2-$3 $4:$5");

const games = await ask("/api/gallery").catch(() => []);
$("none").hidden = games.length > 0;
$("games").append(...games.map((game) => make("li", {},
  make("a", {href: `/replay/${game.name}`},
    make("b", {textContent: title(game.task || "A structure")}),
    make("span", {textContent: sentence(game.agents)}),
    make("span", {className: "day", textContent: day(game.name)}),
    make("span", game.completed ? {className: "good", textContent: "complete"} : {textContent: `${game.right} of ${game.blocks} blocks`}),
    make("span", {textContent: clock(game.seconds)})))));
document.body.dataset.ready = "yes";
