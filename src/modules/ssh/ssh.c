/* ssh.*: authorized keys and known hosts. */
#include "base/base64.h"
#include "base/buf.h"
#include "modules/accounts.h"
#include "modules/ssh/home_file.h"
#include "modules/ssh/key.h"
#include "sys/sha1.h"

/* --- ssh.authorized_key ---------------------------------------------------------------------- */

enum {
    FILE_MODE = 0600
};

typedef struct KeyChange {
    SshKey key;
    bool absent, has_options, has_comment;
    bool edited;  /* lines have to be changed */
    Value before; /* the key in the file; missing: none */
} KeyChange;

/* Formats the options as one word: a space outside of quotes would end them. */
static bool read_options(Call *call, KeyChange *change, Error *err)
{
    Value given = call_param(call, "options");
    Buf text = buf_make_in(call->arena, BUF_UNLIMITED);
    change->has_options = value_is_sequence(given);
    for (uint32_t i = 0; change->has_options && i < given.list->len; i++) {
        buf_put_c(&text, i == 0 ? "" : ",");
        buf_put(&text, value_str(given.list->items[i]));
    }
    change->key.options = buf_str(&text);
    SshKey parsed;
    Str line = ssh_key_format(call->arena, &change->key);
    bool ok = str_find(line, STR("\n"), 0) == STR_NOT_FOUND && ssh_key_parse(line, &parsed) &&
              str_eq(parsed.options, change->key.options) && ssh_key_same(&parsed, &change->key) &&
              str_eq(parsed.comment, change->key.comment);
    return ok || error_set(err, ERROR_INVALID,
                           "'options' and 'comment' must fit on one line; put spaces in options in "
                           "double quotes, as in 'command=\"...\"'");
}

static bool read_key(Call *call, KeyChange *change, Error *err)
{
    *change = (KeyChange){ .absent = str_eq(call_str(call, "state"), STR("absent")),
                           .has_comment = call_has(call, "comment"),
                           .before = value_missing() };
    if (!account_check_name(call_str(call, "user"), "a user", err)) {
        return call_blame(call, "user");
    }
    if (!ssh_key_read(call->arena, call_str(call, "key"), call_str(call, "type"), &change->key,
                      err)) {
        return false;
    }
    if (change->has_comment) {
        change->key.comment = str_trim(call_str(call, "comment"));
    }
    return read_options(call, change, err);
}

static bool verify_key_params(Call *call, Error *err)
{
    KeyChange ignored;
    return read_key(call, &ignored, err);
}
CALL_VERIFY(authorized_key_verify, verify_key_params)

/* The new line; options and comment that the step does not set are preserved. */
static Str merge_line(Call *call, const KeyChange *change, Str line, const SshKey *found)
{
    SshKey wanted = change->key;
    wanted.options = change->has_options ? wanted.options : found->options;
    wanted.comment = change->has_comment ? wanted.comment : found->comment;
    bool same = str_eq(wanted.options, found->options) && str_eq(wanted.comment, found->comment);
    return same ? line : ssh_key_format(call->arena, &wanted);
}

/* The new content of the file. */
static Str edit_keys(Call *call, KeyChange *change, Str content)
{
    Buf out = buf_make_in(call->arena, BUF_UNLIMITED);
    bool placed = change->absent;
    Str rest = content, line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        SshKey found;
        Str now = line;
        if (ssh_key_parse(line, &found) && ssh_key_same(&found, &change->key)) {
            change->before = value_string(ssh_key_words(call, &found));
            if (placed) {
                change->edited = true;
                continue;
            }
            now = merge_line(call, change, line, &found);
            change->edited = change->edited || !str_eq(now, line);
            placed = true;
        }
        buf_put(&out, now);
        buf_put_char(&out, '\n');
    }
    if (!placed) {
        buf_put(&out, ssh_key_format(call->arena, &change->key));
        buf_put_char(&out, '\n');
        change->edited = true;
    }
    return buf_str(&out);
}

