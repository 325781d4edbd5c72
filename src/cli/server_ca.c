#include "cli/server_ca.h"

#include <stdio.h>

#include "base/identity.h"
#include "cli/cluster_client.h"
#include "lang/json.h"
#include "net/http_client.h"
#include "pki/certificate.h"

enum {
    HEALTH_MAX = 64 << 10
};

typedef struct CaRequest {
    Loop *loop;
    Arena *arena;
    bool responded;
    Str body;
    Error err;
} CaRequest;

static void done(void *context, const HttpResponse *response, const Error *err)
{
    CaRequest *request = context;
    request->responded = response != NULL;
    if (response != NULL) {
        request->body = arena_copy(request->arena, response->body);
    } else {
        request->err = *err;
    }
    loop_stop(request->loop);
}

/* Reads the CA that verified the response. The pin is computed from that CA, and is not the
 * expected one. */
static bool read_ca(Arena *arena, const TlsContext *tls, const CaRequest *request, ServerCa *out,
                    Error *err)
{
    Certificate *items;
    uint32_t count;
    Value health;
    Error ignored;
    char pin[PIN_TEXT + 1];
    out->pem = arena_copy(arena, tls_context_ca(tls));
    if (!certificates_from_pem(arena, out->pem, &items, &count, err)) {
        return error_wrap(err, "the CA that the server presents");
    }
    pin_text(&items[0].pin, pin);
    snprintf(out->pin, sizeof out->pin, "%s", pin);
    out->cluster = json_parse_text(arena, request->body, NULL, &health, &ignored)
                       ? value_get_text(health, "cluster")
                       : STR_EMPTY;
    /* The name is not verified yet, and is shown to the user next to the pin. */
    return out->cluster.len == 0 || cluster_name_check(out->cluster, err) ||
           error_wrap(err, "the name of the cluster that it reports");
}

bool server_ca_fetch(Arena *arena, const Address *server, Str pin, int64_t timeout_ms,
                     ServerCa *out, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(TlsContext) *tls = NULL;
    CaRequest request = { .loop = loop, .arena = arena };
    *out = (ServerCa){ 0 };
    if (!tls_context_new(loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "http/1.1" },
                         &(TlsMaterial){ .ca_pin = pin, .ca_on_first_use = pin.len == 0 }, &tls,
                         err)) {
        return false;
    }
    HttpCall *call = http_call_new(&(HttpCallOptions){ .loop = loop,
                                                       .address = *server,
                                                       .tls = tls,
                                                       .tls_host = server->host,
                                                       .method = "GET",
                                                       .target = "/v1/health",
                                                       .response_max = HEALTH_MAX,
                                                       .timeout_ms = timeout_ms,
                                                       .done = done,
                                                       .context = &request });
    loop_run(loop);
    http_call_free(call);
    if (!request.responded) {
        *err = request.err;
    }
    bool is_accepted = request.responded && read_ca(arena, tls, &request, out, err);
    if (!is_accepted && err->kind == ERROR_INVALID) {
        err->kind = ERROR_UNAVAILABLE; /* a malformed response is not a usage error */
    }
    return is_accepted;
}
