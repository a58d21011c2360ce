// The script of the pages. Without it everything works but the theme switch, the keys and the page
// that asks again while the store is away.
(() => {
  const root = document.documentElement;
  const saved = () => { try { return localStorage.getItem("redrive-theme") || "auto"; } catch { return "auto"; } };
  const apply = (t) => { if (t === "light" || t === "dark") root.dataset.theme = t; else delete root.dataset.theme; };
  apply(saved());
  addEventListener("DOMContentLoaded", () => {
    const theme = document.querySelector(".theme");
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
    const again = document.querySelector("[data-ask-again]");
    if (again && Number(again.dataset.askAgain) > 0) setTimeout(() => location.reload(), 1000 * Number(again.dataset.askAgain));
  });
})();
