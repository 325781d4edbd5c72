/* A proposed commit of a source: a version is created from it that does not become current, so that
 * its effects can be planned before it is merged. Pure.
 *
 * "eden.source-proposal/1" under internal/source-proposal/<name>: the request, and later its
 * result. There is one at a time for each source. */
#pragma once

#include "source/git_source.h"

enum {
    GIT_PROPOSAL_MAX_MS = 10 * 60 * 1000, /* after this time, another request may replace it */
};

typedef struct GitProposal {
    int64_t time_ms;
    Str requested_by;
    /* the commit or branch to fetch; both empty: the newest commit of the source */
    Str commit, branch;
    /* The result. */
    int64_t request; /* revision of the request; 0: not done yet */
    Str found;       /* the fetched commit */
    Str version;     /* empty: none, because of one of the following reasons */
    Str rejection;   /* the commit is not a valid site */
    Str error;       /* the commit could not be fetched, or the version not be created */
    Value unknown;
} GitProposal;

/* 40 or 64 lower-case hexadecimal digits. */
MUST_CHECK bool git_commit_check(Str commit, Error *err);
/* Whether this is a valid branch name, as in the configuration of a source. */
MUST_CHECK bool git_branch_check(Str branch, Error *err);

/* The state: "pending", "ok", "rejected" or "failed". */
const char *git_proposal_state(const GitProposal *proposal);
/* Whether another request has to wait for this one. */
bool git_proposal_is_busy(const GitProposal *proposal, int64_t now_ms);
void git_proposal_print(const GitProposal *proposal, Buf *out);
/* Strings are allocated in the arena or refer to the text. Fails with ERROR_INVALID. */
MUST_CHECK bool git_proposal_read(Arena *arena, Str text, GitProposal *out, Error *err);
/* Reads the record from the state and returns its revision; 0 if there is none. Allocated in the
 * arena. */
int64_t git_proposal_find(Arena *arena, const State *state, Str prefix, Str name, GitProposal *out);
