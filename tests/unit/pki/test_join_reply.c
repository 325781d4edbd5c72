#include "pki/join_reply.h"

#include "authority.h"

typedef struct Exchange {
    JoinParams requested;
    char nonce[JOIN_NONCE_TEXT + 1];
    JoinRequest request;
    JoinReply reply;
} Exchange;

/* A join up to the server's response, which was accepted. */
static Exchange exchange(Authority *authority)
{
    Arena *arena = &authority->arena;
    Exchange made = { .requested = { .name = STR("web1"),
                                     .ca = authority->ca.chain.items[0].pin,
                                     .key = authority->key,
                                     .now_ms = NOW_MS } };
    Str message;
    assert_succeeds(join_request_make(arena, &made.requested, &message, made.nonce, &err));
    assert_succeeds(join_request_read(arena, message, &made.request, &err));
    JoinVerdict verdict = { .result = JOIN_ADMITTED, .text = "admitted as 'web1'" };
    join_reply_make(&made.request, &verdict, NOW_MS, &made.reply);
    NodeCertificateSpec grant = node_grant(authority, made.request.name);
    grant.key = made.request.key;
    Certificate node = issue_node(authority, &grant);
    made.reply.cluster = STR("home");
    made.reply.certificate = certificate_pem(arena, &node);
    made.reply.bundle = certificate_pem(arena, &authority->ca.chain.items[0]);
    strcpy(made.reply.server, "s1");
    made.reply.rpc_port = 1337;
    return made;
}

static void admitted_joiner_receives_a_certificate(void **state)
{
    Authority *authority = *state;
    Exchange made = exchange(authority);
    AUTO_CLEAR(Buf) text = buf_make(JOIN_REPLY_MAX);
    JoinReply read;
    JoinAdmission admission;
    join_reply_print(&made.reply, &text);
    assert_succeeds(join_reply_read(&authority->arena, buf_str(&text), &read, &err));
    assert_succeeds(
        join_reply_accept(&authority->arena, &read, &made.requested, made.nonce, &admission, &err));
    assert_string_equal(admission.identity.node, "web1");
    assert_string_equal(admission.identity.cluster, "home");
    assert_int_equal(admission.chain.count, 1);
    assert_int_equal(admission.bundle.count, 1);
}

static void rejected_machine_gets_the_reason(void **state)
{
    Authority *authority = *state;
    Exchange made = exchange(authority);
    static const JoinReason reasons[] = { JOIN_REASON_CLOCK, JOIN_REASON_TOKEN_UNKNOWN,
                                          JOIN_REASON_TOKEN_WRONG, JOIN_REASON_NAME_TAKEN };
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        JoinVerdict verdict = { .result = JOIN_REFUSED, .reason = reasons[i], .text = "because" };
        AUTO_CLEAR(Buf) text = buf_make(JOIN_REPLY_MAX);
        JoinReply read;
        JoinAdmission admission;
        join_reply_make(&made.request, &verdict, NOW_MS + 7, &made.reply);
        join_reply_print(&made.reply, &text);
        /* That a token is wrong rather than unknown only appears in the server's log. */
        assert_null(strstr(buf_c(&text), "wrong"));
        assert_succeeds(join_reply_read(&authority->arena, buf_str(&text), &read, &err));
        assert_int_equal(read.result, JOIN_REFUSED);
        assert_int_equal(read.time_ms, NOW_MS + 7);
        assert_fails(join_reply_accept(&authority->arena, &read, &made.requested, made.nonce,
                                       &admission, &err),
                     ERROR_DENIED, "did not admit this machine: because");
    }
}

