/* Input: HTTP/1.1 requests on one connection to a server with the whole API and an in-memory store;
 * bytes after a 0x1e are sent on a second connection, as an operator, so that watches have changes
 * to report. The first byte selects the client (an operator, another local user, or a remote
 * client, which may have one of two tokens), the chunk size, how much of the responses it reads,
 * and whether it disconnects at the end or stays silent.
 *
 * Invariants: the server sends only HTTP/1.1 responses, at most one per dispatched request and one
 * rejection; none is an internal error; JSON responses parse, and errors repeat their status. An
 * unauthenticated client learns and changes nothing. No memory is held afterward. */
#include <stdlib.h>

#include "access/tokens.h"
#include "api/api.h"
#include "api/kind_stored.h"
#include "base/bug.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "lang/json.h"
#include "memory_connection.h"
#include "net/http_server_inner.h"

enum {
    REMOTE = 1,
    OTHER_USER = 2, /* local, but not an operator */
    CHUNKS = 4,
    SLOW = 8,
    STAY = 16,
    ANSWER_MAX = 16 << 20,
    ROOM = 4 << 20,
    LITTLE_ROOM = 700,
    SMALL_CHUNK = 13,
    FOREVER_MS = 3600 * 1000,
    METHODS_MAX = 512,
    SECOND_BYTE = 0x1e,
    HEARTBEAT_MS = 16 * 1000,
};

#define NOW_MS 1800000000000

typedef struct World World;

/* One connection. */
typedef struct Talk {
    World *world;
    Connection *connection;
    Http1Reader answers;
    Buf body;            /* of the response being received */
    uint32_t dispatched; /* requests */
    uint32_t answered;   /* requests and rejections */
    bool is_head[METHODS_MAX];
    bool is_other_user;
} Talk;

