/* Node certificates other than those of joining: renewals, and the first certificate
 * of a machine that an operator admits by its certificate request. Record, certificate
 * and report are written in one transaction before the response. Loop thread.
 *
 * Each function calls `done` exactly once, in a later turn or within, also when the
 * store closes. Arguments are borrowed for that call, except the settings. Failures
 * other than those named are the store's. */
#pragma once

#include "cluster/ca_set.h"
#include "cluster/change.h"
#include "cluster/cluster_store.h"
#include "membership/node_record.h"
#include "pki/revocation.h"

typedef void CertifyDone(void *context, const Certified *certified, const Error *err);

/* The next certificate of a node that has shown the one with this serial number: same name, same
 * enrolment, perhaps a new key. ERROR_DENIED when the node is none any more, that certificate is
 * revoked, or from an earlier enrolment; ERROR_INVALID for what is no request. */
void certify_renew(const CertifySettings *settings, Str name, Str serial, Str csr,
                   CertifyDone *done, void *context);
/* Takes a machine into the cluster by its request for a certificate. ERROR_CONFLICT when the name
 * is taken. */
void certify_admit(const CertifySettings *settings, Str name, Str csr, CertifyDone *done,
                   void *context);

/* --- Between files of this folder ------------------------------------------------------------ */

/* What is left of a node that had the name has to go first: ERROR_UNAVAILABLE. Always false. */
bool certify_refuse_removed(const char *name, Error *err);
/* Issues a certificate for the record by its enrolment, and fills in what is known of it. */
MUST_CHECK bool certify_issue(Arena *arena, const CertifySettings *settings, const P256Public *key,
                              int64_t now_ms, NodeRecord *node, Certified *out, Error *err);
/* Puts the record, and what the node trusts with what it is given now. A rotation that went on without
 * it waits for it again. */
void certify_write(Change *change, const CertifySettings *settings, const NodeRecord *node,
                   const Certified *certified, int64_t now_ms);
/* Of a name that was given before only this enrolment counts: puts `list` under `key`. Nothing is
 * done for a new name. `before_ms` is when the last certificate of before expires. */
MUST_CHECK bool certify_claim_name(Change *change, RevocationList *list, Str key, bool was_there,
                                   const NodeRecord *node, int64_t before_ms, int64_t now_ms,
                                   Error *err);
