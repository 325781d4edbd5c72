/* The messages of etcd's API: requests from the types of store.h, responses into them. Pure.
 *
 * Encoders append to `out`. Decoders allocate results in `arena`, check that a response matches its
 * request, and fail with ERROR_INVALID. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

typedef struct EtcdHeader {
    uint64_t cluster_id, member_id;
    int64_t revision; /* revision of the store when the response was created */
} EtcdHeader;

/* --- Transactions ---------------------------------------------------------------------------- */

/* A condition: no key in the range is newer than `revision`. */
typedef struct EtcdGuard {
    Str key, end;
    int64_t revision;
} EtcdGuard;

/* `serializable`: any member may answer from its local state, without contacting the others. */
void etcd_txn_encode(const StoreTxn *txn, bool serializable, Buf *out);
/* The same, but executed only if all guards hold. */
void etcd_guarded_txn_encode(const StoreTxn *txn, const EtcdGuard *guards, uint32_t count,
                             Buf *out);
/* Sets `out->revision` to the revision in the header. For ranges, `count` and `more` are etcd's. */
MUST_CHECK bool etcd_txn_decode(Arena *arena, Str bytes, const StoreTxn *txn, EtcdHeader *header,
                                StoreReply *out, Error *err);
/* `*held`: whether the guards held; otherwise there is nothing in `out` but the revision. */
MUST_CHECK bool etcd_guarded_txn_decode(Arena *arena, Str bytes, const StoreTxn *txn,
                                        EtcdHeader *header, bool *guards_hold, StoreReply *out,
                                        Error *err);

/* An empty read; only the header of its response is used. */
void etcd_probe_encode(Buf *out);
void etcd_compact_encode(int64_t revision, Buf *out);
/* The header of any response. */
MUST_CHECK bool etcd_header_decode(Str bytes, EtcdHeader *out, Error *err);

/* --- Watches --------------------------------------------------------------------------------- */

/* All keys, from this revision on, with previous values. */
void etcd_watch_encode(int64_t start_revision, Buf *out);

typedef struct EtcdWatchReply {
    bool is_created;
    bool is_canceled;
    int64_t compacted; /* oldest remaining revision if the start was compacted; otherwise 0 */
    const char *reason;
    bool is_fragment; /* its last revision continues in the next response */
    const StoreEvent *events;
    uint32_t count;
} EtcdWatchReply;

MUST_CHECK bool etcd_watch_decode(Arena *arena, Str bytes, EtcdHeader *header, EtcdWatchReply *out,
                                  Error *err);

/* --- Leases ---------------------------------------------------------------------------------- */

void etcd_lease_grant_encode(int64_t ttl_s, int64_t id, Buf *out);
/* For revoke, keep-alive, and time-to-live. */
void etcd_lease_encode(int64_t id, bool keys, Buf *out);
void etcd_empty_encode(Buf *out);
/* For grant and keep-alive. The TTL of a nonexistent lease is 0 seconds. */
MUST_CHECK bool etcd_lease_decode(Str bytes, EtcdHeader *header, StoreLease *out, Error *err);
/* The TTL of a nonexistent lease is -1 seconds. */
MUST_CHECK bool etcd_time_to_live_decode(Arena *arena, Str bytes, EtcdHeader *header,
                                         StoreLease *out, Error *err);
/* In ascending order. */
MUST_CHECK bool etcd_leases_decode(Arena *arena, Str bytes, EtcdHeader *header, const int64_t **ids,
                                   uint32_t *count, Error *err);

/* --- Members --------------------------------------------------------------------------------- */

typedef struct EtcdMemberStatus {
    const char *version;
    uint64_t leader; /* 0: none */
    uint64_t index;  /* index of the last log entry that is committed on this member */
    int64_t db_bytes;
    bool is_learner;
    bool has_errors; /* an alarm, such as a full or corrupt database */
} EtcdMemberStatus;

MUST_CHECK bool etcd_status_decode(Arena *arena, Str bytes, EtcdHeader *header,
                                   EtcdMemberStatus *out, Error *err);
void etcd_move_leader_encode(uint64_t target, Buf *out);

typedef struct EtcdMember {
    uint64_t id;
    Str name; /* empty until the member has been started */
    /* The first URL of each kind; members started by eden have one. Empty: none. */
    Str peer_url, client_url;
    bool is_learner;
} EtcdMember;

typedef struct EtcdMembers {
    EtcdMember *items; /* in ascending order of IDs, which are unique and not 0 */
    uint32_t count;
} EtcdMembers;

/* Listing members needs no request message. */
void etcd_member_add_encode(Str peer_url, Buf *out); /* as a learner */
void etcd_member_update_encode(uint64_t id, Str peer_url, Buf *out);
/* For remove and promote. */
void etcd_member_encode(uint64_t id, Buf *out);
/* For list, update, remove and promote: the resulting members. */
MUST_CHECK bool etcd_members_decode(Arena *arena, Str bytes, EtcdHeader *header, EtcdMembers *out,
                                    Error *err);
/* For add: also returns the ID of the new member. */
MUST_CHECK bool etcd_member_add_decode(Arena *arena, Str bytes, EtcdHeader *header,
                                       EtcdMembers *out, uint64_t *added, Error *err);
