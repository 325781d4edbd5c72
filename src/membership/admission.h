/* Admits machines to the cluster: decides a join request from the state of the store, and writes
 * the result in one transaction. Loop thread only.
 *
 * The response is sent after the write, so it is true when it arrives. If the state has changed in
 * the meantime, the decision is repeated. A machine is in the audit log before it becomes a member,
 * or it is not admitted.
 *
 * Anyone can send requests: their cost is bounded (membership/pending_limits.h), and requests that
 * are no longer repeated are deleted after PENDING_LIFETIME_MS, by the leader. */
#pragma once

#include "audit/audit.h"
#include "membership/certify.h"
#include "pki/join_reply.h"

typedef struct Admission Admission;

typedef struct AdmissionSettings {
    CertifySettings certify;
    Str server;        /* node name of this server */
    uint16_t rpc_port; /* its port for nodes */
    Audit *audit;      /* NULL: nothing is recorded */
} AdmissionSettings;

typedef struct AdmissionCounts {
    uint32_t waiting;                    /* unapproved machines known to this server */
    uint64_t admitted, pending, refused; /* requests since it started */
    uint64_t limited;                    /* requests rejected by rate limits */
} AdmissionCounts;

/* The settings must be valid until admission_free. */
Admission *admission_new(const AdmissionSettings *settings);
/* Requests in progress are dropped without calling `done`. NULL is allowed. */
void admission_free(Admission *admission);
DEFINE_AUTO(Admission, admission_free)

/* `reply` is NULL if nothing was decided: ERROR_INVALID or ERROR_LIMIT for an invalid request,
 * ERROR_LIMIT also for too many requests, ERROR_UNAVAILABLE if the store is not available. */
typedef void AdmissionDone(void *context, const JoinReply *reply, const Error *err);

/* Processes the text of a request from `address`. `done` is called once, later or, for an invalid
 * request, within the call. */
void admission_decide(Admission *admission, Str text, const char *address, AdmissionDone *done,
                      void *context);

/* Sets whether this server is the leader: `fence` must be valid until this is called with NULL, the
 * initial value. */
void admission_set_leader(Admission *admission, const StoreCompare *fence);

AdmissionCounts admission_counts(const Admission *admission);