static void response_must_match_the_request(void **state)
{
    Authority *authority = *state;
    Arena *arena = &authority->arena;
    Exchange good = exchange(authority), made;
    AUTO_CLEAR(Credential) other = { 0 };
    JoinAdmission admission;
    Certificate node;
    assert_succeeds(ca_make(arena, STR("home"), NOW_MS, &other, &err));
    Str other_ca = certificate_pem(arena, &other.chain.items[0]);
#define assert_refused(why)                                                                   \
    assert_fails(                                                                             \
        join_reply_accept(arena, &made.reply, &made.requested, made.nonce, &admission, &err), \
        ERROR_DENIED, why)

    made = good;
    made.nonce[0] = made.nonce[0] == 'a' ? 'b' : 'a';
    assert_refused("belongs to another request");
    /* A CA that is not the pinned one, alone or with a certificate that it signed. */
    made = good;
    made.reply.bundle = other_ca;
    assert_refused("the pinned CA is not among the trusted CAs");
    made = good;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    assert_succeeds(ca_issue_node(arena, &other, &grant, &node, &err));
    made.reply.certificate = certificate_pem(arena, &node);
    assert_refused("not issued by a trusted CA");
    /* An entry among the CAs that is not a CA. */
    made = good;
    made.reply.bundle = arena_join(arena, good.reply.bundle, good.reply.certificate, STR_EMPTY);
    assert_refused("is not a CA certificate");
    /* For another machine. */
    made = good;
    grant = node_grant(authority, "web2");
    node = issue_node(authority, &grant);
    made.reply.certificate = certificate_pem(arena, &node);
    assert_refused("not for the requested name");
    made = good;
    grant = node_grant(authority, "web1");
    assert_succeeds(p256_public_of(authority->ca.key, &grant.key, &err));
    node = issue_node(authority, &grant);
    made.reply.certificate = certificate_pem(arena, &node);
    assert_refused("does not match this machine's key");
    made = good;
    made.reply.cluster = STR("away");
    assert_refused("not for the requested name");
    /* During a rotation the bundle has both, and the certificate may be from either. */
    made = good;
    grant = node_grant(authority, "web1");
    assert_succeeds(ca_issue_node(arena, &other, &grant, &node, &err));
    made.reply.certificate = certificate_pem(arena, &node);
    made.reply.bundle = arena_join(arena, other_ca, good.reply.bundle, STR_EMPTY);
    assert_succeeds(
        join_reply_accept(arena, &made.reply, &made.requested, made.nonce, &admission, &err));
    assert_int_equal(admission.bundle.count, 2);
}

static void joiner_with_a_wrong_clock_sees_both(void **state)
{
    Authority *authority = *state;
    Exchange made = exchange(authority);
    JoinAdmission admission;
    made.requested.now_ms = NOW_MS - 400 * PKI_DAY_MS;
    assert_fails(
        join_reply_accept(&authority->arena, &made.reply, &made.requested, made.nonce, &admission,
                          &err),
        ERROR_DENIED,
        "the clocks differ by 400 d 0 h, more than the allowed 5 min 0 s: the server's clock reads "
        "2027-01-15T08:00:00Z, the joining machine's 2025-12-11T08:00:00Z");
    /* Synchronized clocks are not blamed. */
    made.reply.time_ms = made.requested.now_ms;
    assert_fails(join_reply_accept(&authority->arena, &made.reply, &made.requested, made.nonce,
                                   &admission, &err),
                 ERROR_DENIED, "is not valid before");
}

#define REPLY(result, reason, more)                                          \
    "{\"format\":\"eden.join-reply/1\",\"nonce\":\"a\",\"result\":\"" result \
    "\",\"reason\":\"" reason "\",\"text\":\"x\",\"time_ms\":1" more "}"

#define CLUSTER     ",\"cluster\":\"home\""
#define CERTIFICATE ",\"certificate\":\"c\""
#define BUNDLE      ",\"bundle\":\"b\""
#define GAIN        CLUSTER CERTIFICATE BUNDLE

static void invalid_responses_are_rejected(void **state)
{
    Authority *authority = *state;
    static const char *const rows[][2] = {
        { REPLY("perhaps", "none", ""), "'result': must be one of admitted|pending|refused" },
        { REPLY("refused", "other", ""), "'reason': must be one of none|" },
        { REPLY("admitted", "none", ""), "admits the machine but contains no certificate" },
        { REPLY("admitted", "none", CLUSTER CERTIFICATE),
          "admits the machine but contains no certificate" },
        { REPLY("admitted", "none", CLUSTER BUNDLE),
          "admits the machine but contains no certificate" },
        { REPLY("admitted", "none", CERTIFICATE BUNDLE),
          "admits the machine but contains no certificate" },
        { REPLY("admitted", "none", GAIN), "contains no server address" },
        { REPLY("admitted", "none", GAIN ",\"server\":\"S\",\"rpc_port\":1"), "name" },
        { REPLY("admitted", "none", GAIN ",\"server\":\"s\",\"rpc_port\":0"),
          "'rpc_port': must be from 1" },
        { REPLY("admitted", "none", GAIN ",\"server\":\"s\",\"rpc_port\":65536"), "to 65535" },
        { "{\"format\":\"eden.join-reply/2\"}", "expected 'eden.join-reply/1'" },
        { "<html>", "the server's response" },
        { "", "the server's response" },
    };
    JoinReply read;
    assert_succeeds(
        join_reply_read(&authority->arena, STR(REPLY("refused", "none", "")), &read, &err));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_fails(join_reply_read(&authority->arena, str_from_c(rows[i][0]), &read, &err),
                     ERROR_INVALID, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(admitted_joiner_receives_a_certificate),
        authority_test(rejected_machine_gets_the_reason),
        authority_test(response_must_match_the_request),
        authority_test(joiner_with_a_wrong_clock_sees_both),
        authority_test(invalid_responses_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
