/* Takes machines into the cluster: a request to join, decided by what the store knows, and written
 * to it in one transaction with what follows from it. Loop thread.
 *
 * What a joiner is told is true when it is told: the answer comes after the write. When somebody
 * else changed what the decision rests on, it is made anew. */
#pragma once

#include "cluster/certify.h"
#include "pki/join_reply.h"

typedef struct Admission Admission;

typedef struct AdmissionSettings {
    CertifySettings certify;
    Str server;        /* the node that this server is, and */
    uint16_t rpc_port; /* where it listens for nodes */
} AdmissionSettings;

/* The settings' memory is borrowed until admission_free. */
Admission *admission_new(const AdmissionSettings *settings);
/* Requests under way are forgotten: their `done` is not called. NULL is fine. */
void admission_free(Admission *admission);
DEFINE_AUTO(Admission, admission_free)

/* `reply` is NULL when nothing could be decided: ERROR_INVALID or ERROR_LIMIT for what is no request,
 * ERROR_UNAVAILABLE when the store cannot be used at present. */
typedef void AdmissionDone(void *context, const JoinReply *reply, const Error *err);

/* Decides about the text of a request that came from `address`. `done` is called once, in a later
 * turn or, for what is no request at all, within. */
void admission_decide(Admission *admission, Str text, const char *address, AdmissionDone *done,
                      void *context);
