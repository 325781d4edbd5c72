#include "rpc/session_message.h"

#include "base/bug.h"
#include "base/identity.h"
#include "base/utf8.h"
#include "rpc/eden.pb-c.h"
#include "rpc/wire.h"

DEFINE_ENUM_NAMES(RecordKind, record_kind, [RECORD_FACTS] = "facts", [RECORD_STATUS] = "status",
                  [RECORD_RESULT] = "result", [RECORD_LOG] = "log")

/* --- Encoding --------------------------------------------------------------------------------
 *
 * protobuf-c expects NUL-terminated strings and lists of pointers: both are created in an arena
 * that lives until the message is encoded. */

static char *text_out(Arena *arena, Str text)
{
    return arena_copy_c(arena, text);
}

static void hello_out(Arena *arena, const NodeHello *hello, Eden__V1__NodeHello *out)
{
    out->protocol = hello->protocol;
    out->protocol_newest = hello->protocol_newest;
    out->node = text_out(arena, hello->node);
    out->boot_id = text_out(arena, hello->boot_id);
    out->version = text_out(arena, hello->version);
    out->wall_ms = hello->wall_ms;
    out->epoch = hello->epoch;
    out->n_watches = hello->watch_count;
    out->watches = ARENA_ARRAY(arena, Eden__V1__Watching *, hello->watch_count);
    for (uint32_t i = 0; i < hello->watch_count; i++) {
        Eden__V1__Watching *watching = ARENA_NEW(arena, Eden__V1__Watching);
        eden__v1__watching__init(watching);
        watching->name = text_out(arena, hello->watches[i].name);
        watching->store = text_out(arena, hello->watches[i].position.store);
        watching->revision = hello->watches[i].position.revision;
        out->watches[i] = watching;
    }
}

static void records_out(Arena *arena, const NodeMessage *message, Eden__V1__Records *out)
{
    out->n_records = message->record_count;
    out->records = ARENA_ARRAY(arena, Eden__V1__Record *, message->record_count);
    for (uint32_t i = 0; i < message->record_count; i++) {
        const Record *record = &message->records[i];
        Eden__V1__Record *one = ARENA_NEW(arena, Eden__V1__Record);
        eden__v1__record__init(one);
        one->sequence = record->sequence;
        one->kind = (Eden__V1__RecordKind)record->kind;
        one->key = text_out(arena, record->key);
        one->body = wire_data(record->body);
        one->lost = record->lost;
        out->records[i] = one;
    }
}

void node_message_encode(const NodeMessage *message, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__NodeMessage wire = EDEN__V1__NODE_MESSAGE__INIT;
    Eden__V1__NodeHello hello = EDEN__V1__NODE_HELLO__INIT;
    Eden__V1__Records records = EDEN__V1__RECORDS__INIT;
    Eden__V1__Taken taken = EDEN__V1__TAKEN__INIT;
    Eden__V1__Pong pong = EDEN__V1__PONG__INIT;
    switch (message->kind) {
    case NODE_HELLO:
        hello_out(&arena, &message->hello, &hello);
        wire.of_case = EDEN__V1__NODE_MESSAGE__OF_HELLO;
        wire.hello = &hello;
        break;
    case NODE_RECORDS:
        records_out(&arena, message, &records);
        wire.of_case = EDEN__V1__NODE_MESSAGE__OF_RECORDS;
        wire.records = &records;
        break;
    case NODE_WATCH_ACK:
        taken.watch = message->watch_ack.watch;
        taken.revision = message->watch_ack.revision;
        wire.of_case = EDEN__V1__NODE_MESSAGE__OF_TAKEN;
        wire.taken = &taken;
        break;
    case NODE_PONG:
        pong.id = message->pong.id;
        pong.wall_ms = message->pong.wall_ms;
        wire.of_case = EDEN__V1__NODE_MESSAGE__OF_PONG;
        wire.pong = &pong;
        break;
    }
    wire_pack(&wire.base, out);
}

static void server_hello_out(Arena *arena, const ServerHello *hello, Eden__V1__ServerHello *out)
{
    out->protocol = hello->protocol;
    out->server = text_out(arena, hello->server);
    out->wall_ms = hello->wall_ms;
    out->sequence = hello->sequence;
    out->store = text_out(arena, hello->store);
    out->n_refused = hello->rejected_count;
    out->refused = ARENA_ARRAY(arena, Eden__V1__RefusedWatch *, hello->rejected_count);
    for (uint32_t i = 0; i < hello->rejected_count; i++) {
        Eden__V1__RefusedWatch *refused = ARENA_NEW(arena, Eden__V1__RefusedWatch);
        eden__v1__refused_watch__init(refused);
        refused->watch = hello->rejected[i].watch;
        refused->reason = text_out(arena, hello->rejected[i].reason);
        out->refused[i] = refused;
    }
}

