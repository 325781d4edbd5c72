#include "agent/ssh_answer.h"

#include "agent/joining.h"
#include "membership/node_state.h"

/* Opens the directory of the join; it stays closed if this machine has no join in progress. */
static bool read_pending(const char *state_dir, Directory *directory, Joining *joining,
                         JoinPending *out, bool *has_request, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    P256Public public;
    *has_request = directory_open(state_dir, &state, err) &&
                   directory_open_child(&state, AGENT_DIRECTORY, &agent, err) &&
                   directory_open_child(&agent, AGENT_JOINING, directory, err) &&
                   joining_load(directory, joining, err);
    if (!*has_request) {
        return err->kind == ERROR_NOT_FOUND;
    }
    *out = (JoinPending){ .node = joining->name, .ca = joining->ca };
    if (!p256_public_of(joining->key, &public, err)) {
        return false;
    }
    p256_public_pin(&public, &out->key);
    return true;
}

bool ssh_answer(const char *state_dir, Str question, JoinAnswerResult *result, Buf *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(Joining) joining = { 0 };
    JoinQuestion read;
    JoinPending pending;
    JoinAnswer answer;
    bool has_request;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!join_question_read(&arena, question, &read, err) ||
        !read_pending(state_dir, &directory, &joining, &pending, &has_request, err)) {
        return false;
    }
    join_answer_decide(&read, has_request ? &pending : NULL, &answer);
    if (answer.result == JOIN_ANSWER_TRUSTED && !joining_trust(&directory, read.bundle, err)) {
        return false;
    }
    join_answer_print(&answer, out);
    *result = answer.result;
    return true;
}
