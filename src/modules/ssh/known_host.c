/* ssh.known_host: by which key a host is known. */
#include "base/base64.h"
#include "base/buf.h"
#include "modules/people.h"
#include "modules/ssh/actions.h"
#include "modules/ssh/home_file.h"
#include "modules/ssh/key.h"
#include "sys/sha1.h"

enum {
    SYSTEM_MODE = 0644,
    HOME_MODE = 0600,
    PORT_USUAL = 22,
    NAME_MAX_LEN = 253
};

typedef struct HostChange {
    Str token; /* "db.example.net", "[db.example.net]:2222" */
    SshKey key;
    bool has_key, absent;
    bool edited;
    Value before;
} HostChange;

static bool read_token(Call *call, HostChange *change, Error *err)
{
    Str name = call_str(call, "name");
    int64_t port = call_int(call, "port", PORT_USUAL);
    bool ok = name.len > 0 && name.len <= NAME_MAX_LEN && name.data[0] != '-';
    Buf lower = buf_make_in(call->arena, BUF_UNLIMITED);
    for (size_t i = 0; ok && i < name.len; i++) {
        ok = ascii_is_name(name.data[i]) || name.data[i] == '-' || name.data[i] == '.' ||
             name.data[i] == ':';
        buf_put_char(&lower, ascii_lower(name.data[i]));
    }
    if (!ok) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' cannot be the name or address of a host", STR_ARG(name));
    }
    if (port < 1 || port > UINT16_MAX) {
        return error_set(err, ERROR_INVALID, "'port' must be from 1 to 65535");
    }
    change->token = buf_str(&lower);
    if (port != PORT_USUAL) {
        change->token = arena_format(call->arena, "[%" STR_FMT "]:%lld", STR_ARG(change->token),
                                     (long long)port);
    }
    return true;
}

static bool read_change(Call *call, HostChange *change, Error *err)
{
    *change = (HostChange){ .absent = str_eq(call_str(call, "state"), STR("absent")),
                            .has_key = call_has(call, "key"),
                            .before = value_missing() };
    if (!read_token(call, change, err)) {
        return false;
    }
    if (call_has(call, "user") && !people_check_name(call_str(call, "user"), "a user", err)) {
        return false;
    }
    if (!change->has_key) {
        return change->absent || error_set(err, ERROR_INVALID, "needs 'key'");
    }
    if (!ssh_key_read(call->arena, call_str(call, "key"), call_str(call, "type"), &change->key,
                      err)) {
        return false;
    }
    change->key.comment = STR_EMPTY;
    return true;
}

/* "|1|salt|hash": a name that is hidden by HMAC-SHA1. */
static bool hash_fits(Arena *arena, Str hashed, Str token)
{
    Str salt, hash;
    unsigned char own[SHA1_SIZE];
    size_t bar = str_find(hashed, STR("|"), 3);
    if (!str_starts(hashed, STR("|1|")) || bar == STR_NOT_FOUND ||
        !base64_decode(arena, str_slice(hashed, 3, bar), &salt) ||
        !base64_decode(arena, str_from_offset(hashed, bar + 1), &hash)) {
        return false;
    }
    sha1_hmac(salt, token, own);
    return hash.len == SHA1_SIZE && memcmp(hash.data, own, SHA1_SIZE) == 0;
}

static bool has_token(Arena *arena, Str names, Str token)
{
    Str name;
    while (str_split_next(&names, ',', &name)) {
        if (str_eq_ignore_case(name, token) || hash_fits(arena, name, token)) {
            return true;
        }
    }
    return false;
}

/* The line without the token; empty when no other name is left. */
static Str strip_line(Arena *arena, Str names, Str rest, Str token)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Str name;
    while (str_split_next(&names, ',', &name)) {
        if (!str_eq_ignore_case(name, token) && !hash_fits(arena, name, token)) {
            buf_put_c(&out, out.len > 0 ? "," : "");
            buf_put(&out, name);
        }
    }
    if (out.len > 0) {
        buf_put(&out, rest);
    }
    return buf_str(&out);
}

/* Whether the step speaks of this key of the host: of all, of this one, or of those of its type. */
static bool is_meant(const HostChange *change, const SshKey *found)
{
    if (change->absent) {
        return !change->has_key || ssh_key_same(found, &change->key);
    }
    return str_eq(found->type, change->key.type);
}

