/* Clients of a server that is killed repeatedly; see history.py, which also checks what they
 * observed.
 *
 *     store_clients PORT SEED HISTORY CERT KEY CA
 *
 * Eight clients read and write, some keys are shared by all of them, and four clients watch. A
 * client that loses its connection reconnects at once. Every response to a write prints a dot. At
 * the end of the input no more calls are started, and once all watchers have seen everything, the
 * program exits. HISTORY has a line for every event; values are numbers that are used only once:
 *
 *     call ID KIND KEY NUMBER EXPECTED KNOWN    EXPECTED: the revision that a swap compares;
 *                                               KNOWN: the newest revision known to any client
 *     ok ID REVISION COUNT NUMBER CHANGED       COUNT: keys found or deleted, or 1: it was swapped;
 *                                               NUMBER and CHANGED: value and revision that a get
 *                                               found
 *     unknown ID                                the outcome is unknown
 *     resume WATCHER FROM
 *     event WATCHER REVISION KEY NUMBER         0: deleted
 *     progress WATCHER REVISION                 it has received everything up to there
 *     key KEY NUMBER CREATED CHANGED VERSION    at the end
 *     end REVISION */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bug.h"
#include "net/grpc_client.h"
#include "net/watch.h"
#include "rpc/access.h"
#include "service/store_message.h"
#include "sys/file.h"

enum {
    CLIENTS = 8,
    IN_FLIGHT = 4, /* concurrent calls of each client */
    WATCHERS = 4,
    KEYS = 16,
    SWAPPED = 3,     /* number of keys that are compared and swapped */
    AGAIN_MS = 5,    /* delay before it reconnects */
    BACK = 1000,     /* maximum number of revisions that the last watcher goes back */
    BATCHES = 200,   /* maximum number of batches before it does that */
    CALL_MS = 60000, /* maximum time of a response, even when the server is killed */
    PEM_MAX = 1 << 20,
};

#define PREFIX "/history/"

typedef struct World World;

typedef enum CallKind {
    CALL_PUT,
    CALL_PAIR, /* puts two keys at once */
    CALL_DELETE,
    CALL_GET,
    CALL_SWAP,
    CALL_END, /* the last call */
    CALL_KINDS
} CallKind;

static const char *const kind_names[CALL_KINDS] = { "put", "pair", "delete", "get", "swap", "end" };

typedef struct Link {
    World *world;
    GrpcClient *grpc; /* NULL: not connected */
    LoopTimer again;
    void (*ready)(struct Link *link);
} Link;

typedef struct Slot {
    struct Client *client;
    bool busy;
    uint64_t id;
    CallKind kind;
    uint32_t key; /* key of a swap that reads first */
} Slot;

typedef struct Client {
    Link link;
    Slot slots[IN_FLIGHT];
    int64_t swapped[SWAPPED]; /* last known revision of each of these keys */
} Client;

typedef struct Watcher {
    Link link;
    GrpcCall *call; /* NULL: none */
    uint32_t number;
    int64_t reported;
    uint32_t batches_left;
} Watcher;

struct World {
    Loop *loop;
    Arena arena;
    TlsContext *tls;
    uint16_t port;
    FILE *history;
    Watch *input;
    uint64_t random_state, last_id, last_number;
    int64_t known; /* the newest revision in any response */
    Client clients[CLIENTS];
    Watcher watchers[WATCHERS];
    bool finishing, ended;
    uint32_t busy;
    int64_t end; /* revision of the last write */
};

_Noreturn static void die(const char *what, const char *text)
{
    fprintf(stderr, "store_clients: %s: %s\n", what, text);
    exit(1);
}

static uint64_t pick(World *world, uint64_t below)
{
    world->random_state ^= world->random_state << 13;
    world->random_state ^= world->random_state >> 7;
    world->random_state ^= world->random_state << 17;
    return world->random_state % below;
}

/* --- Values ---------------------------------------------------------------------------------- */

