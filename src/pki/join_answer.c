#include "pki/join_answer.h"

#include <stdio.h>

#include "lang/record.h"

DEFINE_ENUM_NAMES(JoinAnswerResult, join_answer_result, [JOIN_ANSWER_TRUSTED] = "trusted",
                  [JOIN_ANSWER_NOT_ASKED] = "not asked", [JOIN_ANSWER_OTHER_NAME] = "other name",
                  [JOIN_ANSWER_OTHER_KEY] = "other key", [JOIN_ANSWER_OTHER_CA] = "other ca")

/* --- Question -------------------------------------------------------------------------------- */

static const RecordField question_fields[] = {
    { "cluster", RECORD_TEXT, RECORD_CHARS_AT(JoinQuestion, cluster), .is_required = true,
      .check_text = cluster_name_check, .help = "name of the cluster" },
    { "node", RECORD_TEXT, RECORD_CHARS_AT(JoinQuestion, node), .is_required = true,
      .check_text = node_name_check, .help = "requested name" },
    { "key", RECORD_TEXT, RECORD_CODED_AT(JoinQuestion, key, Pin, pin_codec), .is_required = true,
      .help = "pin of the machine's key" },
    { "bundle", RECORD_TEXT, RECORD_STR_AT(JoinQuestion, bundle), .is_required = true,
      .help = "every CA to trust, as PEM" },
    { 0 },
};

static const RecordFormat question_format = {
    .format = "eden.join-question/1",
    .what = "the server's query",
    .fields = question_fields,
    .size = sizeof(JoinQuestion),
    .text_max = JOIN_QUESTION_MAX,
};

void join_question_print(const JoinQuestion *question, Buf *out)
{
    record_print(&question_format, question, out);
}

static bool read_bundle(Arena *arena, JoinQuestion *question, Error *err)
{
    Certificate *items;
    uint32_t count;
    if (!certificates_from_pem(arena, question->bundle, &items, &count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!items[i].is_ca) {
            return error_set(err, ERROR_INVALID, "one of the certificates is not a CA certificate");
        }
    }
    question->cas = (CertificateSet){ items, count };
    return true;
}

bool join_question_read(Arena *arena, Str text, JoinQuestion *out, Error *err)
{
    JoinQuestion read;
    if (!record_read(&question_format, arena, text, RECORD_STORED, &read, err)) {
        return false;
    }
    if (!read_bundle(arena, &read, err)) {
        return error_wrap(err, "%s", question_format.what);
    }
    *out = read;
    return true;
}

/* --- Answer ---------------------------------------------------------------------------------- */

void join_answer_decide(const JoinQuestion *question, const JoinPending *pending, JoinAnswer *out)
{
    *out = (JoinAnswer){ .result = JOIN_ANSWER_NOT_ASKED };
    if (pending == NULL) {
        return;
    }
    snprintf(out->node, sizeof out->node, "%s", pending->node);
    out->key = pending->key;
    if (strcmp(pending->node, question->node) != 0) {
        out->result = JOIN_ANSWER_OTHER_NAME;
    } else if (!pin_equal(&pending->key, &question->key)) {
        out->result = JOIN_ANSWER_OTHER_KEY;
    } else if (certificate_find_pin(question->cas.items, question->cas.count, &pending->ca) ==
               NULL) {
        out->result = JOIN_ANSWER_OTHER_CA;
    } else {
        out->result = JOIN_ANSWER_TRUSTED;
    }
}

static bool check_answer(const void *record, Error *err)
{
    const JoinAnswer *answer = record;
    bool has_request = answer->result != JOIN_ANSWER_NOT_ASKED;
    return (has_request == (answer->node[0] != '\0') &&
            has_request == !pin_is_zero(&answer->key)) ||
           error_set(err, ERROR_INVALID, "'node' and 'key' do not match 'result'");
}

static const RecordField answer_fields[] = {
    { "result", RECORD_CHOICE, RECORD_ENUM_AT(JoinAnswer, result, join_answer_result),
      .is_required = true, .help = "whether the CAs are trusted" },
    { "node", RECORD_TEXT, RECORD_CHARS_AT(JoinAnswer, node), .check_text = node_name_check,
      .help = "name that the machine requests" },
    { "key", RECORD_TEXT, RECORD_CODED_AT(JoinAnswer, key, Pin, pin_or_none_codec),
      .help = "pin of its key" },
    { 0 },
};

static const RecordFormat answer_format = {
    .format = "eden.join-answer/1",
    .what = "the machine's response",
    .fields = answer_fields,
    .size = sizeof(JoinAnswer),
    .text_max = JOIN_ANSWER_MAX,
    .check = check_answer,
};

void join_answer_print(const JoinAnswer *answer, Buf *out)
{
    record_print(&answer_format, answer, out);
}

bool join_answer_read(Arena *arena, Str text, JoinAnswer *out, Error *err)
{
    return record_read(&answer_format, arena, text, RECORD_STORED, out, err);
}

bool join_answer_check(const JoinAnswer *answer, const JoinQuestion *question, Error *err)
{
    char has_request[PIN_TEXT + 1], found[PIN_TEXT + 1];
    if (answer->result == JOIN_ANSWER_NOT_ASKED) {
        return error_set(
            err, ERROR_CONFLICT,
            "no 'eden join' is running on that machine; run it there, and leave it running");
    }
    if (strcmp(answer->node, question->node) != 0) {
        return error_set(err, ERROR_CONFLICT,
                         "that machine is requesting to join as '%s', not as '%s'", answer->node,
                         question->node);
    }
    if (!pin_equal(&answer->key, &question->key)) {
        pin_text(&question->key, has_request);
        pin_text(&answer->key, found);
        return error_set(
            err, ERROR_CONFLICT,
            "the machine requesting to join as '%s' is a different one: its key is %s, but the "
            "machine reached over SSH has %s",
            question->node, has_request, found);
    }
    if (answer->result == JOIN_ANSWER_OTHER_CA) {
        return error_set(err, ERROR_CONFLICT,
                         "that machine received a different CA, so someone may be intercepting "
                         "the connection; run 'eden join' there again, with --ca-pin");
    }
    return answer->result == JOIN_ANSWER_TRUSTED ||
           error_set(err, ERROR_CONFLICT, "that machine rejected the query: %s",
                     join_answer_result_name(answer->result));
}
