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
      const relative = ago(Date.parse(time.dateTime), Date.now());
      const words = time.dataset.clock ? `${time.dataset.clock}, ${relative}` : relative;
      if (time.textContent !== words) time.textContent = words;
    }
  };
  setInterval(tell, 10000);

  // What goes on has a figure that grows, by the clock of the server.
  const ahead = Date.now() - Number(body.dataset.now || Date.now());
  const lasted = (ms) => {
    const seconds = Math.floor(ms / 1000), two = (number) => String(number).padStart(2, "0");
    return seconds < 60 ? `${seconds}.${Math.floor(ms / 100) % 10}s`
      : seconds < 3600 ? `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`
        : `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
  };
  const tick = () => {
    for (const one of document.querySelectorAll("[data-since]")) {
      one.textContent = lasted(Math.max(0, Date.now() - ahead - Number(one.dataset.since)));
    }
  };
  setInterval(tick, 1000);

  // Paper shows what is folded, too.
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details:not([open])")) { fold.open = true; fold.dataset.printed = ""; }
  });
  addEventListener("afterprint", () => {
    for (const fold of document.querySelectorAll("details[data-printed]")) { fold.open = false; delete fold.dataset.printed; }
  });

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
      for (const log of fresh.querySelectorAll(".chk [data-follow]")) {
        // A check that has begun since: its details come with the log to follow.
        const next = log.closest(".chk"), old = document.getElementById(next.id);
        if (!old || old.querySelector("[data-follow]") || isBusy(old)) continue;
        old.innerHTML = next.innerHTML;
        old.open = true;
        for (const one of old.querySelectorAll("[data-follow]")) follow(one, null);
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
  // Drawings of what goes on grow, too, although nothing is committed meanwhile.
  setInterval(() => {
    if (source && !document.hidden && document.querySelector("[data-since]")) refresh();
  }, 5000);
  const hush = () => { source?.close(); source = null; };
  // A page in the back/forward cache must not keep a connection: a browser has six for one server.
  addEventListener("pagehide", hush);
  addEventListener("pageshow", listen);
  listen();

  // ---------- logs ----------
  const part = async (address) => {
    const response = await fetch(address, { headers: { accept: "text/html" } });
    if (!response.ok) throw new Error(String(response.status));
    return new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-total]");
  };

  // Lines scroll as one list: it is divided into parts, and only those near the reader are in the page. A part that was
  // shown keeps its measured height when it is emptied.
  const scrolling = (log) => {
    const total = Number(log.dataset.total), size = Number(log.dataset.part), list = log.querySelector("ol");
    if (!list || log.dataset.first === undefined || total <= list.children.length) return null;
    const row = list.children.length ? list.getBoundingClientRect().height / list.children.length : 19;
    const wanted = location.hash.slice(1) || list.querySelector("li.at")?.id || "";
    const mark = () => { if (!location.hash && wanted) document.getElementById(wanted)?.classList.add("at"); };
    const at = wanted && document.getElementById(wanted) ? [...list.children].findIndex((line) => line.id === wanted) : -1;
    const start = Number(log.dataset.first) + (at >= 0 ? at : list.children.length - 1);
    const parts = [];
    for (let from = 0; from < total; from += size) {
      const one = document.createElement("ol");
      one.dataset.from = from;
      one.start = from + 1;
      one.style.height = `${Math.min(size, total - from) * row}px`;
      parts.push(one);
    }
    const have = new Map();
    const first = Number(log.dataset.first);
    [...list.children].forEach((line, place) => {
      const index = Math.floor((first + place) / size);
      if (!have.has(index)) have.set(index, []);
      have.get(index).push(line);
    });
    for (const [index, lines] of have) {
      // A part that the page has only some lines of is fetched whole.
      if (lines.length < Math.min(size, total - index * size)) continue;
      parts[index].append(...lines);
      parts[index].style.height = "";
      parts[index].dataset.is = "";
    }
    const box = document.createElement("div");
    box.className = "parts";
    box.append(...parts);
    list.replaceWith(box);
    log.querySelector("[data-pager]")?.remove();
    const fill = async (one) => {
      if ("is" in one.dataset) return;
      one.dataset.is = "";
      try {
        const found = await part(`${log.dataset.log}&part=1&from=${one.dataset.from}`);
        if ("is" in one.dataset) { one.replaceChildren(...found.querySelectorAll("li")); one.style.height = ""; mark(); }
      } catch { delete one.dataset.is; }
    };
    const empty = (one) => {
      if (!("is" in one.dataset) || one.contains(document.activeElement)) return;
      one.style.height = `${one.getBoundingClientRect().height}px`;
      delete one.dataset.is;
      one.replaceChildren();
    };
    const near = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) isIntersecting ? fill(target) : empty(target);
    }, { rootMargin: "1500px 0px" });
    const target = parts[Math.floor(start / size)];
    fill(target).then(() => {
      (document.getElementById(wanted) || target.lastElementChild)?.scrollIntoView({ block: "center" });
      for (const one of parts) near.observe(one);
    });
    return box;
  };

  // Lines of a running attempt arrive as they are printed. The end stays in sight until the reader scrolls up.
  let following = true;
  const sayFollowing = (log, words) => {
    const state = log.querySelector("[data-follow-state]");
    if (state && state.textContent !== words) state.textContent = words;
  };
  const follow = (log, box) => {
    const seen = { out: Number(log.dataset.out), err: Number(log.dataset.err) };
    const isWhole = log.classList.contains("whole");
    const look = async () => {
      if (!log.isConnected) return;
      let found = null;
      try { found = await part(`${log.dataset.log}&part=1&out=${seen.out}&err=${seen.err}`); } catch { /* asked again */ }
      const lines = found ? [...found.querySelectorAll("li")] : [];
      const list = (box || log).querySelector("ol:last-of-type") || log.appendChild(document.createElement("ol"));
      for (const line of lines) {
        const number = Number(line.firstElementChild.textContent);
        const stream = line.querySelector(".s").textContent === "stderr" ? "err" : "out";
        seen[stream] = Math.max(seen[stream], number);
        document.getElementById(line.id)?.remove();
        list.append(line);
      }
      const most = Number(log.dataset.max) || 20000;
      while (list.children.length > most) list.firstElementChild.remove();
      if (found) {
        const all = document.querySelector("[data-log-total]");
        if (isWhole && all) all.textContent = `${found.dataset.total} lines`;
        if (!("running" in found.dataset)) { sayFollowing(log, "ended"); return; }
      }
      sayFollowing(log, following ? "following" : "running");
      if (isWhole && following && lines.length) scrollTo(0, document.documentElement.scrollHeight);
      setTimeout(look, 500);
    };
    look();
  };
  addEventListener("wheel", (event) => { if (event.deltaY < 0) following = false; }, { passive: true });
  addEventListener("touchmove", () => { following = false; }, { passive: true });
  for (const log of document.querySelectorAll("[data-log]")) {
    const box = scrolling(log);
    if ("follow" in log.dataset) follow(log, box);
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
  // The reason of the focused cause, run or check; else the one that the page shows.
  const why = () => {
    const row = rows().find((one) => one.contains(document.activeElement)) || rows()[current];
    if (row?.dataset.why) location.href = row.dataset.why;
    else document.getElementById("why")?.scrollIntoView();
  };
  const keys = [
    ["f F", "next, previous failure"], ["j k", "next, previous row"], ["Enter", "open"], ["w", "why"], ["a", "approvals"],
    ["/", "search"], ["l", "follow the log"], ["y", "copy the address"],
    ["g a", "Attention"], ["g r", "Runs"], ["g o", "Outcomes"], ["g c", "Chains"], ["g s", "Shows"], ["g p", "Approvals"],
    ["g i", "Invocations"], ["g e", "Effects"], ["g l", "Lifecycle"], ["Esc", "close"],
  ];
  const help = () => {
    const shown = document.getElementById("keys-help");
    if (shown) { shown.remove(); return; }
    const box = document.createElement("div");
    box.id = "keys-help";
    box.className = "keys-help";
    box.setAttribute("role", "note");
    for (const [key, does] of keys) {
      const line = document.createElement("p");
      for (const one of key.split(" ")) {
        const shown = document.createElement("kbd");
        shown.textContent = one;
        line.append(shown, " ");
      }
      line.append(does);
      box.append(line);
    }
    body.append(box);
  };
  const pages = { a: "/", r: "/runs", o: "/outcomes", c: "/chains", s: "/shows", p: "/approvals", e: "/effects", i: "/invocations", l: "/lifecycle" };
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
      case "w": why(); break;
      case "a": location.href = "/approvals"; break;
      case "/": (document.querySelector("[data-log-search]") || document.getElementById("q"))?.focus(); break;
      case "l": following = !following; if (following) scrollTo(0, document.documentElement.scrollHeight); break;
      case "y": navigator.clipboard?.writeText(location.href); break;
      case "g": going = true; setTimeout(() => { going = false; }, 1200); break;
      case "?": help(); break;
      case "Escape": document.getElementById("keys-help")?.remove(); return;
      default: return;
    }
    event.preventDefault();
  });
})();