static void report_key(Call *call, const KeyChange *change, const HomeFile *file, bool loose,
                       Outcome *outcome)
{
    outcome->changed = change->edited || loose;
    outcome->state = change->absent ? STR("absent") : STR("present");
    if (change->edited) {
        outcome_change(call, outcome, "key", change->before,
                       change->absent ? value_missing()
                                      : value_string(ssh_key_words(call, &change->key)));
    }
    if (loose) {
        outcome_change(call, outcome, arena_copy_c(call->arena, file->display_path),
                       value_missing(), value_string(STR("restricted to the user")));
    }
    outcome->comment = !outcome->changed
                           ? (change->absent ? STR("not authorized") : STR("already authorized"))
                       : change->absent ? STR("removed")
                                        : STR("authorized");
}

static bool authorized_key_check(Call *call, Outcome *outcome, Error *err)
{
    KeyChange change;
    AUTO_CLEAR(HomeFile) file = { 0 };
    if (!read_key(call, &change, err) ||
        !home_file_open(call, call_str(call, "user"), STR("authorized_keys"), &file, err)) {
        return false;
    }
    if (file.missing && !change.absent) {
        if (!home_file_is_pending(&file, err)) {
            return false;
        }
        change.edited = true;
        report_key(call, &change, &file, false, outcome);
        return true;
    }
    (void)edit_keys(call, &change, file.content);
    report_key(call, &change, &file, !change.absent && home_file_needs_fix(&file, FILE_MODE),
               outcome);
    return true;
}

/* Reads the file again: it belongs to another user, who may have changed it since the check. */
static bool authorized_key_apply(Call *call, Outcome *outcome, Error *err)
{
    KeyChange change;
    AUTO_CLEAR(HomeFile) file = { 0 };
    if (!read_key(call, &change, err) ||
        !home_file_open(call, call_str(call, "user"), STR("authorized_keys"), &file, err)) {
        return false;
    }
    if (file.missing) {
        return change.absent ||
               error_set(err, ERROR_NOT_FOUND, "%" STR_FMT, STR_ARG(file.missing_reason));
    }
    Str content = edit_keys(call, &change, file.content);
    if (!change.edited && !home_file_needs_fix(&file, FILE_MODE)) {
        return true;
    }
    outcome->changed = home_file_write(&file, content, FILE_MODE, err);
    return outcome->changed;
}

static const ParamSpec authorized_key_params[] = {
    { "user", PARAM_STRING, .required = true, .help = "user that the key can log in as",
      .claims = "needs:user" },
    { "key", PARAM_STRING, .required = true,
      .help = "public key, as in a .pub file, or only its base64 part" },
    { "type", PARAM_STRING,
      .help = "type of the key, such as ssh-ed25519, if 'key' does not contain it" },
    { "options", PARAM_STRINGS,
      .help = "options of the key, such as restrict; default: unchanged" },
    { "comment", PARAM_STRING, .help = "comment of the key" },
    { "state", PARAM_STRING, .aspect = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether the key is authorized" },
    { 0 },
};

static void authorized_key_claims(Arena *arena, const Value *params, List *claims)
{
    if (value_is_string(params[0])) {
        Str user = value_str(params[0]);
        list_push(arena, claims,
                  value_string(arena_join(arena, STR("ssh:"), user, STR(":authorized_keys"))));
    }
}

/* --- ssh.known_host -------------------------------------------------------------------------- */

enum {
    SYSTEM_MODE = 0644,
    HOME_MODE = 0600,
    DEFAULT_PORT = 22,
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
    int64_t port = call_int(call, "port", DEFAULT_PORT);
    bool ok = name.len > 0 && name.len <= NAME_MAX_LEN && name.data[0] != '-';
    Buf lower = buf_make_in(call->arena, BUF_UNLIMITED);
    for (size_t i = 0; ok && i < name.len; i++) {
        ok = ascii_is_name(name.data[i]) || name.data[i] == '-' || name.data[i] == '.' ||
             name.data[i] == ':';
        buf_put_char(&lower, ascii_lower(name.data[i]));
    }
    if (!ok) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a valid host name or address",
                         STR_ARG(name));
    }
    if (port < 1 || port > UINT16_MAX) {
        return error_set(err, ERROR_INVALID, "'port' must be from 1 to 65535");
    }
    change->token = buf_str(&lower);
    if (port != DEFAULT_PORT) {
        change->token = arena_format(call->arena, "[%" STR_FMT "]:%lld", STR_ARG(change->token),
                                     (long long)port);
    }
    return true;
}

