/* How a server logs in to a machine over SSH: target, user, host keys, and the resulting command
 * line. Pure: nothing here runs anything.
 *
 * User input never reaches a shell. Anything that could be mistaken for an option or a second line
 * is rejected before it becomes part of an argument. */
#pragma once

#include "modules/ssh/key.h"
#include "net/address.h"
#include "pki/ssh_key.h"

enum {
    SSH_USER_MAX = 32,
    SSH_HOST_KEYS_MAX = 8,
    SSH_HOST_KEY_MAX = 4 << 10, /* maximum length of a line */
    SSH_CONNECT_S = 10,
    SSH_ALIVE_S = 5,
};

/* HostKeyAlias of the machine, so that known_hosts does not contain user input. */
#define SSH_HOST_ALIAS "eden-joiner"

typedef struct SshTarget {
    Address address;             /* a name or an IP address, with the port */
    char user[SSH_USER_MAX + 1]; /* default: "root" */
} SshTarget;

/* "[USER@]HOST[:PORT]". Fails with ERROR_INVALID. */
MUST_CHECK bool ssh_target_parse(Str text, SshTarget *out, Error *err);

/* The host keys of the machine. */
typedef struct SshTrust {
    SshKey keys[SSH_HOST_KEYS_MAX]; /* only type and key blob are used */
    uint32_t count;
    bool accept_new; /* there are no known keys: the presented key is accepted and reported */
} SshTrust;

/* Adds a key in the format of ssh-keyscan or a .pub file: "ssh-ed25519 AAAA...", with or without a
 * host in front. Strings are not copied. Fails with ERROR_INVALID for an invalid key, and with
 * ERROR_LIMIT. */
MUST_CHECK bool ssh_trust_add(Arena *arena, SshTrust *trust, Str line, Error *err);
/* Content of the UserKnownHostsFile for ssh. */
Str ssh_trust_known_hosts(Arena *arena, const SshTrust *trust);
/* Parses the key that ssh wrote there when it accepted a new one. Fails with ERROR_INVALID. */
MUST_CHECK bool ssh_trust_found(Arena *arena, Str known_hosts, SshKey *out, Error *err);
/* Formats the fingerprints: "ssh-ed25519 SHA256:..." of each key, separated by ", ". */
Str ssh_trust_text(Arena *arena, const SshTrust *trust);

/* Paths are relative to the directory in which ssh runs. */
typedef struct SshFiles {
    const char *program; /* "ssh" */
    const char *key;
    const char *known_hosts;
} SshFiles;

/* The command line, terminated by NULL. Runs `eden join --answer` on the machine, with sudo for
 * users other than root. */
const char *const *ssh_target_argv(Arena *arena, const SshTarget *target, const SshTrust *trust,
                                   const SshFiles *files);
/* The line for authorized_keys of that machine, which restricts the key to that command. */
Str ssh_authorized_line(Arena *arena, Str public_line, bool use_sudo);

/* Explains the failure of ssh from its exit code and output, with a suggestion. Always returns
 * false; the kind is ERROR_DENIED for a wrong host key or a rejected login, otherwise
 * ERROR_UNAVAILABLE. */
bool ssh_explain(Arena *arena, const SshTarget *target, const SshTrust *trust, int exit_code,
                 Str output, Error *err);
