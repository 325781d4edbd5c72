/* Approves a pending machine after verifying its key over SSH. Loop thread only.
 *
 * The server logs in to the machine with its own SSH key, identifies it by its host key, and sends
 * it the CAs to trust. The machine reports the key with which it requests to join: the key is
 * approved only if it matches the one in the request that came over the network. Commands and
 * output are bounded, in time and in size. */
#pragma once

#include "cluster/ca_set.h"
#include "cluster/cluster_store.h"
#include "membership/ssh_target.h"

typedef struct SshVerifier SshVerifier;

enum {
    SSH_VERIFY_MAX = 8,          /* maximum number of concurrent verifications */
    SSH_VERIFY_LIMIT_MS = 30000, /* maximum time of each run of ssh */
};

typedef struct SshVerifierSettings {
    ClusterStore cluster_store;
    Str cluster;
    const char *directory; /* for the key, and for files while ssh runs; exclusive to the server */
    const CaSet *cas;      /* sent to the machine */
    int64_t limit_ms;      /* 0: SSH_VERIFY_LIMIT_MS */
    const char *program;   /* NULL: "ssh" */
} SshVerifierSettings;

/* The settings must be valid until ssh_verifier_free. */
SshVerifier *ssh_verifier_new(const SshVerifierSettings *settings);
/* Kills running processes. Callers receive ERROR_UNAVAILABLE, within this call or when the store is
 * closed. NULL is allowed. */
void ssh_verifier_free(SshVerifier *verifier);
DEFINE_AUTO(SshVerifier, ssh_verifier_free)

/* The authorized_keys line for a machine that is to join. Generates the key if missing. `use_sudo`
 * for users other than root. Fails on file errors. */
MUST_CHECK bool ssh_verifier_line(const SshVerifier *verifier, Arena *arena, bool use_sudo,
                                  Str *out, Error *err);

typedef struct SshVerifyRequest {
    Str node; /* the requested name */
    SshTarget target;
    SshTrust trust; /* its strings are copied */
} SshVerifyRequest;

typedef struct SshVerifyResult {
    Pin key;         /* the approved key */
    SshKey host_key; /* the key that identified the machine, which is new if it was accepted */
} SshVerifyResult;

/* `done` is NULL after a failure. Valid during the call. */
typedef void SshVerifyDone(void *context, const SshVerifyResult *done, const Error *err);

/* `done` is called once, later or within the call. ERROR_NOT_FOUND if no machine requests the name,
 * ERROR_CONFLICT if this machine does not, ERROR_DENIED for a wrong host key or a rejected login,
 * ERROR_TIMEOUT, ERROR_LIMIT for too many concurrent verifications, ERROR_UNAVAILABLE, and errors
 * of the store. */
void ssh_verifier_approve(SshVerifier *verifier, const SshVerifyRequest *request,
                          SshVerifyDone *done_function, void *context);