struct World {
    Arena arena;
    Loop *loop;
    Store *store;
    Audit *audit;
    State *state;
    Roster *roster;
    Credentials *credentials;
    ApiSettings settings;
    Api *api;
    HttpServerOptions http;
    HttpServer *server;
    Talk talks[2];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- Contents of the store ------------------------------------------------------------------- */

static void done(void *context, const StoreReply *reply, const Error *err)
{
    BUG_IF(reply == NULL);
}

static void put(World *world, Str key, const char *value)
{
    StoreOp op = { .kind = STORE_PUT, .key = key, .value = str_from_c(value) };
    Error err;
    BUG_IF(!store_op(world->store, &op, done, NULL, &err));
}

/* "eden_aaaaaaaa_aaaa...": every character is the letter of the id. */
static void put_token(World *world, const char *text, const char *roles)
{
    Token token;
    ApiTokenRecord record = { 0 };
    const TokenTerms terms = { .now_ms = NOW_MS - 1000, .lifetime_ms = 10001000 };
    Buf printed = buf_make_in(&world->arena, BUF_UNLIMITED);
    Str role = str_from_c(roles);
    Error err;
    bool ok = token_parse(TOKEN_API, str_from_c(text), &token, &err) &&
              token_record_make(&token, &terms, &record.token, &err) &&
              role_names_make(&role, 1, &record.roles, &err);
    BUG_IF(!ok);
    api_token_record_print(&record, &printed);
    put(world, cluster_key_access_token(&world->arena, KEYS_PREFIX, str_from_c(token.id)),
        buf_c(&printed));
}

#define PIN "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void fill(World *world)
{
    static const char node[] =
        "{\"format\":\"eden.node/1\",\"name\":\"web1\",\"key\":\"" PIN
        "\",\"enrolment\":\"0123456789abcdef\",\"token\":\"\",\"server\":false,"
        "\"address\":\"10.0.0.8:4242\",\"joined_ms\":1799999999000,"
        "\"serial\":\"40112233445566778899aabbccddeeff\",\"not_after_ms\":1900000000000,"
        "\"labels\":{\"role\":\"web\"}}";
    static const char joining[] =
        "{\"format\":\"eden.joining/2\",\"name\":\"db1\",\"machines\":[{\"key\":\"" PIN
        "\",\"approved\":false,\"address\":\"10.0.0.6:1\",\"asked_ms\":1799999999000,"
        "\"until_ms\":4000000000000}]}";
    static const char role[] =
        "{\"format\":\"eden.object/1\",\"uuid\":\"01234567-89ab-cdef-0123-456789abcdef\","
        "\"created_ms\":1799999999000,\"labels\":{},\"annotations\":{},\"spec\":{\"rules\":"
        "[{\"verbs\":[\"*\"],\"kinds\":[\"*\"],\"selector\":\"role=web\"}]}}";
    Arena *arena = &world->arena;
    put(world, cluster_key_node(arena, KEYS_PREFIX, STR("web1")), node);
    put(world, cluster_key_joining(arena, KEYS_PREFIX, STR("db1")), joining);
    put(world, cluster_key_facts(arena, KEYS_PREFIX, STR("web1")), "{\"os\":\"debian\"}");
    put(world, cluster_key_object(arena, KEYS_PREFIX, STR("role"), STR("team")), role);
    put_token(world, "eden_aaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "operator");
    put_token(world, "eden_bbbbbbbb_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "team");
}

/* --- Responses ------------------------------------------------------------------------------- */

static void check_body(const Talk *talk, const Http1Head *head)
{
    const Str *type = http1_find(head, "Content-Type");
    Str body = buf_str(&talk->body);
    bool is_problem = type != NULL && str_eq_c(*type, "application/problem+json");
    Value value;
    Error err;
    BUG_IF(type == NULL && body.len > 0);
    if (body.len == 0 || (!is_problem && !str_eq_c(*type, "application/json"))) {
        return;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    bool ok = json_parse_text(&arena, body, NULL, &value, &err);
    BUG_IF(!ok || (is_problem && value.kind != VALUE_MAP));
    BUG_IF(is_problem != (head->status >= 400));
    if (is_problem) {
        const Value *status = value_get(value, STR("status")),
                    *code = value_get(value, STR("code"));
        BUG_IF(status == NULL || status->integer != head->status || code == NULL);
    }
}

/* Allowed without authentication: health, pages and join requests. */
static void check_status(const Talk *talk, int status)
{
    BUG_IF(http1_status_text(status) == NULL || status == 500);
    BUG_IF(talk->is_other_user && status == 201);
}

static void on_accepted(void *context, Str bytes)
{
    Talk *talk = context;
    Http1Reader *answers = &talk->answers;
    Http1Event event = HTTP1_HEAD;
    Error err;
    while (event != HTTP1_MORE) {
        if (talk->answered < METHODS_MAX) {
            answers->bodyless = talk->answered < talk->dispatched && talk->is_head[talk->answered];
        }
        bool ok = http1_read(answers, &bytes, &event, &err);
        if (!ok) {
            BUG("the server says no HTTP: %s", err.text);
        }
        if (event == HTTP1_HEAD) {
            check_status(talk, answers->head.status);
            buf_reset(&talk->body);
        } else if (event == HTTP1_DATA) {
            buf_put(&talk->body, answers->data);
        } else if (event == HTTP1_END && answers->head.status >= 200) {
            check_body(talk, &answers->head);
            talk->answered++;
        }
    }
}

/* --- The server ------------------------------------------------------------------------------ */

static void describe(void *context, const Peer *peer, Caller *out)
{
    const World *world = context;
    bool is_first = peer == connection_peer(world->talks[0].connection);
    *out =
        (Caller){ .is_local = peer->is_local,
                  .is_operator = peer->is_local && !(is_first && world->talks[0].is_other_user) };
}

static void ping(void *context, Str node, SessionPinged *reported, void *told_context)
{
    SessionPing answer = { .round_trip_ms = 4, .node_ms = NOW_MS, .server_ms = NOW_MS };
    reported(told_context, &answer, NULL);
}

static void requested(void *context, HttpRequest *request)
{
    World *world = context;
    bool is_second = request->client->connection == world->talks[1].connection;
    Talk *talk = &world->talks[is_second];
    if (talk->dispatched < METHODS_MAX) {
        talk->is_head[talk->dispatched] = str_eq_c(http_request_head(request)->method, "HEAD");
    }
    talk->dispatched++;
    world->http.requested(world->http.context, request);
}

static bool reads_body(void *context, const HttpRequest *request, uint64_t *max)
{
    World *world = context;
    return world->http.reads_body(world->http.context, request, max);
}

static uint64_t body_caller(void *context, const HttpRequest *request)
{
    World *world = context;
    return world->http.body_caller(world->http.context, request);
}

static void gone(void *context, HttpRequest *request)
{
    World *world = context;
    world->http.disconnected(world->http.context, request);
}

static const char *reject(void *context, int status, const char *why, Buf *out)
{
    World *world = context;
    return world->http.write_error(world->http.context, status, why, out);
}

static void nothing(void *context)
{
}

static void received(void *context, Str bytes)
{
}

static void closed(void *context, const Error *why)
{
}

static void failed(void *context, const Error *err)
{
    BUG("%s", err->text);
}

static const ConnectionEvents no_events = { nothing, received, nothing, closed };
static const CredentialsEvents no_news = { .changed = nothing };
static const StateEvents no_state = {
    .ready = nothing, .stale = failed, .current = nothing, .stores_values = stored_is_kind
};
static const Str names[] = { STR("eden1.example.org:1338") };

static void run_pending(const World *world, int64_t ms)
{
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + ms);
}

static void world_open(World *world)
{
    arena_init(&world->arena, ARENA_UNLIMITED);
    world->loop = loop_new_virtual(1);
    loop_virtual_set_wall(world->loop, NOW_MS);
    world->store = store_open_memory(world->loop, NULL);
    fill(world);
    ClusterStore cluster_store = { .loop = world->loop,
                                   .store = world->store,
                                   .prefix = KEYS_PREFIX };
    world->audit = audit_new(&cluster_store);
    world->state = cluster_store.state = state_new(&cluster_store, &no_state);
    world->roster = cluster_store.roster = roster_new(cluster_store.state, cluster_store.prefix,
                                                      &(RosterEvents){ .changed = nothing });
    run_pending(world, 1);
    world->credentials = credentials_new(&cluster_store, world->state, STR("blue"), &no_news);
    world->settings = (ApiSettings){ .cluster_store = cluster_store,
                                     .cluster = STR("blue"),
                                     .node = STR("s1"),
                                     .store_id = STR("store"),
                                     .names = names,
                                     .name_count = COUNT_OF(names),
                                     .ping = ping,
                                     .credentials = world->credentials,
                                     .audit = world->audit,
                                     .describe = describe,
                                     .context = world };
    world->api = api_new(&world->settings);
    HttpServerOptions options = http_server_defaults();
    options.loop = world->loop;
    api_serve(world->api, &options);
    world->http = options;
    options.reads_body = reads_body;
    options.body_caller = body_caller;
    options.requested = requested;
    options.disconnected = gone;
    options.write_error = reject;
    options.context = world;
    world->server = http_server_new(&options);
}

static void talk_open(World *world, Talk *talk, uint8_t options)
{
    talk->world = world;
    talk->is_other_user = (options & (REMOTE | OTHER_USER)) == OTHER_USER;
    talk->connection = memory_connection_new(
        &(ConnectionOptions){ .loop = world->loop, .open_timeout_ms = 1000, .events = &no_events },
        on_accepted, talk);
    if ((options & REMOTE) != 0) {
        memory_connection_set_remote(talk->connection);
    }
    http1_reader_init(&talk->answers, HTTP1_RESPONSE, ANSWER_MAX);
    talk->body = buf_make(BUF_UNLIMITED);
    run_pending(world, 0);
    http_h1_adopt(world->server, talk->connection);
}

/* Whether the server has kept it open. */
static bool is_connected(const Talk *talk)
{
    for (const HttpClient *one = talk->world->server->clients; one != NULL; one = one->next) {
        if (one->connection == talk->connection) {
            return true;
        }
    }
    return false;
}

static void send_bytes(const Talk *talk, Str bytes, size_t chunk)
{
    if (bytes.len > 0 && is_connected(talk)) {
        memory_connection_send(talk->connection, bytes, chunk);
        run_pending(talk->world, 0);
    }
}

static void talk_close(Talk *talk)
{
    if (talk->world != NULL) {
        BUG_IF(talk->answered > talk->dispatched + 1);
        http1_reader_clear(&talk->answers);
        buf_clear(&talk->body);
    }
}

static void world_close(World *world)
{
    http_server_free(world->server);
    api_free(world->api);
    credentials_free(world->credentials);
    state_stop(world->state);
    audit_free(world->audit);
    run_pending(world, 0);
    store_close(world->store);
    roster_free(world->roster);
    state_free(world->state);
    loop_free(world->loop);
    talk_close(&world->talks[0]);
    talk_close(&world->talks[1]);
    arena_clear(&world->arena);
}

/* A watch on the first connection reports changes, then is idle for a while. */
static void use_second_client(World *world, Str bytes)
{
    Talk *second = &world->talks[1];
    talk_open(world, second, 0);
    memory_connection_add_room(second->connection, ROOM);
    send_bytes(second, bytes, SIZE_MAX);
    if (is_connected(second)) {
        memory_connection_hang_up(second->connection);
    }
    run_pending(world, HEARTBEAT_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    World *world = memory_new(sizeof *world);
    Talk *first = &world->talks[0];
    bool is_slow = (data[0] & SLOW) != 0, stays = (data[0] & STAY) != 0;
    Str bytes = str_from((const char *)data + 1, size - 1);
    size_t end = str_find(bytes, (Str){ (const char[]){ SECOND_BYTE }, 1 }, 0);
    world_open(world);
    talk_open(world, first, data[0]);
    memory_connection_add_room(first->connection, is_slow ? LITTLE_ROOM : ROOM);
    send_bytes(first, str_slice(bytes, 0, end), (data[0] & CHUNKS) != 0 ? SMALL_CHUNK : SIZE_MAX);
    if (end != STR_NOT_FOUND) {
        use_second_client(world, str_from_offset(bytes, end + 1));
    }
    if (is_slow && is_connected(first)) {
        memory_connection_add_room(first->connection, ROOM);
        run_pending(world, 0);
    }
    if (!stays && is_connected(first)) {
        memory_connection_hang_up(first->connection);
    }
    /* Work that a request started is completed in any case. */
    run_pending(world, FOREVER_MS);
    BUG_IF(!stays && world->server->clients != NULL);
    BUG_IF(world->server->clients == NULL &&
           (world->server->held != 0 || world->server->unsent != 0));
    world_close(world);
    free(world);
    return 0;
}
