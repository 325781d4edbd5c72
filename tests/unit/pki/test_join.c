#include "pki/join.h"

#include "authority.h"
#include "lang/json.h"

#define HOUR ((int64_t)3600 * 1000)

typedef struct Joiner {
    Authority *authority;
    Token token;
    TokenRecord record;
    JoinParams requested;
    Str message;
    char nonce[JOIN_NONCE_TEXT + 1];
    JoinRequest request;
    JoinFacts facts;
    JoinVerdict verdict;
} Joiner;

static void ask(Joiner *joiner)
{
    Arena *arena = &joiner->authority->arena;
    assert_succeeds(
        join_request_make(arena, &joiner->requested, &joiner->message, joiner->nonce, &err));
    assert_succeeds(join_request_read(arena, joiner->message, &joiner->request, &err));
}

static void decide(Joiner *joiner)
{
    join_decide(&joiner->request, &joiner->facts, &joiner->verdict);
}

/* A machine named web1 with a single-use token, valid for an hour; the server knows the token. */
static Joiner make_joiner(Authority *authority)
{
    Joiner joiner = { .authority = authority };
    const Pin *ca = &authority->ca.chain.items[0].pin;
    assert_succeeds(token_make(TOKEN_JOIN, &joiner.token, &err));
    assert_succeeds(token_record_make(&joiner.token, &(TokenTerms){ STR(""), NOW_MS, HOUR, 1 },
                                      &joiner.record, &err));
    joiner.requested =
        (JoinParams){ .name = STR("web1"), .ca = *ca, .key = authority->key, .now_ms = NOW_MS };
    joiner.facts = (JoinFacts){ .now_ms = NOW_MS, .cas = ca, .ca_count = 1 };
    return joiner;
}

static Joiner make_joiner_with_token(Authority *authority, Token *kept, TokenRecord *record)
{
    Joiner joiner = make_joiner(authority);
    *kept = joiner.token;
    *record = joiner.record;
    joiner.requested.token = kept;
    joiner.facts.token = record;
    ask(&joiner);
    return joiner;
}

#define assert_verdict(joiner, wanted, why, part)                                         \
    do {                                                                                  \
        decide(joiner);                                                                   \
        if ((joiner)->verdict.result != (wanted) || (joiner)->verdict.reason != (why) ||  \
            strstr((joiner)->verdict.text, (part)) == NULL) {                             \
            fail_msg("%s (%s): %s", join_result_name((joiner)->verdict.result),           \
                     join_reason_name((joiner)->verdict.reason), (joiner)->verdict.text); \
        }                                                                                 \
    } while (0)

static void valid_token_admits(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    assert_string_equal(joiner.request.name, "web1");
    assert_string_equal(joiner.request.nonce, joiner.nonce);
    assert_true(joiner.request.has_token);
    assert_true(p256_public_equal(&joiner.request.key, &joiner.authority->public_key));
    assert_verdict(&joiner, JOIN_ADMITTED, JOIN_REASON_NONE, "admitted as 'web1'");
    assert_false(joiner.verdict.is_repeated);
    assert_int_equal(joiner.verdict.remember_until_ms, NOW_MS + JOIN_SKEW_MS + 1);
}

/* CLUSTER H 11: a request alone admits no machine. */
static void joiner_without_token_stays_pending(void **state)
{
    Joiner joiner = make_joiner(*state);
    ask(&joiner);
    assert_false(joiner.request.has_token);
    assert_verdict(&joiner, JOIN_PENDING, JOIN_REASON_NONE, "'web1' is waiting for approval");
    /* Even if the name is in use, which an unauthenticated client does not learn. */
    Pin other = { { 7 } };
    joiner.facts.enrolled = &other;
    assert_verdict(&joiner, JOIN_PENDING, JOIN_REASON_NONE, "waiting");
    /* A key is approved, not any machine with the name. */
    joiner.facts.enrolled = NULL;
    joiner.facts.approved = &other;
    assert_verdict(&joiner, JOIN_PENDING, JOIN_REASON_NONE, "waiting");
    joiner.facts.approved = &joiner.request.key_pin;
    assert_verdict(&joiner, JOIN_ADMITTED, JOIN_REASON_NONE, "admitted");
}

/* CLUSTER H 8: a recorded request is rejected when it is replayed, now and later. */
static void replayed_request_is_rejected(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    decide(&joiner);
    int64_t remembered = joiner.verdict.remember_until_ms;
    joiner.facts.nonce_seen = true;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_REPLAY, "was received before");
    /* As soon as the nonce may be forgotten the clock check rejects it, without a gap. */
    joiner.facts.now_ms = remembered - 1;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_REPLAY, "was received before");
    joiner.facts.now_ms = remembered;
    joiner.facts.nonce_seen = false;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_CLOCK, "the clocks differ");
    /* Two requests of the same machine differ. */
    char before[JOIN_NONCE_TEXT + 1];
    memcpy(before, joiner.nonce, sizeof before);
    ask(&joiner);
    assert_string_not_equal(before, joiner.nonce);
}

