#include "source/git_proposal.h"

#include "cluster/cluster_keys.h"

enum {
    SHA1_DIGITS = 40,
};

bool git_commit_check(Str commit, Error *err)
{
    bool is_good = commit.len == SHA1_DIGITS || commit.len == GIT_COMMIT_MAX;
    for (size_t i = 0; is_good && i < commit.len; i++) {
        char c = commit.data[i];
        is_good = ascii_is_digit(c) || (c >= 'a' && c <= 'f');
    }
    return is_good || error_set(err, ERROR_INVALID,
                                "must be the full hash of a commit: %d or %d hexadecimal digits",
                                SHA1_DIGITS, GIT_COMMIT_MAX);
}

static const RecordField fields[] = {
    { "time_ms", RECORD_INT, RECORD_INT_AT(GitProposal, time_ms), .is_required = true,
      .help = "when it was requested" },
    { "by", RECORD_TEXT, RECORD_STR_AT(GitProposal, requested_by), .help = "by whom" },
    { "commit", RECORD_TEXT, RECORD_STR_AT(GitProposal, commit), .check_text = git_commit_check,
      .help = "commit to fetch" },
    { "branch", RECORD_TEXT, RECORD_STR_AT(GitProposal, branch), .max = GIT_BRANCH_MAX,
      .check_text = git_branch_check, .help = "branch to fetch" },
    { "request", RECORD_INT, RECORD_INT_AT(GitProposal, request), .max = INT64_MAX,
      .help = "revision of the request that has this result" },
    { "found", RECORD_TEXT, RECORD_STR_AT(GitProposal, found), .max = GIT_COMMIT_MAX,
      .help = "the commit" },
    { "version", RECORD_TEXT, RECORD_STR_AT(GitProposal, version), .help = "its version" },
    { "rejection", RECORD_TEXT, RECORD_STR_AT(GitProposal, rejection),
      .help = "why it is not a valid site" },
    { "error", RECORD_TEXT, RECORD_STR_AT(GitProposal, error), .help = "why there is no version" },
    { RECORD_UNKNOWN_AT(GitProposal, unknown) },
    { 0 },
};

static const RecordFormat format = {
    .format = "eden.source-proposal/1",
    .what = "a proposed commit of a source",
    .fields = fields,
    .size = sizeof(GitProposal),
    .text_max = 16 << 10,
};

const char *git_proposal_state(const GitProposal *proposal)
{
    return proposal->request == 0        ? "pending"
           : proposal->error.len > 0     ? "failed"
           : proposal->rejection.len > 0 ? "rejected"
                                         : "ok";
}

bool git_proposal_is_busy(const GitProposal *proposal, int64_t now_ms)
{
    return proposal->request == 0 && now_ms - proposal->time_ms < GIT_PROPOSAL_MAX_MS;
}

void git_proposal_print(const GitProposal *proposal, Buf *out)
{
    record_print(&format, proposal, out);
}

bool git_proposal_read(Arena *arena, Str text, GitProposal *out, Error *err)
{
    return record_read(&format, arena, text, RECORD_STORED, out, err);
}

int64_t git_proposal_find(Arena *arena, const State *state, Str prefix, Str name, GitProposal *out)
{
    return state_record(state, cluster_key_source_proposal(arena, prefix, name), &format, arena,
                        out);
}
