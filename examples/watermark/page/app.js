"use strict";

// Keeps the page of a campaign up to date. Each event has the present state, so a lost or doubled
// event does no harm.
const main = document.querySelector("main[data-campaign]");
if (main) {
  const campaign = main.dataset.campaign;
  const text = (id, value) => { document.getElementById(id).textContent = value; };
  const rowOf = (id) => main.querySelector(`[data-token-id="${CSS.escape(id)}"]`);

  const setToken = (t) => {
    const row = rowOf(t.token_id);
    if (!row) { location.reload(); return; } // added on another page
    const badge = row.querySelector(".status-badge");
    badge.className = "status-badge status-" + t.status + (t.status === "FAILED" ? " status-failed" : "");
    badge.textContent = t.status === "PROCESSING" ? `PROCESSING (${t.progress} %)` : t.status;
    row.querySelector(".attempts").textContent = t.retry_count > 0 ? `${t.retry_count}/${t.max_retries}` : "";
    const copy = row.querySelector(".copy");
    copy.replaceChildren();
    if (t.status === "ACTIVE") {
      const link = document.createElement("a");
      link.href = "/t/" + encodeURIComponent(t.token_id);
      link.textContent = "Download";
      copy.append(link);
    }
    if (t.status !== "FAILED") {
      row.querySelector(".error-details").replaceChildren();
      row.querySelector(".retry-form")?.remove();
    }
  };

  const setFailed = (t) => {
    const row = rowOf(t.token_id);
    const badge = row?.querySelector(".status-badge");
    if (!badge?.classList.contains("status-failed")) return; // it has been retried since
    const box = row.querySelector(".error-details");
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Error";
    details.append(summary, t.error);
    box.replaceChildren(details);
    if (row.querySelector(".retry-form")) return;
    const form = document.createElement("form");
    form.className = "retry-form";
    form.method = "post";
    form.action = `/campaigns/${encodeURIComponent(campaign)}/tokens/${encodeURIComponent(t.token_id)}/retry`;
    const button = document.createElement("button");
    button.textContent = "Retry";
    form.append(button);
    box.after(form);
  };

  const setCampaign = (c) => {
    const badge = document.getElementById("state");
    badge.textContent = c.state;
    badge.className = "badge state-" + c.state;
    text("completed", c.completed);
    text("total", c.total);
    const banner = document.getElementById("banner");
    banner.querySelector(".failed").textContent = c.dead;
    banner.hidden = c.state !== "PARTIAL" && c.state !== "FAILED";
  };

  const source = new EventSource(`/events?topic=campaign:${encodeURIComponent(campaign)}&after=${encodeURIComponent(main.dataset.after)}`);
  const on = (name, set) => source.addEventListener(name, (e) => set(JSON.parse(e.data)));
  on("token", setToken);
  on("token_failed", setFailed);
  on("campaign", setCampaign);
  on("reset", () => location.reload());
  on("detection", () => location.reload());
}
