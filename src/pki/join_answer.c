#include "pki/join_answer.h"

#include <stdio.h>

#include "base/json_text.h"
#include "pki/json_fields.h"

static const char question_format[] = "eden.join-question/1";
static const char answer_format[] = "eden.join-answer/1";

enum {
    NODES_MAX = 32,
};

DEFINE_ENUM_NAMES(JoinAnswerResult, join_answer_result, [JOIN_ANSWER_TRUSTED] = "trusted",
                  [JOIN_ANSWER_NOT_ASKED] = "not asked", [JOIN_ANSWER_OTHER_NAME] = "other name",
                  [JOIN_ANSWER_OTHER_KEY] = "other key", [JOIN_ANSWER_OTHER_CA] = "other ca")

/* --- The question ---------------------------------------------------------------------------- */

void join_question_print(const JoinQuestion *question, Buf *out)
{
    char key[PIN_TEXT + 1];
    pin_text(&question->key, key);
    buf_put_format(out,
                   "{\"format\":\"%s\",\"cluster\":\"%s\",\"node\":\"%s\",\"key\":\"%s\","
                   "\"bundle\":",
                   question_format, question->cluster, question->node, key);
    json_text_put(out, question->bundle);
    buf_put_char(out, '}');
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
            return error_set(err, ERROR_INVALID, "one of the CAs is not a valid certificate");
        }
    }
    question->cas = (CertificateSet){ items, count };
    return true;
}

static bool read_question(Arena *arena, Str text, JoinQuestion *out, Error *err)
{
    Value object, said, cluster, node, key, bundle;
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },   { "cluster", VALUE_STRING, false, &cluster },
        { "node", VALUE_STRING, false, &node },     { "key", VALUE_STRING, false, &key },
        { "bundle", VALUE_STRING, false, &bundle },
    };
    JoinQuestion read = { 0 };
    if (!json_object_read(arena, text, JOIN_QUESTION_MAX, NODES_MAX, &object, err) ||
        !json_format_check(object, question_format, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !cluster_name_check(value_str(cluster), err) || !node_name_check(value_str(node), err) ||
        !pin_parse(value_str(key), &read.key, err)) {
        return false;
    }
    read.bundle = value_str(bundle);
    if (!json_copy(cluster, read.cluster, sizeof read.cluster) ||
        !json_copy(node, read.node, sizeof read.node)) {
        return error_set(err, ERROR_INVALID, "a name is too long");
    }
    if (!read_bundle(arena, &read, err)) {
        return false;
    }
    *out = read;
    return true;
}

bool join_question_read(Arena *arena, Str text, JoinQuestion *out, Error *err)
{
    return read_question(arena, text, out, err) || error_wrap(err, "the question of the server");
}

/* --- The answer ------------------------------------------------------------------------------ */

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

void join_answer_print(const JoinAnswer *answer, Buf *out)
{
    char key[PIN_TEXT + 1];
    buf_put_format(out, "{\"format\":\"%s\",\"result\":\"%s\"", answer_format,
                   join_answer_result_name(answer->result));
    if (answer->result != JOIN_ANSWER_NOT_ASKED) {
        pin_text(&answer->key, key);
        buf_put_format(out, ",\"node\":\"%s\",\"key\":\"%s\"", answer->node, key);
    }
    buf_put_char(out, '}');
}

static bool read_answer(Arena *arena, Str text, JoinAnswer *out, Error *err)
{
    Value object, said, result, node = value_missing(), key = value_missing();
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "result", VALUE_STRING, false, &result },
        { "node", VALUE_STRING, true, &node },
        { "key", VALUE_STRING, true, &key },
    };
    JoinAnswer read = { 0 };
    if (!json_object_read(arena, text, JOIN_ANSWER_MAX, NODES_MAX, &object, err) ||
        !json_format_check(object, answer_format, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return false;
    }
    if (!join_answer_result_from_name(value_str(result), &read.result)) {
        return error_set(err, ERROR_INVALID, "unknown 'result'");
    }
    bool asked = read.result != JOIN_ANSWER_NOT_ASKED;
    if (asked == value_is_missing(node) || asked == value_is_missing(key)) {
        return error_set(err, ERROR_INVALID, "name and key do not go with the result");
    }
    if (asked) {
        if (!node_name_check(value_str(node), err) || !pin_parse(value_str(key), &read.key, err)) {
            return false;
        }
        if (!json_copy(node, read.node, sizeof read.node)) {
            return error_set(err, ERROR_INVALID, "the name is too long");
        }
    }
    *out = read;
    return true;
}

bool join_answer_read(Arena *arena, Str text, JoinAnswer *out, Error *err)
{
    return read_answer(arena, text, out, err) || error_wrap(err, "the answer of the machine");
}

bool join_answer_check(const JoinAnswer *answer, const JoinQuestion *question, Error *err)
{
    char asked[PIN_TEXT + 1], found[PIN_TEXT + 1];
    if (answer->result == JOIN_ANSWER_NOT_ASKED) {
        return error_set(
            err, ERROR_CONFLICT,
            "no join is in progress on that machine; run 'eden join' there, and leave it "
            "running");
    }
    if (strcmp(answer->node, question->node) != 0) {
        return error_set(err, ERROR_CONFLICT, "that machine asks to join as '%s', not as '%s'",
                         answer->node, question->node);
    }
    if (!pin_equal(&answer->key, &question->key)) {
        pin_text(&question->key, asked);
        pin_text(&answer->key, found);
        return error_set(err, ERROR_CONFLICT,
                         "another machine asks to join as '%s': with the key %s, and that machine "
                         "has %s",
                         question->node, asked, found);
    }
    if (answer->result == JOIN_ANSWER_OTHER_CA) {
        return error_set(err, ERROR_CONFLICT,
                         "that machine was given another CA, or was shown one: there may be a "
                         "man in the middle; join there again, with --ca-pin");
    }
    return answer->result == JOIN_ANSWER_TRUSTED ||
           error_set(err, ERROR_CONFLICT, "that machine refuses: %s",
                     join_answer_result_name(answer->result));
}
