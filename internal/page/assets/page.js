// The script of the pages. Without it everything works but the theme switch, the keys and the page
// that asks again while the store is away.
(() => {
  // live keeps the parts of the page that are marked data-live up to date: an event says that
  // something has changed, then the page is fetched once and the parts that differ are replaced. A
  // part in which something has the focus, or text is selected, waits. Lists keep their rows.
  const live = () => {
    const main = document.getElementById("main");
    const [pause, standing, again] = ["pause", "standing", "again"].map((n) => document.querySelector(`[data-${n}]`));
    if (!main.dataset.topics || !pause) return;
    const beat = standing.previousElementSibling;
    const query = main.dataset.topics.split(" ").map((t) => "topic=" + encodeURIComponent(t)).join("&");
    let stream = null, timer = 0, last = "", asked = 0, stale = false, paused = false, heard = Date.now();
    const say = (text) => { if (standing.textContent !== text) standing.textContent = text; standing.hidden = false; beat.hidden = text !== "Live"; };
    const busy = (part) => part.contains(document.activeElement) && document.activeElement !== document.body ||
      !getSelection().isCollapsed && part.contains(getSelection().anchorNode);
    const swap = (html) => {
      const fresh = new DOMParser().parseFromString(html, "text/html");
      let waits = false;
      document.querySelectorAll("[data-live][id]").forEach((part) => {
        const other = fresh.getElementById(part.id);
        if (!other || part.parentElement.closest("[data-live]") || other.innerHTML === part.dataset.was) return;
        if (busy(part)) { waits = true; return; }
        const open = [...part.querySelectorAll("details[open] > summary")].map((s) => s.textContent);
        part.innerHTML = other.innerHTML;
        part.dataset.was = other.innerHTML;
        part.querySelectorAll("details").forEach((d) => { if (open.includes(d.firstElementChild.textContent)) d.open = true; });
        for (const name of ["datetime", "title"]) if (other.hasAttribute(name)) part.setAttribute(name, other.getAttribute(name));
      });
      stale = waits;
    };
    const fetchPage = async () => {
      timer = 0;
      if (document.hidden || paused) { stale = true; return; }
      asked = Date.now();
      try {
        const answer = await fetch(location.href, { headers: { "Redrive-Live": "1" }, redirect: "error" });
        if (!answer.ok) throw new Error(answer.status);
        swap(await answer.text());
        heard = Date.now();
        say("Live");
      } catch { stale = true; say("Not up to date"); }
    };
    const changed = () => { if (!timer) timer = setTimeout(fetchPage, Math.max(50, 1000 - (Date.now() - asked))); };
    const stop = () => { stream?.close(); stream = null; };
    const start = () => {
      if (stream || document.hidden || paused) return;
      stream = new EventSource(`${main.dataset.events}?${query}${last && "&after=" + encodeURIComponent(last)}`);
      stream.onopen = () => { heard = Date.now(); say("Live"); };
      stream.onerror = () => say("Not up to date");
      const on = (e) => { if (e.lastEventId) last = e.lastEventId; heard = Date.now(); changed(); };
      for (const type of main.dataset.kinds.split(" ")) stream.addEventListener(type, on);
      stream.onmessage = on;
      if (stale) changed();
    };
    again.hidden = true;
    pause.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.textContent = paused ? "Go on" : "Pause";
      if (paused) { stop(); say("Paused"); } else { stale = true; start(); }
    });
    document.addEventListener("visibilitychange", () => (document.hidden ? stop() : (stale = true, start())));
    document.addEventListener("focusout", () => { if (stale) changed(); });
    addEventListener("pagehide", stop);
    document.addEventListener("submit", stop);
    setInterval(() => { if (stream && Date.now() - heard > 30000) { stop(); stale = true; start(); } }, 5000);
    document.querySelectorAll("[data-live][id]").forEach((part) => { part.dataset.was = part.innerHTML; });
    start();
  };
  const root = document.documentElement;
  const saved = () => { try { return localStorage.getItem("redrive-theme") || "auto"; } catch { return "auto"; } };
  const apply = (t) => { if (t === "light" || t === "dark") root.dataset.theme = t; else delete root.dataset.theme; };
  apply(saved());
  addEventListener("DOMContentLoaded", () => {
    const [theme, zone] = document.querySelectorAll(".theme");
    if (zone) { // the server writes times in the zone that a cookie names
      zone.hidden = false;
      zone.addEventListener("click", (e) => {
        const set = e.target.dataset.zoneSet;
        if (set === undefined) return;
        const name = set && Intl.DateTimeFormat().resolvedOptions().timeZone;
        document.cookie = `redrive_zone=${encodeURIComponent(name)}; path=/; SameSite=Lax; max-age=${name ? 31536000 : 0}`;
        location.reload();
      });
    }
    if (theme) {
      theme.hidden = false;
      const buttons = [...theme.querySelectorAll("[data-theme-set]")];
      const press = (t) => buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.themeSet === t)));
      press(saved());
      buttons.forEach((b) => b.addEventListener("click", () => {
        try { localStorage.setItem("redrive-theme", b.dataset.themeSet); } catch { /* a private window keeps nothing */ }
        apply(b.dataset.themeSet);
        press(b.dataset.themeSet);
      }));
    }
    document.querySelector(".nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    // A button that says why it cannot be pressed does nothing.
    document.addEventListener("click", (e) => { if (e.target.closest("button[aria-disabled=true]")) e.preventDefault(); });
    // A form is sent once: a second click on its button does nothing.
    document.addEventListener("submit", (e) => {
      if (e.target.dataset.sent) e.preventDefault();
      else if (e.target.method === "post") e.target.dataset.sent = "1";
    });
    addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((f) => delete f.dataset.sent));
    document.addEventListener("keydown", (e) => {
      if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select")) return;
      const find = document.getElementById("f");
      if (find) { e.preventDefault(); find.focus(); }
    });
    live();
    const again = document.querySelector("[data-ask-again]");
    if (again && Number(again.dataset.askAgain) > 0) setTimeout(() => location.reload(), 1000 * Number(again.dataset.askAgain));
  });
})();
