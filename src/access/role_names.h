/* A list of role names, as one string with spaces between them. Pure. */
#pragma once

#include "access/access_rules.h"
#include "base/buf.h"
#include "lang/record.h"

enum {
    ROLE_NAMES_TEXT = ROLES_MAX * (ROLE_NAME_MAX + 1) - 1,
};

typedef struct RoleNames {
    char text[ROLE_NAMES_TEXT + 1];
} RoleNames;

/* From an array of names: at least one, without duplicates. Does not check whether the roles exist.
 * Fails with ERROR_INVALID. */
MUST_CHECK bool role_names_make(const Str *names, uint32_t count, RoleNames *out, Error *err);
/* From a Value that is a list of strings. */
MUST_CHECK bool role_names_read(Value list, RoleNames *out, Error *err);
/* Prints them as a JSON list. */
void role_names_print(const char *text, Buf *out);
/* The record codec of a RoleNames: a list of strings. */
extern const RecordCodec role_names_codec;
/* Iterates: start with `*rest` as the entire string. */
bool role_names_next(Str *rest, Str *out);
