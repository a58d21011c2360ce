// The script of the pages. Without it everything works but live updates, the theme switch and the keys.
(() => {
  const $ = (s, of = document) => of.querySelector(s), all = (s, of = document) => [...of.querySelectorAll(s)];
  const clock = (t) => new Date(t).toISOString().slice(11, 19) + " UTC";

  // morph makes an element like a fresh one and keeps what the reader has: focus, ticks, what is
  // typed, open details, and the mark of a form that was sent.
  const kept = ["open", "data-sent"];
  const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  const morph = (old, fresh) => {
    if (old.nodeType !== 1) { if (old.data !== fresh.data) old.data = fresh.data; return; }
    if (old.name === "nonce") return;
    for (const { name, value } of [...fresh.attributes]) if (!kept.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes]) if (!kept.includes(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
    let at = old.firstChild;
    for (const node of [...fresh.childNodes]) {
      if (at && node.id && !same(at, node)) {
        const found = [...old.children].find((c) => c.id === node.id);
        while (found && at !== found) { const next = at.nextSibling; at.remove(); at = next; }
      }
      if (at && same(at, node)) { morph(at, node); at = at.nextSibling; } else old.insertBefore(document.importNode(node, true), at);
    }
    while (at) { const next = at.nextSibling; at.remove(); at = next; }
  };

  // live keeps the parts of the page that are marked data-live up to date: a notice says that
  // something has changed, then the page is read once and these parts are made like the fresh ones.
  // A list that is marked data-rows keeps its rows: new ones are counted, and wait for a click.
  const live = () => {
    const main = $("#main"), pause = $("[data-pause]"), standing = $("[data-standing]"), age = $("[data-age]"), banner = $("#old");
    if (!main.dataset.topics || !pause) return;
    const beat = standing.previousElementSibling;
    const query = main.dataset.topics.split(" ").map((t) => "topic=" + encodeURIComponent(t)).join("&");
    let stream = null, after = main.dataset.after, notice = "-", heard = Date.now(), read = heard;
    let timer, again, late, lag = 550, wait = 1000, asking, missed, due, paused = "", lost = "";
    const say = (text) => { if (standing.textContent !== text) standing.textContent = text; standing.hidden = false; beat.hidden = text !== "Live"; standing.className = lost ? "amber" : ""; };
    // why says why the page does not change now: "" if it may.
    const why = () => paused ? `Paused since ${paused}` : $("dialog[open]") ? "Paused: a dialog is open" :
      document.activeElement.matches("main :is(textarea, select, input:not([type=checkbox], [type=radio]))") ? "Paused while you type" :
      !getSelection().isCollapsed && main.contains(getSelection().anchorNode) ? "Paused while text is selected" : "";
    const tell = () => say(lost ? "Not up to date" : why() || (stream ? "Live" : "Not live"));
    // What the reader points at, or has the focus in, changes its words but not its links and buttons.
    const shape = (e) => all("a, form, button, tr, li, input", e).map((x) => [x.tagName, x.id, x.getAttribute("href"), x.getAttribute("action"), x.ariaDisabled]).join();
    const held = (part) => part.matches(":hover, :focus-within");
    const renew = (old, other) => { if (held(old) && shape(old) !== shape(other)) due = true; else morph(old, other); };
    const rows = (list, fresh) => {
      const shown = new Map(all(":scope > [id]", list).map((r) => [r.id, r]));
      let more = 0;
      for (const row of fresh ? all(":scope > [id]", fresh) : []) {
        const old = shown.get(row.id);
        if (!old) { more++; continue; }
        shown.delete(row.id);
        if (old.isEqualNode(row)) continue;
        if (held(old) && old.childElementCount === row.childElementCount) [...old.children].forEach((cell, i) => renew(cell, row.children[i]));
        else renew(old, row);
      }
      shown.forEach((r) => { r.classList.add("gone"); r.title = "Not on this page of the list any more"; });
      return more;
    };
    const swap = (html) => {
      const fresh = new DOMParser().parseFromString(html, "text/html");
      settle($("[data-stale]", fresh));
      all("[data-live][id]").forEach((part) => {
        const other = fresh.getElementById(part.id);
        if (!other || part.parentElement.closest("[data-live]") || part.isEqualNode(other)) return;
        renew(part, other);
      });
      const list = $("[data-rows]"), other = $("[data-rows]", fresh), fewer = $("[data-new]");
      if (!fewer) return;
      const more = list ? rows(list, other) : other ? other.childElementCount : 0;
      $("a", fewer).textContent = more + " new";
      fewer.hidden = !more;
    };
    // fail says that the figures are old. No button pretends meanwhile that it can do something.
    const fail = (text) => {
      lost = text;
      due = true;
      $("b", banner).textContent = text;
      $("span", banner).textContent = `What you see is from ${clock(read)}. Nothing can be changed until it is up to date again.`;
      banner.hidden = false;
      main.classList.add("old");
      all("form[method=post] button:not([aria-disabled])").forEach((b) => { b.setAttribute("aria-disabled", "true"); b.setAttribute("aria-describedby", "old"); b.dataset.off = ""; });
      tell();
    };
    const recover = () => {
      wait = 1000;
      if (!lost) return;
      lost = "";
      banner.hidden = true;
      main.classList.remove("old");
      all("[data-off]").forEach((b) => { ["aria-disabled", "aria-describedby", "data-off"].forEach((n) => b.removeAttribute(n)); });
    };
    const later = () => {
      clearTimeout(again);
      again = setTimeout(() => { start(); ask(); }, wait * (0.75 + Math.random() / 2));
      wait = Math.min(2 * wait, 10000);
    };
    // settle asks again when the server has said that some numbers are older than the rest: it keeps what takes long to read.
    const settle = (stale) => {
      clearTimeout(late);
      if (stale && lag < 30000) late = setTimeout(() => { notice += "."; changed(); }, lag *= 2); // for another notice, the server does not answer what it has just answered
    };
    const ask = async () => {
      timer = 0;
      missed = asking; // what has changed since the answer was made is in the next one
      if (document.hidden || asking || (!lost && why())) { due = true; tell(); return; }
      asking = true;
      due = false;
      const at = Date.now();
      try {
        const answer = await fetch(main.dataset.own || location.href, { redirect: "manual", signal: AbortSignal.timeout(10000),
          headers: { "Redrive-Live": notice, "Redrive-Rows": all("[data-rows] > [id]").map((r) => r.id).join(" ").slice(0, 8000) } });
        if (answer.type === "opaqueredirect") throw new Error("Your login has ended.");
        if (answer.status === 503) throw new Error("The store does not answer.");
        if (!answer.ok) throw new Error(answer.status === 404 ? "This does not exist any more." : "The server answers " + answer.status + ".");
        const html = await answer.text();
        recover();
        read = at;
        if (why()) due = true; else swap(html);
        if (!stream) later();
      } catch (e) {
        fail(e.name === "Error" ? e.message : "The server does not answer.");
        later();
      }
      asking = false;
      tell();
      if (!lost && (missed || due && !$(":hover, :focus", main))) changed();
    };
    const changed = () => { if (!timer) timer = setTimeout(ask, 50); };
    const stop = () => { stream?.close(); stream = null; clearTimeout(again); };
    const start = () => {
      if (stream || document.hidden || paused) return;
      const own = stream = new EventSource(`${main.dataset.events}?${query}&after=${after}`);
      own.addEventListener("beat", () => { heard = Date.now(); tell(); });
      own.onmessage = (e) => { after = e.lastEventId; notice = after + " " + e.data; heard = Date.now(); lag = 550; changed(); };
      own.onerror = () => { own.close(); if (stream === own) { stream = null; due = true; later(); tell(); } };
    };
    const on = () => { if (due) changed(); tell(); };
    pause.hidden = false;
    $("[data-again]").hidden = true;
    pause.addEventListener("click", () => {
      paused = paused ? "" : clock(Date.now());
      pause.textContent = paused ? "Go on" : "Pause";
      if (paused) stop(); else { due = true; start(); }
      on();
    });
    document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else { due = true; start(); on(); } });
    for (const name of ["focusin", "focusout", "selectionchange"]) document.addEventListener(name, () => setTimeout(on));
    document.addEventListener("close", on, true);
    main.addEventListener("pointerout", () => { if (due) changed(); });
    addEventListener("pagehide", stop);
    addEventListener("pageshow", (e) => { if (e.persisted) { due = true; start(); on(); } });
    setInterval(() => {
      const now = Date.now(), old = Math.round((now - read) / 1000);
      age.textContent = old >= 15 ? `${old < 120 ? old + " s" : Math.round(old / 60) + " min"} old` : "";
      if (stream && now - heard > 40000) { stop(); start(); }
      if (stream && !lost && old >= 30 && !asking) changed(); // "3 min ago" goes on without news
    }, 1000);
    start();
    tell();
    settle("stale" in main.dataset);
  };

  const stored = (name, value) => { try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; } }; // a private window keeps nothing
  const apply = (t, root = document.documentElement) => { if (t === "light" || t === "dark") root.dataset.theme = t; else delete root.dataset.theme; };
  apply(stored("redrive-theme"));
  addEventListener("DOMContentLoaded", () => {
    const theme = $(".theme"), zone = $("[data-zones]");
    if (zone) { // the server writes times in the zone that a cookie names
      zone.hidden = false;
      zone.addEventListener("click", (e) => {
        const set = e.target.dataset.zoneSet;
        if (set === undefined) return;
        document.cookie = `redrive_zone=${set && encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone)}; path=/; SameSite=Lax; max-age=31536000`;
        location.reload();
      });
    }
    if (theme) {
      theme.hidden = false;
      const buttons = all("[data-theme-set]", theme);
      const press = (t) => buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.themeSet === t)));
      press(stored("redrive-theme") || "auto");
      buttons.forEach((b) => b.addEventListener("click", () => { stored("redrive-theme", b.dataset.themeSet); apply(b.dataset.themeSet); press(b.dataset.themeSet); }));
    }
    // What cannot be put into the clipboard (a plain address, a refusal) is selected, or opened.
    all("[data-copy]").forEach((b) => {
      b.hidden = false;
      b.addEventListener("click", async () => {
        const from = $(b.dataset.copy), url = from.href;
        try { await navigator.clipboard.writeText(url ? await (await fetch(url)).text() : from.textContent); b.textContent = "Copied"; } catch { if (url) location = url; else getSelection().selectAllChildren(from); }
      });
    });
    $(".nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    // A button that says why it cannot be pressed does nothing, and a form is sent once.
    document.addEventListener("click", (e) => { if (e.target.closest("button[aria-disabled=true]")) e.preventDefault(); });
    document.addEventListener("submit", (e) => {
      if (e.target.method !== "post") return;
      if (e.target.dataset.sent || e.submitter?.ariaDisabled === "true" || $("main.old")) e.preventDefault(); else e.target.dataset.sent = "1";
    });
    addEventListener("pageshow", () => all("form[data-sent]").forEach((f) => delete f.dataset.sent));
    const keys = $("#keys"), single = $("#single");
    if (keys) {
      single.checked = stored("redrive-keys") !== "off";
      single.addEventListener("change", () => stored("redrive-keys", single.checked ? "on" : "off"));
      all("[data-keys]").forEach((b) => { b.hidden = false; b.addEventListener("click", () => keys.showModal()); });
      document.addEventListener("keydown", (e) => {
        if (e.ctrlKey || e.metaKey || e.altKey || !single.checked || $("dialog[open]") || e.target.closest("input, textarea, select")) return;
        const find = $("#f");
        if (e.key === "/" && find) { e.preventDefault(); find.focus(); }
        if (e.key === "?") { e.preventDefault(); keys.showModal(); }
      });
    }
    live();
    const again = $("[data-ask-again]");
    if (again?.dataset.askAgain > 0) setTimeout(() => location.reload(), 1000 * again.dataset.askAgain);
  });
})();
