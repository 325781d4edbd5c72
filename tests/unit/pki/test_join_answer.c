#include "pki/join_answer.h"

#include "authority.h"

/* A question of the cluster "home" about the node "web1" and its key. */
static JoinQuestion make_question(Authority *authority)
{
    JoinQuestion question = { .cluster = "home", .node = "web1" };
    p256_public_pin(&authority->public_key, &question.key);
    question.bundle = certificate_pem(&authority->arena, &authority->ca.chain.items[0]);
    return question;
}

static JoinQuestion read_question(Authority *authority, const JoinQuestion *question)
{
    AUTO_CLEAR(Buf) text = buf_make(JOIN_QUESTION_MAX);
    JoinQuestion read;
    join_question_print(question, &text);
    assert_succeeds(join_question_read(&authority->arena,
                                       arena_copy(&authority->arena, buf_str(&text)), &read, &err));
    return read;
}

static JoinPending make_pending(Authority *authority)
{
    JoinPending pending = { .node = "web1", .ca = authority->ca.chain.items[0].pin };
    p256_public_pin(&authority->public_key, &pending.key);
    return pending;
}

static JoinAnswer answer_to(Authority *authority, const JoinPending *pending)
{
    JoinQuestion question = make_question(authority), asked = read_question(authority, &question);
    JoinAnswer answer, read;
    AUTO_CLEAR(Buf) text = buf_make(JOIN_ANSWER_MAX);
    join_answer_decide(&asked, pending, &answer);
    join_answer_print(&answer, &text);
    assert_succeeds(join_answer_read(&authority->arena, buf_str(&text), &read, &err));
    assert_int_equal(read.result, answer.result);
    assert_string_equal(read.node, answer.node);
    assert_true(pin_equal(&read.key, &answer.key));
    return read;
}

static void requesting_machine_trusts_its_configured_ca(void **state)
{
    Authority *authority = *state;
    JoinQuestion question = make_question(authority);
    JoinPending pending = make_pending(authority);
    JoinAnswer answer = answer_to(authority, &pending);
    Error err;
    assert_int_equal(answer.result, JOIN_ANSWER_TRUSTED);
    assert_true(join_answer_check(&answer, &question, &err));
}

