/* Records of sources: the configuration, the status and requests. Fields are validated here,
 * because names and URLs become arguments and paths. */
#include "source/git_source.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "cluster/cluster_keys.h"
#include "cluster/stored_object.h"
#include "lang/duration.h"
#include "membership/ssh_target.h"
#include "pki/pem.h"
#include "source/git_proposal.h"
#include "source/manifest.h"

/* --- Spec ------------------------------------------------------------------------------------- */

bool git_source_name_check(Str name, Error *err)
{
    bool is_good = name.len > 0 && name.len <= GIT_SOURCE_NAME_MAX && name.data[0] != '-' &&
                   name.data[name.len - 1] != '-';
    for (size_t i = 0; is_good && i < name.len; i++) {
        char c = name.data[i];
        is_good = ascii_is_digit(c) || (c >= 'a' && c <= 'z') || c == '-';
    }
    return is_good || error_set(err, ERROR_INVALID,
                                "must be 1 to %d lowercase letters and digits, with '-' between "
                                "them",
                                GIT_SOURCE_NAME_MAX);
}

static bool check_url(Str url, Error *err)
{
    GitUrl ignored;
    return git_url_parse(url, &ignored, err);
}

/* The rules of git-check-ref-format(1) that a refspec requires. */
bool git_branch_check(Str branch, Error *err)
{
    bool is_bad = branch.len == 0 || !utf8_is_plain(branch) ||
                  strchr("-/.", branch.data[0]) != NULL ||
                  strchr("/.", branch.data[branch.len - 1]) ||
                  str_find(branch, STR(".."), 0) != STR_NOT_FOUND ||
                  str_find(branch, STR("//"), 0) != STR_NOT_FOUND ||
                  str_find(branch, STR("@{"), 0) != STR_NOT_FOUND;
    for (size_t i = 0; !is_bad && i < branch.len; i++) {
        is_bad = strchr(" ~^:?*[\\", branch.data[i]) != NULL;
    }
    return !is_bad || error_set(err, ERROR_INVALID, "is not a valid branch name");
}

static bool check_directory(Str directory, Error *err)
{
    return directory.len == 0 || manifest_path_check(directory, err) ||
           error_wrap(err, "must be a directory of the site such as 'files/web'");
}

static bool check_host_key(Str line, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    SshTrust trust = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    return utf8_is_plain(line) ? ssh_trust_add(&arena, &trust, line, err)
                               : error_set(err, ERROR_INVALID, "must be one line");
}

/* Each line has principals, options, and a key. */
static bool is_signer(Str line)
{
    SshKey key;
    Str principals = ssh_next_word(&line);
    return principals.len > 0 && ssh_key_parse(str_trim(line), &key);
}

static bool check_signers(Str text, Error *err)
{
    Str rest = text, line;
    uint32_t number = 0, count = 0;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        line = str_trim(line);
        number++;
        if (line.len == 0 || line.data[0] == '#') {
            continue;
        }
        if (!utf8_is_plain(line) || !is_signer(line)) {
            return error_set(err, ERROR_INVALID,
                             "line %u: must have the form 'ann@example.org ssh-ed25519 AAAA...'",
                             number);
        }
        count++;
    }
    return count > 0 || error_set(err, ERROR_INVALID, "must have at least one key");
}

static bool check_ca(Str text, Error *err)
{
    Str rest = text;
    PemBlock block;
    uint32_t count = 0;
    bool has_more = true;
    while (has_more) {
        if (!pem_next(&rest, &block, &has_more, err)) {
            return false;
        }
        if (has_more && !str_eq_c(block.label, "CERTIFICATE")) {
            return error_set(err, ERROR_INVALID, "must contain only certificates");
        }
        count += has_more;
    }
    return count > 0 || error_set(err, ERROR_INVALID, "must contain a certificate in PEM");
}

static bool check_token(Str token, Error *err)
{
    return utf8_is_plain(token) ||
           error_set(err, ERROR_INVALID, "must not contain control characters");
}

