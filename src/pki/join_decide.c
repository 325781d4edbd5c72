#include <stdio.h>

#include "base/utc.h"
#include "pki/join.h"

/* "2 h 5 min", "7 s": large parts first, small ones only where they count. */
static void duration_text(uint64_t ms, char *out, size_t size)
{
    uint64_t seconds = ms / 1000, minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (days > 0) {
        snprintf(out, size, "%llu d %llu h", (unsigned long long)days,
                 (unsigned long long)(hours % 24));
    } else if (hours > 0) {
        snprintf(out, size, "%llu h %llu min", (unsigned long long)hours,
                 (unsigned long long)(minutes % 60));
    } else if (minutes > 0) {
        snprintf(out, size, "%llu min %llu s", (unsigned long long)minutes,
                 (unsigned long long)(seconds % 60));
    } else {
        snprintf(out, size, "%llu s", (unsigned long long)seconds);
    }
}

bool join_clocks_check(int64_t server_ms, int64_t joiner_ms, int64_t max_ms, Error *err)
{
    /* Their difference may not fit into 63 bits when one of them is a stranger's. */
    uint64_t apart = server_ms > joiner_ms ? (uint64_t)server_ms - (uint64_t)joiner_ms
                                           : (uint64_t)joiner_ms - (uint64_t)server_ms;
    if (apart <= (uint64_t)max_ms) {
        return true;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char by[64], allowed[64];
    duration_text(apart, by, sizeof by);
    duration_text((uint64_t)max_ms, allowed, sizeof allowed);
    Str server = utc_text(&arena, server_ms), joiner = utc_text(&arena, joiner_ms);
    return error_set(err, ERROR_DENIED,
                     "the clocks differ by %s, more than the allowed %s: the server has %" STR_FMT
                     ", the joining machine %" STR_FMT,
                     by, allowed, STR_ARG(server), STR_ARG(joiner));
}

static void refuse(JoinVerdict *out, JoinReason reason, const char *text)
{
    out->result = JOIN_REFUSED;
    out->reason = reason;
    snprintf(out->text, sizeof out->text, "%s", text);
}

static bool knows_ca(const JoinFacts *facts, const Pin *pin)
{
    for (uint32_t i = 0; i < facts->ca_count; i++) {
        if (pin_equal(&facts->cas[i], pin)) {
            return true;
        }
    }
    return false;
}

static JoinReason token_reason(TokenVerdict verdict)
{
    switch (verdict) {
    case TOKEN_GOOD: return JOIN_REASON_NONE;
    case TOKEN_UNKNOWN: return JOIN_REASON_TOKEN_UNKNOWN;
    case TOKEN_WRONG: return JOIN_REASON_TOKEN_WRONG;
    case TOKEN_EXPIRED: return JOIN_REASON_TOKEN_EXPIRED;
    case TOKEN_USED_UP: return JOIN_REASON_TOKEN_USED_UP;
    }
    BUG("no reason for verdict %d", (int)verdict);
}

static void decide_token(const JoinRequest *request, const JoinFacts *facts, JoinVerdict *out)
{
    /* The record must be the one that was asked for: a wrong one is none. */
    const TokenRecord *record =
        facts->token != NULL && strcmp(facts->token->id, request->token_id) == 0 ? facts->token
                                                                                 : NULL;
    TokenVerdict verdict = token_check(record, &request->token_key, facts->now_ms);
    bool same_key = facts->enrolled != NULL && pin_equal(facts->enrolled, &request->key_pin);
    /* The answer to the first time was lost. Without this, a token for one machine would leave it
     * outside and be used up all the same. */
    bool again = same_key && str_eq_c(facts->enrolled_token, request->token_id) &&
                 (verdict == TOKEN_GOOD || verdict == TOKEN_USED_UP);
    if (again) {
        out->again = true;
    } else if (verdict != TOKEN_GOOD) {
        refuse(out, token_reason(verdict), token_verdict_text(verdict));
        return;
    } else if (facts->enrolled != NULL) {
        out->result = JOIN_REFUSED;
        out->reason = JOIN_REASON_NAME_TAKEN;
        snprintf(out->text, sizeof out->text,
                 "node '%s' already exists; run 'eden nodes remove' on a server, or join with "
                 "another --name",
                 request->name);
        return;
    }
    out->result = JOIN_ADMITTED;
    snprintf(out->text, sizeof out->text, "admitted as '%s'", request->name);
}

void join_decide(const JoinRequest *request, const JoinFacts *facts, JoinVerdict *out)
{
    int64_t skew = facts->skew_max_ms == 0 ? JOIN_SKEW_MS : facts->skew_max_ms;
    Error err;
    *out = (JoinVerdict){ .result = JOIN_REFUSED };
    if (!join_clocks_check(facts->now_ms, request->time_ms, skew, &err)) {
        refuse(out, JOIN_REASON_CLOCK, err.text);
        return;
    }
    /* From then on the clock alone refuses the message. */
    int64_t last = INT64_MAX - skew - 1;
    out->remember_until_ms = (request->time_ms < last ? request->time_ms : last) + skew + 1;
    if (facts->nonce_seen) {
        refuse(out, JOIN_REASON_REPLAY, "this request was received before; send a new one");
        return;
    }
    if (!knows_ca(facts, &request->ca)) {
        refuse(out, JOIN_REASON_CA,
               "the pinned CA is not, or no longer, a CA of this cluster; use the command that "
               "'eden tokens create' prints now");
        return;
    }
    if (request->has_token) {
        decide_token(request, facts, out);
        return;
    }
    /* The answer to the first time was lost; nobody has to approve it twice. */
    out->again = facts->enrolled_stands && facts->enrolled != NULL &&
                 pin_equal(facts->enrolled, &request->key_pin);
    /* Approved is a key under a name, not whoever comes with that name. */
    if (out->again || (facts->approved != NULL && pin_equal(facts->approved, &request->key_pin))) {
        out->result = JOIN_ADMITTED;
        snprintf(out->text, sizeof out->text, "admitted as '%s'", request->name);
        return;
    }
    out->result = JOIN_PENDING;
    snprintf(out->text, sizeof out->text, "'%s' is waiting for approval", request->name);
}
