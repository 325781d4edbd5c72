/* Input: server responses to commands: lists, objects, watches and errors. The first byte selects
 * the command; the second whether the bytes are complete HTTP responses or only bodies, with which
 * status, and the chunk size. A byte 0x1e ends a response; what follows is the response to the next
 * request.
 *
 * Invariants: the command terminates with an exit code and output; text from the server never
 * reaches the terminal unescaped; with -o json the output is JSON, even after an error. */
#include "base/bug.h"
#include "cli/cli.h"
#include "cli/exit_codes.h"
#include "cli/reconnect.h"
#include "lang/json.h"
#include "memory_connection.h"

enum {
    ARGS_MAX = 10,
    RAW = 1,
    CHUNKS = 2,
    STATUS_SHIFT = 2,
    STATUS_MASK = 7,
    SMALL_CHUNK = 7,
    ROOM = 1 << 20,
    PARTS_BYTE = 0x1e,
};

typedef enum Print {
    PRINT_TEXT, /* human-readable */
    PRINT_JSON,
    PRINT_LINES, /* lines of JSON */
    PRINT_BYTES, /* unchanged */
} Print;

typedef struct Row {
    Print print;
    const char *args[ARGS_MAX];
} Row;

static const Row rows[] = {
    { PRINT_TEXT, { "nodes" } },
    { PRINT_TEXT, { "nodes", "-o", "wide" } },
    { PRINT_JSON, { "nodes", "-o", "json" } },
    { PRINT_TEXT, { "nodes", "-o", "yaml" } },
    { PRINT_TEXT, { "nodes", "-o", "name" } },
    { PRINT_TEXT, { "nodes", "--watch" } },
    { PRINT_LINES, { "nodes", "--watch", "-o", "json" } },
    { PRINT_TEXT, { "roles", "--watch", "-o", "name" } },
    { PRINT_TEXT, { "nodes", "show", "web1" } },
    { PRINT_JSON, { "nodes", "show", "web1", "-o", "json" } },
    { PRINT_TEXT, { "nodes", "ping", "web1" } },
    { PRINT_TEXT, { "nodes", "label", "web1", "role=web" } },
    { PRINT_TEXT, { "tokens" } },
    { PRINT_TEXT, { "roles" } },
    { PRINT_TEXT, { "roles", "show", "team", "-o", "yaml" } },
    { PRINT_TEXT, { "config" } },
    { PRINT_TEXT, { "pki" } },
    { PRINT_JSON, { "pki", "-o", "json" } },
    { PRINT_TEXT, { "audit", "tail" } },
    { PRINT_TEXT, { "audit", "verify" } },
    { PRINT_TEXT, { "watch", "/a" } },
    { PRINT_LINES, { "watch", "/a", "--prefix", "--previous", "-o", "json" } },
    { PRINT_BYTES, { "get", "/a" } },
    { PRINT_JSON, { "get", "/a", "-o", "json" } },
    { PRINT_TEXT, { "get", "/a", "--prefix" } },
    { PRINT_BYTES, { "api", "GET", "/v1/nodes" } },
};

static const int statuses[STATUS_MASK + 1] = { 200, 200, 201, 400, 403, 404, 409, 503 };

typedef struct World {
    Str rest; /* responses not sent yet */
    uint8_t options;
    Arena arena;
} World;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- Replaces reconnect.c: no waiting -------------------------------------------------------- */

bool reconnect_init(Reconnect *reconnect, Invocation *invocation, const char *what, Error *err)
{
    *reconnect = (Reconnect){ .invocation = invocation, .what = what };
    return cluster_endpoint_select(invocation, &reconnect->endpoint, err);
}

bool reconnect_is_useful(const Reconnect *reconnect, const Error *err, bool asked)
{
    return err->kind ==
           ERROR_NONE; /* the server has closed it; the remaining bytes are still read */
}

void reconnect_wait(Reconnect *reconnect, const Error *err)
{
}

bool reconnect_check(Reconnect *reconnect, Error *err)
{
    return true;
}

void reconnect_done(Reconnect *reconnect)
{
}

/* --- The server ------------------------------------------------------------------------------ */

static void connected(void *context, Connection *connection)
{
    World *world = context;
    Str separator = { (const char[]){ PARTS_BYTE }, 1 };
    size_t end = str_find(world->rest, separator, 0);
    Str part = str_slice(world->rest, 0, end);
    Buf answer = buf_make_in(&world->arena, BUF_UNLIMITED);
    bool is_last = world->rest.len == 0;
    world->rest = end == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(world->rest, end + 1);
    if ((world->options & RAW) == 0 || is_last) {
        /* Ends a command that keeps repeating its request. */
        int status = is_last ? 503 : statuses[world->options >> STATUS_SHIFT & STATUS_MASK];
        buf_put_format(&answer, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n\r\n", status);
    }
    buf_put(&answer, part);
    memory_connection_add_room(connection, ROOM);
    memory_connection_send(connection, buf_str(&answer),
                           (world->options & CHUNKS) != 0 ? SMALL_CHUNK : SIZE_MAX);
    memory_connection_hang_up(connection);
}

/* --- Output ---------------------------------------------------------------------------------- */

static void check_text(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        BUG_IF((c < ' ' && c != '\n' && c != '\t') || c == 0x7f);
    }
}

static void check_json(Arena *arena, Str text)
{
    Value value;
    Error err;
    bool ok = json_parse_text(arena, text, NULL, &value, &err);
    BUG_IF(!ok);
}

static void check_printed(Arena *arena, Print print, Str text)
{
    Str line;
    if (print == PRINT_TEXT) {
        check_text(text);
    } else if (print == PRINT_JSON && text.len > 0) {
        check_json(arena, text);
    } else if (print == PRINT_LINES) {
        while (text.len > 0 && text.data[0] == '{' && str_split_next(&text, '\n', &line)) {
            if (line.len == 1) {
                break; /* errors, several lines */
            }
            check_json(arena, line);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const Row *row = &rows[data[0] % COUNT_OF(rows)];
    const char *argv[ARGS_MAX + 8] = { "eden" };
    int argc = 1;
    while (argc <= ARGS_MAX && row->args[argc - 1] != NULL) {
        argv[argc] = row->args[argc - 1];
        argc++;
    }
    argv[argc++] = "--run-dir=/nonexistent/run";
    argv[argc++] = "--state-dir=/nonexistent/state";
    World world = { .rest = str_from((const char *)data + 2, size - 2), .options = data[1] };
    AUTO_CLEAR(Stream) out = stream_make(STREAM_MEMORY), err = stream_make(STREAM_MEMORY);
    arena_init(&world.arena, ARENA_UNLIMITED);
    memory_connection_on_connect(connected, &world);
    int code = cli_run(argc, (char **)(uintptr_t)argv, &out, &err); /* without modifying them */
    BUG_IF(code < 0 || code > 125 || code == EXIT_USAGE);
    BUG_IF(code != EXIT_OK && out.buf.len == 0 && err.buf.len == 0);
    check_text(buf_str(&err.buf));
    check_printed(&world.arena, row->print, buf_str(&out.buf));
    memory_connection_on_connect(NULL, NULL);
    arena_clear(&world.arena);
    return 0;
}
