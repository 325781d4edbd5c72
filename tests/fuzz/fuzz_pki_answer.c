/* Any bytes as what a server asks over SSH, and as the answer of a machine: what is read prints as a
 * text that reads back the same. Only a machine that asked, under that name, with that key and for
 * that CA, says that it trusts; and an answer is believed for its name and key alone. */
#include <openssl/err.h>

#include "base/bug.h"
#include "pki/join_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer_again(Arena *arena, const JoinAnswer *answer, const JoinQuestion *question)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    JoinAnswer read;
    Error err;
    join_answer_print(answer, &text);
    BUG_IF(!join_answer_read(arena, buf_str(&text), &read, &err));
    BUG_IF(read.result != answer->result || strcmp(read.node, answer->node) != 0 ||
           !pin_equal(&read.key, &answer->key));
    if (question != NULL) {
        bool same = strcmp(read.node, question->node) == 0 && pin_equal(&read.key, &question->key);
        bool taken = join_answer_check(&read, question, &err);
        BUG_IF(taken && !same);
    }
}

static void ask(Arena *arena, const JoinQuestion *question)
{
    JoinAnswer answer;
    Pin other = question->key;
    other.bytes[0] ^= 1;
    const JoinPending machines[] = {
        { question->node, question->key, question->cas.items[0].pin },
        { "somebody-else", question->key, question->cas.items[0].pin },
        { question->node, other, question->cas.items[0].pin },
        { question->node, question->key, other },
    };
    join_answer_decide(question, NULL, &answer);
    BUG_IF(answer.result != JOIN_ANSWER_NOT_ASKED);
    answer_again(arena, &answer, question);
    for (unsigned i = 0; i < COUNT_OF(machines); i++) {
        const JoinPending *machine = &machines[i];
        bool named = strcmp(machine->node, question->node) == 0;
        join_answer_decide(question, machine, &answer);
        BUG_IF(answer.result == JOIN_ANSWER_TRUSTED &&
               (!named || !pin_equal(&machine->key, &question->key)));
        answer_again(arena, &answer, question);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 16 << 20);
    Str text = str_from((const char *)data, size);
    JoinQuestion question, again;
    JoinAnswer answer;
    Error err = { 0 };
    if (join_question_read(&arena, text, &question, &err)) {
        Buf printed = buf_make_in(&arena, BUF_UNLIMITED);
        join_question_print(&question, &printed);
        BUG_IF(!join_question_read(&arena, buf_str(&printed), &again, &err));
        BUG_IF(again.cas.count != question.cas.count || again.cas.count == 0);
        ask(&arena, &question);
    } else {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
    }
    if (join_answer_read(&arena, text, &answer, &err)) {
        answer_again(&arena, &answer, NULL);
    }
    BUG_IF(ERR_peek_error() != 0);
    return 0;
}
