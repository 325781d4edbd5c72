#include "cli/cluster_client.h"

#include "base/bug.h"
#include "cluster/node_state.h"
#include "lang/json.h"
#include "model/duration.h"
#include "net/http_client.h"
#include "server/founding.h"
#include "sys/file.h"

/* --- One request ----------------------------------------------------------------------------- */

typedef struct Waiting {
    Loop *loop;
    Arena *arena;
    bool answered;
    int status;
    Str body;
    Error err;
    const ClusterPieces *pieces; /* NULL: it comes as a whole */
    bool enough;
} Waiting;

static void done(void *context, const HttpAnswer *answer, const Error *err)
{
    Waiting *waiting = context;
    waiting->answered = answer != NULL;
    if (answer != NULL) {
        waiting->status = answer->head->status;
        waiting->body = arena_copy(waiting->arena, answer->body);
    } else {
        waiting->err = *err;
    }
    loop_stop(waiting->loop);
}

static void piece(void *context, const Http1Head *head, Str bytes)
{
    Waiting *waiting = context;
    if (!waiting->enough && !waiting->pieces->piece(waiting->pieces->context, bytes)) {
        waiting->enough = true;
        loop_stop(waiting->loop);
    }
}

static const struct {
    int status;
    ErrorKind kind;
} kinds[] = {
    { 400, ERROR_INVALID },     { 401, ERROR_DENIED },   { 403, ERROR_DENIED },
    { 404, ERROR_NOT_FOUND },   { 409, ERROR_CONFLICT }, { 413, ERROR_LIMIT },
    { 412, ERROR_CONFLICT },    { 422, ERROR_CONFLICT }, { 429, ERROR_LIMIT },
    { 503, ERROR_UNAVAILABLE }, { 504, ERROR_TIMEOUT },
};

static ErrorKind kind_of(int status)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (kinds[i].status == status) {
            return kinds[i].kind;
        }
    }
    return ERROR_OS;
}

/* What a server says is shown, so one that says nothing readable is told as that. */
static bool read_answer(const Waiting *waiting, Value *answer, Error *err)
{
    bool is_json = json_parse_text(waiting->arena, waiting->body, NULL, answer, err);
    if (waiting->status < 300) {
        return (is_json && answer->kind == VALUE_MAP) ||
               error_set(err, ERROR_OS, "the server's answer is no JSON object");
    }
    Str message = is_json ? cluster_text(*answer, "detail") : STR_EMPTY;
    if (message.len == 0) {
        return error_set(err, kind_of(waiting->status), "the server answers with status %d",
                         waiting->status);
    }
    return error_set(err, kind_of(waiting->status), "%" STR_FMT, STR_ARG(message));
}

/* False: nobody has answered. */
static bool exchange(const Invocation *invocation, const ClusterRequest *request, Waiting *waiting,
                     Error *err)
{
    Arena *arena = invocation->arena;
    int64_t timeout_ms = request->timeout_ms;
    if (timeout_ms == 0 &&
        !duration_parse(str_from_c(invocation_text(invocation, "timeout")), &timeout_ms)) {
        return error_set(err, ERROR_INVALID, "--timeout is a span of time as '5s' or '1m'");
    }
    Str path = arena_format(arena, "%s/%s", invocation_text(invocation, "run-dir"),
                            request->socket == NULL ? "server/api.sock" : request->socket);
    AUTO(Loop) *loop = loop_new();
    waiting->loop = loop;
    waiting->arena = arena;
    HttpCallOptions options = {
        .loop = loop,
        .method = request->method,
        .target = arena_copy_c(arena, request->target),
        .content_type = request->body.len > 0 ? "application/json" : NULL,
        .body = request->body,
        .answer_max = request->answer_max > 0 ? request->answer_max : CLUSTER_ANSWER_MAX,
        .timeout_ms = timeout_ms,
        .done = done,
        .context = waiting,
    };
    if (waiting->pieces != NULL) {
        options.answer_max = UINT64_MAX;
        options.piece = piece;
        options.idle_timeout_ms = waiting->pieces->idle_timeout_ms;
    }
    if (!address_unix(path, &options.address, err)) {
        return false;
    }
    HttpCall *call = http_call_new(&options);
    loop_run(loop);
    http_call_free(call);
    *err = waiting->err;
    if (err->kind == ERROR_INVALID) {
        err->kind = ERROR_UNAVAILABLE; /* what was no answer is no fault of the command line */
    }
    return waiting->answered || waiting->enough;
}

bool cluster_ask(const Invocation *invocation, const ClusterRequest *request, Value *answer,
                 bool *asked, Error *err)
{
    Waiting waiting = { 0 };
    *answer = value_null();
    *asked = exchange(invocation, request, &waiting, err);
    return *asked && read_answer(&waiting, answer, err);
}

bool cluster_stream(const Invocation *invocation, const ClusterRequest *request,
                    const ClusterPieces *pieces, bool *asked, Error *err)
{
    Waiting waiting = { .pieces = pieces };
    Value refusal;
    *asked = exchange(invocation, request, &waiting, err);
    return *asked &&
           (waiting.enough || waiting.status < 300 || read_answer(&waiting, &refusal, err));
}