static void both_clocks_are_shown_if_they_differ(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    joiner.facts.now_ms = NOW_MS + JOIN_SKEW_MS;
    assert_verdict(&joiner, JOIN_ADMITTED, JOIN_REASON_NONE, "");
    joiner.facts.now_ms = NOW_MS - JOIN_SKEW_MS;
    assert_verdict(&joiner, JOIN_ADMITTED, JOIN_REASON_NONE, "");
    joiner.facts.now_ms = NOW_MS + 2 * HOUR + 5 * 60000;
    assert_verdict(
        &joiner, JOIN_REFUSED, JOIN_REASON_CLOCK,
        "the clocks differ by 2 h 5 min, more than the allowed 5 min 0 s: the server's clock reads "
        "2027-01-15T10:05:00Z, the joining machine's 2027-01-15T08:00:00Z");
    joiner.facts.now_ms = NOW_MS - JOIN_SKEW_MS - 1;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_CLOCK,
                   "the server's clock reads 2027-01-15T07:54:59Z");
    static const int64_t moments[] = { INT64_MIN, -1, 0, INT64_MAX };
    for (size_t i = 0; i < COUNT_OF(moments); i++) {
        joiner.facts.now_ms = NOW_MS;
        joiner.request.time_ms = moments[i];
        assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_CLOCK, "the clocks differ by");
    }
    assert_succeeds(join_clocks_check(INT64_MAX, INT64_MAX - 1, 1, &err));
    assert_fails(join_clocks_check(INT64_MAX, INT64_MIN, 1000, &err), ERROR_DENIED, "differ");
    assert_fails(join_clocks_check(0, 3000, 1000, &err), ERROR_DENIED,
                 "by 3 s, more than the allowed 1 s");
    assert_fails(join_clocks_check(0, 49 * HOUR, 1000, &err), ERROR_DENIED, "by 2 d 1 h");
}

static void other_pin_is_rejected(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    Pin cas[] = { { { 1 } }, { { 2 } } };
    joiner.facts.cas = cas;
    joiner.facts.ca_count = 2;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_CA,
                   "is not, or is no longer, a CA of this cluster");
    /* During a rotation either is accepted. */
    cas[1] = joiner.requested.ca;
    assert_verdict(&joiner, JOIN_ADMITTED, JOIN_REASON_NONE, "");
    joiner.facts.ca_count = 0;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_CA, "");
}

/* CLUSTER H 13, and that only the owner of a token learns its state. */
static void invalid_tokens_are_rejected_with_the_reason(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    record.uses = 1;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_TOKEN_USED_UP, "used up");
    record.uses = 0;
    record.expires_ms = NOW_MS;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_TOKEN_EXPIRED, "expired");
    char reported[JOIN_TEXT_MAX];
    joiner.facts.token = NULL;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_TOKEN_UNKNOWN, "unknown or incomplete");
    memcpy(reported, joiner.verdict.text, sizeof reported);
    /* A record of another secret, expired or not, reveals nothing more. */
    Token other;
    assert_succeeds(token_make(TOKEN_JOIN, &other, &err));
    memcpy(other.id, token.id, sizeof other.id);
    TokenRecord second;
    assert_succeeds(token_record_make(&other, &(TokenTerms){ STR(""), NOW_MS - 2 * HOUR, HOUR, 1 },
                                      &second, &err));
    joiner.facts.token = &second;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_TOKEN_WRONG, "unknown or incomplete");
    assert_string_equal(joiner.verdict.text, reported);
    /* Nor does the right record under another id. */
    TokenRecord moved = joiner.record;
    memcpy(moved.id, "aaaaaaaa", TOKEN_ID_TEXT);
    joiner.facts.token = &moved;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_TOKEN_UNKNOWN, "unknown or incomplete");
}

/* CLUSTER H 12: a token does not admit a machine with the name of another node. */
static void name_of_another_node_is_rejected(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    Pin other = { { 7 } };
    joiner.facts.enrolled = &other;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_NAME_TAKEN, "'web1' already exists");
    joiner.facts.enrolled_token = str_from_c(token.id);
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_NAME_TAKEN, "'web1' already exists");
}

