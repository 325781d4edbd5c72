/* The state of a join on disk: the key of the machine, and its parameters. With it a
 * join that was killed, or that waits for approval, continues as the same machine.
 *
 * A directory below the agent's: key.pem, and wish.json ("eden.join-wish/1"). After a
 * server has verified this machine over SSH (ssh_answer.h), its CAs are in trusted.pem. */
#pragma once

#include "net/address.h"
#include "pki/join.h"
#include "sys/directory.h"

enum {
    JOINING_SERVER_MAX = ADDRESS_HOST_MAX + 9 /* "[host]:65535" */
};

typedef struct Joining {
    char name[NODE_NAME_MAX + 1];
    char server[JOINING_SERVER_MAX + 1]; /* the address of its API, with the port */
    Pin ca;                              /* the one that it is told to trust */
    bool is_claim; /* only shown by the server: nothing is taken from it before it is vouched for */
    P256Private *key;
} Joining;

void joining_clear(Joining *joining); /* frees the key */
DEFINE_AUTO_CLEAR(Joining, joining_clear)

/* `directory` is that of joining alone. Durable when it returns. */
MUST_CHECK bool joining_save(const Directory *directory, const Joining *joining, Error *err);
/* Fails with ERROR_NOT_FOUND when nothing was asked for, ERROR_INVALID for what is damaged. */
MUST_CHECK bool joining_load(const Directory *directory, Joining *out, Error *err);
/* Takes all of it away; what is not there is fine. */
void joining_drop(const Directory *directory);

/* Somebody who may log in here as root has vouched for these CAs, in PEM. Durable when it returns. */
MUST_CHECK bool joining_trust(const Directory *directory, Str bundle, Error *err);
/* Whether this CA is among them. */
bool joining_is_trusted(const Directory *directory, const Pin *ca);