/* "NUMBER:LENGTH:" followed by that many letters, so that truncated or mixed-up values are
 * detected. */
static Str make_value(World *world, Arena *arena, uint64_t number)
{
    uint64_t length = pick(world, 20) == 0 ? pick(world, 20000) : pick(world, 100);
    Buf value = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&value, "%llu:%llu:", (unsigned long long)number, (unsigned long long)length);
    for (uint64_t i = 0; i < length; i++) {
        buf_put_char(&value, (char)('a' + (number + i) % 26));
    }
    return buf_str(&value);
}

static uint64_t read_value(Str value)
{
    Str rest = value, first, second;
    uint64_t number, length;
    if (!str_split_next(&rest, ':', &first) || !str_split_next(&rest, ':', &second) ||
        !str_to_u64(first, &number) || !str_to_u64(second, &length) || rest.len != length) {
        die("value", "is none of ours");
    }
    for (uint64_t i = 0; i < length; i++) {
        if (rest.data[i] != (char)('a' + (number + i) % 26)) {
            die("value", "is damaged");
        }
    }
    return number;
}

static void know(World *world, int64_t revision)
{
    if (revision > world->known) {
        world->known = revision;
    }
}

/* --- Calls ----------------------------------------------------------------------------------- */

static void go_on(Slot *slot);
static void see_whether_over(World *world);

static void slot_idle(Slot *slot)
{
    World *world = slot->client->link.world;
    slot->busy = false;
    world->busy--;
}

static void answered(Slot *slot, const StoreReply *reply)
{
    World *world = slot->client->link.world;
    const StoreOpReply *op = &reply->ops[0];
    long long count = op->count, number = 0, changed = 0;
    if (slot->kind == CALL_GET) {
        count = op->kv_count;
        if (count == 1) {
            number = (long long)read_value(op->kvs[0].value);
            changed = op->kvs[0].mod_revision;
        }
        if (slot->key < SWAPPED) {
            slot->client->swapped[slot->key] = changed;
        }
    } else if (slot->kind == CALL_SWAP) {
        count = reply->succeeded;
        if (reply->succeeded) {
            slot->client->swapped[slot->key] = reply->revision;
        } else {
            slot->client->swapped[slot->key] = op->kv_count == 0 ? 0 : op->kvs[0].mod_revision;
        }
    } else if (slot->kind == CALL_END) {
        world->end = reply->revision;
    }
    fprintf(world->history, "ok %llu %lld %lld %lld %lld\n", (unsigned long long)slot->id,
            (long long)reply->revision, count, number, changed);
    know(world, reply->revision);
    if (slot->kind != CALL_GET && write(STDOUT_FILENO, ".", 1) != 1) {
        die("output", "is closed");
    }
}

static void call_done(void *context, GrpcStatus status, Str text, Str response)
{
    Slot *slot = context;
    World *world = slot->client->link.world;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    slot_idle(slot);
    if (status == GRPC_OK) {
        StoreReply reply;
        Error err;
        if (!txn_reply_decode(&arena, response, &reply, &err)) {
            die("answer", err.text);
        }
        answered(slot, &reply);
    } else if (status == GRPC_UNAVAILABLE || status == GRPC_CANCELLED) {
        fprintf(world->history, "unknown %llu\n", (unsigned long long)slot->id);
    } else {
        die("call", arena_copy_c(&arena, text));
    }
    go_on(slot);
}

static Str key_of(Arena *arena, CallKind kind, uint32_t key)
{
    bool swapped = kind == CALL_SWAP || (kind == CALL_GET && key < SWAPPED);
    return kind == CALL_PAIR ? STR(PREFIX "pair/0")
           : kind == CALL_END
               ? STR(PREFIX "end")
               : arena_format(arena, PREFIX "%s/%u", swapped ? "swapped" : "key", key);
}

