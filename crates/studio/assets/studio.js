// Studio, enhanced. Every page is whole without this file: it only keeps what is shown up to date, and adds keys.
"use strict";
(() => {
  const body = document.body;
  const state = document.querySelector("[data-live-state]");

  // ---------- times ----------
  const ago = (from, now) => {
    const seconds = Math.floor(Math.abs(now - from) / 1000);
    const words = seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min`
      : seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} days`;
    return from <= now ? `${words} ago` : `in ${words}`;
  };
  const tell = () => {
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const words = ago(Date.parse(time.dateTime), Date.now());
      if (time.textContent !== words) time.textContent = words;
    }
  };
  setInterval(tell, 10000);

  // ---------- folds: kept for this tab ----------
  const key = (fold) => `fold:${location.pathname}:${fold.dataset.keep}`;
  for (const fold of document.querySelectorAll("details[data-keep]")) {
    const kept = sessionStorage.getItem(key(fold));
    if (kept) fold.open = kept === "open";
    fold.addEventListener("toggle", () => sessionStorage.setItem(key(fold), fold.open ? "open" : "shut"));
  }
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  // ---------- live ----------
  let source = null;
  let due = 0;
  let busy = false;
  const say = (words) => { if (state && state.textContent !== words) state.textContent = words; };

  // Values are replaced in place. Nothing that a person is typing into is touched.
  const isBusy = (element) => element.contains(document.activeElement) && document.activeElement !== body;
  const refresh = async () => {
    if (busy) { due = setTimeout(refresh, 300); return; }
    busy = true;
    try {
      const response = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!response.ok) return;
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      const slots = new Map();
      for (const slot of fresh.querySelectorAll("[data-live]")) slots.set(slot.dataset.live, slot);
      for (const old of document.querySelectorAll("[data-live]")) {
        const next = slots.get(old.dataset.live);
        if (next && !isBusy(old) && old.innerHTML !== next.innerHTML) old.innerHTML = next.innerHTML;
      }
      for (const selector of [".nav", "title"]) {
        const old = document.querySelector(selector), next = fresh.querySelector(selector);
        if (old && next && old.innerHTML !== next.innerHTML) old.innerHTML = next.innerHTML;
      }
      news(fresh);
      announce(fresh);
      tell();
    } finally { busy = false; }
  };

  // New rows wait behind a pill, unless the reader is at the top.
  const news = (fresh) => {
    const list = document.querySelector("[data-live-list]"), next = fresh.querySelector("[data-live-list]");
    if (list && next && !isBusy(list)) {
      const ids = (root) => [...root.querySelectorAll("[data-row]")].map((row) => row.id).join();
      if (ids(list) !== ids(next) && scrollY < 200) list.innerHTML = next.innerHTML;
    }
    const pill = document.querySelector("[data-news]");
    if (!pill || !document.querySelector("[data-run]")) return;
    const known = new Set([...document.querySelectorAll("[data-run]")].map((row) => row.dataset.run));
    const added = [...fresh.querySelectorAll("[data-run]")].filter((row) => !known.has(row.dataset.run)).length;
    pill.replaceChildren();
    if (!added) return;
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = added === 1 ? "1 new run" : `${added} new runs`;
    pill.append(link);
  };

  // The end of a run is announced once; what it brought with it needs the whole page.
  let status = document.querySelector(".verdict .st")?.textContent;
  const announce = (fresh) => {
    const now = fresh.querySelector(".verdict .st")?.textContent;
    if (!now || now === status) return;
    status = now;
    say(now);
    if (!document.activeElement || document.activeElement === body) location.reload();
  };

  const run = location.pathname.match(/^\/runs\/(r_[0-9a-z]+)$/)?.[1];
  const listen = () => {
    if (source || !body.dataset.feed) return;
    const only = run ? `&run=${run}` : "";
    source = new EventSource(`/api/feed?brief=1&after=${body.dataset.feed}${only}`);
    source.onopen = () => say("Live");
    source.onerror = () => say("Reconnecting");
    source.addEventListener("entry", (event) => {
      body.dataset.feed = event.lastEventId;
      clearTimeout(due);
      due = setTimeout(refresh, 150);
    });
  };
  const hush = () => { source?.close(); source = null; };
  // A page in the back/forward cache must not keep a connection: a browser has six for one server.
  addEventListener("pagehide", hush);
  addEventListener("pageshow", listen);
  listen();

  // ---------- search in a log ----------
  for (const field of document.querySelectorAll("[data-log-search]")) {
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      for (const line of field.closest(".log").querySelectorAll("li")) line.hidden = !line.textContent.toLowerCase().includes(wanted);
    });
  }

  // ---------- keys ----------
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent);
  let current = -1;
  const focus = (row) => {
    if (!row) return;
    const target = row.matches("details") ? row.querySelector("summary") : row.querySelector("a[href]") || row;
    target.focus({ preventScroll: true });
    row.scrollIntoView({ block: "center" });
    current = rows().indexOf(row);
  };
  const step = (by, only) => {
    const all = rows();
    const among = only ? all.filter((row) => "failure" in row.dataset) : all;
    if (!among.length) return;
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const from = at >= 0 ? at : current;
    const next = by > 0 ? among.find((row) => all.indexOf(row) > from) || among[0]
      : among.filter((row) => all.indexOf(row) < from).pop() || among[among.length - 1];
    focus(next);
  };
  const help = () => {
    const shown = document.getElementById("keys-help");
    if (shown) { shown.remove(); return; }
    const box = document.createElement("div");
    box.id = "keys-help";
    box.className = "keys-help";
    box.setAttribute("role", "note");
    box.textContent = "f F next, previous failure · j k move · Enter open · w why · a approvals · / search · y copy the address · g then a r o c p go to a page · Esc close";
    body.append(box);
  };
  const pages = { a: "/", r: "/runs", o: "/outcomes", c: "/chains", p: "/approvals", e: "/effects", i: "/invocations", l: "/lifecycle" };
  let going = false;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (going) {
      going = false;
      if (pages[event.key]) location.href = pages[event.key];
      return;
    }
    switch (event.key) {
      case "f": step(1, true); break;
      case "F": step(-1, true); break;
      case "j": step(1, false); break;
      case "k": step(-1, false); break;
      case "w": document.getElementById("why")?.scrollIntoView(); break;
      case "a": location.href = "/approvals"; break;
      case "/": document.getElementById("q")?.focus(); break;
      case "y": navigator.clipboard?.writeText(location.href); break;
      case "g": going = true; setTimeout(() => { going = false; }, 1200); break;
      case "?": help(); break;
      case "Escape": document.getElementById("keys-help")?.remove(); return;
      default: return;
    }
    event.preventDefault();
  });
})();
