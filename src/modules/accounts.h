/* The files that list users and groups, for the modules that manage them: /etc/passwd, group,
 * shadow.
 *
 * A row is a line of fields separated by ':'. */
#pragma once

#include "modules/call.h"

enum {
    ACCOUNT_FIELDS_MAX = 9
};

enum {
    ACCOUNT_NAME = 0,
    ACCOUNT_ID = 2 /* index of the uid or gid, in passwd and group */
};

typedef struct AccountRow {
    bool found;
    Str fields[ACCOUNT_FIELDS_MAX]; /* missing fields are empty */
} AccountRow;

/* Finds the row with `name` in the field of that index; a missing file has no rows. */
MUST_CHECK bool accounts_find(Call *call, Str path, uint32_t field, Str name, AccountRow *out,
                              Error *err);
/* The groups that list `user` as a member, as a sorted list of strings. */
MUST_CHECK bool accounts_groups_of(Call *call, Str user, List **out, Error *err);
/* Splits comma-separated names ("web,db") into a sorted list without duplicates. */
List *accounts_split_names(Arena *arena, Str text);
/* Returns a sorted copy of a list of strings, without duplicates. */
List *accounts_sort_names(Arena *arena, Value names);
bool accounts_same_names(const List *a, const List *b);
Str accounts_join_names(Arena *arena, const List *names); /* "db,web" */

/* Accepts names of users and groups that the tools support and that cannot be misinterpreted in the
 * files or on a command line. `what` is "a user" or "a group". */
MUST_CHECK bool account_check_name(Str name, const char *what, Error *err);
/* Checks that it is a valid uid or gid. */
MUST_CHECK bool account_check_id(int64_t id, Error *err);

/* Shared checks of user.* and group.*, for the user or group in the parameter 'name'. */
typedef struct AccountKind {
    const char *class; /* "user" */
    const char *noun;  /* "a user" */
    Str path;          /* the file that lists them */
} AccountKind;

extern const AccountKind account_kind_user, account_kind_group;

/* Validates 'name' and finds its row. */
MUST_CHECK bool account_read(Call *call, const AccountKind *kind, AccountRow *now, Error *err);
/* Checks the form of the names in a parameter, which may be missing. */
MUST_CHECK bool accounts_check_names(Call *call, const AccountKind *kind, const char *param,
                                     Error *err);
/* Checks that all of these users or groups, which come from the parameter `param`, exist or are
 * created by an earlier step of the plan. */
MUST_CHECK bool accounts_check_exist(Call *call, const AccountKind *kind, const char *param,
                                     const List *names, Error *err);
/* Compares the parameter `param` ("uid", "gid") with the current ID and reports a change if it
 * differs. Fails if the ID belongs to another user or group, unless an earlier step of the plan
 * manages that user or group. */
MUST_CHECK bool account_compare_id(Call *call, const AccountKind *kind, const char *param,
                                   const AccountRow *now, Outcome *outcome, bool *differs,
                                   Error *err);
/* Returns the old value of a change: `now`, or missing if the row does not exist yet. */
Value account_old_value(const AccountRow *row, Value now);
/* Complete the outcome of a check: of 'present', whose changes must already be set, and of
 * 'absent'. */
void account_report_present(const AccountRow *now, Outcome *outcome);
void account_report_absent(Call *call, const AccountKind *kind, const AccountRow *now,
                           Outcome *outcome);
