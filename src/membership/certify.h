/* Node certificates other than those of joining: renewals, and the first certificate of a machine
 * that an operator admits by its certificate request. Record, certificate and report are written in
 * one transaction before the response. Loop thread only.
 *
 * Each function calls `done` exactly once, later or within the call, even if the store is closing.
 * Arguments need only be valid during the call, except the settings. Failures other than those
 * listed are the store's. */
#pragma once

#include "cluster/ca_set.h"
#include "cluster/change.h"
#include "cluster/cluster_store.h"
#include "membership/node_record.h"
#include "pki/revocation.h"

typedef void CertifyDone(void *context, const Certified *certified, const Error *err);

/* Issues the next certificate of a node that has presented the one with this serial number: same
 * name, same enrollment, possibly a new key. ERROR_DENIED if it is no longer a node, or that
 * certificate has been revoked or is from an earlier enrollment; ERROR_INVALID for an invalid
 * request. */
void certify_renew(const CertifySettings *settings, Str name, Str serial, Str csr,
                   CertifyDone *done, void *context);
/* Admits a machine to the cluster by its certificate request. ERROR_CONFLICT if the name exists. */
void certify_admit(const CertifySettings *settings, Str name, Str csr, CertifyDone *done,
                   void *context);

/* --- Internal to this directory -------------------------------------------------------------- */

/* Sets the error that data of an earlier node of this name must be deleted first:
 * ERROR_UNAVAILABLE. Always returns false. */
bool certify_refuse_removed(const char *name, Error *err);
/* Issues a certificate for the record and its enrollment, and sets the fields of the record that
 * follow from it. */
MUST_CHECK bool certify_issue(Arena *arena, const CertifySettings *settings, const P256Public *key,
                              int64_t now_ms, NodeRecord *node, Certified *out, Error *err);
/* Puts the record, and the CAs that the node will trust with this certificate. A rotation that
 * continued without this node waits for it again. */
void certify_write(Change *change, const CertifySettings *settings, const NodeRecord *node,
                   const Certified *certified, int64_t now_ms);
/* For a name that existed before, only this enrollment is valid: puts `list` under `key`. Does
 * nothing for a new name. `before_ms` is when the last earlier certificate expires. */
MUST_CHECK bool certify_claim_name(Change *change, RevocationList *list, Str key, bool name_existed,
                                   const NodeRecord *node, int64_t before_ms, int64_t now_ms,
                                   Error *err);
