/* Parsing of SSH targets and host keys, and the command line for ssh. Every option that could make
 * ssh prompt, read user settings, forward or remember something is disabled explicitly. */
#include "membership/ssh_target.h"

#include <stdio.h>

#include "base/vec.h"
#include "base/visible.h"
#include "sys/process.h"

enum {
    PORT_SSH = 22,
    EXIT_NOT_FOUND = 127, /* exit code of a shell */
    EXIT_SSH = 255        /* exit code of ssh itself */
};

/* --- Target ---------------------------------------------------------------------------------- */

static bool is_user(Str user)
{
    bool ok = user.len > 0 && user.len <= SSH_USER_MAX &&
              (ascii_is_alpha(user.data[0]) || user.data[0] == '_');
    for (size_t i = 0; i < user.len && ok; i++) {
        char c = user.data[i];
        ok = ascii_is_alpha(c) || ascii_is_digit(c) || c == '_' || c == '-' || c == '.';
    }
    return ok;
}

bool ssh_target_parse(Str text, SshTarget *out, Error *err)
{
    SshTarget target = { .user = "root" };
    size_t at = str_find(text, STR("@"), 0);
    Str host = at == STR_NOT_FOUND ? text : str_from_offset(text, at + 1);
    if (at != STR_NOT_FOUND) {
        Str user = str_slice(text, 0, at);
        if (!is_user(user)) {
            return error_set(err, ERROR_INVALID,
                             "invalid user name before '@': letters, digits, '_', "
                             "'-' and '.', at most %d",
                             SSH_USER_MAX);
        }
        memset(target.user, 0, sizeof target.user);
        memcpy(target.user, user.data, user.len);
    }
    /* The error quotes its input, so the input must be printable. */
    AUTO_CLEAR(Buf) presented = buf_make(ADDRESS_HOST_MAX + ADDRESS_TEXT_MAX);
    visible_put(&presented, str_slice(host, 0, ADDRESS_HOST_MAX));
    if (host.len > ADDRESS_HOST_MAX || !str_eq(host, buf_str(&presented)) ||
        !address_parse(host, PORT_SSH, &target.address, err) ||
        target.address.kind == ADDRESS_UNIX || target.address.port == 0) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is not an SSH target; expected [USER@]HOST[:PORT]",
                         STR_ARG(buf_str(&presented)));
    }
    *out = target;
    return true;
}

/* --- Host keys ------------------------------------------------------------------------------- */

/* Types of host keys, and the names of signatures that ssh accepts for each. */
static const struct {
    const char *type, *algorithms;
} key_types[] = {
    { "ssh-ed25519", "ssh-ed25519" },
    { "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256" },
    { "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384" },
    { "ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521" },
    { "ssh-rsa", "rsa-sha2-512,rsa-sha2-256" },
};

static const char *algorithms_of(Str type)
{
    for (size_t i = 0; i < COUNT_OF(key_types); i++) {
        if (str_eq_c(type, key_types[i].type)) {
            return key_types[i].algorithms;
        }
    }
    return NULL;
}

/* Accepts "host key" as printed by ssh-keyscan. The host is ignored. A line that starts with '@' is
 * a marker of known_hosts. */
static Str skip_host(Str line)
{
    Str rest = line;
    Str first = ssh_next_word(&rest);
    Str second = ssh_next_word(&rest);
    bool is_host =
        first.len > 0 && (ascii_is_alpha(first.data[0]) || ascii_is_digit(first.data[0]) ||
                          first.data[0] == '[' || first.data[0] == '|');
    return is_host && algorithms_of(first) == NULL && algorithms_of(second) != NULL
               ? str_from_offset(line, (size_t)(second.data - line.data))
               : line;
}

bool ssh_trust_add(Arena *arena, SshTrust *trust, Str line, Error *err)
{
    SshKey key;
    Error why;
    char fingerprint[SSH_FINGERPRINT_TEXT + 1];
    line = str_trim(line);
    if (line.len > SSH_HOST_KEY_MAX) {
        return error_set(err, ERROR_LIMIT, "a host key must be at most %d bytes long",
                         SSH_HOST_KEY_MAX);
    }
    if (!ssh_key_read(arena, skip_host(line), STR_EMPTY, &key, &why) ||
        algorithms_of(key.type) == NULL || !ssh_fingerprint(key.blob, fingerprint)) {
        return error_set(err, ERROR_INVALID,
                         "invalid host key; expected a line from /etc/ssh/ssh_host_ed25519_key.pub "
                         "of that machine: 'ssh-ed25519 AAAA...'");
    }
    if (trust->count == SSH_HOST_KEYS_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d host keys", SSH_HOST_KEYS_MAX);
    }
    trust->keys[trust->count++] = (SshKey){ .type = key.type, .blob = key.blob };
    return true;
}

