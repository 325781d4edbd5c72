/* The page of a cluster: log in with a token, watch the nodes. Strings are always inserted as text,
 * never as HTML. */
"use strict";

const POLL_MS = 5000; /* interval without a watch */

const byId = (id) => document.getElementById(id);

let csrf = ""; /* required for changes; only pages of this server can read it */
let nodes = new Map();
let source = null;
let timer = null;
let isRedrawPending = false;

function showNote(text) {
  byId("note").textContent = text;
  byId("note").hidden = text === "";
}

/* Returns status and JSON; the status is 0 if there was no response. */
async function request(method, path, fields, body) {
  const headers = { Accept: "application/json", ...fields };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
  }
  try {
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body),
      cache: "no-store", credentials: "same-origin", redirect: "error" });
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
  } catch {
    return { status: 0, body: { detail: "the server is not responding" } };
  }
}

function errorText(response) {
  return response.body.detail ?? `server returned status ${response.status}`;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

function cell(row, text, kind) {
  const added = row.insertCell();
  added.textContent = text ?? "";
  if (kind !== undefined) {
    added.className = kind;
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
  isRedrawPending = false;
}

/* Coalesces changes into one redraw. */
function scheduleRedraw() {
  if (!isRedrawPending) {
    isRedrawPending = true;
    requestAnimationFrame(draw);
  }
}

async function load() {
  const found = new Map();
  let more = "";
  do {
    const response = await request("GET", "/v1/nodes?limit=1000" + more);
    if (response.status === 401) {
      closeSession();
      return false;
    }
    if (response.status !== 200) {
      showNote(errorText(response));
      return false;
    }
    const { body } = response;
    for (const node of body.items) {
      found.set(node.metadata.name, node);
    }
    const next = body.metadata.continue;
    more = next ? "&continue=" + encodeURIComponent(next) : "";
  } while (more !== "");
  nodes = found;
  showNote("");
  scheduleRedraw();
  return true;
}

function applyEvent(event) {
  const { type, object } = JSON.parse(event.data);
  if (type === "resync") {
    nodes.clear();
  } else if (type === "deleted") {
    nodes.delete(object.metadata.name);
  } else if (type === "added" || type === "changed") {
    nodes.set(object.metadata.name, object);
  }
  showNote("");
  scheduleRedraw();
}

function poll() {
  load();
  timer = setInterval(load, POLL_MS);
}

/* The browser reconnects automatically unless the server rejected the request. */
function watch() {
  source = new EventSource("/v1/nodes?watch=sse");
  for (const type of ["message", "added", "changed", "deleted", "synced", "resync"]) {
    source.addEventListener(type, applyEvent);
  }
  source.addEventListener("error", () => {
    if (source !== null && source.readyState === EventSource.CLOSED) {
      source = null;
      poll();
    } else {
      showNote("connection lost; reconnecting");
    }
  });
}

/* --- Sessions --------------------------------------------------------------------------------- */

function stopWatching() {
  source?.close();
  source = null;
  clearInterval(timer);
  nodes.clear();
}

function showNodes(isLoggedIn) {
  byId("login").hidden = isLoggedIn;
  byId("nodes").hidden = !isLoggedIn;
  byId("log-out").hidden = !isLoggedIn;
  byId("who").hidden = !isLoggedIn;
}

function openSession(session) {
  csrf = session.csrf ?? "";
  byId("who").textContent = session.name ?? "";
  showNote("");
  showNodes(true);
  watch();
}

function closeSession() {
  stopWatching();
  byId("rows").replaceChildren(); /* so that the next user does not see them */
  csrf = "";
  showNodes(false);
}

async function logIn(event) {
  event.preventDefault();
  const token = byId("token").value.trim();
  const response = await request("POST", "/v1/session", {}, { token });
  if (response.status !== 201) {
    showNote(errorText(response));
    return;
  }
  byId("token").value = "";
  openSession(response.body);
}

async function logOut() {
  stopWatching(); /* first, because the server ends watches together with the session */
  await request("DELETE", "/v1/session", { "Eden-CSRF": csrf });
  closeSession();
}

async function restoreSession() {
  const session = await request("GET", "/v1/session");
  if (session.status === 200) {
    openSession(session.body);
  } else {
    closeSession();
  }
}

async function start() {
  byId("login-form").addEventListener("submit", logIn);
  byId("log-out").addEventListener("click", logOut);
  const { body } = await request("GET", "/v1/health");
  if (body.cluster !== undefined) {
    byId("cluster").textContent = body.cluster;
    document.title = `eden ${body.cluster}`;
  }
  await restoreSession();
}

start();
