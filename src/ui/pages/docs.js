/* Swagger UI for the API of this server. Requests that use a browser session carry the CSRF token,
 * which only pages of this server can read. */
"use strict";

async function askCsrf() {
  const answer = await fetch("/v1/session", { credentials: "same-origin", cache: "no-store" });
  return answer.ok ? ((await answer.json()).csrf ?? "") : "";
}

async function addCsrf(request) {
  if (request.method !== undefined && !["GET", "HEAD"].includes(request.method.toUpperCase())) {
    const csrf = await askCsrf();
    if (csrf !== "") {
      request.headers["Eden-CSRF"] = csrf;
    }
  }
  return request;
}

SwaggerUIBundle({
  url: "/v1/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null, /* no external validator */
  presets: [SwaggerUIBundle.presets.apis],
  requestInterceptor: addCsrf,
});