static void lost_response_can_be_requested_again(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    Pin own = joiner.request.key_pin;
    record.uses = 1;
    joiner.facts.enrolled = &own;
    joiner.facts.enrolled_token = str_from_c(token.id);
    ask(&joiner);
    assert_verdict(&joiner, JOIN_ADMITTED, JOIN_REASON_NONE, "admitted");
    assert_true(joiner.verdict.is_repeated);
    /* Not if it joined another way, was revoked since, or the token has expired. */
    joiner.facts.enrolled_token = STR_EMPTY;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_TOKEN_USED_UP, "");
    joiner.facts.enrolled_token = str_from_c(token.id);
    record.expires_ms = NOW_MS;
    assert_verdict(&joiner, JOIN_REFUSED, JOIN_REASON_TOKEN_EXPIRED, "");
}

static void lost_response_to_an_approved_machine_can_be_requested_again(void **state)
{
    Joiner joiner = make_joiner(*state);
    ask(&joiner);
    Pin own = joiner.request.key_pin, other = { { 7 } };
    joiner.facts.enrolled = &own;
    joiner.facts.enrolled_is_valid = true;
    assert_verdict(&joiner, JOIN_ADMITTED, JOIN_REASON_NONE, "admitted");
    assert_true(joiner.verdict.is_repeated);
    /* Not with another key, nor if it has expired or was revoked since. */
    joiner.facts.enrolled = &other;
    assert_verdict(&joiner, JOIN_PENDING, JOIN_REASON_NONE, "waiting");
    joiner.facts.enrolled = &own;
    joiner.facts.enrolled_is_valid = false;
    assert_verdict(&joiner, JOIN_PENDING, JOIN_REASON_NONE, "waiting");
}

