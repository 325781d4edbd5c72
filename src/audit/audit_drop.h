/* Drops archived entries from the audit log. Loop thread only.
 *
 * In batches: a transaction deletes the oldest entries and moves the floor of the head past them,
 * so the log is complete after each one, even if the server is killed; the same request then
 * continues. */
#pragma once

#include "audit/audit_drop_plan.h"
#include "cluster/cluster_store.h"

/* `head` is the final head, even if some entries were dropped before a failure; NULL if unknown. */
typedef void AuditDropped(void *context, const AuditHead *head, uint64_t count, const Error *err);

/* Drops entries up to those of the request, as audit_drop_decide() permits. `who` is recorded in
 * the log. `done` is called exactly once, later or within the call. Everything is copied. */
void audit_drop(const ClusterStore *cluster_store, const AuditDropRequest *request, Str who,
                AuditDropped *done, void *context);