static void call(Slot *slot, CallKind kind)
{
    World *world = slot->client->link.world;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    slot->key = (uint32_t)pick(world, kind == CALL_SWAP ? SWAPPED : KEYS);
    slot->kind = kind;
    slot->id = ++world->last_id;
    bool writes = kind != CALL_GET && kind != CALL_DELETE;
    uint64_t number = writes ? ++world->last_number : 0;
    int64_t expected = kind == CALL_SWAP ? slot->client->swapped[slot->key] : 0;
    Str key = key_of(&arena, kind, slot->key);
    StoreOp ops[2] = { { .kind = STORE_RANGE, .key = key },
                       { .kind = STORE_PUT, .key = STR(PREFIX "pair/1") } };
    StoreOp found = ops[0];
    StoreCompare compare = { .target = STORE_MOD_REVISION, .key = key, .number = expected };
    StoreTxn txn = { .success = ops, .success_count = kind == CALL_PAIR ? 2 : 1 };
    if (kind == CALL_DELETE) {
        ops[0].kind = STORE_DELETE;
    } else if (writes) {
        ops[0].kind = STORE_PUT;
        ops[0].value = ops[1].value = make_value(world, &arena, number);
    }
    if (kind == CALL_SWAP) {
        txn.compares = &compare;
        txn.compare_count = txn.failure_count = 1;
        txn.failure = &found;
    }
    fprintf(world->history, "call %llu %s %" STR_FMT " %llu %lld %lld\n",
            (unsigned long long)slot->id, kind_names[kind], STR_ARG(key),
            (unsigned long long)number, (long long)expected, (long long)world->known);
    Buf request = buf_make_in(&arena, BUF_UNLIMITED);
    txn_request_encode(&txn, &request);
    Error err;
    slot->busy = true;
    world->busy++;
    if (!grpc_client_unary(slot->client->link.grpc, method_rows[METHOD_STORE_TXN].path,
                           buf_str(&request), CALL_MS, call_done, slot, &err)) {
        fprintf(world->history, "unknown %llu\n", (unsigned long long)slot->id);
        slot_idle(slot);
    }
}

static bool is_connected(const Link *link)
{
    return link->grpc != NULL && grpc_client_is_open(link->grpc);
}

/* Starts the next call if there is a connection; otherwise it is started after connecting. */
static void go_on(Slot *slot)
{
    World *world = slot->client->link.world;
    if (world->finishing) {
        see_whether_over(world);
    } else if (is_connected(&slot->client->link) && !slot->busy) {
        static const CallKind often[] = { CALL_PUT,  CALL_PUT,    CALL_PUT,  CALL_PUT, CALL_PAIR,
                                          CALL_PAIR, CALL_DELETE, CALL_GET,  CALL_GET, CALL_SWAP,
                                          CALL_SWAP, CALL_SWAP,   CALL_SWAP, CALL_SWAP };
        call(slot, often[pick(world, COUNT_OF(often))]);
    }
}

static void client_ready(Link *link)
{
    Client *client = (Client *)link;
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        if (!client->slots[i].busy) {
            go_on(&client->slots[i]);
        }
    }
}

/* --- Watches --------------------------------------------------------------------------------- */

static void watch_start(Watcher *watcher);

static void watch_message(GrpcCall *call, Str message)
{
    Watcher *watcher = grpc_call_data(call);
    World *world = watcher->link.world;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreBatch batch;
    Error err;
    if (!watch_reply_decode(&arena, message, &batch, &err)) {
        die("watch", err.text);
    }
    if (batch.resync) {
        die("watch", "has to resync");
    }
    for (uint32_t i = 0; i < batch.count; i++) {
        const StoreEvent *event = &batch.events[i];
        fprintf(world->history, "event %u %lld %" STR_FMT " %llu\n", watcher->number,
                (long long)event->kv.mod_revision, STR_ARG(event->kv.key),
                event->deleted ? 0 : (unsigned long long)read_value(event->kv.value));
    }
    fprintf(world->history, "progress %u %lld\n", watcher->number, (long long)batch.revision);
    watcher->reported = batch.revision;
    if (watcher->number == WATCHERS - 1 && watcher->batches_left-- == 0 && !world->finishing) {
        grpc_call_cancel(call);
        watch_start(watcher);
        return;
    }
    see_whether_over(world);
}

