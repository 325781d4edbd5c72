/* Lets in a machine that asks, after asking the machine itself over SSH. Loop thread.
 *
 * The server logs in there with a key of its own, to a machine that is known by its host key, and
 * tells it which CAs to trust. It is told with which key the machine asks to join: only when that is
 * the one that came over the network, this key is approved. What is run and said is bounded, in time
 * and in size. */
#pragma once

#include "cluster/ca_set.h"
#include "cluster/cluster_store.h"
#include "membership/ssh_target.h"

typedef struct SshBack SshBack;

enum {
    SSH_BACK_MAX = 8,          /* at a time */
    SSH_BACK_LIMIT_MS = 30000, /* for all that ssh does */
};

typedef struct SshBackSettings {
    ClusterStore at;
    Str cluster;
    const char *directory; /* for the key and for files while ssh runs; the server's own */
    const CaSet *cas;      /* those to trust are told */
    int64_t limit_ms;      /* 0: SSH_BACK_LIMIT_MS */
    const char *program;   /* NULL: "ssh" */
} SshBackSettings;

/* The settings' memory is borrowed until ssh_back_free. */
SshBack *ssh_back_new(const SshBackSettings *settings);
/* Ends what runs. Whoever waits is told ERROR_UNAVAILABLE, within, or when the store closes. NULL is
 * fine. */
void ssh_back_free(SshBack *back);
DEFINE_AUTO(SshBack, ssh_back_free)

/* The line for authorized_keys of a machine that is to join; the key is made when there is none. For
 * another user than root `by_sudo`. Fails as files do. */
MUST_CHECK bool ssh_back_line(const SshBack *back, Arena *arena, bool by_sudo, Str *out,
                              Error *err);

typedef struct SshBackWish {
    Str node; /* the name that is asked for */
    SshTarget target;
    SshTrust trust; /* its texts are copied */
} SshBackWish;

typedef struct SshBackDone {
    Pin key;         /* that is approved now */
    SshKey host_key; /* by which the machine was known; when it showed a new one, that one */
} SshBackDone;

/* `done` is NULL after a failure. Borrowed for the call. */
typedef void SshBackTold(void *context, const SshBackDone *done, const Error *err);

/* `told` is called once, in a later turn or within. Failures are ERROR_NOT_FOUND for a name that nobody
 * asks for, ERROR_CONFLICT when the machine is not the one that asks, ERROR_DENIED for a wrong host
 * key or a refused login, ERROR_TIMEOUT, ERROR_LIMIT when too many are asked at a time,
 * ERROR_UNAVAILABLE, and the store's. */
void ssh_back_approve(SshBack *back, const SshBackWish *wish, SshBackTold *told, void *context);
