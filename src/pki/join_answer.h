/* Joining through SSH: the query that a server sends after logging in to a joining machine, and the
 * machine's response. Pure.
 *
 *     server    join_question_print    the CAs to trust, and the key in the join request
 *     joiner    join_question_read
 *               join_answer_decide     compares with the machine's own join request
 *               join_answer_print
 *     server    join_answer_read
 *               join_answer_check
 *
 * The SSH connection authenticates both sides: the server verifies the machine's host key, and the
 * machine accepts a key that may log in as root. So each side sends the information that only it
 * has: the machine its generated key, the server its CA. Each side rejects information that differs
 * from what it received over the network before.
 *
 * The formats are "eden.join-question/1" and "eden.join-answer/1", JSON, with a single version. */
#pragma once

#include "base/buf.h"
#include "base/enum_names.h"
#include "base/identity.h"
#include "pki/certificate.h"

enum {
    JOIN_QUESTION_MAX = 256 << 10, /* maximum size in bytes */
    JOIN_ANSWER_MAX = 4 << 10,     /* maximum size in bytes */
};

typedef struct JoinQuestion {
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1]; /* requested name */
    Pin key;                      /* pin of the key in the request */
    Str bundle;                   /* PEM: every CA to trust */
    /* the parsed bundle: only CAs, at least one. Set by join_question_read. */
    CertificateSet cas;
} JoinQuestion;

void join_question_print(const JoinQuestion *question, Buf *out);
/* Strings are borrowed from `text` or the arena. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool join_question_read(Arena *arena, Str text, JoinQuestion *out, Error *err);

typedef enum JoinAnswerResult {
    JOIN_ANSWER_TRUSTED, /* the CAs are trusted from now on */
    JOIN_ANSWER_NOT_ASKED,
    JOIN_ANSWER_OTHER_NAME, /* the machine requested another name */
    JOIN_ANSWER_OTHER_KEY,
    JOIN_ANSWER_OTHER_CA, /* it was configured with, or has seen, another CA */
} JoinAnswerResult;
DECLARE_ENUM_NAMES(JoinAnswerResult, join_answer_result)

/* The pending join request of a machine. */
typedef struct JoinPending {
    const char *node;
    Pin key;
    Pin ca; /* CA from the command line, or shown by the server */
} JoinPending;

typedef struct JoinAnswer {
    JoinAnswerResult result;
    char node[NODE_NAME_MAX + 1]; /* empty, and all other fields zero, if there is no request */
    Pin key;                      /* pin of the machine's key */
} JoinAnswer;

/* `pending` is NULL if the machine has no join request. Only JOIN_ANSWER_TRUSTED has any effect. */
void join_answer_decide(const JoinQuestion *question, const JoinPending *pending, JoinAnswer *out);
void join_answer_print(const JoinAnswer *answer, Buf *out);
/* Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool join_answer_read(Arena *arena, Str text, JoinAnswer *out, Error *err);
/* Checks that this is the machine that sent the request: same name and same key, regardless of the
 * result. Fails with ERROR_CONFLICT and a message with both. */
MUST_CHECK bool join_answer_check(const JoinAnswer *answer, const JoinQuestion *question,
                                  Error *err);