static void watch_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Watcher *watcher = grpc_call_data(call);
    watcher->call = NULL;
    if (status != GRPC_UNAVAILABLE && status != GRPC_CANCELLED) {
        die("watch", arena_copy_c(&watcher->link.world->arena, text));
    }
}

static const GrpcHandler watch_handler = { .message = watch_message, .ended = watch_ended };

static void watch_start(Watcher *watcher)
{
    World *world = watcher->link.world;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    int64_t from = watcher->reported + 1;
    if (watcher->number == WATCHERS - 1) {
        from -= (int64_t)pick(world, BACK);
        watcher->batches_left = (uint32_t)pick(world, BATCHES);
    }
    from = from < 1 ? 1 : from;
    StoreWatchSpec spec = { .key = STR(PREFIX),
                            .end = store_prefix_end(&arena, STR(PREFIX)),
                            .from = from,
                            .previous = watcher->number == 1 };
    Buf request = buf_make_in(&arena, BUF_UNLIMITED);
    Error err;
    watch_request_encode(&spec, &request);
    if (!grpc_client_start(watcher->link.grpc, method_rows[METHOD_STORE_WATCH].path,
                           GRPC_SERVER_STREAM, &watch_handler, watcher, 0, &watcher->call, &err)) {
        watcher->call = NULL;
        return;
    }
    fprintf(world->history, "resume %u %lld\n", watcher->number, (long long)from);
    if (!grpc_call_send(watcher->call, buf_str(&request), &err)) {
        die("watch", err.text);
    }
    grpc_call_end_sending(watcher->call);
}

static void watcher_ready(Link *link)
{
    Watcher *watcher = (Watcher *)link;
    if (watcher->call == NULL) {
        watch_start(watcher);
    }
}

/* --- Connections ----------------------------------------------------------------------------- */

static void link_ready(void *context)
{
    Link *link = context;
    link->ready(link);
}

static void link_closed(void *context, const Error *why)
{
    Link *link = context;
    grpc_client_free(TAKE(link->grpc));
    loop_timer_start(&link->again, AGAIN_MS);
}

static void link_connect(void *context)
{
    static const Http2Header metadata[] = { { { PROTOCOL_HEADER, sizeof PROTOCOL_HEADER - 1 },
                                              { "1", 1 } } };
    Link *link = context;
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = link->world->loop;
    options.address =
        (Address){ .kind = ADDRESS_IP, .host = "127.0.0.1", .port = link->world->port };
    options.tls = link->world->tls;
    options.metadata = metadata;
    options.metadata_count = COUNT_OF(metadata);
    options.ready = link_ready;
    options.closed = link_closed;
    options.context = link;
    link->grpc = grpc_client_new(&options);
}

static void link_init(Link *link, World *world, void (*ready)(Link *link))
{
    link->world = world;
    link->ready = ready;
    loop_timer_init(&link->again, world->loop, link_connect, link);
    link_connect(link);
}

/* --- The end --------------------------------------------------------------------------------- */

static void list_done(void *context, GrpcStatus status, Str text, Str response)
{
    World *world = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreReply reply;
    Error err;
    if (status != GRPC_OK || !txn_reply_decode(&arena, response, &reply, &err)) {
        die("the last look", arena_copy_c(&arena, text));
    }
    for (uint32_t i = 0; i < reply.ops[0].kv_count; i++) {
        const StoreKv *kv = &reply.ops[0].kvs[i];
        fprintf(world->history, "key %" STR_FMT " %llu %lld %lld %lld\n", STR_ARG(kv->key),
                (unsigned long long)read_value(kv->value), (long long)kv->create_revision,
                (long long)kv->mod_revision, (long long)kv->version);
    }
    fprintf(world->history, "end %lld\n", (long long)world->end);
    loop_stop(world->loop);
}