static bool read_host(Call *call, HostChange *change, Error *err)
{
    *change = (HostChange){ .absent = str_eq(call_str(call, "state"), STR("absent")),
                            .has_key = call_has(call, "key"),
                            .before = value_missing() };
    if (!read_token(call, change, err)) {
        return false;
    }
    if (call_has(call, "user") && !account_check_name(call_str(call, "user"), "a user", err)) {
        return false;
    }
    if (!change->has_key) {
        return change->absent || error_set(err, ERROR_INVALID, "'key' is required");
    }
    if (!ssh_key_read(call->arena, call_str(call, "key"), call_str(call, "type"), &change->key,
                      err)) {
        return false;
    }
    change->key.comment = STR_EMPTY;
    return true;
}

static bool verify_host_params(Call *call, Error *err)
{
    HostChange ignored;
    return read_host(call, &ignored, err);
}
CALL_VERIFY(known_host_verify, verify_host_params)

/* "|1|salt|hash": a name hashed with HMAC-SHA1. */
static bool hash_matches(Arena *arena, Str hashed, Str token)
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
        if (str_eq_ignore_case(name, token) || hash_matches(arena, name, token)) {
            return true;
        }
    }
    return false;
}

/* Removes the name from the line; empty if no other name is left. */
static Str strip_line(Arena *arena, Str names, Str rest, Str token)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Str name;
    while (str_split_next(&names, ',', &name)) {
        if (!str_eq_ignore_case(name, token) && !hash_matches(arena, name, token)) {
            buf_put_c(&out, out.len > 0 ? "," : "");
            buf_put(&out, name);
        }
    }
    if (out.len > 0) {
        buf_put(&out, rest);
    }
    return buf_str(&out);
}

/* Returns true if the step applies to this key of the host: to all keys, to this one, or to those
 * of its type. */
static bool applies_to(const HostChange *change, const SshKey *found)
{
    if (change->absent) {
        return !change->has_key || ssh_key_same(found, &change->key);
    }
    return str_eq(found->type, change->key.type);
}

