/* Dropping archived entries of the audit log. Loop thread.
 *
 * In batches: a transaction deletes the oldest entries and moves the
 * floor of the head past them, so the log is complete after each one,
 * even if the server is killed; the same request then continues. */
#pragma once

#include "audit/audit_drop_plan.h"
#include "cluster/cluster_store.h"

/* `head` is as it is then, also when some were dropped before it failed; NULL: nobody could know. */
typedef void AuditDropped(void *context, const AuditHead *head, uint64_t count, const Error *err);

/* `who` wants it, as the audit log names them. Refused as audit_drop_decide() says. `done` is called
 * exactly once, in a later turn or within. All is copied. */
void audit_drop(const ClusterStore *at, const AuditDropWish *wish, Str who, AuditDropped *done,
                void *context);