const RecordField git_source_fields[] = {
    { "url", RECORD_TEXT, RECORD_STR_AT(GitSource, url), .is_required = true, .max = GIT_URL_MAX,
      .check_text = check_url, .column = { "URL" },
      .help = "address of the repository: https://..., ssh://..., user@host:path, file:///... or a "
              "path on the server" },
    { "branch", RECORD_TEXT, RECORD_STR_AT(GitSource, branch), .max = GIT_BRANCH_MAX,
      .check_text = git_branch_check,
      .help = "branch to follow; default: the default branch of the repository when it is first "
              "fetched" },
    { "directory", RECORD_TEXT, RECORD_STR_AT(GitSource, directory), .max = 500,
      .check_text = check_directory, .column = { "DIRECTORY", "/" },
      .help = "site directory that this repository provides; default: the entire site" },
    { "interval", RECORD_DURATION, RECORD_STR_AT(GitSource, interval), .min = GIT_INTERVAL_MIN_MS,
      .max = GIT_INTERVAL_MAX_MS, .column = { "INTERVAL", "1m", .is_wide = true },
      .help = "how often to look for new commits, from 5s to 1d; default: 1m" },
    { "host_keys", RECORD_TEXT,
      RECORD_POINTER_AT(GitSource, host_keys, host_key_count, GIT_HOST_KEYS_MAX, Str, NULL),
      .max = SSH_HOST_KEY_MAX, .check_text = check_host_key,
      .help = "host keys of its SSH server, such as 'ssh-ed25519 AAAA...'; required for SSH" },
    { "ca", RECORD_TEXT, RECORD_STR_AT(GitSource, ca), .max = GIT_CA_MAX, .check_text = check_ca,
      .help = "CA of its HTTPS server, in PEM; default: those that the server's system trusts" },
    { "signers", RECORD_TEXT, RECORD_STR_AT(GitSource, signers), .max = GIT_SIGNERS_MAX,
      .check_text = check_signers,
      .help = "who can sign commits, in the ALLOWED SIGNERS format of ssh-keygen(1); other "
              "commits are rejected; default: no signature required" },
    { "token", RECORD_TEXT, RECORD_STR_AT(GitSource, token), .max = GIT_TOKEN_MAX,
      .is_secret = true, .check_text = check_token,
      .help = "token for HTTPS; never shown; if omitted, the current token is kept; empty: no "
              "token" },
    { RECORD_UNKNOWN_AT(GitSource, unknown) },
    { 0 },
};

static const RecordFormat spec_format = {
    .what = "the spec of a source",
    .fields = git_source_fields,
    .size = sizeof(GitSource),
    .text_max = STORED_OBJECT_MAX,
};

bool git_source_read(Arena *arena, Str name, Value spec, GitSource *out, Error *err)
{
    GitSource source;
    if (!record_from_value(&spec_format, arena, spec, RECORD_STORED, &source, err)) {
        return false;
    }
    source.name = arena_copy(arena, name);
    *out = source;
    return true;
}

GitSource git_source_copy(Arena *arena, const GitSource *source)
{
    GitSource copy = { .name = arena_copy(arena, source->name),
                       .url = arena_copy(arena, source->url),
                       .branch = arena_copy(arena, source->branch),
                       .directory = arena_copy(arena, source->directory),
                       .interval = arena_copy(arena, source->interval),
                       .host_keys = ARENA_ARRAY(arena, Str, source->host_key_count),
                       .host_key_count = source->host_key_count,
                       .ca = arena_copy(arena, source->ca),
                       .signers = arena_copy(arena, source->signers) };
    for (uint32_t i = 0; i < source->host_key_count; i++) {
        copy.host_keys[i] = arena_copy(arena, source->host_keys[i]);
    }
    return copy;
}

bool git_source_check(const GitSource *source, const char **field, Error *err)
{
    GitUrl url;
    *field = "url";
    if (!git_url_parse(source->url, &url, err)) {
        return false;
    }
    if (url.transport == GIT_SSH && source->host_key_count == 0) {
        *field = "host_keys";
        return error_set(err, ERROR_INVALID,
                         "required for SSH: the host keys of %" STR_FMT
                         ", as published by its operator (--known-hosts or --host-key)",
                         STR_ARG(url.host));
    }
    if (url.transport != GIT_HTTPS && source->token.len > 0) {
        *field = "token";
        return error_set(err, ERROR_INVALID, "only allowed for https://");
    }
    return true;
}

int64_t git_source_delay_ms(const GitSource *source, uint32_t failures, uint64_t random)
{
    int64_t delay;
    if (source->interval.len == 0 || !duration_parse(source->interval, &delay)) {
        delay = GIT_INTERVAL_MS;
    }
    while (failures-- > 0 && delay < GIT_BACKOFF_MAX_MS) {
        delay = delay * 2 < GIT_BACKOFF_MAX_MS ? delay * 2 : GIT_BACKOFF_MAX_MS;
    }
    int64_t spread = delay / 5;
    return delay - spread / 2 + (int64_t)(random % (uint64_t)(spread + 1));
}

/* --- State ------------------------------------------------------------------------------------ */

