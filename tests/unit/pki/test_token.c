#include "pki/token.h"

#include <openssl/crypto.h>

#include "authority.h"

#define HOUR ((int64_t)3600 * 1000)

typedef struct Pass {
    Token token;
    Ed25519Public key;
    TokenRecord record;
} Pass;

static Pass make_pass(int64_t lifetime_ms, uint32_t uses)
{
    Pass pass;
    Ed25519Private private;
    assert_succeeds(token_make(TOKEN_JOIN, &pass.token, &err));
    token_key(&pass.token, &private);
    assert_succeeds(ed25519_public(&private, &pass.key, &err));
    assert_succeeds(token_record_make(&pass.token,
                                      &(TokenTerms){ STR("rack 7"), NOW_MS, lifetime_ms, uses },
                                      &pass.record, &err));
    return pass;
}

static void tokens_survive_a_round_trip(void **state)
{
    Pass pass = make_pass(HOUR, 1), other = make_pass(HOUR, 1);
    char text[TOKEN_TEXT_MAX + 1];
    Token read;
    token_text(&pass.token, text);
    assert_int_equal(strlen(text), TOKEN_JOIN_TEXT);
    assert_succeeds(token_parse(TOKEN_JOIN, str_from_c(text), &read, &err));
    assert_memory_equal(&read, &pass.token, sizeof read);
    assert_memory_not_equal(other.token.secret, pass.token.secret, TOKEN_SECRET_BYTES);
    assert_string_not_equal(other.token.id, pass.token.id);
    static const Token nothing;
    token_clear(&read);
    assert_memory_equal(&read, &nothing, sizeof read);
}

