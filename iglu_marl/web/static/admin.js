// The page of the admin: refreshes itself, and sends what is to be done.
import {$, ask} from "./common.js";

async function refresh() {
  const answer = await fetch("/admin?live");
  if (answer.ok) $("live").innerHTML = await answer.text();
}

document.addEventListener("click", async (event) => {
  const {do: doing, subject} = event.target.dataset;
  if (!doing) return;
  const text = doing === "message" ? prompt(`Message to ${subject}`) : "";
  if (text === null || (/end|dismiss/.test(doing) && !confirm(`${doing} ${subject}?`))) return;
  await ask("/api/admin", {do: doing, subject, text}).catch((error) => alert(error.message));
  refresh();
});
setInterval(refresh, 3000);