uint32_t git_sources_list(Arena *arena, const State *state, Str prefix, GitSourceEntry **out)
{
    StateRange range = state_range(state, cluster_key_source_all(arena, prefix), STR_EMPTY);
    GitSourceEntry *items = ARENA_ARRAY(arena, GitSourceEntry, GIT_SOURCES_MAX);
    uint32_t count = 0;
    for (const StateEntry *entry;
         count < GIT_SOURCES_MAX && (entry = state_next(&range)) != NULL;) {
        GitSourceEntry *item = &items[count++];
        StoredObject object;
        Error err;
        *item = (GitSourceEntry){ .source.name = arena_copy(arena, entry->parts[1]),
                                  .revision = entry->mod_revision };
        if (!git_source_name_check(item->source.name, &err)) {
            count--;
        } else if (!stored_object_read(arena, entry->value, &object, &err) ||
                   !git_source_read(arena, item->source.name, object.spec, &item->source, &err)) {
            item->error = arena_copy(arena, str_from_c(err.text));
        }
    }
    *out = items;
    return count;
}

/* --- Status ----------------------------------------------------------------------------------- */

static const RecordField status_fields[] = {
    { "commit", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, commit), .max = GIT_COMMIT_MAX,
      .help = "newest commit" },
    { "author", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, author), .max = GIT_TEXT_MAX,
      .help = "its author" },
    { "subject", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, subject), .max = GIT_TEXT_MAX,
      .help = "first line of its message" },
    { "rejection", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, rejection),
      .help = "why it is not part of the site" },
    { "error", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, error),
      .help = "why the repository cannot be fetched" },
    { "held", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, held),
      .help = "why its version is not the current one" },
    { "pinned", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, pinned),
      .help = "pinned version that is the reason" },
    { "branch", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, branch), .max = GIT_BRANCH_MAX,
      .check_text = git_branch_check, .help = "default branch when it was first fetched" },
    { "url", RECORD_TEXT, RECORD_STR_AT(GitSourceStatus, url), .max = GIT_URL_MAX,
      .help = "the repository with this branch" },
    { "since_ms", RECORD_INT, RECORD_INT_AT(GitSourceStatus, since_ms), .max = INT64_MAX,
      .help = "start of the current state" },
    { "handled", RECORD_INT, RECORD_INT_AT(GitSourceStatus, handled), .max = INT64_MAX,
      .help = "revision of the last request that was executed" },
    { RECORD_UNKNOWN_AT(GitSourceStatus, unknown) },
    { 0 },
};

static const RecordFormat status_format = {
    .format = "eden.source-status/1",
    .what = "the status of a source",
    .fields = status_fields,
    .size = sizeof(GitSourceStatus),
    .text_max = 16 << 10,
};

Str git_source_branch(const GitSource *source, const GitSourceStatus *status)
{
    return source->branch.len > 0             ? source->branch
           : str_eq(source->url, status->url) ? status->branch
                                              : STR_EMPTY;
}

const char *git_source_status_name(const GitSourceStatus *status)
{
    return status->error.len > 0       ? "unreachable"
           : status->rejection.len > 0 ? "rejected"
           : status->held.len > 0      ? "held"
           : status->commit.len > 0    ? "ok"
                                       : "new";
}

void git_source_status_print(const GitSourceStatus *status, Buf *out)
{
    record_print(&status_format, status, out);
}

bool git_source_status_read(Arena *arena, Str text, GitSourceStatus *out, Error *err)
{
    return record_read(&status_format, arena, text, RECORD_STORED, out, err);
}

GitSourceStatus git_source_status_find(Arena *arena, const State *state, Str prefix, Str name)
{
    GitSourceStatus status;
    (void)state_record(state, cluster_key_source_status(arena, prefix, name), &status_format, arena,
                       &status);
    return status;
}

/* --- Requests --------------------------------------------------------------------------------- */

static const RecordField request_fields[] = {
    { "time_ms", RECORD_INT, RECORD_INT_AT(GitSourceRequest, time_ms), .is_required = true,
      .help = "when" },
    { "by", RECORD_TEXT, RECORD_STR_AT(GitSourceRequest, requested_by),
      .help = "who requested it" },
    { RECORD_UNKNOWN_AT(GitSourceRequest, unknown) },
    { 0 },
};

static const RecordFormat request_format = {
    .format = "eden.source-request/1",
    .what = "a request to synchronize",
    .fields = request_fields,
    .size = sizeof(GitSourceRequest),
    .text_max = 4 << 10,
};

void git_source_request_print(const GitSourceRequest *request, Buf *out)
{
    record_print(&request_format, request, out);
}

int64_t git_source_request_find(Arena *arena, const State *state, Str prefix, Str name,
                                GitSourceRequest *out)
{
    Str key = cluster_key_source_request(arena, prefix, name);
    (void)state_record(state, key, &request_format, arena, out);
    const StateEntry *entry = state_find(state, key);
    return entry == NULL ? 0 : entry->mod_revision; /* an unreadable one is a request, too */
}