/* CLUSTER H 15: half a token pasted into a ticket reveals no usable secret. */
static void errors_contain_nothing_of_a_token(void **state)
{
    Pass pass = make_pass(HOUR, 1);
    char text[TOKEN_TEXT_MAX + 1] = "";
    token_text(&pass.token, text);
    for (size_t len = 0; len < TOKEN_JOIN_TEXT + 2; len++) {
        Token read;
        Error err = { 0 };
        char tried[TOKEN_TEXT_MAX + 1];
        memcpy(tried, text, sizeof tried);
        if (len == TOKEN_JOIN_TEXT) {
            tried[TOKEN_JOIN_TEXT - 1] = '!';
        } else if (len == TOKEN_JOIN_TEXT + 1) {
            tried[TOKEN_JOIN_TEXT] = 'a';
        }
        assert_false(token_parse(TOKEN_JOIN, str_from(tried, len), &read, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        for (size_t at = 0; at + 6 < TOKEN_JOIN_TEXT; at++) {
            char chunk[7] = "";
            memcpy(chunk, text + at, 6);
            assert_null(strstr(err.text, chunk));
        }
    }
}

static void other_texts_are_not_tokens(void **state)
{
    static const char *const wrong[] = {
        "",
        "abcdefgh",
        "abcdefgh.",
        "abcdefgh-abcdefghijklmnopqrstuvwxyz234567",
        "ABCDEFGH.abcdefghijklmnopqrstuvwxyz234567",
        "abcdefgh.ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "abcdefg1.abcdefghijklmnopqrstuvwxyz234567",
        "abcdefgh.abcdefghijklmnopqrstuvwxyz23456",
        "abcdefgh.abcdefghijklmnopqrstuvwxyz2345678",
        " abcdefgh.abcdefghijklmnopqrstuvwxyz234567",
        "abcdefgh.abcdefghijklmnopqrstuvwxyz234567\n",
    };
    Token read;
    assert_succeeds(
        token_parse(TOKEN_JOIN, STR("abcdefgh.abcdefghijklmnopqrstuvwxyz234567"), &read, &err));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_fails(token_parse(TOKEN_JOIN, str_from_c(wrong[i]), &read, &err), ERROR_INVALID,
                     "is it complete?");
    }
    assert_fails(
        token_parse(TOKEN_JOIN, STR("eden_abcdefgh_abcdefghijklmnopqrstuvwxyz234567"), &read, &err),
        ERROR_INVALID, "this is an API token");
}

static void an_api_token_survives_a_round_trip(void **state)
{
    Token made, read;
    char text[TOKEN_TEXT_MAX + 1], hash[TOKEN_HASH_TEXT + 1], again[TOKEN_HASH_TEXT + 1];
    assert_succeeds(token_make(TOKEN_API, &made, &err));
    token_text(&made, text);
    assert_int_equal(strlen(text), TOKEN_API_TEXT);
    assert_int_equal(strncmp(text, "eden_", 5), 0);
    assert_succeeds(token_parse(TOKEN_API, str_from_c(text), &read, &err));
    assert_memory_equal(&read, &made, sizeof made);
    assert_succeeds(token_hash(&made, hash, &err));
    assert_succeeds(token_hash(&read, again, &err));
    assert_true(token_hash_equal(hash, again));
    /* Neither is contained in the other, and the id counts. */
    assert_null(strstr(hash, text + 14));
    read.id[0] = read.id[0] == 'a' ? 'b' : 'a';
    assert_succeeds(token_hash(&read, again, &err));
    assert_false(token_hash_equal(hash, again));
    token_clear(&read);
    assert_int_equal(read.secret[0] | read.secret[19] | read.id[0], 0);
}

/* Tokens in use, and copies of the store, stay valid. */
static void hashes_do_not_change(void **state)
{
    Token api, join;
    char hash[TOKEN_HASH_TEXT + 1];
    assert_succeeds(
        token_parse(TOKEN_API, STR("eden_abcdefgh_abcdefghijklmnopqrstuvwxyz234567"), &api, &err));
    assert_succeeds(token_hash(&api, hash, &err));
    assert_string_equal(hash, "51fcd72f18a950f2eeeaa5cf256fa8726231854b0fd4d9888cb127a36f280de0");
    assert_succeeds(
        token_parse(TOKEN_JOIN, STR("abcdefgh.abcdefghijklmnopqrstuvwxyz234567"), &join, &err));
    assert_succeeds(token_hash(&join, hash, &err));
    assert_string_equal(hash, "d411023dc084bc48b4566c76b253717f689d5fcde50fc6a53c3a9bd2f3f37fe4");
}

static void other_texts_are_not_api_tokens(void **state)
{
    static const char good[] = "eden_abcdefgh_abcdefghijklmnopqrstuvwxyz234567";
    Token token;
    Error err;
    assert_true(token_parse(TOKEN_API, str_from_c(good), &token, &err));
    static const char *const bad[] = {
        "",
        "eden_",
        "eden_abcdefgh",
        "eden_abcdefgh_abcdefghijklmnopqrstuvwxyz23456",
        "eden_abcdefgh_abcdefghijklmnopqrstuvwxyz2345677",
        "eden_Abcdefgh_abcdefghijklmnopqrstuvwxyz234567",
        "eden_abcdefgh.abcdefghijklmnopqrstuvwxyz234567",
        "eden-abcdefgh_abcdefghijklmnopqrstuvwxyz234567",
        "eden_abcdefg1_abcdefghijklmnopqrstuvwxyz234567",
        " eden_abcdefgh_abcdefghijklmnopqrstuvwxyz23456",
        "eden_abcdefgh_abcdefghijklmnopqrstuvwxyz23456=",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(token_parse(TOKEN_API, str_from_c(bad[i]), &token, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(strstr(err.text, "ijklmn"));
    }
    assert_false(
        token_parse(TOKEN_API, STR("abcdefgh.abcdefghijklmnopqrstuvwxyz234567"), &token, &err));
    assert_non_null(strstr(err.text, "this is a join token"));
}

/* With read access to the store, or to a backup of it, no machine can join. */
static void record_does_not_contain_the_secret(void **state)
{
    Authority *authority = *state;
    Pass pass = make_pass(HOUR, 3);
    char text[TOKEN_TEXT_MAX + 1];
    token_text(&pass.token, text);
    Buf printed = buf_make_in(&authority->arena, 4096);
    token_record_print(&pass.record, &printed);
    assert_null(strstr(buf_c(&printed), text + TOKEN_ID_TEXT + 1));
    assert_null(memmem(&pass.record, sizeof pass.record, pass.token.secret, TOKEN_SECRET_BYTES));
    assert_null(memmem(&pass.record, sizeof pass.record, pass.key.bytes, ED25519_KEY));
    /* The hash is not that of the key alone, so it is of no use elsewhere. */
    TokenRecord second = pass.record;
    memcpy(second.id, "aaaaaaaa", TOKEN_ID_TEXT);
    assert_int_equal(token_check(&second, &pass.key, NOW_MS), TOKEN_WRONG);
}

static void records_survive_a_round_trip(void **state)
{
    Authority *authority = *state;
    Pass pass = make_pass(HOUR, 3);
    TokenRecord read;
    pass.record.uses = 2;
    memcpy(pass.record.label, "R\xc3\xa4um \"7\" \\", 12);
    Buf printed = buf_make_in(&authority->arena, 4096);
    token_record_print(&pass.record, &printed);
    assert_succeeds(token_record_read(&authority->arena, buf_str(&printed), &read, &err));
    Buf again = buf_make_in(&authority->arena, 4096);
    token_record_print(&read, &again);
    assert_true(str_eq(buf_str(&printed), buf_str(&again)));
    assert_string_equal(read.label, pass.record.label);
    assert_int_equal(read.expires_ms, NOW_MS + HOUR);
    assert_int_equal(read.uses, 2);
    assert_int_equal(token_check(&read, &pass.key, NOW_MS), TOKEN_VALID);
}

#define RECORD(id, hash, more)                                                              \
    "{\"format\":\"eden.token/1\",\"id\":\"" id "\",\"hash\":\"" hash "\",\"label\":\"x\"," \
    "\"created_ms\":1,\"expires_ms\":2," more "}"
#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void damaged_records_are_rejected(void **state)
{
    Authority *authority = *state;
    static const char *const rows[][2] = {
        { RECORD("abcdefg1", HASH, "\"uses_max\":1,\"uses\":0"), "'id': must be a token ID" },
        { RECORD("abcdefgh", "00", "\"uses_max\":1,\"uses\":0"), "'hash': must be a SHA-256" },
        { RECORD("abcdefgh", HASH, "\"uses_max\":0,\"uses\":0"), "'uses_max': must be from 1" },
        { RECORD("abcdefgh", HASH, "\"uses_max\":1,\"uses\":2"), "'uses': more than" },
        { RECORD("abcdefgh", HASH, "\"uses_max\":1,\"uses\":-1"), "'uses': must be from 0" },
        { RECORD("abcdefgh", HASH, "\"uses_max\":\"1\",\"uses\":0"), "must be an integer" },
        { RECORD("abcdefgh", HASH, "\"uses_max\":1"), "'uses': is required" },
        { "{\"format\":\"eden.token/2\"}", "format 'eden.token/2' is not supported" },
        { "{}", "'format' is missing" },
        { "[]", "must be an object" },
        { "", "line 1" },
    };
    TokenRecord read;
    assert_succeeds(token_record_read(&authority->arena,
                                      STR(RECORD("abcdefgh", HASH, "\"uses_max\":1,\"uses\":0")),
                                      &read, &err));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_fails(token_record_read(&authority->arena, str_from_c(rows[i][0]), &read, &err),
                     ERROR_INVALID, rows[i][1]);
    }
}

static void unknown_fields_are_preserved(void **state)
{
    Authority *authority = *state;
    TokenRecord read;
    Buf printed = buf_make_in(&authority->arena, 4096);
    const char *text = RECORD("abcdefgh", HASH, "\"uses_max\":1,\"uses\":0,\"x\":[1]");
    assert_succeeds(token_record_read(&authority->arena, str_from_c(text), &read, &err));
    token_record_print(&read, &printed);
    assert_str(buf_str(&printed), text);
}

static void limits_of_a_token_are_validated(void **state)
{
    Token token;
    TokenRecord record;
    assert_succeeds(token_make(TOKEN_JOIN, &token, &err));
    static const struct {
        int64_t lifetime_ms;
        uint32_t uses;
        const char *label, *why;
    } rows[] = {
        { 59999, 1, "", "a minute and a year" },
        { -1, 1, "", "a minute and a year" },
        { INT64_MAX, 1, "", "a minute and a year" },
        { HOUR, 0, "", "can be used" },
        { HOUR, TOKEN_USES_MAX + 1, "", "can be used" },
        { HOUR, 1, "a\nb", "no control characters" },
        { HOUR, 1, "a\x1b[2Jb", "no control characters" },
        { HOUR, 1, "a\xff", "no control characters" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_fails(token_record_make(&token,
                                       &(TokenTerms){ str_from_c(rows[i].label), NOW_MS,
                                                      rows[i].lifetime_ms, rows[i].uses },
                                       &record, &err),
                     ERROR_INVALID, rows[i].why);
    }
    char label[TOKEN_LABEL_MAX + 1];
    memset(label, 'x', sizeof label);
    assert_succeeds(token_record_make(
        &token, &(TokenTerms){ str_from(label, TOKEN_LABEL_MAX), NOW_MS, HOUR, 1 }, &record, &err));
    assert_fails(token_record_make(
                     &token, &(TokenTerms){ str_from(label, TOKEN_LABEL_MAX + 1), NOW_MS, HOUR, 1 },
                     &record, &err),
                 ERROR_INVALID, "at most 100 bytes");
}

/* CLUSTER H 13: time passes, uses run out, and the token becomes invalid. */
static void token_expires_by_time_and_uses(void **state)
{
    Pass pass = make_pass(HOUR, 2);
    assert_int_equal(token_check(&pass.record, &pass.key, NOW_MS), TOKEN_VALID);
    assert_int_equal(token_check(&pass.record, &pass.key, NOW_MS + HOUR - 1), TOKEN_VALID);
    assert_int_equal(token_check(&pass.record, &pass.key, NOW_MS + HOUR), TOKEN_EXPIRED);
    pass.record.uses = 1;
    assert_int_equal(token_check(&pass.record, &pass.key, NOW_MS), TOKEN_VALID);
    pass.record.uses = 2;
    assert_int_equal(token_check(&pass.record, &pass.key, NOW_MS), TOKEN_USED_UP);
    assert_int_equal(token_check(&pass.record, &pass.key, NOW_MS + HOUR), TOKEN_EXPIRED);
}

static void an_api_token_is_not_used_up(void **state)
{
    Token token;
    TokenRecord record;
    assert_succeeds(token_make(TOKEN_API, &token, &err));
    assert_succeeds(
        token_record_make(&token, &(TokenTerms){ STR("ci"), NOW_MS, HOUR, 7 }, &record, &err));
    assert_int_equal(record.uses_max, 0);
    record.uses = 100;
    assert_int_equal(token_state(&record, NOW_MS + HOUR - 1), TOKEN_VALID);
    assert_int_equal(token_state(&record, NOW_MS + HOUR), TOKEN_EXPIRED);
}

static void details_require_the_secret(void **state)
{
    Pass pass = make_pass(HOUR, 1), other = make_pass(HOUR, 1);
    pass.record.uses = 1;
    assert_int_equal(token_check(&pass.record, &other.key, NOW_MS), TOKEN_WRONG);
    assert_int_equal(token_check(&pass.record, &other.key, NOW_MS + HOUR), TOKEN_WRONG);
    assert_int_equal(token_check(NULL, &other.key, NOW_MS), TOKEN_UNKNOWN);
    assert_string_equal(token_verdict_text(TOKEN_WRONG), token_verdict_text(TOKEN_UNKNOWN));
    assert_string_equal(token_verdict_name(TOKEN_USED_UP), "used up");
    assert_non_null(strstr(token_verdict_text(TOKEN_EXPIRED), "expired"));
    assert_non_null(strstr(token_verdict_text(TOKEN_USED_UP), "used up"));
    assert_non_null(strstr(token_verdict_text(TOKEN_VALID), "valid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(tokens_survive_a_round_trip),
        authority_test(errors_contain_nothing_of_a_token),
        authority_test(other_texts_are_not_tokens),
        authority_test(an_api_token_survives_a_round_trip),
        authority_test(hashes_do_not_change),
        authority_test(other_texts_are_not_api_tokens),
        authority_test(record_does_not_contain_the_secret),
        authority_test(records_survive_a_round_trip),
        authority_test(damaged_records_are_rejected),
        authority_test(unknown_fields_are_preserved),
        authority_test(limits_of_a_token_are_validated),
        authority_test(token_expires_by_time_and_uses),
        authority_test(an_api_token_is_not_used_up),
        authority_test(details_require_the_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
