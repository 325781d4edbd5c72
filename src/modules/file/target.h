/* A file as a step wants it, beside what is there: what all actions that write files share.
 *
 * check: target_wish() reads the parameters of FILE_WRITE_PARAMS, the action says which content,
 * target_compare() looks at the file and describes the difference. apply: target_apply(). */
#pragma once

#include "base/buf.h"
#include "modules/call.h"

#define FILE_OWNER_PARAMS                                                                      \
    { "owner", PARAM_STRING, .help = "whom it belongs to, by name or number",                  \
      .decides = "owner" },                                                                    \
        { "group", PARAM_STRING, .help = "its group, by name or number", .decides = "group" }, \
    {                                                                                          \
        "mode", PARAM_MODE, .help = "its permissions, octal however they are quoted",          \
                            .decides = "mode"                                                  \
    }

#define FILE_WRITE_PARAMS                                                                        \
    FILE_OWNER_PARAMS,                                                                           \
        { "parents", PARAM_BOOL, .fallback = "true", .help = "make missing directories above" }, \
        { "backup", PARAM_STRING,                                                                \
          .help = "keep the former content beside it; true, or the end of that file's name" },   \
        { "diff", PARAM_BOOL, .fallback = "false",                                               \
          .help = "show what changes also when not everybody may read the file" },               \
    {                                                                                            \
        "validate", PARAM_COMMAND,                                                               \
            .help = "a command that must like the new content before it is used; %s is its path" \
    }

enum {
    FILE_MODE_NEW = 0644,
    FILE_MODE_SECRET = 0600,
    FILE_MODE_COPIED = 0777, /* of another file: nobody else chooses who a program runs as */
    DIRECTORY_MODE_NEW = 0755,
    FILE_CONTENT_MAX = 64 << 20, /* bytes that are read of one file */
};

typedef struct Target {
    /* Wanted. */
    Str path;
    bool has_content;
    Str content;
    bool secret; /* the content must not be shown */
    bool open;   /* shown though not everybody may read the file */
    bool has_mode;
    mode_t mode;
    mode_t new_mode; /* for a file that is not there yet */
    bool is_edit;    /* the content is that of the file, with changes */
    bool is_whole;   /* the content is all that is in the file, and the step's own: when that is a
                        secret, a file that is there is closed to others, unless has_mode */
    uid_t uid;       /* HOST_KEEP_ID: as it is */
    gid_t gid;
    Str owner, group;    /* as written */
    bool people_missing; /* of a plan: one of them is not there yet */
    bool parents;
    Str backup;     /* suffix; empty: none */
    Value validate; /* missing: none */

    /* Found. */
    FileInfo before;
    Str old; /* the old content, as far as it was read */
    bool old_known;
    bool write, set_owner, set_mode;
    bool renew;  /* set_owner takes a new file: the former owner may have this one open */
    bool hidden; /* neither the old nor the new content may be shown */
} Target;

/* Owner and group. In a plan, somebody who is not there yet is no failure. */
MUST_CHECK bool target_wish_people(Call *call, Target *target, Error *err);
/* These and the mode. */
MUST_CHECK bool target_wish_attributes(Call *call, Target *target, Error *err);
/* These, and all the rest of FILE_WRITE_PARAMS. */
MUST_CHECK bool target_wish(Call *call, Str path, Target *target, Error *err);
/* A file of the system, without parameters for it: one that is there keeps owner and mode. */
Target target_of_system(Str path);
void target_set_content(Target *target, Value content);
/* The same, as one line. */
void target_set_line(Call *call, Target *target, Str line);
/* That it shall have, once `before` is known. */
mode_t target_mode(const Target *target);

/* In a plan: whether the directories above `path` let it be made, now or after an earlier step. */
MUST_CHECK bool target_check_parents(Call *call, Str path, bool parents, Error *err);
/* Whether what is there can keep its owner, or gets the one that is wanted. */
MUST_CHECK bool target_check_maker(Call *call, const Target *target, Error *err);
/* Looks, and says in `target` and `outcome` what is to change; `several`: this is one of many. The
 * diff goes to `diff`. With `target->old_known` the old content was read by the caller. */
MUST_CHECK bool target_compare(Call *call, Target *target, bool several, Outcome *outcome,
                               Buf *diff, Error *err);
MUST_CHECK bool target_apply(Call *call, Target *target, Outcome *outcome, Error *err);

/* The whole check and apply of an action with one target, which is `outcome->found`. */
MUST_CHECK bool target_check_one(Call *call, Target *target, Outcome *outcome, Error *err);
bool target_apply_one(Call *call, Outcome *outcome, Error *err);

/* "0644" */
Value mode_value(Arena *arena, mode_t mode);

/* The claims of an action whose path is `name`: that path, and the owner and group it needs. */
void target_claims(Arena *arena, const ParamSpec *specs, const Value *params, List *claims);