static Str edit_hosts(Call *call, HostChange *change, Str content)
{
    Arena *arena = call->arena;
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    bool placed = change->absent;
    Str text = content, line;
    while (text.len > 0 && str_split_next(&text, '\n', &line)) {
        SshKey found;
        Str rest = line, names = ssh_next_word(&rest);
        /* Lines with a marker are about certificate authorities and revoked keys. */
        bool matches = names.len > 0 && names.data[0] != '#' && names.data[0] != '@' &&
                       has_token(arena, names, change->token) && ssh_key_parse_rest(rest, &found) &&
                       applies_to(change, &found);
        if (matches && !placed && ssh_key_same(&found, &change->key)) {
            placed = true;
        } else if (matches) {
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

static void report_host(Call *call, const HostChange *change, Outcome *outcome)
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

static bool known_host_check(Call *call, Outcome *outcome, Error *err)
{
    HostChange change;
    AUTO_CLEAR(HomeFile) file = { 0 };
    if (!read_host(call, &change, err) || !open_file(call, &file, err)) {
        return false;
    }
    if (file.missing && !change.absent && !home_file_is_pending(&file, err)) {
        return false;
    }
    (void)edit_hosts(call, &change, file.content);
    report_host(call, &change, outcome);
    return true;
}

/* Reads the file again: it belongs to another user, who may have changed it since the check. */
static bool known_host_apply(Call *call, Outcome *outcome, Error *err)
{
    HostChange change;
    AUTO_CLEAR(HomeFile) file = { 0 };
    if (!read_host(call, &change, err) || !open_file(call, &file, err)) {
        return false;
    }
    if (file.missing) {
        return change.absent ||
               error_set(err, ERROR_NOT_FOUND, "%" STR_FMT, STR_ARG(file.missing_reason));
    }
    Str content = edit_hosts(call, &change, file.content);
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
    KNOWN_USER = 4 /* index of the parameter */
};

static const ParamSpec known_host_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name or address of the host" },
    { "key", PARAM_STRING, .help = "public key of the host: type and base64" },
    { "type", PARAM_STRING,
      .help = "type of the key, such as ssh-ed25519, if 'key' does not contain it" },
    { "port", PARAM_INT, .fallback = "22", .help = "port of its sshd" },
    [KNOWN_USER] = { "user", PARAM_STRING,
                     .help = "user for whom the host is known; default: all "
                             "users",
                     .claims = "needs:user" },
    { "state", PARAM_STRING, .aspect = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether the host is known" },
    { 0 },
};

static void known_host_claims(Arena *arena, const Value *params, List *claims)
{
    Value user = params[KNOWN_USER];
    list_push(arena, claims, value_string(STR("provides:remote")));
    if (!value_is_string(user)) {
        list_push(arena, claims, value_string(STR("path:/etc/ssh/ssh_known_hosts")));
        return;
    }
    list_push(arena, claims,
              value_string(arena_join(arena, STR("ssh:"), value_str(user), STR(":known_hosts"))));
}

/* --- Module table ---------------------------------------------------------------------------- */

#define EXAMPLE_KEY \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX"

static const Action actions[] = {
    { "authorized_key", "Ensure that a key is authorized to log in.", authorized_key_params,
      authorized_key_check, authorized_key_apply, .verify = ssh_key_verify,
      .verify_all = authorized_key_verify, .claims = authorized_key_claims, .id_param = "user",
      .resource = "keys user", .part = "key", .part_kind = PART_KEY,
      .text = "The key is a line in ~/.ssh/authorized_keys; other lines are left unchanged. The\n"
              "directory and the file are accessible only to the user. Options and comment that\n"
              "the step does not set are preserved; 'options: []' removes the options.\n"
              "\n"
              "The home directory is under the user's control: if ~/.ssh or the file is a\n"
              "symlink, or belongs to another user, the step fails and writes nothing.\n",
      .example = "- name: ann may restart the web server\n"
                 "  ssh.authorized_key:\n"
                 "    - user: root\n"
                 "    - key: " EXAMPLE_KEY "\n"
                 "    - comment: ann@example.net\n"
                 "    - options:\n"
                 "        - restrict\n"
                 "        - command=\"systemctl restart nginx\"\n" },
    { "known_host", "Ensure that the key of a host is known.", known_host_params, known_host_check,
      known_host_apply, .verify = ssh_key_verify, .verify_all = known_host_verify,
      .claims = known_host_claims, .resource = "known-host name", .part = "user port key",
      .part_kind = PART_KEY,
      .text = "Uses /etc/ssh/ssh_known_hosts, or ~/.ssh/known_hosts with 'user'. A host has one\n"
              "key of each type: a different key of the same type is removed. Hashed names are\n"
              "recognized. With 'state: absent' and no key, all keys of the host are removed.\n",
      .example = "- name: backup host\n"
                 "  ssh.known_host:\n"
                 "    - name: backup.example.net\n"
                 "    - key: " EXAMPLE_KEY "\n" },
    { 0 },
};

const Module modules_ssh = {
    .name = "ssh",
    .help = "SSH keys of users and hosts.",
    .id_param = "name",
    .actions = actions,
};
