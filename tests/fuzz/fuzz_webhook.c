/* Any bytes as a webhook: a request that anyone on the network can send. Headers up to an empty
 * line, then the body. Without the secret nothing is genuine; a ref that is found is one that the
 * body has. */
#include "base/bug.h"
#include "source/webhook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET STR("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")

static void check_head(const WebhookHead *head, Str body)
{
    char digits[SHA256_HEX + 1];
    sha256_hmac_hex(SECRET, body, digits);
    bool knows = str_eq_c(head->signature, digits) ||
                 (head->signature.len == 0 && str_eq(head->token, SECRET));
    BUG_IF(head->signature.len != 0 && head->signature.len != SHA256_HEX);
    BUG_IF(head->delivery.len > WEBHOOK_ID_MAX);
    BUG_IF(webhook_is_authentic(head, body, SECRET) != knows);
    BUG_IF(webhook_is_authentic(head, body, STR_EMPTY));
}

static void check_body(Str body)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err = { 0 };
    Str ref;
    if (!webhook_ref(&arena, body, &ref, &err)) {
        BUG_IF(err.kind == ERROR_NONE || err.text[0] == '\0' || ref.len != 0);
        return;
    }
    BUG_IF(ref.len > WEBHOOK_REF_MAX);
    BUG_IF(ref.len > 0 && str_find(body, STR("ref"), 0) == STR_NOT_FOUND &&
           str_find(body, STR("\\"), 0) == STR_NOT_FOUND);
    BUG_IF(webhook_affects(ref, STR("main")) != str_eq_c(ref, "refs/heads/main"));
    BUG_IF(webhook_affects(ref, STR_EMPTY) && !str_starts(ref, STR("refs/heads/")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str rest = str_from((const char *)data, size), line;
    Http1Head head = { 0 };
    while (head.header_count < HTTP1_HEADERS_MAX && str_split_next(&rest, '\n', &line) &&
           line.len > 0) {
        size_t colon = str_find(line, STR(":"), 0);
        head.headers[head.header_count++] =
            (Http1Header){ str_slice(line, 0, colon),
                           colon == STR_NOT_FOUND ? STR_EMPTY
                                                  : str_trim(str_from_offset(line, colon + 1)) };
    }
    WebhookHead webhook = webhook_head(&head);
    check_head(&webhook, rest);
    check_body(rest);
    return 0;
}