static void expect_refusal(Authority *authority, const JoinPending *pending,
                           JoinAnswerResult result, const char *chunk)
{
    JoinQuestion question = make_question(authority);
    JoinAnswer answer = answer_to(authority, pending);
    Error err = { 0 };
    assert_int_equal(answer.result, result);
    assert_false(join_answer_check(&answer, &question, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    if (strstr(err.text, chunk) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", chunk, err.text);
    }
}

static void machine_without_a_request_trusts_nothing(void **state)
{
    expect_refusal(*state, NULL, JOIN_ANSWER_NOT_ASKED, "eden join");
}

static void machine_with_another_key_does_not_match(void **state)
{
    Authority *authority = *state;
    JoinPending pending = make_pending(authority);
    char own[PIN_TEXT + 1];
    pending.key.bytes[0] ^= 1;
    pin_text(&pending.key, own);
    expect_refusal(authority, &pending, JOIN_ANSWER_OTHER_KEY, own);
}

static void machine_with_another_name_does_not_match(void **state)
{
    Authority *authority = *state;
    JoinPending pending = make_pending(authority);
    pending.node = "web2";
    expect_refusal(authority, &pending, JOIN_ANSWER_OTHER_NAME, "'web2'");
}

static void machine_with_another_ca_refuses(void **state)
{
    Authority *authority = *state;
    JoinPending pending = make_pending(authority);
    pending.ca.bytes[31] ^= 1;
    expect_refusal(authority, &pending, JOIN_ANSWER_OTHER_CA, "a different CA");
}

/* Its name does not matter: the server checks the key. */
static void claim_to_trust_does_not_help_another_key(void **state)
{
    Authority *authority = *state;
    JoinQuestion question = make_question(authority);
    JoinAnswer answer = { .result = JOIN_ANSWER_TRUSTED, .node = "web1", .key = question.key };
    Error err;
    assert_true(join_answer_check(&answer, &question, &err));
    answer.key.bytes[5] ^= 1;
    assert_false(join_answer_check(&answer, &question, &err));
}

static void refuse_question(Authority *authority, const char *text)
{
    JoinQuestion question;
    Error err = { 0 };
    if (join_question_read(&authority->arena, str_from_c(text), &question, &err)) {
        fail_msg("taken: %s", text);
    }
    assert_int_equal(err.kind, ERROR_INVALID);
}

#define PIN "sha256:1000000000000000000000000000000000000000000000000000000000000000"

static void invalid_requests_get_an_error(void **state)
{
    Authority *authority = *state;
    refuse_question(authority, "");
    refuse_question(authority, "[]");
    refuse_question(authority, "{\"format\":\"eden.join-question/2\"}");
    refuse_question(authority, "{\"format\":\"eden.join-question/1\"}");
    refuse_question(authority, ("{\"format\":\"eden.join-question/1\",\"cluster\":\"home\","
                                "\"node\":\"../web\",\"key\":\"" PIN "\",\"bundle\":\"\"}"));
    refuse_question(authority, ("{\"format\":\"eden.join-question/1\",\"cluster\":\"home\","
                                "\"node\":\"web1\",\"key\":\"" PIN "\",\"bundle\":\"x\"}"));
}

/* A certificate that is not a CA must not become trusted. */
static void node_certificate_is_not_a_ca_to_trust(void **state)
{
    Authority *authority = *state;
    JoinQuestion question = make_question(authority), read;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate node = issue_node(authority, &grant);
    AUTO_CLEAR(Buf) text = buf_make(JOIN_QUESTION_MAX);
    Error err;
    question.bundle = certificate_pem(&authority->arena, &node);
    join_question_print(&question, &text);
    assert_false(join_question_read(&authority->arena, buf_str(&text), &read, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void invalid_responses_are_rejected(void **state)
{
    Authority *authority = *state;
    static const char *const texts[] = {
        "",
        "null",
        "{\"format\":\"eden.join-answer/0\",\"result\":\"trusted\"}",
        "{\"format\":\"eden.join-answer/1\",\"result\":\"trusted\"}",
        ("{\"format\":\"eden.join-answer/1\",\"result\":\"yes\",\"node\":\"a\",\"key\":\"" PIN
         "\"}"),
        ("{\"format\":\"eden.join-answer/1\",\"result\":\"not asked\",\"node\":\"a\",\"key\":"
         "\"" PIN "\"}"),
        ("{\"format\":\"eden.join-answer/1\",\"result\":\"trusted\",\"node\":\"A\",\"key\":\"" PIN
         "\"}"),
        "{\"format\":\"eden.join-answer/1\",\"result\":\"trusted\",\"node\":\"a\",\"key\":\"x\"}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        JoinAnswer answer;
        Error err = { 0 };
        if (join_answer_read(&authority->arena, str_from_c(texts[i]), &answer, &err)) {
            fail_msg("taken: %s", texts[i]);
        }
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

static void excessive_input_is_rejected(void **state)
{
    Authority *authority = *state;
    JoinQuestion question;
    JoinAnswer answer;
    Error err;
    char *many = arena_alloc(&authority->arena, JOIN_QUESTION_MAX + 1);
    memset(many, ' ', JOIN_QUESTION_MAX + 1);
    assert_false(join_question_read(&authority->arena, str_from(many, JOIN_QUESTION_MAX + 1),
                                    &question, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(
        join_answer_read(&authority->arena, str_from(many, JOIN_ANSWER_MAX + 1), &answer, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(requesting_machine_trusts_its_configured_ca),
        authority_test(machine_without_a_request_trusts_nothing),
        authority_test(machine_with_another_key_does_not_match),
        authority_test(machine_with_another_name_does_not_match),
        authority_test(machine_with_another_ca_refuses),
        authority_test(claim_to_trust_does_not_help_another_key),
        authority_test(invalid_requests_get_an_error),
        authority_test(node_certificate_is_not_a_ca_to_trust),
        authority_test(invalid_responses_are_rejected),
        authority_test(excessive_input_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
