/* Admits machines to the cluster: decides a join request from the state of the store,
 * and writes the result in one transaction. Loop thread.
 *
 * The response is sent after the write, so it is true when it arrives. If the state has
 * changed in the meantime, the decision is repeated. A machine is in the audit log
 * before it becomes a member, or it is not admitted.
 *
 * Anyone can send requests: their cost is bounded (membership/waiting_room.h), and requests
 * that are no longer repeated are deleted after JOINING_LIFE_MS, by the leader. */
#pragma once

#include "audit/audit.h"
#include "membership/certify.h"
#include "pki/join_reply.h"

typedef struct Admission Admission;

typedef struct AdmissionSettings {
    CertifySettings certify;
    Str server;        /* the node that this server is, and */
    uint16_t rpc_port; /* where it listens for nodes */
    Audit *audit;      /* NULL: nothing is recorded */
} AdmissionSettings;

typedef struct AdmissionCounts {
    uint32_t waiting; /* machines that are not approved, as this server knows them */
    uint64_t admitted, pending, refused; /* requests, since it started */
    uint64_t limited;                    /* refused because there were too many */
} AdmissionCounts;

/* The settings' memory is borrowed until admission_free. */
Admission *admission_new(const AdmissionSettings *settings);
/* Requests under way are forgotten: their `done` is not called. NULL is allowed. */
void admission_free(Admission *admission);
DEFINE_AUTO(Admission, admission_free)

/* `reply` is NULL when nothing could be decided: ERROR_INVALID or ERROR_LIMIT for what is no request,
 * ERROR_LIMIT also when there are too many, ERROR_UNAVAILABLE when the store cannot be used at
 * present. */
typedef void AdmissionDone(void *context, const JoinReply *reply, const Error *err);

/* Decides about the text of a request that came from `address`. `done` is called once, in a later
 * turn or, for what is no request at all, within. */
void admission_decide(Admission *admission, Str text, const char *address, AdmissionDone *done,
                      void *context);

/* Whether this server leads: `fence` is borrowed until it is called with NULL, as it is at first. */
void admission_lead(Admission *admission, const StoreCompare *fence);

AdmissionCounts admission_counts(const Admission *admission);