static void ack_out(Arena *arena, const Ack *ack, Eden__V1__Ack *out)
{
    out->sequence = ack->sequence;
    out->delay_ms = ack->delay_ms;
    out->n_refusals = ack->rejected_count;
    out->refusals = ARENA_ARRAY(arena, Eden__V1__Refusal *, ack->rejected_count);
    for (uint32_t i = 0; i < ack->rejected_count; i++) {
        Eden__V1__Refusal *refusal = ARENA_NEW(arena, Eden__V1__Refusal);
        eden__v1__refusal__init(refusal);
        refusal->sequence = ack->rejected[i].sequence;
        refusal->reason = text_out(arena, ack->rejected[i].reason);
        out->refusals[i] = refusal;
    }
}

static void changes_out(Arena *arena, const Changes *changes, Eden__V1__Changes *out)
{
    out->watch = changes->watch;
    out->revision = changes->revision;
    out->reset = changes->reset;
    out->complete = changes->complete;
    out->n_changes = changes->change_count;
    out->changes = ARENA_ARRAY(arena, Eden__V1__Change *, changes->change_count);
    for (uint32_t i = 0; i < changes->change_count; i++) {
        const Change *change = &changes->changes[i];
        Eden__V1__Change *one = ARENA_NEW(arena, Eden__V1__Change);
        eden__v1__change__init(one);
        one->deleted = change->deleted;
        one->key = wire_data(change->key);
        one->value = wire_data(change->value);
        one->revision = change->revision;
        out->changes[i] = one;
    }
}

void server_message_encode(const ServerMessage *message, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__ServerMessage wire = EDEN__V1__SERVER_MESSAGE__INIT;
    Eden__V1__ServerHello hello = EDEN__V1__SERVER_HELLO__INIT;
    Eden__V1__Ack ack = EDEN__V1__ACK__INIT;
    Eden__V1__Changes changes = EDEN__V1__CHANGES__INIT;
    Eden__V1__Ping ping = EDEN__V1__PING__INIT;
    switch (message->kind) {
    case SERVER_HELLO:
        server_hello_out(&arena, &message->hello, &hello);
        wire.of_case = EDEN__V1__SERVER_MESSAGE__OF_HELLO;
        wire.hello = &hello;
        break;
    case SERVER_ACK:
        ack_out(&arena, &message->ack, &ack);
        wire.of_case = EDEN__V1__SERVER_MESSAGE__OF_ACK;
        wire.ack = &ack;
        break;
    case SERVER_CHANGES:
        changes_out(&arena, &message->changes, &changes);
        wire.of_case = EDEN__V1__SERVER_MESSAGE__OF_CHANGES;
        wire.changes = &changes;
        break;
    case SERVER_PING:
        ping.id = message->ping.id;
        wire.of_case = EDEN__V1__SERVER_MESSAGE__OF_PING;
        wire.ping = &ping;
        break;
    }
    wire_pack(&wire.base, out);
}

/* --- Decoding -------------------------------------------------------------------------------- */

/* A short string for display and logs: valid UTF-8, without control characters. */
static bool text_in(const char *text, const char *what, size_t max, Str *out, Error *err)
{
    Str s = str_from_c(text);
    if (s.len > max) {
        return error_set(err, ERROR_LIMIT, "%s is longer than %zu bytes", what, max);
    }
    if (!utf8_is_valid(s)) {
        return error_set(err, ERROR_INVALID, "%s is not UTF-8", what);
    }
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.data[i] < 0x20 || s.data[i] == 0x7f) {
            return error_set(err, ERROR_INVALID, "%s contains a control character", what);
        }
    }
    *out = s;
    return true;
}

static bool revision_check(int64_t revision, Error *err)
{
    return (revision >= 0 && revision <= SESSION_REVISION_MAX) ||
           error_set(err, ERROR_INVALID, "a revision is negative or too large");
}

static bool count_check(size_t count, size_t max, const char *what, Error *err)
{
    return count <= max || error_set(err, ERROR_LIMIT, "more than %zu %s", max, what);
}

static bool watch_request_in(const Eden__V1__Watching *wire, WatchRequest *out, Error *err)
{
    if (!text_in(wire->name, "the name of a watch", SESSION_TEXT_MAX, &out->name, err) ||
        !text_in(wire->store, "a store's id", SESSION_TEXT_MAX, &out->position.store, err) ||
        !revision_check(wire->revision, err)) {
        return false;
    }
    if (out->name.len == 0) {
        return error_set(err, ERROR_INVALID, "a watch has no name");
    }
    if (out->position.store.len == 0 && wire->revision != 0) {
        return error_set(err, ERROR_INVALID, "a revision without a store");
    }
    out->position.revision = wire->revision;
    return true;
}

