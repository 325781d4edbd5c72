/* A file as requested by a step, compared with the one on disk: shared by all actions that write
 * files.
 *
 * check: target_read() reads the parameters in FILE_WRITE_PARAMS, the action sets the content,
 * target_compare() reads the file and describes the difference. apply: target_apply(). */
#pragma once

#include "base/buf.h"
#include "modules/call.h"

#define FILE_OWNER_PARAMS                                                                          \
    { "owner", PARAM_STRING, .help = "owner, by name or number", .aspect = "owner" },              \
        { "group", PARAM_STRING, .help = "group, by name or number", .aspect = "group" },          \
    {                                                                                              \
        "mode", PARAM_MODE, .help = "mode; always octal, with or without quotes", .aspect = "mode" \
    }

#define FILE_WRITE_PARAMS                                                                          \
    FILE_OWNER_PARAMS,                                                                             \
        { "parents", PARAM_BOOL, .fallback = "true",                                               \
          .help = "create missing parent directories" },                                           \
        { "backup", PARAM_STRING,                                                                  \
          .help = "back up the old content next to the file: true, or a suffix for the backup" },  \
        { "diff", PARAM_BOOL, .fallback = "false",                                                 \
          .help = "show the diff even if the file is not world-readable" },                        \
    {                                                                                              \
        "validate", PARAM_COMMAND,                                                                 \
            .help = "command that validates the new content before it is used; %s is replaced by " \
                    "its path"                                                                     \
    }

enum {
    FILE_MODE_NEW = 0644,
    FILE_MODE_SECRET = 0600,
    /* mode bits that are copied from another file, without set-user-ID and set-group-ID */
    FILE_MODE_COPIED = 0777,
    DIRECTORY_MODE_NEW = 0755,
    FILE_CONTENT_MAX = 64 << 20, /* maximum size of a file that is read, in bytes */
};

typedef struct Target {
    /* What the step requests. */
    Str path;
    bool has_content;
    Str content;
    bool secret;     /* the content must not be shown */
    bool shows_diff; /* show the diff even if the file is not world-readable */
    bool has_mode;
    mode_t mode;
    mode_t new_mode; /* mode of a new file */
    bool is_edit;    /* the content is the edited content of the file */
    /* the content is complete and set by the step: if it is secret, an existing file is made
     * inaccessible to others, unless has_mode */
    bool is_complete_content;
    uid_t uid; /* HOST_KEEP_ID: unchanged */
    gid_t gid;
    Str owner, group;   /* as written in the site */
    bool owner_missing; /* in a plan: owner or group does not exist yet */
    bool parents;
    Str backup;     /* suffix; empty: none */
    Value validate; /* missing: none */

    /* What the check has found. */
    FileInfo before;
    Str old; /* the old content, as far as it was read */
    bool has_old;
    bool write, set_owner, set_mode;
    bool replaces_file; /* set_owner replaces the file: the former owner may have it open */
    bool hides_content; /* neither old nor new content may be shown */
} Target;

/* Reads owner and group. In a plan, either may not exist yet. */
MUST_CHECK bool target_read_owner(Call *call, Target *target, Error *err);
/* Reads owner, group and mode. */
MUST_CHECK bool target_read_attributes(Call *call, Target *target, Error *err);
/* Reads all of FILE_WRITE_PARAMS. */
MUST_CHECK bool target_read(Call *call, Str path, Target *target, Error *err);
/* Returns a target for a system file, without parameters: an existing file keeps its owner and
 * mode. */
Target target_for_system_file(Str path);
void target_set_content(Target *target, Value content);
/* Sets the content to a single line. */
void target_set_line(Call *call, Target *target, Str line);
/* The resulting mode; `before` must be set. */
mode_t target_mode(const Target *target);

/* During a plan, checks that the file can be created given its parent directories, now or after an
 * earlier step. */
MUST_CHECK bool target_check_parents(Call *call, Str path, bool parents, Error *err);
/* During a plan, checks that an existing entry can be replaced or removed; see
 * host_check_changeable. */
MUST_CHECK bool target_check_replaceable(Call *call, Str path, Error *err);
/* Checks that a replaced file can keep its owner, or get the requested one. */
MUST_CHECK bool target_check_chown(Call *call, const Target *target, Error *err);
/* Compares with the file on disk and sets the changes in `target` and `outcome`. `several`: one of
 * many targets. The diff is appended to `diff`. With `target->has_old` the caller has already
 * read the old content. */
MUST_CHECK bool target_compare(Call *call, Target *target, bool several, Outcome *outcome,
                               Buf *diff, Error *err);
MUST_CHECK bool target_apply(Call *call, Target *target, Outcome *outcome, Error *err);

/* The complete check and apply of an action with a single target, stored in
 * `outcome->check_data`. */
MUST_CHECK bool target_check_one(Call *call, Target *target, Outcome *outcome, Error *err);
bool target_apply_one(Call *call, Outcome *outcome, Error *err);

/* "0644" */
Value mode_value(Arena *arena, mode_t mode);

/* Claims of an action whose path is `name`: the path, and the owner and group it needs. */
void target_claims(Arena *arena, const ParamSpec *specs, const Value *params, List *claims);
