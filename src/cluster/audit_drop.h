/* Dropping entries of the audit log that somebody has archived. Loop thread.
 *
 * In batches: a transaction deletes the oldest ones and moves the floor of the head behind them, so that
 * the log is whole between any two, whatever ends the server then; the same wish goes on from there. */
#pragma once

#include "cluster/audit_drop_plan.h"
#include "cluster/cluster_store.h"

/* `head` is as it is then, also when some were dropped before it failed; NULL: nobody could know. */
typedef void AuditDropped(void *context, const AuditHead *head, uint64_t count, const Error *err);

/* `who` wants it, as the audit log names them. Refused as audit_drop_decide() says. `done` is called
 * exactly once, in a later turn or within. All is copied. */
void audit_drop(const ClusterStore *at, const AuditDropWish *wish, Str who, AuditDropped *done,
                void *context);
