/* The API of this server, rendered from its OpenAPI 3.0 description. Strings are always inserted as
 * text, never as HTML. */
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete", "head", "options"];
const SCHEMAS = "#/components/schemas/";

const byId = (id) => document.getElementById(id);

/* make("a", { href: "#x" }, "text", element): an element with attributes and children. */
function make(name, attributes, ...content) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    element.setAttribute(attribute, value);
  }
  element.append(...content.filter((part) => part !== undefined && part !== ""));
  return element;
}

/* --- Schemas ---------------------------------------------------------------------------------- */

function schemaLink(reference) {
  const name = reference.slice(SCHEMAS.length);
  return make("a", { href: `#schema-${name}` }, name);
}

/* A short description of a schema: a list of strings and links. */
function kind(schema) {
  if (schema === undefined) {
    return [];
  }
  if (schema.$ref !== undefined) {
    return [schemaLink(schema.$ref)];
  }
  const words = schema.enum !== undefined ? [schema.enum.map((value) => JSON.stringify(value)).join(", ")]
    : schema.type === "array" ? ["array of ", ...kind(schema.items)]
    : typeof schema.additionalProperties === "object" ? ["map of ", ...kind(schema.additionalProperties)]
    : [schema.type ?? "any"];
  for (const [name, text] of [["format", ""], ["minimum", "at least "], ["maximum", "at most "],
    ["minLength", "length at least "], ["maxLength", "length at most "], ["pattern", "pattern "]]) {
    if (schema[name] !== undefined) {
      words.push(`, ${text}${schema[name]}`);
    }
  }
  return schema.nullable ? [...words, ", or null"] : words;
}

function table(headings, rows) {
  const head = make("tr", {}, ...headings.map((text) => make("th", { scope: "col" }, text)));
  const body = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, ...cell))));
  return make("div", { class: "wide" },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

/* Rows of a table; "status.state" is a nested field. */
function fields(schema, before) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const inner = field.type === "array" ? field.items : field;
    const path = `${before}${name}${field.type === "array" ? "[]" : ""}`;
    const row = [[make("code", {}, path)], kind(field),
      [required.has(name) ? "required. " : "", field.description ?? ""]];
    return [row, ...fields(inner, `${path}.`)];
  });
}

function drawSchema(name, schema) {
  const rows = fields(schema, "");
  return make("details", { id: `schema-${name}` },
    make("summary", {}, make("code", {}, name)),
    make("p", {}, schema.description ?? ""),
    rows.length > 0 ? table(["Field", "Type", "Description"], rows) : make("p", {}, ...kind(schema)));
}

/* --- Operations ------------------------------------------------------------------------------- */

function resolve(description, part) {
  return part.$ref === undefined ? part
    : part.$ref.split("/").slice(1).reduce((found, name) => found[name], description);
}

function contents(content) {
  return Object.entries(content ?? {}).flatMap(([type, { schema }], i) =>
    [i === 0 ? "" : "; ", make("code", {}, type), ": ", ...kind(schema)]);
}

/* "none", or the accepted authentication schemes. */
function authentication(description, operation) {
  const requirements = operation.security ?? description.security ?? [];
  const schemes = requirements.map((requirement) => Object.keys(requirement).join(" and "));
  return schemes.length === 0 ? "none" : schemes.join(" or ");
}

function drawParameters(description, operation) {
  const rows = (operation.parameters ?? []).map((item) => {
    const parameter = resolve(description, item);
    return [[make("code", {}, parameter.name)], [parameter.in], kind(parameter.schema),
      [parameter.required ? "required. " : "", parameter.description ?? ""]];
  });
  return rows.length === 0 ? [] : [make("h4", {}, "Parameters"),
    table(["Name", "In", "Type", "Description"], rows)];
}

function drawResponses(description, operation) {
  const rows = Object.entries(operation.responses).map(([status, item]) => {
    const response = resolve(description, item);
    return [[make("code", {}, status)], [response.description], contents(response.content)];
  });
  return [make("h4", {}, "Responses"), table(["Status", "Description", "Content"], rows)];
}

function drawOperation(description, path, method, operation) {
  const body = operation.requestBody && resolve(description, operation.requestBody);
  const details = make("details", { id: operation.operationId, class: "operation" },
    make("summary", {}, make("code", { class: `method ${method}` }, method.toUpperCase()), " ",
      make("code", {}, path), make("span", { class: "quiet" }, operation.summary ?? "")),
    make("p", {}, operation.description ?? ""),
    make("p", {}, "Authentication: ", authentication(description, operation)),
    ...drawParameters(description, operation));
  if (body !== undefined) {
    details.append(make("h4", {}, body.required ? "Request body (required)" : "Request body"),
      make("p", {}, ...contents(body.content)));
  }
  details.append(...drawResponses(description, operation));
  details.dataset.words = `${method} ${path} ${operation.operationId} ${operation.summary ?? ""}`.toLowerCase();
  return details;
}

function drawGroups(description) {
  const groups = new Map();
  for (const [path, item] of Object.entries(description.paths)) {
    for (const method of METHODS.filter((name) => item[name] !== undefined)) {
      const group = item[method].tags?.[0] ?? "Other";
      groups.set(group, [...(groups.get(group) ?? []),
        drawOperation(description, path, method, item[method])]);
    }
  }
  return [...groups].map(([name, operations]) =>
    make("section", {}, make("h3", {}, name), ...operations));
}

/* --- Page ------------------------------------------------------------------------------------- */

function filter() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let shown = 0;
  for (const group of byId("groups").children) {
    let any = false;
    for (const operation of group.querySelectorAll(".operation")) {
      operation.hidden = !words.every((word) => operation.dataset.words.includes(word));
      any ||= !operation.hidden;
      shown += operation.hidden ? 0 : 1;
    }
    group.hidden = !any;
  }
  byId("count").textContent = String(shown);
}

/* Opens the element of the URL fragment: /docs/#node_list, /docs/#schema-Node. */
function openFragment() {
  const element = byId(location.hash.slice(1));
  if (element?.tagName === "DETAILS") {
    element.open = true;
    element.scrollIntoView();
    element.querySelector("summary").focus({ preventScroll: true });
  }
}

function draw(description) {
  byId("version").textContent = `API ${description.info.version}`;
  byId("about").textContent = description.info.description ?? "";
  for (const [name, scheme] of Object.entries(description.components.securitySchemes ?? {})) {
    const usage = scheme.type === "http" ? `Authorization: ${scheme.scheme}` : `${scheme.in} ${scheme.name}`;
    byId("schemes").append(make("dt", {}, name, " ", make("code", {}, usage)),
      make("dd", {}, scheme.description ?? ""));
  }
  byId("groups").append(...drawGroups(description));
  byId("types").append(...Object.entries(description.components.schemas ?? {}).map(
    ([name, schema]) => drawSchema(name, schema)));
  byId("description").hidden = false;
  byId("filter").addEventListener("input", filter);
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", openFragment);
  filter();
  openFragment();
}

async function start() {
  try {
    const response = await fetch("/v1/openapi.json", { redirect: "error" });
    if (!response.ok) {
      throw new Error(`server returned status ${response.status}`);
    }
    draw(await response.json());
  } catch (error) {
    byId("note").textContent = `Cannot show the API: ${error.message}`;
    byId("note").hidden = false;
  }
}

start();
