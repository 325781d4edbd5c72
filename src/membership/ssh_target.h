/* How a server logs in to a machine over SSH: where, as whom, by which key the machine is known, and
 * the command line that follows. Pure: nothing here runs anything.
 *
 * No text of a user comes near a shell. What could be taken for an option, a second line or anything
 * but a name is refused before it is part of an argument. */
#pragma once

#include "modules/ssh/key.h"
#include "net/address.h"
#include "pki/ssh_key.h"

enum {
    SSH_USER_MAX = 32,
    SSH_HOST_KEYS_MAX = 8,
    SSH_HOST_KEY_MAX = 4 << 10, /* bytes of a line */
    SSH_CONNECT_S = 10,
    SSH_ALIVE_S = 5,
};

/* Who is asked, as the machine itself is known to ssh; so known_hosts holds no text of a user. */
#define SSH_HOST_ALIAS "eden-joiner"

typedef struct SshTarget {
    Address address;             /* a name or an IP address, with the port */
    char user[SSH_USER_MAX + 1]; /* "root" unless said otherwise */
} SshTarget;

/* "[USER@]HOST[:PORT]". Fails with ERROR_INVALID. */
MUST_CHECK bool ssh_target_parse(Str text, SshTarget *out, Error *err);

/* By which keys the machine is known. */
typedef struct SshTrust {
    SshKey keys[SSH_HOST_KEYS_MAX]; /* type and blob alone */
    uint32_t count;
    bool accept_new; /* then there is none: what it shows is taken, and told */
} SshTrust;

/* Adds a key as ssh-keyscan or a .pub file has it: "ssh-ed25519 AAAA...", with or without a host in
 * front. Texts are borrowed. Fails with ERROR_INVALID for what is none, and ERROR_LIMIT. */
MUST_CHECK bool ssh_trust_add(Arena *arena, SshTrust *trust, Str line, Error *err);
/* What ssh reads as UserKnownHostsFile. */
Str ssh_trust_known_hosts(Arena *arena, const SshTrust *trust);
/* The key that ssh wrote there when it took a new one. Fails with ERROR_INVALID. */
MUST_CHECK bool ssh_trust_learned(Arena *arena, Str known_hosts, SshKey *out, Error *err);
/* "ssh-ed25519 SHA256:..." of each, with ", " between them. */
Str ssh_trust_words(Arena *arena, const SshTrust *trust);

/* The files are as seen from the directory in which ssh is run. */
typedef struct SshPlaces {
    const char *program; /* "ssh" */
    const char *key;
    const char *known_hosts;
} SshPlaces;

/* Ends with NULL. What is run there is `eden join --answer`, for others than root by sudo. */
const char *const *ssh_target_argv(Arena *arena, const SshTarget *target, const SshTrust *trust,
                                   const SshPlaces *places);
/* What is printed for authorized_keys of that machine: the key can do nothing else there. */
Str ssh_authorized_line(Arena *arena, Str public_line, bool by_sudo);

/* Why ssh failed, by its exit code and what it said, and what to do about it. Always false; the kind
 * is ERROR_DENIED for a wrong host key or a refused login, else ERROR_UNAVAILABLE. */
bool ssh_explain(Arena *arena, const SshTarget *target, const SshTrust *trust, int exit_code,
                 Str said, Error *err);
