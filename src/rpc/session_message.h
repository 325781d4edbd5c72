/* The messages of a session, as values, and their encoding. Pure.
 *
 * Decoding is strict: a message has one kind, strings are short, names are valid, lists are
 * limited, sequence numbers increase. So the state machines (session_node.h, session_server.h) work
 * only with valid values, regardless of the sender. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/enum_names.h"
#include "base/error.h"

enum {
    SESSION_PROTOCOL_OLDEST = 1, /* oldest supported version */
    SESSION_PROTOCOL = 1,        /* newest supported version */

    SESSION_TEXT_MAX = 128,           /* maximum length of versions, ids and names, in bytes */
    SESSION_WATCHES_MAX = 16,         /* maximum number per node */
    SESSION_REASON_MAX = 200,         /* maximum length of a reason, in bytes */
    SESSION_REJECTIONS_MAX = 16,      /* maximum number per ack */
    SESSION_RECORDS_MAX = 56,         /* maximum number per message: fits into one transaction */
    SESSION_RECORD_KEY_MAX = 512,     /* maximum length in bytes */
    SESSION_RECORD_MAX = 1024 * 1024, /* maximum size of a body, in bytes */
    /* maximum size of a message, unless its first record is larger */
    SESSION_RECORDS_BYTES = 256 * 1024,
    SESSION_CHANGES_MAX = 1000,                 /* maximum number per message */
    SESSION_KEY_MAX = 4096,                     /* maximum length in bytes */
    SESSION_NODE_MESSAGE_MAX = 2 * 1024 * 1024, /* maximum size of a message, in bytes */
    SESSION_SERVER_MESSAGE_MAX = 4 * 1024 * 1024,

    /* maximum acceptable difference between the clocks of node and server */
    SESSION_SKEW_MS = 30 * 1000,
};

#define SESSION_REVISION_MAX ((int64_t)1 << 42) /* higher than any revision a store can reach */

/* --- Messages from the node ------------------------------------------------------------------ */

/* The position of a watch. */
typedef struct WatchPosition {
    Str store;        /* ID of the store that the revision belongs to; empty: no position yet */
    int64_t revision; /* all changes up to this revision were processed */
} WatchPosition;

typedef struct WatchRequest {
    Str name;
    WatchPosition position;
} WatchRequest;

typedef struct NodeHello {
    uint32_t protocol;        /* oldest supported version */
    uint32_t protocol_newest; /* newest supported version; 0: same as the oldest */
    Str node;
    Str boot_id;
    Str version;
    int64_t wall_ms;
    uint64_t epoch;
    WatchRequest watches[SESSION_WATCHES_MAX];
    uint32_t watch_count;
} NodeHello;

typedef enum RecordKind {
    RECORD_FACTS,
    RECORD_STATUS,
    RECORD_RESULT,
    RECORD_LOG, /* dropped first when there is no space */
    /* A record from a newer eden may have a larger value; the server rejects it. */
} RecordKind;
DECLARE_ENUM_NAMES(RecordKind, record_kind)

typedef struct Record {
    uint64_t sequence; /* starts at 1 */
    RecordKind kind;
    Str key;
    Str body;
    uint64_t lost; /* upper bound on the number of logs that were dropped before this record */
} Record;

typedef struct WatchAck {
    uint32_t watch;
    int64_t revision;
} WatchAck;

typedef struct Pong {
    uint64_t id; /* ID of the ping */
    int64_t wall_ms;
} Pong;

typedef enum NodeMessageKind {
    NODE_HELLO,
    NODE_RECORDS,
    NODE_WATCH_ACK,
    NODE_PONG,
} NodeMessageKind;

typedef struct NodeMessage {
    NodeMessageKind kind;
    union {
        NodeHello hello;
        struct {
            const Record *records;
            uint32_t record_count;
        };
        WatchAck watch_ack;
        Pong pong;
    };
} NodeMessage;

void node_message_encode(const NodeMessage *message, Buf *out);
/* The result points into `arena`. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool node_message_decode(Arena *arena, Str bytes, NodeMessage *out, Error *err);

/* --- Messages from the server ---------------------------------------------------------------- */

/* A watch that the server does not support. */
typedef struct RejectedWatch {
    uint32_t watch; /* index in the hello of the node */
    Str reason;
} RejectedWatch;

typedef struct ServerHello {
    uint32_t protocol; /* newest version that both support */
    Str server;
    int64_t wall_ms;
    uint64_t sequence;
    Str store;
    RejectedWatch rejected[SESSION_WATCHES_MAX];
    uint32_t rejected_count;
} ServerHello;

typedef struct RejectedRecord {
    uint64_t sequence;
    Str reason;
} RejectedRecord;

typedef struct Ack {
    uint64_t sequence;
    const RejectedRecord *rejected;
    uint32_t rejected_count;
    uint64_t delay_ms; /* delay of the next records because of the node's rate limit; 0: none */
} Ack;

typedef struct Change {
    bool deleted;
    Str key;
    Str value;
    int64_t revision;
} Change;

/* Several messages form a unit, up to and including the one that is complete. A reset starts a new
 * unit and discards an unfinished one. */
typedef struct Changes {
    uint32_t watch;
    const Change *changes;
    uint32_t change_count;
    int64_t revision;
    bool reset; /* this unit is a full snapshot that replaces the previous state */
    bool complete;
} Changes;

typedef struct Ping {
    uint64_t id;
} Ping;

typedef enum ServerMessageKind {
    SERVER_HELLO,
    SERVER_ACK,
    SERVER_CHANGES,
    SERVER_PING,
} ServerMessageKind;

typedef struct ServerMessage {
    ServerMessageKind kind;
    union {
        ServerHello hello;
        Ack ack;
        Changes changes;
        Ping ping;
    };
} ServerMessage;

void server_message_encode(const ServerMessage *message, Buf *out);
MUST_CHECK bool server_message_decode(Arena *arena, Str bytes, ServerMessage *out, Error *err);

/* Returns true if the clocks differ by more than SESSION_SKEW_MS. */
bool session_is_skewed(int64_t server_ms, int64_t node_ms);

/* Fails with ERROR_INVALID, and a message that names both versions, unless this version is
 * supported; `peer` names the other side. */
MUST_CHECK bool session_protocol_check(uint32_t protocol, const char *peer, Error *err);
/* Chooses the newest version that both support. Fails likewise. */
MUST_CHECK bool session_protocol_choose(const NodeHello *hello, uint32_t *out, Error *err);
