/* The messages of a session, as values, and their encoding. Pure.
 *
 * Decoding is strict: a message has one kind, strings are short, names are valid,
 * lists have limits, sequence numbers increase. So the state machines
 * (session_node.h, session_server.h) work only with valid values, whoever sent them. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/enum_names.h"
#include "base/error.h"

enum {
    SESSION_PROTOCOL_OLDEST = 1, /* that is spoken here */
    SESSION_PROTOCOL = 1,        /* the newest */

    SESSION_TEXT_MAX = 128,             /* bytes of versions, ids and names */
    SESSION_WATCHES_MAX = 16,           /* of one node */
    SESSION_REASON_MAX = 200,           /* bytes of a refusal */
    SESSION_REFUSALS_MAX = 16,          /* of one ack */
    SESSION_RECORDS_MAX = 64,           /* of one message: fits into one transaction */
    SESSION_RECORD_KEY_MAX = 512,       /* bytes */
    SESSION_RECORD_MAX = 1024 * 1024,   /* bytes of a body */
    SESSION_RECORDS_BYTES = 256 * 1024, /* of one message, unless its first record is larger */
    SESSION_CHANGES_MAX = 1000,         /* of one message */
    SESSION_KEY_MAX = 4096,             /* bytes */
    SESSION_UP_MAX = 2 * 1024 * 1024,   /* bytes of a whole message */
    SESSION_DOWN_MAX = 4 * 1024 * 1024,

    SESSION_SKEW_MS = 30 * 1000, /* by more the clocks of node and server should not differ */
};

#define SESSION_REVISION_MAX ((int64_t)1 << 42) /* above all that a store gets to */

/* --- From the node --------------------------------------------------------------------------- */

/* Where a watch has got to. */
typedef struct WatchPosition {
    Str store;        /* whose revisions they are; empty: nothing is known yet */
    int64_t revision; /* everything up to here is there */
} WatchPosition;

typedef struct Watching {
    Str name;
    WatchPosition position;
} Watching;

typedef struct NodeHello {
    uint32_t protocol;        /* the oldest that it speaks, and */
    uint32_t protocol_newest; /* the newest; 0: that one alone */
    Str node;
    Str boot_id;
    Str version;
    int64_t wall_ms;
    uint64_t epoch;
    Watching watches[SESSION_WATCHES_MAX];
    uint32_t watch_count;
} NodeHello;

typedef enum RecordKind {
    RECORD_FACTS,
    RECORD_STATUS,
    RECORD_RESULT,
    RECORD_LOG, /* the first to go when there is no room */
    /* A record may have a larger number: a newer eden made it. It is refused by who takes it. */
} RecordKind;
DECLARE_ENUM_NAMES(RecordKind, record_kind)

typedef struct Record {
    uint64_t sequence; /* from 1 on */
    RecordKind kind;
    Str key;
    Str body;
    uint64_t lost; /* so many records of logs before this one, at most, had to be dropped */
} Record;

typedef struct Taken {
    uint32_t watch;
    int64_t revision;
} Taken;

typedef struct Pong {
    uint64_t id; /* of the ping */
    int64_t wall_ms;
} Pong;

typedef enum NodeMessageKind {
    NODE_HELLO,
    NODE_RECORDS,
    NODE_TAKEN,
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
        Taken taken;
        Pong pong;
    };
} NodeMessage;

void node_message_encode(const NodeMessage *message, Buf *out);
/* What it points to is in `arena`. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool node_message_decode(Arena *arena, Str bytes, NodeMessage *out, Error *err);

/* --- From the server ------------------------------------------------------------------------- */

/* A watch of which nothing is told. */
typedef struct RefusedWatch {
    uint32_t watch; /* its place in the hello of the node */
    Str reason;
} RefusedWatch;

typedef struct ServerHello {
    uint32_t protocol; /* the newest that both speak */
    Str server;
    int64_t wall_ms;
    uint64_t sequence;
    Str store;
    RefusedWatch refused[SESSION_WATCHES_MAX];
    uint32_t refused_count;
} ServerHello;

typedef struct Refusal {
    uint64_t sequence;
    Str reason;
} Refusal;

typedef struct Ack {
    uint64_t sequence;
    const Refusal *refusals;
    uint32_t refusal_count;
    uint64_t
        delay_ms; /* the next records wait so long for the budget of the node; 0: they do not */
} Ack;

typedef struct Change {
    bool deleted;
    Str key;
    Str value;
    int64_t revision;
} Change;

/* Several make a unit: up to and with the one that is complete. A reset begins one, also in the
 * middle of another, which then is none. */
typedef struct Changes {
    uint32_t watch;
    const Change *changes;
    uint32_t change_count;
    int64_t revision;
    bool reset; /* this unit says everything there is, in place of what is known */
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

/* Whether the clocks differ by more than they should. */
bool session_is_skewed(int64_t server_ms, int64_t node_ms);

/* Whether this protocol is spoken here; `whose` is who speaks it. Fails with ERROR_INVALID and a
 * text that names both. */
MUST_CHECK bool session_protocol_check(uint32_t protocol, const char *whose, Error *err);
/* The newest protocol that is spoken here and by a node of that hello. Fails likewise. */
MUST_CHECK bool session_protocol_choose(const NodeHello *hello, uint32_t *out, Error *err);