Str ssh_trust_known_hosts(Arena *arena, const SshTrust *trust)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < trust->count; i++) {
        buf_put_format(&text, "%s %" STR_FMT " %" STR_FMT "\n", SSH_HOST_ALIAS,
                       STR_ARG(trust->keys[i].type), STR_ARG(trust->keys[i].blob));
    }
    return buf_str(&text);
}

bool ssh_trust_found(Arena *arena, Str known_hosts, SshKey *out, Error *err)
{
    SshTrust found_key = { 0 };
    Str line = str_slice(known_hosts, 0, str_find(known_hosts, STR("\n"), 0));
    Error why;
    if (!str_starts(line, STR(SSH_HOST_ALIAS " ")) ||
        !ssh_trust_add(arena, &found_key, line, &why)) {
        return error_set(err, ERROR_INVALID, "ssh did not report the host key of the machine");
    }
    *out = found_key.keys[0];
    return true;
}

Str ssh_trust_text(Arena *arena, const SshTrust *trust)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    char fingerprint[SSH_FINGERPRINT_TEXT + 1];
    for (uint32_t i = 0; i < trust->count; i++) {
        if (ssh_fingerprint(trust->keys[i].blob, fingerprint)) {
            buf_put_format(&text, "%s%" STR_FMT " %s", text.len > 0 ? ", " : "",
                           STR_ARG(trust->keys[i].type), fingerprint);
        }
    }
    return buf_str(&text);
}

/* --- Command line ---------------------------------------------------------------------------- */

#define REMOTE         "eden join --answer"
#define REMOTE_BY_SUDO "sudo -n " REMOTE

/* No prompts, no saved state, no forwarding, and no user settings. */
static const char *const options[] = {
    "BatchMode=yes",
    "CanonicalizeHostname=no",
    "CheckHostIP=no",
    "ClearAllForwardings=yes",
    "ConnectionAttempts=1",
    "ControlMaster=no",
    "ControlPath=none",
    "EscapeChar=none",
    "ForwardAgent=no",
    "ForwardX11=no",
    "GlobalKnownHostsFile=/dev/null",
    "GSSAPIAuthentication=no",
    "HashKnownHosts=no",
    ("HostKeyAlias=" SSH_HOST_ALIAS),
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "LogLevel=INFO", /* a lower level would hide the reason for a failure */
    "PasswordAuthentication=no",
    "PermitLocalCommand=no",
    "PreferredAuthentications=publickey",
    "ProxyCommand=none",
    "RequestTTY=no",
    "UpdateHostKeys=no",
    "VerifyHostKeyDNS=no",
};

typedef VEC(const char *) Arguments;

static void push_option(Arena *arena, Arguments *argv, const char *name, const char *value)
{
    VEC_PUSH(arena, argv, "-o");
    VEC_PUSH(arena, argv, arena_format(arena, "%s=%s%c", name, value, '\0').data);
}

/* Only the types of known keys: a machine that has lost its key presents another one of the same
 * type, and both can be reported. */
static void push_algorithms(Arena *arena, Arguments *argv, const SshTrust *trust)
{
    Buf names = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < trust->count; i++) {
        buf_put_format(&names, "%s%s", i > 0 ? "," : "", algorithms_of(trust->keys[i].type));
    }
    if (names.len > 0) {
        push_option(arena, argv, "HostKeyAlgorithms", arena_copy_c(arena, buf_str(&names)));
    }
}

static bool is_root(const SshTarget *target)
{
    return strcmp(target->user, "root") == 0;
}