static bool hello_in(const Eden__V1__NodeHello *wire, NodeHello *out, Error *err)
{
    uint32_t chosen;
    Error other;
    *out = (NodeHello){ .protocol = wire->protocol, .protocol_newest = wire->protocol_newest };
    /* The meaning of the following fields may depend on the protocol version. */
    if (!session_protocol_choose(out, &chosen, &other)) {
        return true;
    }
    if (!node_name_check(str_from_c(wire->node), err) ||
        !text_in(wire->boot_id, "the boot id", SESSION_TEXT_MAX, &out->boot_id, err) ||
        !text_in(wire->version, "the version", SESSION_TEXT_MAX, &out->version, err) ||
        !count_check(wire->n_watches, SESSION_WATCHES_MAX, "watches", err)) {
        return false;
    }
    out->node = str_from_c(wire->node);
    out->wall_ms = wire->wall_ms;
    out->epoch = wire->epoch;
    out->watch_count = (uint32_t)wire->n_watches;
    for (uint32_t i = 0; i < out->watch_count; i++) {
        if (!watch_request_in(wire->watches[i], &out->watches[i], err)) {
            return false;
        }
    }
    return out->epoch != 0 || error_set(err, ERROR_INVALID, "the epoch is 0");
}

static bool record_in(const Eden__V1__Record *wire, uint64_t after, Record *out, Error *err)
{
    if (wire->sequence <= after) {
        return error_set(err, ERROR_INVALID, "sequence numbers must increase");
    }
    if (wire->sequence > INT64_MAX) {
        return error_set(err, ERROR_INVALID, "a sequence number is too large");
    }
    if (!count_check(wire->body.len, SESSION_RECORD_MAX, "bytes in a record", err) ||
        !text_in(wire->key, "the key of a record", SESSION_RECORD_KEY_MAX, &out->key, err)) {
        return false;
    }
    out->sequence = wire->sequence;
    out->kind = (RecordKind)wire->kind;
    out->body = wire_bytes(wire->body);
    out->lost = wire->lost;
    return true;
}

static bool records_in(Arena *arena, const Eden__V1__Records *wire, NodeMessage *out, Error *err)
{
    if (!count_check(wire->n_records, SESSION_RECORDS_MAX, "records", err)) {
        return false;
    }
    Record *records = ARENA_ARRAY(arena, Record, wire->n_records);
    uint64_t last = 0;
    for (size_t i = 0; i < wire->n_records; i++) {
        if (!record_in(wire->records[i], last, &records[i], err)) {
            return false;
        }
        last = records[i].sequence;
    }
    out->records = records;
    out->record_count = (uint32_t)wire->n_records;
    return true;
}

static bool watch_ack_in(const Eden__V1__Taken *wire, WatchAck *out, Error *err)
{
    *out = (WatchAck){ wire->watch, wire->revision };
    return revision_check(wire->revision, err);
}

