/* Input: a join request, the response to one, and the facts that a server decides on. Invariants:
 * no request is admitted without a token or an approval, and every rejection has a reason. */
#include <openssl/err.h>

#include "base/bug.h"
#include "pki/join_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next bytes of the input as a value; zeros after the end. */
static void take(Str *rest, void *out, size_t size)
{
    memset(out, 0, size);
    Str chunk = str_slice(*rest, 0, size);
    memcpy(out, chunk.data, chunk.len);
    *rest = str_from_offset(*rest, chunk.len);
}

static void decide(const JoinRequest *request, Str rest)
{
    TokenRecord record = { .uses_max = 3 };
    Pin cas[2], enrolled, approved;
    uint8_t flags;
    JoinVerdict verdict;
    JoinFacts facts = { .cas = cas, .ca_count = 2 };
    take(&rest, &flags, sizeof flags);
    take(&rest, &facts.now_ms, sizeof facts.now_ms);
    take(&rest, cas, sizeof cas);
    take(&rest, &enrolled, sizeof enrolled);
    take(&rest, &approved, sizeof approved);
    take(&rest, &record.expires_ms, sizeof record.expires_ms);
    take(&rest, record.hash, sizeof record.hash - 1);
    memcpy(record.id, request->token_id, sizeof record.id);
    record.uses = flags & 3;
    facts.now_ms = (flags & 4) != 0 ? request->time_ms : facts.now_ms;
    cas[0] = (flags & 8) != 0 ? request->ca : cas[0];
    facts.token = (flags & 16) != 0 ? &record : NULL;
    facts.enrolled = (flags & 32) != 0 ? &enrolled : NULL;
    facts.approved = (flags & 64) != 0 ? &approved : NULL;
    facts.nonce_seen = (flags & 128) != 0;
    facts.enrolled_token = str_from_c(request->token_id);
    join_decide(request, &facts, &verdict);
    BUG_IF(verdict.text[0] == '\0' || memchr(verdict.text, '\0', sizeof verdict.text) == NULL);
    BUG_IF((verdict.result == JOIN_REFUSED) != (verdict.reason != JOIN_REASON_NONE));
    BUG_IF(verdict.result == JOIN_ADMITTED && facts.nonce_seen);
    bool was_approved = facts.approved != NULL && pin_equal(facts.approved, &request->key_pin);
    BUG_IF(verdict.result == JOIN_ADMITTED && !was_approved &&
           (facts.token == NULL || facts.now_ms >= record.expires_ms));
    /* Every decision can be sent, and is received unchanged. */
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 16 << 20);
    JoinReply reply, read;
    Error err = { 0 };
    AUTO_CLEAR(Buf) text = buf_make(JOIN_REPLY_MAX);
    join_reply_make(request, &verdict, facts.now_ms, &reply);
    memcpy(reply.server, "s1", sizeof "s1");
    reply.rpc_port = 1337;
    reply.cluster = STR("home");
    reply.certificate = reply.bundle = STR("PEM");
    join_reply_print(&reply, &text);
    if (!join_reply_read(&arena, buf_str(&text), &read, &err)) {
        BUG("%s", err.text);
    }
    BUG_IF(read.result != reply.result || read.time_ms != reply.time_ms);
}

static void read_reply(Arena *arena, Str text)
{
    JoinReply reply;
    JoinAdmission admission;
    Error err = { 0 };
    if (!join_reply_read(arena, text, &reply, &err)) {
        BUG_IF(err.text[0] == '\0');
        return;
    }
    AUTO(P256Private) *key = NULL;
    BUG_IF(!p256_private_make(&key, &err));
    JoinParams requested = { .name = STR("web1"), .key = key, .now_ms = reply.time_ms };
    /* The key was generated just now: no existing certificate can be for it. */
    BUG_IF(join_reply_accept(arena, &reply, &requested, reply.nonce, &admission, &err));
    BUG_IF(err.text[0] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 16 << 20);
    Str text = str_from((const char *)data, size);
    JoinRequest request = { 0 };
    Error err = { 0 };
    if (join_request_read(&arena, text, &request, &err)) {
        BUG_IF(!node_name_check(str_from_c(request.name), &err));
        BUG_IF(request.has_token != (request.token_id[0] != '\0'));
        decide(&request, text);
    } else {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
        /* A made-up request, to reach the decision anyway. */
        Str rest = text;
        request = (JoinRequest){ .name = "web1",
                                 .nonce = "aaaaaaaaaaaaaaaaaaaaaaaaaa",
                                 .token_id = "aaaaaaaa" };
        take(&rest, &request.time_ms, sizeof request.time_ms);
        take(&rest, &request.key_pin, sizeof request.key_pin);
        request.has_token = size % 2 == 1;
        decide(&request, rest);
    }
    read_reply(&arena, text);
    BUG_IF(ERR_peek_error() != 0);
    return 0;
}