const char *const *ssh_target_argv(Arena *arena, const SshTarget *target, const SshTrust *trust,
                                   const SshFiles *files)
{
    Arguments argv = { 0 };
    char number[16];
    VEC_PUSH(arena, &argv, files->program);
    VEC_PUSH(arena, &argv, "-F");
    VEC_PUSH(arena, &argv, "none");
    VEC_PUSH(arena, &argv, "-T");
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        VEC_PUSH(arena, &argv, "-o");
        VEC_PUSH(arena, &argv, options[i]);
    }
    push_option(arena, &argv, "StrictHostKeyChecking", trust->accept_new ? "accept-new" : "yes");
    push_option(arena, &argv, "UserKnownHostsFile", files->known_hosts);
    push_algorithms(arena, &argv, trust);
    snprintf(number, sizeof number, "%d", SSH_CONNECT_S);
    push_option(arena, &argv, "ConnectTimeout", number);
    snprintf(number, sizeof number, "%d", SSH_ALIVE_S);
    push_option(arena, &argv, "ServerAliveInterval", number);
    VEC_PUSH(arena, &argv, "-i");
    VEC_PUSH(arena, &argv, files->key);
    VEC_PUSH(arena, &argv, "-l");
    VEC_PUSH(arena, &argv, target->user);
    VEC_PUSH(arena, &argv, "-p");
    VEC_PUSH(arena, &argv, arena_format(arena, "%u%c", target->address.port, '\0').data);
    VEC_PUSH(arena, &argv, "--");
    VEC_PUSH(arena, &argv, target->address.host);
    VEC_PUSH(arena, &argv, is_root(target) ? REMOTE : REMOTE_BY_SUDO);
    VEC_PUSH(arena, &argv, NULL);
    return argv.items;
}

Str ssh_authorized_line(Arena *arena, Str public_line, bool use_sudo)
{
    return arena_format(arena, "restrict,command=\"%s\" %" STR_FMT,
                        use_sudo ? REMOTE_BY_SUDO : REMOTE, STR_ARG(public_line));
}

/* --- Errors ---------------------------------------------------------------------------------- */

static bool contains_text(Str output, const char *text)
{
    return str_find(output, str_from_c(text), 0) != STR_NOT_FOUND;
}

/* Returns the first fingerprint in the output of ssh; empty if there is none. */
static Str find_fingerprint(Str output)
{
    size_t at = str_find(output, STR("SHA256:"), 0);
    size_t end = at == STR_NOT_FOUND ? 0 : at + 7;
    while (end > 0 && end < output.len &&
           (ascii_is_alpha(output.data[end]) || ascii_is_digit(output.data[end]) ||
            output.data[end] == '+' || output.data[end] == '/')) {
        end++;
    }
    return end > 0 ? str_slice(output, at, end) : STR_EMPTY;
}

static bool explain_host_key(Arena *arena, const SshTarget *target, const SshTrust *trust,
                             Str output, Error *err)
{
    Str presented = find_fingerprint(output), pinned = ssh_trust_text(arena, trust);
    return error_set(err, ERROR_DENIED,
                     "%s has the host key %" STR_FMT ", but %" STR_FMT
                     " was expected: it is a different machine, or someone is intercepting the "
                     "connection",
                     target->address.host,
                     STR_ARG(presented.len > 0 ? presented : STR("of another type")),
                     STR_ARG(pinned.len > 0 ? pinned : STR("none")));
}

bool ssh_explain(Arena *arena, const SshTarget *target, const SshTrust *trust, int exit_code,
                 Str output, Error *err)
{
    const char *host = target->address.host;
    Buf presented = buf_make_in(arena, BUF_UNLIMITED);
    visible_put(&presented, process_summary(arena, output));
    Str words = presented.len > 0 ? buf_str(&presented) : STR("no output");
    if (exit_code == EXIT_SSH && (contains_text(output, "IDENTIFICATION HAS CHANGED") ||
                                  contains_text(output, "Host key verification failed") ||
                                  contains_text(output, "no matching host key type"))) {
        return explain_host_key(arena, target, trust, output, err);
    }
    if (exit_code == EXIT_SSH && contains_text(output, "Permission denied")) {
        return error_set(err, ERROR_DENIED,
                         "%s rejected the SSH key of this server for user %s; add the line printed "
                         "by 'eden nodes ssh-key' to ~%s/.ssh/authorized_keys there",
                         host, target->user, target->user);
    }
    if (exit_code == EXIT_SSH) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot log in to %s: ssh: %" STR_FMT, host,
                         STR_ARG(words));
    }
    if (exit_code == EXIT_NOT_FOUND) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "eden not found on %s, or not in the PATH: %" STR_FMT, host,
                         STR_ARG(words));
    }
    if (contains_text(output, "sudo:")) {
        return error_set(err, ERROR_DENIED,
                         "%s is not allowed to run 'eden join --answer' with sudo on %s: %" STR_FMT,
                         target->user, host, STR_ARG(words));
    }
    return error_set(err, ERROR_UNAVAILABLE, "'eden join --answer' on %s exited with %d: %" STR_FMT,
                     host, exit_code, STR_ARG(words));
}
