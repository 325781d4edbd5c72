/* This machine's response to a server that has logged in over SSH to verify a join request
 * (pki/join_answer.h). */
#pragma once

#include "pki/join_answer.h"

/* Appends the response to `question`, untrusted JSON, and stores the CAs as verified if the result
 * is JOIN_ANSWER_TRUSTED. Fails with ERROR_INVALID or ERROR_LIMIT if it is malformed, or with file
 * system errors; then nothing is stored. */
MUST_CHECK bool ssh_answer(const char *state_dir, Str question, JoinAnswerResult *result, Buf *out,
                           Error *err);