static Str edit(Call *call, HostChange *change, Str content)
{
    Arena *arena = call->arena;
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    bool placed = change->absent;
    Str text = content, line;
    while (text.len > 0 && str_split_next(&text, '\n', &line)) {
        SshKey found;
        Str rest = line, names = ssh_next_word(&rest);
        /* Lines with a mark speak of authorities and of keys that nobody may use any more. */
        bool meant = names.len > 0 && names.data[0] != '#' && names.data[0] != '@' &&
                     has_token(arena, names, change->token) && ssh_key_parse_rest(rest, &found) &&
                     is_meant(change, &found);
        if (meant && !placed && ssh_key_same(&found, &change->key)) {
            placed = true;
        } else if (meant) {
            change->before = value_string(ssh_key_words(call, &found));
            change->edited = true;
            line = strip_line(arena, names, rest, change->token);
            if (line.len == 0) {
                continue;
            }
        }
        buf_put(&out, line);
        buf_put_char(&out, '\n');
    }
    if (!placed) {
        change->edited = true;
        buf_put_format(&out, "%" STR_FMT " %" STR_FMT "\n", STR_ARG(change->token),
                       STR_ARG(ssh_key_format(arena, &change->key)));
    }
    return buf_str(&out);
}

static bool open_file(Call *call, HomeFile *file, Error *err)
{
    return call_has(call, "user")
               ? home_file_open(call, call_str(call, "user"), STR("known_hosts"), file, err)
               : home_file_open_system(call, STR("/etc/ssh/ssh_known_hosts"), file, err);
}

static void tell(Call *call, const HostChange *change, Outcome *outcome)
{
    outcome->changed = change->edited;
    outcome->state = change->absent ? STR("absent") : STR("present");
    if (change->edited) {
        outcome_change(call, outcome, arena_copy_c(call->arena, change->token), change->before,
                       change->absent ? value_missing()
                                      : value_string(ssh_key_words(call, &change->key)));
    }
    outcome->comment = !change->edited  ? (change->absent ? STR("not known") : STR("already known"))
                       : change->absent ? STR("forgotten")
                                        : STR("known");
}

bool known_host_check(Call *call, Outcome *outcome, Error *err)
{
    HostChange change;
    AUTO_CLEAR(HomeFile) file = { 0 };
    if (!read_change(call, &change, err) || !open_file(call, &file, err)) {
        return false;
    }
    if (file.missing && !change.absent && !home_file_comes(&file, err)) {
        return false;
    }
    (void)edit(call, &change, file.content);
    tell(call, &change, outcome);
    return true;
}

/* Looks once more: the file is another's, who may have changed it meanwhile. */
bool known_host_apply(Call *call, Outcome *outcome, Error *err)
{
    HostChange change;
    AUTO_CLEAR(HomeFile) file = { 0 };
    if (!read_change(call, &change, err) || !open_file(call, &file, err)) {
        return false;
    }
    if (file.missing) {
        return change.absent || error_set(err, ERROR_NOT_FOUND, "%" STR_FMT, STR_ARG(file.why));
    }
    Str content = edit(call, &change, file.content);
    if (!change.edited) {
        return true;
    }
    mode_t mode = file.file.kind == FILE_REGULAR ? file.file.mode
                  : file.in_home                 ? HOME_MODE
                                                 : SYSTEM_MODE;
    outcome->changed = home_file_write(&file, content, mode, err);
    return outcome->changed;
}

enum {
    KNOWN_USER = 4 /* its place in the row */
};

const ParamSpec known_host_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "the name or address of the host" },
    { "key", PARAM_STRING, .help = "its public key: type and base64" },
    { "type", PARAM_STRING, .help = "the type, such as ssh-ed25519, when 'key' does not say it" },
    { "port", PARAM_INT, .fallback = "22", .help = "where its sshd listens" },
    [KNOWN_USER] = { "user", PARAM_STRING,
                     .help = "for this user alone; for everybody, when not given",
                     .claims = "needs:user" },
    { "state", PARAM_STRING, .decides = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether it shall be known" },
    { 0 },
};

void known_host_claims(Arena *arena, const Value *params, List *claims)
{
    Value user = params[KNOWN_USER];
    list_push(arena, claims, value_string(STR("brings:remote")));
    if (!value_is_string(user)) {
        list_push(arena, claims, value_string(STR("path:/etc/ssh/ssh_known_hosts")));
        return;
    }
    list_push(arena, claims,
              value_string(arena_join(arena, STR("ssh:"), value_str(user), STR(":known_hosts"))));
}
