// The pages of git ward serve, as they change: another version is told by /events, and the
// page is read again. Nothing is sent, and nothing of a page is run.
"use strict";
(() => {
  const status = document.getElementById("live");
  const say = (text) => { if (status && status.textContent !== text) status.textContent = text; };
  const version = () => document.querySelector("[data-version]")?.dataset.version || "";
  let wanted = version();
  let last = null, busy = false;

  // same makes one node like another and leaves alone what is equal, so that the focus, a
  // selection, the place one has scrolled to and what one has opened stay.
  const same = (now, next) => {
    if (now.nodeType !== next.nodeType || now.nodeName !== next.nodeName) {
      now.replaceWith(document.importNode(next, true));
      return;
    }
    if (now.nodeType !== Node.ELEMENT_NODE) {
      if (now.nodeValue !== next.nodeValue) now.nodeValue = next.nodeValue;
      return;
    }
    for (const a of [...now.attributes]) {
      if (!next.hasAttribute(a.name) && a.name !== "open") now.removeAttribute(a.name);
    }
    for (const a of next.attributes) {
      if (now.getAttribute(a.name) !== a.value && a.name !== "open") now.setAttribute(a.name, a.value);
    }
    const old = [...now.childNodes], fresh = [...next.childNodes];
    fresh.forEach((node, i) => {
      if (i < old.length) same(old[i], node);
      else now.append(document.importNode(node, true));
    });
    old.slice(fresh.length).forEach((node) => node.remove());
  };

  // read reads the page again, one reading at a time.
  const read = async () => {
    if (busy || document.hidden || wanted === version()) return;
    busy = true;
    const asked = wanted;
    let wait = 1000;
    try {
      const answer = await fetch(location.href, { redirect: "manual", cache: "no-store" });
      if (answer.type === "opaqueredirect") { location.reload(); return; }
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const next = page.getElementById("main");
        if (next) same(document.getElementById("main"), next);
        document.title = page.title;
        const marked = document.querySelector("[data-version]");
        if (marked) marked.dataset.version = asked;
        say("live");
      } else {
        say("the page cannot be read now; asking again");
        wait = 5000;
      }
    } catch {
      say("not connected; asking again");
      wait = 5000;
    }
    setTimeout(() => { busy = false; read(); }, wait);
  };

  const heard = (event) => {
    last = event;
    if (event.kind === "gone") say("the repository cannot be read at the moment");
    else if (event.kind === "lost") say("not connected; asking again");
    else {
      wanted = event.version;
      if (wanted === version()) say("live");
      read();
    }
  };

  // A browser holds six connections to a server, and a stream is one: so of all tabs one
  // listens, and tells the others. When it is closed the next takes its place.
  const channel = new BroadcastChannel("ward");
  let leads = false;
  const tell = (event) => { heard(event); channel.postMessage(event); };
  channel.onmessage = ({ data }) => {
    if (data.kind === "hello") { if (leads && last) channel.postMessage(last); }
    else heard(data);
  };
  const listen = () => {
    const source = new EventSource("/events");
    source.addEventListener("version", (e) => tell({ kind: "version", version: e.data }));
    source.addEventListener("gone", () => tell({ kind: "gone" }));
    source.onerror = () => {
      tell({ kind: "lost" });
      if (source.readyState !== EventSource.CLOSED) return; // it connects again by itself
      setTimeout(() => { wanted = "?"; read(); listen(); }, 5000);
    };
  };
  if (navigator.locks) {
    channel.postMessage({ kind: "hello" });
    navigator.locks.request("ward", () => new Promise(() => { leads = true; listen(); }));
  } else {
    setInterval(() => { wanted = "?"; read(); }, 5000);
  }
  document.addEventListener("visibilitychange", read);
})();
