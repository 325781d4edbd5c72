/* The state of a join on disk: the machine's key and the parameters. With it, a join that was
 * killed or that waits for approval continues as the same machine.
 *
 * A subdirectory of the agent's: key.pem, and joining.json ("eden.node-joining/1"). After a server
 * has verified this machine over SSH (ssh_answer.h), its CAs are in trusted.pem. */
#pragma once

#include "net/address.h"
#include "pki/join.h"
#include "sys/directory.h"

enum {
    JOINING_SERVER_MAX = ADDRESS_HOST_MAX + 9 /* "[host]:65535" */
};

typedef struct Joining {
    char name[NODE_NAME_MAX + 1];
    char server[JOINING_SERVER_MAX + 1]; /* address of the server's API, with the port */
    Pin ca;                              /* the CA to trust */
    bool is_claim; /* the CA is unverified: nothing from the server is used until it is verified */
    P256Private *key;
} Joining;

void joining_clear(Joining *joining); /* frees the key */
DEFINE_AUTO_CLEAR(Joining, joining_clear)

/* `directory` is used only for joining. Durable on return. */
MUST_CHECK bool joining_save(const Directory *directory, const Joining *joining, Error *err);
/* Fails with ERROR_NOT_FOUND if there is no join in progress, ERROR_INVALID if the files are
 * damaged. */
MUST_CHECK bool joining_load(const Directory *directory, Joining *out, Error *err);
/* Deletes all files; missing ones are ignored. */
void joining_drop(const Directory *directory);

/* Stores CAs (PEM) that a server has verified by logging in as root. Durable on return. */
MUST_CHECK bool joining_trust(const Directory *directory, Str bundle, Error *err);
/* Whether this CA is one of them. */
bool joining_is_trusted(const Directory *directory, const Pin *ca);
