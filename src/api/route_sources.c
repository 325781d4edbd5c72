/* /v1/sources/<name>/...: the secrets of sources, and webhooks. */
#include <stdlib.h>

#include "api/api_inner.h"
#include "api/handlers.h"
#include "api/source_request.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "membership/pending_record.h"
#include "source/git_secrets.h"
#include "source/webhook.h"

/* --- Secrets ---------------------------------------------------------------------------------- */

/* A change to the secrets of a source; outlives the call if its peer disconnects. */
typedef struct SecretWrite SecretWrite;
struct SecretWrite {
    ApiCall *call;
    Arena arena;
    SourceVault *vault;
    Str name;
    /* Replaces one of the secrets. */
    bool (*replace)(SecretWrite *write, Arena *arena, GitSecrets *secrets, Error *err);
    Str made; /* the part of the new secret that the response contains */
    void (*respond)(ApiCall *call, Str made);
};

static bool decide_secret(void *context, Change *change, Error *err)
{
    SecretWrite *write = context;
    Arena *arena = change_arena(change);
    GitSecrets secrets = { 0 };
    if (!change_has(change, 0)) {
        return error_set(err, ERROR_NOT_FOUND, "Source '%" STR_FMT "' not found",
                         STR_ARG(write->name));
    }
    if ((change_has(change, 1) &&
         !git_secrets_read(arena, change_value(change, 1), &secrets, err)) ||
        !write->replace(write, arena, &secrets, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    git_secrets_print(&secrets, &text);
    change_put(change, change_key(change, 1), buf_str(&text), 0);
    return true;
}

static void secret_written(void *context, Change *change, const Error *err)
{
    SecretWrite *write = context;
    if (call_resume(write->call, err)) {
        write->respond(write->call, write->made);
    }
    arena_clear(&write->arena);
    free(write);
}

static void replace_secret(ApiCall *call,
                           bool (*replace)(SecretWrite *, Arena *, GitSecrets *, Error *),
                           void (*respond)(ApiCall *call, Str made))
{
    const ClusterStore *cluster_store = call_store(call);
    SourceVault *vault = call_settings(call)->vault;
    Change *change;
    if (vault == NULL) {
        call_refuse(call, 503, "this server cannot store secrets");
        return;
    }
    SecretWrite *write = memory_new(sizeof *write);
    arena_init(&write->arena, ARENA_UNLIMITED);
    write->call = call;
    write->vault = vault;
    write->name = arena_copy(&write->arena, call->part);
    write->replace = replace;
    write->respond = respond;
    const Str keys[] = {
        cluster_key_source(&write->arena, cluster_store->prefix, write->name),
        cluster_key_source_secrets(&write->arena, cluster_store->prefix, write->name),
    };
    change_start(&(ChangeSpec){ .cluster_store = *cluster_store,
                                .keys = keys,
                                .key_count = COUNT_OF(keys),
                                .decide = decide_secret,
                                .done = secret_written,
                                .context = write },
                 &change);
}

static bool make_key(SecretWrite *write, Arena *arena, GitSecrets *secrets, Error *err)
{
    if (!git_secrets_make_key(write->vault, arena, write->name, secrets, err)) {
        return false;
    }
    write->made = arena_copy(&write->arena, secrets->public_key);
    return true;
}

static void respond_key(ApiCall *call, Str made)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.source-key/1");
    json_out_text(&json, "public_key", made);
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void source_key_post(ApiCall *call)
{
    replace_secret(call, make_key, respond_key);
}

static bool make_webhook(SecretWrite *write, Arena *arena, GitSecrets *secrets, Error *err)
{
    return git_secrets_make_webhook(write->vault, &write->arena, write->name, secrets, &write->made,
                                    err);
}

static void respond_webhook(ApiCall *call, Str made)
{
    const ApiSettings *settings = call_settings(call);
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    call->holds_secret = true;
    json_out_start(&json, "eden.source-webhook-secret/1");
    json_out_text(&json, "secret", made);
    json_out_open(&json, "urls", '[');
    for (uint32_t i = 0; i < settings->name_count; i++) {
        json_out_item(&json, arena_format(&call->arena,
                                          "https://%" STR_FMT "/v1/sources/%" STR_FMT "/webhook",
                                          STR_ARG(settings->names[i]), STR_ARG(call->part)));
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void source_secret_post(ApiCall *call)
{
    replace_secret(call, make_webhook, respond_webhook);
}

static bool drop_webhook(SecretWrite *write, Arena *arena, GitSecrets *secrets, Error *err)
{
    secrets->webhook = STR_EMPTY;
    return true;
}

static void respond_done(ApiCall *call, Str made)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.done/1");
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void source_secret_delete(ApiCall *call)
{
    replace_secret(call, drop_webhook, respond_done);
}

/* --- Webhooks --------------------------------------------------------------------------------- */

/* Dummy values as long as real secrets, so that checking a webhook takes equally long if the source
 * does not exist. */
#define SIXTEEN_A    "AAAAAAAAAAAAAAAA"
#define DUMMY_SECRET SIXTEEN_A SIXTEEN_A SIXTEEN_A SIXTEEN_A
#define DUMMY_SEALED DUMMY_SECRET SIXTEEN_A SIXTEEN_A "AAAAAAAAAAA="

static WebhookGate *gate_of(Api *api)
{
    if (api->webhooks == NULL) {
        api->webhooks = memory_new(sizeof *api->webhooks);
    }
    return api->webhooks;
}

/* Unauthenticated clients learn neither whether a source of this name exists, nor whether it has a
 * secret. */
static bool is_authentic(const ApiCall *call, const WebhookHead *head)
{
    const ApiSettings *settings = call_settings(call);
    AUTO_CLEAR(Arena) arena;
    GitSecrets secrets;
    Str secret = STR_EMPTY;
    arena_init(&arena, ARENA_UNLIMITED);
    git_secrets_find(&arena, settings->cluster_store.state, settings->cluster_store.prefix,
                     call->part, &secrets);
    if (secrets.webhook.len == 0) {
        secrets.webhook = STR(DUMMY_SEALED);
    }
    bool is_known =
        settings->vault != NULL &&
        git_secrets_open_webhook(settings->vault, &arena, call->part, &secrets, &secret);
    return webhook_is_authentic(head, call_body(call), is_known ? secret : STR(DUMMY_SECRET)) &&
           is_known;
}

static void respond_webhook_result(ApiCall *call, int status, const char *result)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.source-webhook/1");
    json_out_text(&json, "result", str_from_c(result));
    json_out_close(&json, '}');
    call_respond(call, status, &json);
}

/* Services repeat a failed delivery only if the response is an error. */
static void webhook_requested(ApiCall *call, int64_t revision, const Error *err)
{
    if (!call_resume(call, NULL)) {
        return;
    }
    if (err != NULL) {
        call_refuse(call, 503, err->text);
        return;
    }
    WebhookHead head = webhook_head(http_request_head(call->request));
    webhook_gate_record(gate_of(call->api), call->part, head.delivery);
    respond_webhook_result(call, 202, "accepted");
}

/* Gets the branch that a source follows; returns false if there is no readable source. */
static bool branch_of(const ApiCall *call, Arena *arena, Str *out)
{
    const ClusterStore *cluster_store = call_store(call);
    GitSourceEntry *entries;
    uint32_t count = git_sources_list(arena, cluster_store->state, cluster_store->prefix, &entries);
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(entries[i].source.name, call->part) && entries[i].error.len == 0) {
            GitSourceStatus status = git_source_status_find(arena, cluster_store->state,
                                                            cluster_store->prefix, call->part);
            *out = git_source_branch(&entries[i].source, &status);
            return true;
        }
    }
    return false;
}

static void handle_push(ApiCall *call, const WebhookHead *head)
{
    Str ref, branch;
    Error err;
    if (!webhook_ref(&call->arena, call_body(call), &ref, &err)) {
        call_fail_body(call, &err);
    } else if (!branch_of(call, &call->arena, &branch) || !webhook_affects(ref, branch)) {
        respond_webhook_result(call, 200, "ignored");
    } else if (webhook_gate_has(gate_of(call->api), call->part, head->delivery)) {
        respond_webhook_result(call, 200, "repeated");
    } else {
        source_request(call, call->part, STR("webhook"), webhook_requested);
    }
}

void source_webhook(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    WebhookHead head = webhook_head(http_request_head(call->request));
    uint64_t origin = pending_origin(http_request_peer(call->request)->address);
    if (!webhook_gate_allows(gate_of(call->api), origin,
                             loop_now_ms(settings->cluster_store.loop))) {
        call_refuse(call, 429, "too many webhooks; try again later");
    } else if (!is_authentic(call, &head)) {
        call_log_unauthenticated(call, "the signature of a webhook is not valid");
        call_refuse(call, 403,
                    "there is no such source, or the webhook is not signed with its secret");
    } else if (head.event == WEBHOOK_PUSH) {
        handle_push(call, &head);
    } else {
        respond_webhook_result(call, 200, head.event == WEBHOOK_PING ? "pong" : "ignored");
    }
}
