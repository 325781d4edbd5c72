/* Joining by SSH: what a server asks the machine that wants to join, once it is logged in there, and
 * what it is told. Pure.
 *
 *     server    join_question_print    the CAs to trust, and the key under which the machine asks
 *     joiner    join_question_read
 *               join_answer_decide     by what the machine itself has asked for
 *               join_answer_print
 *     server    join_answer_read
 *               join_answer_check
 *
 * The connection says who is asked: the server knows the machine by its host key, and the machine
 * lets in who has a key of its root. So each side tells the other what only that one knows: the
 * machine which key it made, the server which CA is its own. Neither is taken when it is another one
 * than what was said over the network before.
 *
 * "eden.join-question/1" and "eden.join-answer/1", JSON; there is one version of them. */
#pragma once

#include "base/buf.h"
#include "base/enum_names.h"
#include "base/identity.h"
#include "pki/certificate.h"

enum {
    JOIN_QUESTION_MAX = 256 << 10, /* bytes */
    JOIN_ANSWER_MAX = 4 << 10,     /* bytes */
};

typedef struct JoinQuestion {
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1]; /* the name that is asked for */
    Pin key;                      /* with which it is asked for */
    Str bundle;                   /* PEM: every CA to trust */
    CertificateSet cas;           /* what that holds: only CAs, at least one. For readers. */
} JoinQuestion;

void join_question_print(const JoinQuestion *question, Buf *out);
/* Texts are borrowed from `text` or the arena. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool join_question_read(Arena *arena, Str text, JoinQuestion *out, Error *err);

typedef enum JoinAnswerResult {
    JOIN_ANSWER_TRUSTED, /* the CAs are trusted from now on */
    JOIN_ANSWER_NOT_ASKED,
    JOIN_ANSWER_OTHER_NAME, /* the machine asks for another one */
    JOIN_ANSWER_OTHER_KEY,
    JOIN_ANSWER_OTHER_CA, /* it was told of another CA, or has seen another one */
} JoinAnswerResult;
DECLARE_ENUM_NAMES(JoinAnswerResult, join_answer_result)

/* What a machine has asked for and not got yet. */
typedef struct JoinPending {
    const char *node;
    Pin key;
    Pin ca; /* that it was told of, or that the server showed */
} JoinPending;

typedef struct JoinAnswer {
    JoinAnswerResult result;
    char node[NODE_NAME_MAX + 1]; /* these two empty, and zero, when it has not asked: */
    Pin key;                      /* that it made */
} JoinAnswer;

/* `pending` is NULL when the machine has not asked. Only of JOIN_ANSWER_TRUSTED anything follows. */
void join_answer_decide(const JoinQuestion *question, const JoinPending *pending, JoinAnswer *out);
void join_answer_print(const JoinAnswer *answer, Buf *out);
/* Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool join_answer_read(Arena *arena, Str text, JoinAnswer *out, Error *err);
/* Whether it is the machine that asks: the same name and the same key, whatever it says itself. Fails
 * with ERROR_CONFLICT, both shown. */
MUST_CHECK bool join_answer_check(const JoinAnswer *answer, const JoinQuestion *question,
                                  Error *err);
