/* This machine's answer to a server that has logged in
 * over SSH to verify a join request (pki/join_answer.h). */
#pragma once

#include "pki/join_answer.h"

/* Puts the answer to `question`, which is JSON as it is, and keeps the CAs as vouched for when it is
 * JOIN_ANSWER_TRUSTED. Fails with ERROR_INVALID or ERROR_LIMIT for what is no question, and as the
 * file system does; then nothing is kept. */
MUST_CHECK bool ssh_answer(const char *state_dir, Str question, JoinAnswerResult *result, Buf *out,
                           Error *err);
