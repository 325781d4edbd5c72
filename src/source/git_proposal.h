/* A proposed commit of a source: a version is made of it that does not become current, so that its
 * effects can be planned before it is merged. Pure.
 *
 * "eden.source-proposal/1" under internal/source-proposal/<name>: the request, and when it is done,
 * its result. There is one at a time for each source. */
#pragma once

#include "source/git_source.h"

enum {
    GIT_PROPOSAL_MAX_MS = 10 * 60 * 1000, /* after this, another one may replace it */
};

typedef struct GitProposal {
    int64_t time_ms;
    Str by;
    Str commit, branch; /* what to fetch; both empty: the newest commit of the source */
    /* The result. */
    int64_t request; /* revision of the request; 0: it is not done yet */
    Str found;       /* the commit */
    Str version;     /* empty: none, because of: */
    Str rejection;   /* the commit is not a valid site */
    Str error;       /* it could not be fetched, or the version not be created */
    Value unknown;
} GitProposal;

/* 40 or 64 lower-case hexadecimal digits. */
MUST_CHECK bool git_commit_check(Str commit, Error *err);
/* The name of a branch as in the configuration of a source. */
MUST_CHECK bool git_branch_check(Str branch, Error *err);

/* "pending", "ok", "rejected" or "failed". */
const char *git_proposal_state(const GitProposal *proposal);
/* Whether another request has to wait for this one. */
bool git_proposal_is_busy(const GitProposal *proposal, int64_t now_ms);
void git_proposal_print(const GitProposal *proposal, Buf *out);
/* Strings are in the arena, or point into the text. Fails with ERROR_INVALID. */
MUST_CHECK bool git_proposal_read(Arena *arena, Str text, GitProposal *out, Error *err);
/* The revision of the record; 0: there is none. In the arena. */
int64_t git_proposal_find(Arena *arena, const State *state, Str prefix, Str name, GitProposal *out);
