/* Swagger UI with the API of this very server. What it tries out by a session carries the secret that
 * only pages of this server get. */
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
  validatorUrl: null, /* nobody else is asked whether it is valid */
  presets: [SwaggerUIBundle.presets.apis],
  requestInterceptor: addCsrf,
});
