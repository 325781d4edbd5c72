#include "modules/git/refs.h"

#define HEADS STR("refs/heads/")
#define TAGS  STR("refs/tags/")

enum {
    REV_MAX = 250
};

/* --- Addresses ------------------------------------------------------------------------------- */

static bool has_control(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] <= ' ' || text.data[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

/* The part before "://", or empty. */
static Str scheme_of(Str address)
{
    size_t end = str_find(address, STR("://"), 0);
    return end == STR_NOT_FOUND ? STR_EMPTY : str_slice(address, 0, end);
}

bool git_address_is_local(Str address)
{
    return str_starts(address, STR("/")) || str_eq(scheme_of(address), STR("file"));
}

/* The part between "://" and the path. */
static Str authority_of(Str address, Str scheme)
{
    Str rest = str_from_offset(address, scheme.len + 3);
    return str_slice(rest, 0, str_find(rest, STR("/"), 0));
}

Str git_server_of(Arena *arena, Str address)
{
    Str scheme = scheme_of(address);
    if (!str_eq(scheme, STR("https")) && !str_eq(scheme, STR("http"))) {
        return STR_EMPTY;
    }
    Str host = authority_of(address, scheme);
    size_t at = str_find_last(host, STR("@"));
    host = at == STR_NOT_FOUND ? host : str_from_offset(host, at + 1);
    return arena_join(arena, scheme, STR("://"), host);
}

static bool has_password(Str address)
{
    Str scheme = scheme_of(address);
    if (scheme.len == 0) {
        return false;
    }
    Str host = authority_of(address, scheme);
    size_t at = str_find_last(host, STR("@"));
    return at != STR_NOT_FOUND && str_find(str_slice(host, 0, at), STR(":"), 0) != STR_NOT_FOUND;
}

bool git_check_address(Str address, Error *err)
{
    static const char *const schemes[] = { "https", "http", "ssh", "git", "file" };
    Str scheme = scheme_of(address);
    bool known = scheme.len == 0;
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        known = known || str_eq_c(scheme, schemes[i]);
    }
    /* "host:path" is ssh; "helper::address" runs the program git-remote-helper. */
    size_t colon = str_find(address, STR(":"), 0);
    bool helper = scheme.len == 0 && colon != STR_NOT_FOUND &&
                  str_starts(str_from_offset(address, colon), STR("::"));
    bool local = str_starts(address, STR("/"));
    bool is_ssh = scheme.len == 0 && !local && colon != STR_NOT_FOUND && colon > 0;
    if (address.len == 0 || address.data[0] == '-' || has_control(address) || !known || helper ||
        (scheme.len == 0 && !local && !is_ssh)) {
        return error_set(err, ERROR_INVALID,
                         "'repo' must be an address with https, http, ssh, git or file, "
                         "'host:path', or an absolute path");
    }
    return !has_password(address) || error_set(err, ERROR_INVALID,
                                               "'repo' contains a password, which every user of "
                                               "the machine could read; use 'password' instead");
}

/* --- Revisions ------------------------------------------------------------------------------- */

bool git_is_commit(Str rev)
{
    for (size_t i = 0; i < rev.len; i++) {
        if (ascii_hex_value(rev.data[i]) < 0) {
            return false;
        }
    }
    return rev.len == 40 || rev.len == 64;
}

/* The rules of `git check-ref-format`. */
bool git_check_rev(Str rev, Error *err)
{
    if (rev.len > REV_MAX) { /* not shown: a truncated secret would not be redacted */
        return error_set(err, ERROR_INVALID, "'rev' is %zu bytes long; the maximum is %d", rev.len,
                         REV_MAX);
    }
    bool ok = rev.len > 0 && rev.data[0] != '-' && rev.data[0] != '/' &&
              rev.data[rev.len - 1] != '/' && rev.data[rev.len - 1] != '.' &&
              !str_ends(rev, STR(".lock")) && !has_control(rev) && !str_eq(rev, STR("@")) &&
              str_find(rev, STR(".."), 0) == STR_NOT_FOUND &&
              str_find(rev, STR("//"), 0) == STR_NOT_FOUND &&
              str_find(rev, STR("/."), 0) == STR_NOT_FOUND &&
              str_find(rev, STR("@{"), 0) == STR_NOT_FOUND && rev.data[0] != '.';
    for (size_t i = 0; ok && i < rev.len; i++) {
        ok = memchr("~^:?*[\\", rev.data[i], 7) == NULL;
    }
    return ok || error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a branch, tag or commit",
                           STR_ARG(rev));
}

/* --- Remote refs ----------------------------------------------------------------------------- */

static bool next_line(Str *rest, Str *value, Str *name)
{
    Str line;
    while (rest->len > 0) {
        size_t end = str_find(*rest, STR("\n"), 0);
        line = str_slice(*rest, 0, end);
        *rest = end == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(*rest, end + 1);
        size_t tab = str_find(line, STR("\t"), 0);
        if (tab != STR_NOT_FOUND) {
            *value = str_slice(line, 0, tab);
            *name = str_from_offset(line, tab + 1);
            return true;
        }
    }
    return false;
}

/* Returns true if `name` is the prefix followed by `rev` and, optionally, `suffix`. */
static bool is_named(Str name, Str prefix, Str rev, Str suffix)
{
    return name.len == prefix.len + rev.len + suffix.len && str_starts(name, prefix) &&
           str_ends(name, suffix) && str_eq(str_slice(name, prefix.len, prefix.len + rev.len), rev);
}

/* Ranks matches: 0 none, then a tag, the target of an annotated tag, a branch or full ref name. */
static int rank_of(Str name, Str rev)
{
    if (is_named(name, HEADS, rev, STR_EMPTY) ||
        (str_starts(rev, STR("refs/")) && str_eq(name, rev))) {
        return 3;
    }
    return is_named(name, TAGS, rev, STR("^{}")) ? 2 : is_named(name, TAGS, rev, STR_EMPTY);
}

bool git_find_ref(Str listed, Str rev, GitRef *out, Error *err)
{
    Str rest = listed, value, name, own = STR_EMPTY;
    GitRef head = { 0 };
    int best = 0;
    while (next_line(&rest, &value, &name)) {
        if (str_eq(name, STR("HEAD")) && str_starts(value, STR("ref: "))) {
            own = str_from_offset(value, strlen("ref: "));
            continue;
        }
        if (!git_is_commit(value)) {
            continue;
        }
        if (str_eq(name, STR("HEAD"))) {
            head.commit = value;
        }
        int rank = rev.len == 0 ? 0 : rank_of(name, rev);
        if (rank > best) {
            best = rank;
            name = rank == 2 ? str_slice(name, 0, name.len - strlen("^{}")) : name;
            *out = (GitRef){ .commit = value, .name = name };
        }
    }
    if (rev.len == 0 && head.commit.len > 0) {
        *out = (GitRef){ .commit = head.commit, .name = own };
        return true;
    }
    if (best > 0) {
        return true;
    }
    if (rev.len == 0) {
        return error_set(err, ERROR_NOT_FOUND, "the repository is empty");
    }
    return error_set(err, ERROR_NOT_FOUND,
                     "the repository has no branch or tag '%" STR_FMT
                     "'; use the full hash for a commit",
                     STR_ARG(rev));
}

Str git_branch_of(Str name)
{
    return str_starts(name, HEADS) ? str_from_offset(name, HEADS.len) : STR_EMPTY;
}
