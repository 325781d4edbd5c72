/* The files that list users and groups, for the modules that manage them: /etc/passwd, group, shadow.
 *
 * A row is a line of fields with ':' between them. */
#pragma once

#include "modules/call.h"

enum {
    PEOPLE_FIELDS_MAX = 9
};

enum {
    PEOPLE_NAME = 0,
    PEOPLE_NUMBER = 2 /* the field with the uid or gid, in passwd and group */
};

typedef struct PeopleRow {
    bool found;
    Str fields[PEOPLE_FIELDS_MAX]; /* those that are not there are empty */
} PeopleRow;

/* The row with `name` in the field of that index; an absent file has none. */
MUST_CHECK bool people_find(Call *call, Str path, uint32_t field, Str name, PeopleRow *out,
                            Error *err);
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

/* What the checks of user.* and group.* do alike, for the user or group that the parameter 'name' names. */
typedef struct PeopleKind {
    const char *class; /* "user" */
    const char *what;  /* "a user" */
    Str path;          /* of the file that lists them */
} PeopleKind;

extern const PeopleKind people_user, people_group;

/* The row of 'name', which is checked. */
MUST_CHECK bool people_look(Call *call, const PeopleKind *kind, PeopleRow *now, Error *err);
/* Whether all of them exist or come with an earlier step of the plan; they are the parameter `param`. */
MUST_CHECK bool people_check_exist(Call *call, const PeopleKind *kind, const char *param,
                                   const List *names, Error *err);
/* Whether the parameter `param` ("uid", "gid") asks for another number; then that is a change. Fails if the
 * number belongs to another user or group, unless an earlier step of the plan manages that one. */
MUST_CHECK bool people_check_number(Call *call, const PeopleKind *kind, const char *param,
                                    const PeopleRow *now, Outcome *outcome, bool *differs,
                                    Error *err);
/* `now`, or missing for a row that does not exist yet: the old value of a change. */
Value people_old(const PeopleRow *row, Value now);
/* The outcome of a check for 'present' once its changes are known, and of one for 'absent'. */
void people_tell_present(const PeopleRow *now, Outcome *outcome);
void people_tell_absent(Call *call, const PeopleKind *kind, const PeopleRow *now, Outcome *outcome);
