/* Checks names and converts identities to and from URIs. identity_parse() accepts exactly the
 * output of identity_uri(), so comparing URIs is comparing identities. */
#include "base/identity.h"

#include <stdio.h>

#include "base/utf8.h"

enum {
    CHARACTER_TEXT_MAX = 16 /* bytes of one character in a message */
};

static const char scheme[] = "eden://";
static const char node_middle[] = "/node/";
static const char user_middle[] = "/user/";

_Static_assert(IDENTITY_URI_MAX ==
                   sizeof scheme - 1 + sizeof node_middle - 1 + CLUSTER_NAME_MAX + NODE_NAME_MAX,
               "space for the longest identity");
_Static_assert(sizeof user_middle == sizeof node_middle && USER_NAME_MAX == NODE_NAME_MAX,
               "and for that of a user");

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || ascii_is_digit(c);
}

/* The character at `pos`, for a message: verbatim only if it is printable. */
static void describe_character(Str name, size_t pos, char out[CHARACTER_TEXT_MAX])
{
    uint32_t code = 0;
    char c = name.data[pos];
    if (c > ' ' && c < 0x7f) {
        snprintf(out, CHARACTER_TEXT_MAX, "'%c'", c);
    } else if (c == ' ') {
        snprintf(out, CHARACTER_TEXT_MAX, "a space");
    } else if (utf8_decode(name.data + pos, name.len - pos, &code) > 0) {
        snprintf(out, CHARACTER_TEXT_MAX, "U+%04X", (unsigned)code);
    } else {
        snprintf(out, CHARACTER_TEXT_MAX, "byte 0x%02X", (unsigned char)c);
    }
}

/* `what` is "node", "cluster" or "user". */
static bool check_name(Str name, size_t max, bool dots, const char *what, Error *err)
{
    if (name.len == 0) {
        return error_set(err, ERROR_INVALID, "invalid %s name: it is empty", what);
    }
    if (name.len > max) {
        return error_set(err, ERROR_INVALID, "invalid %s name: %zu bytes is too long (limit: %zu)",
                         what, name.len, max);
    }
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i], shown[CHARACTER_TEXT_MAX];
        bool first = i == 0 || name.data[i - 1] == '.';
        bool last = i + 1 == name.len || name.data[i + 1] == '.';
        if (is_word(c)) {
            continue;
        }
        if (c != '-' && !(c == '.' && dots)) {
            describe_character(name, i, shown);
            return error_set(err, ERROR_INVALID,
                             "invalid %s name: character %zu is %s; use a-z, 0-9%s", what, i + 1,
                             shown, dots ? ", '-' and '.'" : " and '-'");
        }
        if (first || last) {
            return error_set(
                err, ERROR_INVALID,
                "invalid %s name: character %zu is '%c', which must be between letters or digits",
                what, i + 1, c);
        }
    }
    return true;
}

bool node_name_check(Str name, Error *err)
{
    return check_name(name, NODE_NAME_MAX, true, "node", err);
}

bool cluster_name_check(Str name, Error *err)
{
    return check_name(name, CLUSTER_NAME_MAX, false, "cluster", err);
}

bool identity_make(Str cluster, Str node, Identity *out, Error *err)
{
    if (!cluster_name_check(cluster, err) || !node_name_check(node, err)) {
        return false;
    }
    *out = (Identity){ 0 };
    memcpy(out->cluster, cluster.data, cluster.len);
    memcpy(out->node, node.data, node.len);
    return true;
}

/* Splits an identity into its two names, which are not checked yet. */
static bool split(Str uri, const char *middle, const char *form, Str *cluster, Str *name,
                  Error *err)
{
    Str start = str_from(scheme, sizeof scheme - 1), between = str_from_c(middle);
    Str rest = str_from_offset(uri, start.len);
    size_t slash = str_find(rest, STR("/"), 0);
    if (uri.len > IDENTITY_URI_MAX || !str_starts(uri, start) || slash == STR_NOT_FOUND ||
        !str_starts(str_from_offset(rest, slash), between)) {
        return error_set(err, ERROR_INVALID, "invalid identity; expected %s", form);
    }
    *cluster = str_slice(rest, 0, slash);
    *name = str_from_offset(rest, slash + between.len);
    return true;
}

bool identity_parse(Str uri, Identity *out, Error *err)
{
    Str cluster, name;
    return split(uri, node_middle, "eden://CLUSTER/node/NAME", &cluster, &name, err) &&
           identity_make(cluster, name, out, err);
}

void identity_uri(const Identity *identity, char out[IDENTITY_URI_MAX + 1])
{
    snprintf(out, IDENTITY_URI_MAX + 1, "%s%s%s%s", scheme, identity->cluster, node_middle,
             identity->node);
}

bool identity_equal(const Identity *a, const Identity *b)
{
    return strcmp(a->cluster, b->cluster) == 0 && strcmp(a->node, b->node) == 0;
}

bool user_name_check(Str name, Error *err)
{
    return check_name(name, USER_NAME_MAX, true, "user", err);
}

bool user_identity_make(Str cluster, Str user, UserIdentity *out, Error *err)
{
    if (!cluster_name_check(cluster, err) || !user_name_check(user, err)) {
        return false;
    }
    *out = (UserIdentity){ 0 };
    memcpy(out->cluster, cluster.data, cluster.len);
    memcpy(out->user, user.data, user.len);
    return true;
}

bool user_identity_parse(Str uri, UserIdentity *out, Error *err)
{
    Str cluster, name;
    return split(uri, user_middle, "eden://CLUSTER/user/NAME", &cluster, &name, err) &&
           user_identity_make(cluster, name, out, err);
}

void user_identity_uri(const UserIdentity *identity, char out[IDENTITY_URI_MAX + 1])
{
    snprintf(out, IDENTITY_URI_MAX + 1, "%s%s%s%s", scheme, identity->cluster, user_middle,
             identity->user);
}
