/* The files that list users and groups, for the modules that manage them: /etc/passwd, group, shadow.
 *
 * A row is a line of fields with ':' between them. */
#pragma once

#include "modules/call.h"

enum {
    PEOPLE_FIELDS_MAX = 9
};

typedef struct PeopleRow {
    bool found;
    Str fields[PEOPLE_FIELDS_MAX]; /* those that are not there are empty */
} PeopleRow;

/* The row of `name` in the file; an absent file has none. */
MUST_CHECK bool people_find(Call *call, Str path, Str name, PeopleRow *out, Error *err);
/* The groups that list `user` as a member, sorted, as a list of texts. */
MUST_CHECK bool people_groups_of(Call *call, Str user, List **out, Error *err);
/* Names with commas between them ("web,db") as a sorted list of texts, each once. */
List *people_names(Arena *arena, Str text);
/* The same of a list of texts. */
List *people_sorted(Arena *arena, Value names);
bool people_same_names(const List *a, const List *b);
Str people_joined(Arena *arena, const List *names); /* "db,web" */

/* A name of a user or group: what the tools accept, and nothing that the files or a command line
 * could take for something else. `what` is "a user" or "a group". */
MUST_CHECK bool people_check_name(Str name, const char *what, Error *err);
/* A number that a user or group can have. */
MUST_CHECK bool people_check_id(int64_t id, Error *err);

/* What the checks of user.absent and group.absent tell of a row. `what` is "user" or "group". */
void people_tell_absent(Call *call, const PeopleRow *now, const char *what, Outcome *outcome);