/* The message with one of its or its token's fields changed. */
static Str change(Arena *arena, Str message, const char *outer, const char *inner, Value to)
{
    Value object;
    assert_succeeds(json_parse_text(arena, message, NULL, &object, &err));
    Map *map = object.map;
    if (inner != NULL) {
        map = map_find_str(map, str_from_c(outer))->value.map;
    }
    if (value_is_missing(to)) {
        map_remove(map, value_string(str_from_c(inner == NULL ? outer : inner)));
    } else {
        map_set_str(arena, map, str_from_c(inner == NULL ? outer : inner), to);
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    assert_succeeds(json_print(&text, object, NULL, &err));
    return buf_str(&text);
}

static Value text_value(const char *text)
{
    return value_string(str_from_c(text));
}

/* CLUSTER H 10: each field is signed; whoever changes one, or uses the certificate request of
 * another machine, lacks the key for it. */
static void changed_request_is_rejected(void **state)
{
    Token token, other_token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    Arena *arena = &joiner.authority->arena;
    Str stolen;
    assert_succeeds(csr_make(arena, joiner.authority->ca.key, &stolen, &err));
    assert_succeeds(token_make(TOKEN_JOIN, &other_token, &err));
    const struct {
        const char *outer, *inner;
        Value to;
        const char *why;
    } rows[] = {
        { "name", NULL, text_value("web2"), "not signed with the key of its certificate request" },
        { "ca", NULL,
          text_value("sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"),
          "not signed with the key of its certificate request" },
        { "csr", NULL, value_string(stolen), "not signed with the key of its certificate request" },
        { "nonce", NULL, text_value("aaaaaaaaaaaaaaaaaaaaaaaaaa"), "not signed with the key" },
        { "time_ms", NULL, value_int(NOW_MS + 1),
          "not signed with the key of its certificate request" },
        { "token", NULL, value_missing(), "not signed with the key of its certificate request" },
        { "token", "id", text_value(other_token.id),
          "not signed with the key of its certificate request" },
        { "token", "key", text_value("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
          "not signed with the key of its token" },
        { "proof", NULL, text_value("AAAA"), "not signed with the key of its certificate request" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        JoinRequest request;
        Str changed = change(arena, joiner.message, rows[i].outer, rows[i].inner, rows[i].to);
        assert_fails(join_request_read(arena, changed, &request, &err), ERROR_INVALID, rows[i].why);
    }
    /* A token cannot be added to a message that was sent without one. */
    Joiner plain = make_joiner(joiner.authority);
    ask(&plain);
    Value whole;
    assert_succeeds(json_parse_text(arena, joiner.message, NULL, &whole, &err));
    Str mixed = change(arena, plain.message, "token", NULL, *value_get(whole, STR("token")));
    JoinRequest request;
    assert_fails(join_request_read(arena, mixed, &request, &err), ERROR_INVALID,
                 "not signed with the key of its certificate request");
}

/* CLUSTER H 9: no version except this one, however it is requested. */
static void other_version_is_rejected(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    Arena *arena = &joiner.authority->arena;
    static const char *const versions[] = { "eden.join/0", "eden.join/2", "", "eden.join/1 ",
                                            "\x1b[2J" };
    JoinRequest request;
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        Str changed = change(arena, joiner.message, "format", NULL, text_value(versions[i]));
        assert_fails(join_request_read(arena, changed, &request, &err), ERROR_INVALID,
                     "expected 'eden.join/1'");
    }
    Str without = change(arena, joiner.message, "format", NULL, value_missing());
    assert_fails(join_request_read(arena, without, &request, &err), ERROR_INVALID,
                 "'format' is missing");
}

static void invalid_requests_are_rejected(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    Arena *arena = &joiner.authority->arena;
    const struct {
        const char *outer, *inner;
        Value to;
        const char *why;
    } rows[] = {
        { "name", NULL, text_value("../x"), "invalid node name: character 1 is" },
        { "name", NULL, text_value("-oProxyCommand=x"), "invalid node name: character 1 is" },
        { "name", NULL, value_int(1), "'name': must be a string" },
        { "name", NULL, value_missing(), "'name': is required" },
        { "ca", NULL, text_value("sha256:00"), "a pin must be" },
        { "nonce", NULL, text_value(""), "'nonce': must be 26 letters and digits" },
        { "nonce", NULL, text_value("aaaaaaaaaaaaaaaaaaaaaaaaa\n"),
          "'nonce': must be 26 letters and digits" },
        { "proof", NULL, text_value(""), "'proof': must be a signature in base64" },
        { "proof", NULL, text_value("===="), "'proof': must be a signature in base64" },
        { "proof", NULL, text_value("AAA!"), "'proof': must be a signature in base64" },
        { "proof", NULL, text_value("AAB="), "'proof': must be a signature in base64" },
        { "time_ms", NULL, text_value("1"), "'time_ms': must be an integer" },
        { "csr", NULL, text_value("x"), "the certificate request: not PEM" },
        { "token", NULL, text_value("x"), "'token': must be an object" },
        { "token", "id", text_value("ABC"), "'token/id': must be a token ID" },
        { "token", "key", text_value("AAAA"),
          "'token': must have a key and a signature in base64" },
        { "token", "proof", text_value("AAAA"),
          "'token': must have a key and a signature in base64" },
        { "token", "proof", value_missing(), "'token/proof': is required" },
        { "token", "secret", text_value("x"), "'token/secret': unknown field" },
        { "roles", NULL, text_value("server"), "'roles': unknown field" },
    };
    JoinRequest request;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str changed = change(arena, joiner.message, rows[i].outer, rows[i].inner, rows[i].to);
        assert_fails(join_request_read(arena, changed, &request, &err), ERROR_INVALID, rows[i].why);
    }
    for (size_t len = 0; len < joiner.message.len; len += 5) {
        assert_fails(join_request_read(arena, str_slice(joiner.message, 0, len), &request, &err),
                     ERROR_INVALID, "the join request: ");
    }
    char *large = arena_alloc(arena, JOIN_REQUEST_MAX + 1);
    memset(large, ' ', JOIN_REQUEST_MAX + 1);
    assert_fails(join_request_read(arena, str_from(large, JOIN_REQUEST_MAX + 1), &request, &err),
                 ERROR_LIMIT, "");
    joiner.requested.name = STR("Web1");
    assert_fails(join_request_make(arena, &joiner.requested, &joiner.message, joiner.nonce, &err),
                 ERROR_INVALID, "character 1 is 'W'");
}

/* CLUSTER H 15: neither the message nor the response contains parts of a token's secret. */
static void secret_never_leaves_the_joiner(void **state)
{
    Token token;
    TokenRecord record;
    Joiner joiner = make_joiner_with_token(*state, &token, &record);
    char text[TOKEN_TEXT_MAX + 1];
    token_text(&token, text);
    Str secret = str_from(text + TOKEN_ID_TEXT + 1, TOKEN_SECRET_TEXT);
    assert_int_equal(str_find(joiner.message, secret, 0), STR_NOT_FOUND);
    decide(&joiner);
    assert_null(strstr(joiner.verdict.text, secret.data));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(valid_token_admits),
        authority_test(joiner_without_token_stays_pending),
        authority_test(replayed_request_is_rejected),
        authority_test(both_clocks_are_shown_if_they_differ),
        authority_test(other_pin_is_rejected),
        authority_test(invalid_tokens_are_rejected_with_the_reason),
        authority_test(name_of_another_node_is_rejected),
        authority_test(lost_response_can_be_requested_again),
        authority_test(lost_response_to_an_approved_machine_can_be_requested_again),
        authority_test(changed_request_is_rejected),
        authority_test(other_version_is_rejected),
        authority_test(invalid_requests_are_rejected),
        authority_test(secret_never_leaves_the_joiner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
