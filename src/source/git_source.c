#include "source/git_source.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "cluster/cluster_keys.h"
#include "cluster/stored_object.h"
#include "lang/duration.h"
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

/* "host:path" or "user@host:path", as git understands it: no slash before the first colon. */
static bool is_scp_address(Str url)
{
    size_t colon = str_find(url, STR(":"), 0), slash = str_find(url, STR("/"), 0);
    return colon != STR_NOT_FOUND && colon > 0 && colon + 1 < url.len && colon < slash &&
           !str_starts(str_from_offset(url, colon), STR("::")) &&
           !str_starts(str_from_offset(url, colon), STR("://"));
}

/* git itself refuses further transports (GIT_ALLOW_PROTOCOL). */
static bool check_url(Str url, Error *err)
{
    static const char *const schemes[] = { "https://", "ssh://", "file:///" };
    if (url.len == 0 || !utf8_is_plain(url) || url.data[0] == '-' ||
        memchr(url.data, ' ', url.len) != NULL) {
        return error_set(err, ERROR_INVALID, "must be a URL without spaces");
    }
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        if (str_starts(url, str_from_c(schemes[i]))) {
            size_t at = str_find(url, STR("@"), 0), host = strlen(schemes[i]);
            size_t colon = str_find(url, STR(":"), host);
            return at == STR_NOT_FOUND || colon > at ||
                   error_set(
                       err, ERROR_INVALID,
                       "must not contain a password: everyone who can list sources could read it");
        }
    }
    return url.data[0] == '/' || is_scp_address(url) ||
           error_set(err, ERROR_INVALID,
                     "must begin with https://, ssh:// or file:///, or be user@host:path or an "
                     "absolute path");
}

/* A part of git-check-ref-format(1): what is needed so that it can be part of a refspec. */
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
    return !is_bad || error_set(err, ERROR_INVALID, "is not the name of a branch");
}

static bool check_directory(Str directory, Error *err)
{
    return directory.len == 0 || manifest_path_check(directory, err) ||
           error_wrap(err, "must be a directory of the site such as 'files/web'");
}

const RecordField git_source_fields[] = {
    { "url", RECORD_TEXT, RECORD_STR_AT(GitSource, url), .is_required = true, .max = GIT_URL_MAX,
      .check_text = check_url, .column = { "URL" },
      .help = "address of the repository: https://..., ssh://..., user@host:path, file:///... or a "
              "path on the server" },
    { "branch", RECORD_TEXT, RECORD_STR_AT(GitSource, branch), .max = GIT_BRANCH_MAX,
      .check_text = git_branch_check, .column = { "BRANCH", "default" },
      .help = "branch to follow; default: the default branch of the repository" },
    { "directory", RECORD_TEXT, RECORD_STR_AT(GitSource, directory), .max = 500,
      .check_text = check_directory, .column = { "DIRECTORY", "/" },
      .help = "directory of the site that the repository becomes; default: the entire site" },
    { "interval", RECORD_DURATION, RECORD_STR_AT(GitSource, interval), .min = GIT_INTERVAL_MIN_MS,
      .max = GIT_INTERVAL_MAX_MS, .column = { "INTERVAL", "1m", .is_wide = true },
      .help = "how often to look for new commits, from 5s to 1d; default: 1m" },
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
    const StateEntry *entry = state_find(state, cluster_key_source_status(arena, prefix, name));
    GitSourceStatus status;
    Error ignored;
    return entry != NULL &&
                   git_source_status_read(arena, arena_copy(arena, entry->value), &status, &ignored)
               ? status
               : (GitSourceStatus){ 0 };
}

/* --- Requests --------------------------------------------------------------------------------- */

static const RecordField request_fields[] = {
    { "time_ms", RECORD_INT, RECORD_INT_AT(GitSourceRequest, time_ms), .is_required = true,
      .help = "when" },
    { "by", RECORD_TEXT, RECORD_STR_AT(GitSourceRequest, by), .help = "who requested it" },
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

bool git_source_request_read(Arena *arena, Str text, GitSourceRequest *out, Error *err)
{
    return record_read(&request_format, arena, text, RECORD_STORED, out, err);
}

int64_t git_source_request_find(Arena *arena, const State *state, Str prefix, Str name,
                                GitSourceRequest *out)
{
    const StateEntry *entry = state_find(state, cluster_key_source_request(arena, prefix, name));
    Error ignored;
    if (entry == NULL) {
        return 0;
    }
    if (!git_source_request_read(arena, arena_copy(arena, entry->value), out, &ignored)) {
        *out = (GitSourceRequest){ 0 };
    }
    return entry->mod_revision;
}
