/* The page of a cluster: log in with a token, watch the nodes. Strings are always inserted as text,
 * never as HTML. */
"use strict";

const POLL_MS = 5000; /* interval without a watch */

const byId = (id) => document.getElementById(id);

let csrf = ""; /* required for changes; only pages of this server can read it */
let nodes = new Map();
let source = null;
let timer = null;
let drawing = false;

function say(text) {
  byId("note").textContent = text;
  byId("note").hidden = text === "";
}

/* Returns status and JSON; the status is 0 if there was no response. */
async function ask(method, path, fields, body) {
  const headers = { Accept: "application/json", ...fields };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
  }
  try {
    const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body),
      cache: "no-store", credentials: "same-origin", redirect: "error" });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? {} : JSON.parse(text) };
  } catch {
    return { status: 0, body: { detail: "the server is not responding" } };
  }
}

function why(answer) {
  return answer.body.detail ?? `server returned status ${answer.status}`;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

function cell(row, text, kind) {
  const made = row.insertCell();
  made.textContent = text ?? "";
  if (kind !== undefined) {
    made.className = kind;
  }
}

function draw() {
  const rows = document.createDocumentFragment();
  const names = [...nodes.keys()].sort();
  const body = document.createElement("tbody");
  let alive = 0;
  for (const name of names) {
    const { metadata, status } = nodes.get(name);
    const row = body.insertRow();
    alive += status.state === "alive" ? 1 : 0;
    cell(row, name);
    cell(row, status.state, status.state);
    cell(row, status.since);
    cell(row, status.version);
    cell(row, status.address);
    cell(row, Object.entries(metadata.labels).map((pair) => pair.join("=")).join(" "), "labels");
    rows.append(row);
  }
  byId("rows").replaceChildren(rows);
  byId("count").textContent = `${alive} of ${names.length} alive`;
  drawing = false;
}

/* Coalesces changes into one redraw. */
function drawSoon() {
  if (!drawing) {
    drawing = true;
    requestAnimationFrame(draw);
  }
}

async function load() {
  const found = new Map();
  let more = "";
  do {
    const answer = await ask("GET", "/v1/nodes?limit=1000" + more);
    if (answer.status === 401) {
      leave();
      return false;
    }
    if (answer.status !== 200) {
      say(why(answer));
      return false;
    }
    const { body } = answer;
    for (const node of body.items) {
      found.set(node.metadata.name, node);
    }
    const next = body.metadata.continue;
    more = next ? "&continue=" + encodeURIComponent(next) : "";
  } while (more !== "");
  nodes = found;
  say("");
  drawSoon();
  return true;
}

function take(event) {
  const { type, object } = JSON.parse(event.data);
  if (type === "resync") {
    nodes.clear();
  } else if (type === "deleted") {
    nodes.delete(object.metadata.name);
  } else if (type === "added" || type === "changed") {
    nodes.set(object.metadata.name, object);
  }
  say("");
  drawSoon();
}

function poll() {
  load();
  timer = setInterval(load, POLL_MS);
}

/* The browser reconnects automatically unless the server rejected the request. */
function watch() {
  source = new EventSource("/v1/nodes?watch=sse");
  for (const type of ["message", "added", "changed", "deleted", "synced", "resync"]) {
    source.addEventListener(type, take);
  }
  source.addEventListener("error", () => {
    if (source !== null && source.readyState === EventSource.CLOSED) {
      source = null;
      poll();
    } else {
      say("connection lost; reconnecting");
    }
  });
}

/* --- Sessions --------------------------------------------------------------------------------- */

function stop() {
  source?.close();
  source = null;
  clearInterval(timer);
  nodes.clear();
}

function show(isIn) {
  byId("login").hidden = isIn;
  byId("nodes").hidden = !isIn;
  byId("leave").hidden = !isIn;
  byId("who").hidden = !isIn;
}

function enter(session) {
  csrf = session.csrf ?? "";
  byId("who").textContent = session.name ?? "";
  say("");
  show(true);
  watch();
}

function leave() {
  stop();
  byId("rows").replaceChildren(); /* do not leave them for the next user */
  csrf = "";
  show(false);
}

async function logIn(event) {
  event.preventDefault();
  const token = byId("token").value.trim();
  const made = await ask("POST", "/v1/session", {}, { token });
  if (made.status !== 201) {
    say(why(made));
    return;
  }
  byId("token").value = "";
  enter(made.body);
}

async function logOut() {
  stop(); /* first, because the server ends watches together with the session */
  await ask("DELETE", "/v1/session", { "Eden-CSRF": csrf });
  leave();
}

async function begin() {
  const session = await ask("GET", "/v1/session");
  if (session.status === 200) {
    enter(session.body);
  } else {
    leave();
  }
}

async function start() {
  byId("login-form").addEventListener("submit", logIn);
  byId("leave").addEventListener("click", logOut);
  const { body } = await ask("GET", "/v1/health");
  if (body.cluster !== undefined) {
    byId("cluster").textContent = body.cluster;
    document.title = `eden ${body.cluster}`;
  }
  await begin();
}

start();
