/* Input: messages between a server and a joining machine over SSH, the address of the machine to
 * connect to, and a host key. Invariants: only the expected CA is trusted, only the expected key is
 * approved, and accepted text can be neither an option nor a second line. */
#include <openssl/err.h>

#include "base/bug.h"
#include "membership/ssh_target.h"
#include "pki/join_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_question(Arena *arena, Str text)
{
    JoinQuestion question;
    Error err = { 0 };
    if (!join_question_read(arena, text, &question, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
        return;
    }
    BUG_IF(question.cas.count == 0);
    JoinPending pending = { .node = question.node, .key = question.key };
    JoinAnswer answer;
    join_answer_decide(&question, &pending, &answer);
    BUG_IF(answer.result == JOIN_ANSWER_TRUSTED); /* its CA is all zeros */
    pending.ca = question.cas.items[0].pin;
    join_answer_decide(&question, &pending, &answer);
    BUG_IF(answer.result != JOIN_ANSWER_TRUSTED);
    BUG_IF(!join_answer_check(&answer, &question, &err));
    pending.key.bytes[0] ^= 1;
    join_answer_decide(&question, &pending, &answer);
    BUG_IF(answer.result != JOIN_ANSWER_OTHER_KEY || join_answer_check(&answer, &question, &err));
}

static void read_answer(Arena *arena, Str text)
{
    JoinAnswer answer, again;
    Error err = { 0 };
    if (!join_answer_read(arena, text, &answer, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(JOIN_ANSWER_MAX);
    join_answer_print(&answer, &out);
    BUG_IF(!join_answer_read(arena, buf_str(&out), &again, &err));
    BUG_IF(again.result != answer.result || !pin_equal(&again.key, &answer.key));
    /* A key generated elsewhere. */
    JoinQuestion question = { .node = "web1", .key.bytes = { 1, 2, 3 } };
    BUG_IF(join_answer_check(&answer, &question, &err) && !pin_equal(&answer.key, &question.key));
}

static bool is_single_word(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == '"' || *c == '\'' || *c == '$' || *c == '`' ||
            *c == ';') {
            return false;
        }
    }
    return text[0] != '\0' && text[0] != '-';
}

static void read_target(Arena *arena, Str text)
{
    SshTarget target;
    SshTrust trust = { 0 };
    Error err = { 0 };
    Str line;
    if (ssh_trust_add(arena, &trust, text, &err)) {
        Str known = ssh_trust_known_hosts(arena, &trust);
        BUG_IF(!str_starts(known, STR(SSH_HOST_ALIAS " ")));
        BUG_IF(str_find(known, STR("\n"), 0) != known.len - 1);
        SshKey learned;
        BUG_IF(!ssh_trust_found(arena, known, &learned, &err));
        BUG_IF(!ssh_key_same(&learned, &trust.keys[0]));
        BUG_IF(ssh_trust_text(arena, &trust).len == 0);
    } else {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
    }
    line = ssh_authorized_line(arena, STR("key"), false);
    BUG_IF(line.len == 0);
    if (!ssh_target_parse(text, &target, &err)) {
        BUG_IF(err.kind != ERROR_INVALID);
        target = (SshTarget){ .user = "root", .address = { .host = "web1", .port = 22 } };
    }
    BUG_IF(!is_single_word(target.user) || !is_single_word(target.address.host));
    /* And as output of ssh. */
    BUG_IF(ssh_explain(arena, &target, &trust, (int)(text.len % 256), text, &err));
    BUG_IF(err.text[0] == '\0');
    BUG_IF(ssh_explain(arena, &target, &trust, 255, text, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 16 << 20);
    Str text = str_from((const char *)data, size);
    read_question(&arena, text);
    read_answer(&arena, text);
    read_target(&arena, text);
    BUG_IF(ERR_peek_error() != 0);
    return 0;
}