bool node_message_decode(Arena *arena, Str bytes, NodeMessage *out, Error *err)
{
    if (!count_check(bytes.len, SESSION_NODE_MESSAGE_MAX, "bytes in a message", err)) {
        return false;
    }
    Eden__V1__NodeMessage *wire = (Eden__V1__NodeMessage *)wire_unpack(
        arena, &eden__v1__node_message__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    switch (wire->of_case) {
    case EDEN__V1__NODE_MESSAGE__OF_HELLO:
        out->kind = NODE_HELLO;
        return hello_in(wire->hello, &out->hello, err);
    case EDEN__V1__NODE_MESSAGE__OF_RECORDS:
        out->kind = NODE_RECORDS;
        return records_in(arena, wire->records, out, err);
    case EDEN__V1__NODE_MESSAGE__OF_TAKEN:
        out->kind = NODE_WATCH_ACK;
        return watch_ack_in(wire->taken, &out->watch_ack, err);
    case EDEN__V1__NODE_MESSAGE__OF_PONG:
        out->kind = NODE_PONG;
        out->pong = (Pong){ wire->pong->id, wire->pong->wall_ms };
        return true;
    default: return error_set(err, ERROR_INVALID, "a message of unknown kind");
    }
}

static bool server_hello_in(const Eden__V1__ServerHello *wire, ServerHello *out, Error *err)
{
    Error other;
    *out = (ServerHello){ .protocol = wire->protocol };
    if (!session_protocol_check(wire->protocol, "the server", &other)) {
        return true;
    }
    out->wall_ms = wire->wall_ms;
    out->sequence = wire->sequence;
    if (!count_check(wire->n_refused, SESSION_WATCHES_MAX, "rejected watches", err)) {
        return false;
    }
    for (size_t i = 0; i < wire->n_refused; i++) {
        out->rejected[i].watch = wire->refused[i]->watch;
        if (!text_in(wire->refused[i]->reason, "a reason", SESSION_REASON_MAX,
                     &out->rejected[i].reason, err)) {
            return false;
        }
    }
    out->rejected_count = (uint32_t)wire->n_refused;
    return text_in(wire->server, "the server's name", SESSION_TEXT_MAX, &out->server, err) &&
           text_in(wire->store, "the store's id", SESSION_TEXT_MAX, &out->store, err) &&
           (out->store.len > 0 || error_set(err, ERROR_INVALID, "the store has no id"));
}

static bool ack_in(Arena *arena, const Eden__V1__Ack *wire, Ack *out, Error *err)
{
    if (!count_check(wire->n_refusals, SESSION_REJECTIONS_MAX, "refusals", err)) {
        return false;
    }
    RejectedRecord *refusals = ARENA_ARRAY(arena, RejectedRecord, wire->n_refusals);
    for (size_t i = 0; i < wire->n_refusals; i++) {
        refusals[i].sequence = wire->refusals[i]->sequence;
        if (!text_in(wire->refusals[i]->reason, "a reason", SESSION_REASON_MAX, &refusals[i].reason,
                     err)) {
            return false;
        }
    }
    *out = (Ack){ wire->sequence, refusals, (uint32_t)wire->n_refusals, wire->delay_ms };
    return true;
}

static bool changes_in(Arena *arena, const Eden__V1__Changes *wire, Changes *out, Error *err)
{
    if (!count_check(wire->n_changes, SESSION_CHANGES_MAX, "changes", err) ||
        !revision_check(wire->revision, err)) {
        return false;
    }
    Change *changes = ARENA_ARRAY(arena, Change, wire->n_changes);
    for (size_t i = 0; i < wire->n_changes; i++) {
        const Eden__V1__Change *one = wire->changes[i];
        if (one->key.len == 0) {
            return error_set(err, ERROR_INVALID, "a change without a key");
        }
        if (!count_check(one->key.len, SESSION_KEY_MAX, "bytes in a key", err) ||
            !revision_check(one->revision, err)) {
            return false;
        }
        changes[i] =
            (Change){ one->deleted, wire_bytes(one->key), wire_bytes(one->value), one->revision };
    }
    *out = (Changes){ .watch = wire->watch,
                      .changes = changes,
                      .change_count = (uint32_t)wire->n_changes,
                      .revision = wire->revision,
                      .reset = wire->reset,
                      .complete = wire->complete };
    return true;
}

bool server_message_decode(Arena *arena, Str bytes, ServerMessage *out, Error *err)
{
    if (!count_check(bytes.len, SESSION_SERVER_MESSAGE_MAX, "bytes in a message", err)) {
        return false;
    }
    Eden__V1__ServerMessage *wire = (Eden__V1__ServerMessage *)wire_unpack(
        arena, &eden__v1__server_message__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    switch (wire->of_case) {
    case EDEN__V1__SERVER_MESSAGE__OF_HELLO:
        out->kind = SERVER_HELLO;
        return server_hello_in(wire->hello, &out->hello, err);
    case EDEN__V1__SERVER_MESSAGE__OF_ACK:
        out->kind = SERVER_ACK;
        return ack_in(arena, wire->ack, &out->ack, err);
    case EDEN__V1__SERVER_MESSAGE__OF_CHANGES:
        out->kind = SERVER_CHANGES;
        return changes_in(arena, wire->changes, &out->changes, err);
    case EDEN__V1__SERVER_MESSAGE__OF_PING:
        out->kind = SERVER_PING;
        out->ping = (Ping){ wire->ping->id };
        return true;
    default: return error_set(err, ERROR_INVALID, "a message of unknown kind");
    }
}

bool session_is_skewed(int64_t server_ms, int64_t node_ms)
{
    uint64_t apart = server_ms > node_ms ? (uint64_t)server_ms - (uint64_t)node_ms
                                         : (uint64_t)node_ms - (uint64_t)server_ms;
    return apart > SESSION_SKEW_MS;
}

bool session_protocol_check(uint32_t protocol, const char *peer, Error *err)
{
    return (protocol >= SESSION_PROTOCOL_OLDEST && protocol <= SESSION_PROTOCOL) ||
           error_set(err, ERROR_INVALID, "%s uses protocol %u, but this version supports %d", peer,
                     protocol, SESSION_PROTOCOL);
}

bool session_protocol_choose(const NodeHello *hello, uint32_t *out, Error *err)
{
    uint32_t oldest = hello->protocol;
    uint32_t newest = hello->protocol_newest < oldest ? oldest : hello->protocol_newest;
    uint32_t chosen = newest < SESSION_PROTOCOL ? newest : SESSION_PROTOCOL;
    if (chosen < oldest) {
        chosen = oldest; /* the peer is newer than all versions that this one supports */
    }
    *out = chosen;
    return session_protocol_check(chosen, "the node", err);
}