static void list_all(World *world)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = STR(PREFIX),
                   .end = store_prefix_end(&arena, STR(PREFIX)) };
    Buf request = buf_make_in(&arena, BUF_UNLIMITED);
    Error err;
    txn_request_encode(&(StoreTxn){ .success = &op, .success_count = 1 }, &request);
    if (!grpc_client_unary(world->clients[0].link.grpc, method_rows[METHOD_STORE_TXN].path,
                           buf_str(&request), CALL_MS, list_done, world, &err)) {
        die("the last look", err.text);
    }
}

/* Once no responses are pending: a last write; once all watchers have received it, a last read. The
 * server is no longer killed by then. */
static void see_whether_over(World *world)
{
    if (!world->finishing || world->ended || world->busy > 0) {
        return;
    }
    if (world->end == 0) {
        if (is_connected(&world->clients[0].link)) {
            call(&world->clients[0].slots[0], CALL_END);
        }
        return;
    }
    for (uint32_t i = 0; i < WATCHERS; i++) {
        if (world->watchers[i].reported < world->end) {
            return;
        }
    }
    world->ended = true;
    list_all(world);
}

static void input_arrived(void *context, bool can_read, bool can_write)
{
    World *world = context;
    char line[100];
    if (read(STDIN_FILENO, line, sizeof line) <= 0) {
        watch_free(TAKE(world->input));
        world->finishing = true;
        see_whether_over(world);
    }
}

static void open_world(World *world, char **argv)
{
    TlsMaterial material = { 0 };
    Error err;
    world->loop = loop_new();
    arena_init(&world->arena, ARENA_UNLIMITED);
    world->port = (uint16_t)strtoul(argv[1], NULL, 10);
    world->random_state = strtoull(argv[2], NULL, 10) * 2 + 1;
    world->history = fopen(argv[3], "w");
    if (world->history == NULL) {
        die(argv[3], "cannot be written");
    }
    if (!file_read(&world->arena, argv[4], PEM_MAX, &material.certificate, &err) ||
        !file_read(&world->arena, argv[5], PEM_MAX, &material.key, &err) ||
        !file_read(&world->arena, argv[6], PEM_MAX, &material.ca, &err) ||
        !tls_context_new(world->loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "h2" },
                         &material, &world->tls, &err) ||
        !watch_new(world->loop, STDIN_FILENO, input_arrived, world, &world->input, &err)) {
        die("start", err.text);
    }
    watch_set(world->input, true, false);
}

int main(int argc, char **argv)
{
    static World world;
    if (argc != 7) {
        fputs("see tests/cluster/history.py\n", stderr);
        return 64;
    }
    open_world(&world, argv);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        Client *client = &world.clients[i];
        for (uint32_t k = 0; k < IN_FLIGHT; k++) {
            client->slots[k].client = client;
        }
        link_init(&client->link, &world, client_ready);
    }
    for (uint32_t i = 0; i < WATCHERS; i++) {
        world.watchers[i].number = i;
        link_init(&world.watchers[i].link, &world, watcher_ready);
    }
    loop_run(world.loop);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        loop_timer_stop(&world.clients[i].link.again);
        grpc_client_free(world.clients[i].link.grpc);
    }
    for (uint32_t i = 0; i < WATCHERS; i++) {
        loop_timer_stop(&world.watchers[i].link.again);
        grpc_client_free(world.watchers[i].link.grpc);
    }
    tls_context_free(world.tls);
    loop_free(world.loop);
    arena_clear(&world.arena);
    if (fclose(world.history) != 0) {
        die(argv[3], "cannot be written");
    }
    return 0;
}