/* --- What is wrong --------------------------------------------------------------------------- */

/* "a, b": where the servers of this machine's cluster are; empty when that is not known here. */
static Str known_servers(const Invocation *invocation)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    Arena *arena = invocation->arena;
    Str path = arena_format(arena, "%s/" AGENT_DIRECTORY, invocation_text(invocation, "state-dir"));
    NodeState state;
    Error err;
    if (!directory_open(path.data, &agent, &err) || !node_state_load(&agent, arena, &state, &err)) {
        return STR_EMPTY;
    }
    Buf names = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < state.server_count; i++) {
        Address address;
        if (address_parse(state.servers[i].rpc, 0, &address, &err)) {
            buf_put_format(&names, "%s%s", names.len > 0 ? ", " : "", address.host);
        }
    }
    return buf_str(&names);
}

/* Whether this machine is to be a server itself; not known to those who may not look. */
static bool is_server(const Invocation *invocation)
{
    Str path = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY "/" SERVER_SETTINGS_FILE,
                            invocation_text(invocation, "state-dir"));
    return file_exists(path.data);
}

static void tell_no_server(const Invocation *invocation, Problems *problems, const Error *err)
{
    Str servers = known_servers(invocation);
    Problem *problem = problems_add(problems, "E0810", NULL, 0, 0,
                                    "no server answers on this machine: %s", err->text);
    problem->hint =
        is_server(invocation)
            ? STR("this machine is a server: 'systemctl start eden' or 'eden agent' starts it, "
                  "'eden doctor' tells why it does not run")
        : servers.len > 0
            ? arena_format(invocation->arena, "run it on a server: %" STR_FMT, STR_ARG(servers))
            : STR("'eden serve' starts one, 'eden init' founds a cluster; --run-dir "
                  "says where it listens");
}

int cluster_tell(Invocation *invocation, const Error *err, bool asked)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    if (asked) {
        problems_add(&inputs.problems, "E0812", NULL, 0, 0, "%s", err->text);
    } else if (err->kind == ERROR_DENIED) {
        Problem *problem = problems_add(&inputs.problems, "E0811", NULL, 0, 0, "%s", err->text);
        problem->hint = STR("only root and members of the server's group may ask it");
    } else if (err->kind == ERROR_TIMEOUT) {
        problems_add(&inputs.problems, "E0813", NULL, 0, 0, "the server is silent: %s", err->text);
    } else if (err->kind == ERROR_INVALID) {
        return usage_error(invocation, "%s", err->text);
    } else {
        tell_no_server(invocation, &inputs.problems, err);
    }
    (void)inputs_report(&inputs, invocation);
    return error_kind_exit_code(err->kind);
}

int cluster_call(Invocation *invocation, const ClusterRequest *request, Value *answer)
{
    bool asked;
    Error err;
    if (cluster_ask(invocation, request, answer, &asked, &err)) {
        return EXIT_OK;
    }
    return cluster_tell(invocation, &err, asked);
}

/* --- Requests and answers -------------------------------------------------------------------- */

static void put_encoded(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (ascii_is_alpha((char)c) || ascii_is_digit((char)c) || memchr("-._~", c, 4) != NULL) {
            buf_put_char(out, (char)c);
        } else {
            buf_put_format(out, "%%%02X", c);
        }
    }
}

Str cluster_target_with(Arena *arena, const char *before, Str part, const char *behind)
{
    Buf target = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&target, before);
    put_encoded(&target, part);
    buf_put_c(&target, behind);
    return buf_str(&target);
}

Str cluster_target(Arena *arena, const char *before, Str part)
{
    return cluster_target_with(arena, before, part, "");
}

Str cluster_body(Arena *arena, Value value)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    bool ok = json_print(&text, value, NULL, &err);
    BUG_IF(!ok);
    return buf_str(&text);
}

static const Value *find(Value map, const char *key, ValueKind kind)
{
    const Value *value = map.kind == VALUE_MAP ? value_get(map, str_from_c(key)) : NULL;
    return value != NULL && value->kind == kind ? value : NULL;
}

Str cluster_text(Value map, const char *key)
{
    const Value *value = find(map, key, VALUE_STRING);
    return value != NULL ? value_str(*value) : STR_EMPTY;
}

int64_t cluster_int(Value map, const char *key)
{
    const Value *value = find(map, key, VALUE_INT);
    return value != NULL ? value->integer : 0;
}

bool cluster_is_null(Value map, const char *key)
{
    const Value *value = map.kind == VALUE_MAP ? value_get(map, str_from_c(key)) : NULL;
    return value == NULL || value->kind == VALUE_NULL;
}

Value cluster_map(Value map, const char *key)
{
    const Value *value = find(map, key, VALUE_MAP);
    return value != NULL ? *value : value_null();
}

bool cluster_bool(Value map, const char *key)
{
    const Value *value = find(map, key, VALUE_BOOL);
    return value != NULL && value->boolean;
}

const List *cluster_list(Value map, const char *key)
{
    static const List none = { 0 };
    const Value *value = find(map, key, VALUE_LIST);
    return value != NULL ? value->list : &none;
}
