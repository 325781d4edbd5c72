/* Parses the headers and bodies of webhooks and verifies signatures in constant time. */
#include "source/webhook.h"

#include <openssl/crypto.h>

#include "base/hex.h"
#include "lang/json.h"

enum {
    VALUES_MAX = 200 * 1000, /* maximum number of values in a body */
    DEPTH_MAX = 64,
};

#define BRANCHES STR("refs/heads/")

/* --- Headers ---------------------------------------------------------------------------------- */

static Str only(const Http1Head *head, const char *name)
{
    const Str *value = http1_find(head, name);
    return value != NULL && http1_count(head, name) == 1 ? *value : STR_EMPTY;
}

static Str digits_of(Str text, Str prefix)
{
    Str digits = str_starts(text, prefix) ? str_from_offset(text, prefix.len) : STR_EMPTY;
    return digits.len == SHA256_HEX && hex_is_valid(digits) ? digits : STR_EMPTY;
}

static WebhookEvent event_of(const Http1Head *head)
{
    static const struct {
        const char *header, *push, *other_push, *ping;
    } services[] = {
        { "X-GitHub-Event", "push", "", "ping" },
        { "X-Gitea-Event", "push", "", "" },
        { "X-Gitlab-Event", "Push Hook", "System Hook", "" },
    };
    for (size_t i = 0; i < COUNT_OF(services); i++) {
        Str event = only(head, services[i].header);
        if (event.len > 0) {
            return str_eq_c(event, services[i].push) || str_eq_c(event, services[i].other_push)
                       ? WEBHOOK_PUSH
                   : str_eq_c(event, services[i].ping) ? WEBHOOK_PING
                                                       : WEBHOOK_OTHER;
        }
    }
    return WEBHOOK_PUSH;
}

WebhookHead webhook_head(const Http1Head *head)
{
    static const char *const deliveries[] = { "X-GitHub-Delivery", "X-Gitea-Delivery",
                                              "X-Gitlab-Webhook-UUID", "X-Gitlab-Event-UUID" };
    WebhookHead out = { .signature = digits_of(only(head, "X-Hub-Signature-256"), STR("sha256=")),
                        .token = only(head, "X-Gitlab-Token"),
                        .event = event_of(head) };
    if (out.signature.len == 0) {
        out.signature = digits_of(only(head, "X-Gitea-Signature"), STR_EMPTY);
    }
    for (size_t i = 0; i < COUNT_OF(deliveries); i++) {
        Str id = only(head, deliveries[i]);
        out.delivery = id.len > 0 && id.len <= WEBHOOK_ID_MAX ? id : out.delivery;
    }
    return out;
}

/* --- Signature -------------------------------------------------------------------------------- */

/* Hashes have the same length, so that the comparison does not reveal that of the secret. */
static bool is_same_secret(Str a, Str b)
{
    char first[SHA256_HEX + 1], second[SHA256_HEX + 1];
    sha256_hex(a, first);
    sha256_hex(b, second);
    return CRYPTO_memcmp(first, second, SHA256_HEX) == 0;
}

bool webhook_is_authentic(const WebhookHead *head, Str body, Str secret)
{
    char digits[SHA256_HEX + 1];
    if (secret.len == 0) {
        return false;
    }
    if (head->signature.len == SHA256_HEX) {
        sha256_hmac_hex(secret, body, digits);
        return CRYPTO_memcmp(digits, head->signature.data, SHA256_HEX) == 0;
    }
    return head->token.len > 0 && is_same_secret(head->token, secret);
}

/* --- Body ------------------------------------------------------------------------------------- */

bool webhook_ref(Arena *arena, Str body, Str *out, Error *err)
{
    JsonOptions options = {
        .limits = { .size = WEBHOOK_BODY_MAX, .depth = DEPTH_MAX, .nodes = VALUES_MAX },
        .allow_duplicates = true,
        .wide_integers = true
    };
    AUTO_CLEAR(Arena) scratch;
    Value object;
    arena_init(&scratch, ARENA_UNLIMITED);
    *out = STR_EMPTY;
    if (!json_parse_text(&scratch, body, &options, &object, err)) {
        return false;
    }
    if (object.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "the body is not a JSON object");
    }
    const Value *ref = value_get(object, STR("ref"));
    if (ref != NULL && value_is_string(*ref) && ref->len <= WEBHOOK_REF_MAX) {
        *out = arena_copy(arena, value_str(*ref));
    }
    return true;
}

bool webhook_affects(Str ref, Str branch)
{
    return str_starts(ref, BRANCHES) && ref.len > BRANCHES.len &&
           (branch.len == 0 || str_eq(str_from_offset(ref, BRANCHES.len), branch));
}
