#include "cli/completion_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster_client.h"
#include "sys/clock.h"
#include "sys/detached.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/file_lock.h"
#include "sys/sha256.h"

#define FORMAT "eden.names/1 "

enum {
    CACHE_MAX = 4 << 20, /* size limit of a cache file, in bytes */
    NAME_MAX_BYTES = 200,
    PAGES_MAX = 40,
    KEY_DIGITS = 16,
};

static const struct {
    WordKind word;
    const char *target;
} queries[] = {
    { WORD_NODE, "/v1/nodes?limit=500" },       { WORD_TOKEN, "/v1/tokens" },
    { WORD_ROLE, "/v1/roles?limit=500" },       { WORD_RUN, "/v1/runs?limit=100" },
    { WORD_VERSION, "/v1/versions?limit=500" }, { WORD_SOURCE, "/v1/sources?limit=500" },
};

static const char *target_of(WordKind word)
{
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        if (queries[i].word == word) {
            return queries[i].target;
        }
    }
    return NULL;
}

/* --- Cache content --------------------------------------------------------------------------- */

void completion_names_print(int64_t now_ms, Str names, Buf *out)
{
    buf_put_format(out, FORMAT "%" PRId64 "\n", now_ms);
    buf_put(out, names);
}

bool completion_names_read(Str text, int64_t *cached_ms, Str *names)
{
    Str rest = text, first;
    if (!str_split_next(&rest, '\n', &first) || !str_starts(first, STR(FORMAT)) ||
        !str_to_i64(str_from_offset(first, sizeof FORMAT - 1), cached_ms)) {
        return false;
    }
    *names = str_from_offset(text, first.len + 1);
    return true;
}

bool completion_names_is_safe(Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if (!ascii_is_alpha(c) && !ascii_is_digit(c) &&
            (i == 0 || c == '\0' || strchr("-_.:@", c) == NULL)) {
            return false;
        }
    }
    return name.len > 0 && name.len <= NAME_MAX_BYTES;
}

static void read_list(const List *list, const char *key, Buf *out)
{
    for (uint32_t i = 0; i < list->len; i++) {
        Value holder = value_get_map(list->items[i], "metadata");
        Str name = value_get_text(holder.kind == VALUE_MAP ? holder : list->items[i], key);
        if (completion_names_is_safe(name)) {
            buf_put(out, name);
            buf_put_char(out, '\n');
        }
    }
}

void completion_names_collect(Value response, Buf *out)
{
    read_list(value_get_list(response, "items"), "name", out);
    read_list(value_get_list(response, "nodes"), "name", out);
    read_list(value_get_list(response, "waiting"), "name", out);
    read_list(value_get_list(response, "tokens"), "id", out);
}

/* --- Cache files ----------------------------------------------------------------------------- */

static bool open_cache(Arena *arena, Directory *out)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    Str path = cache != NULL && cache[0] == '/' ? arena_format(arena, "%s/eden", cache)
               : home != NULL && home[0] == '/' ? arena_format(arena, "%s/.cache/eden", home)
                                                : STR_EMPTY;
    Error err;
    return path.len > 0 && directory_make(path.data, out, &err);
}

/* One file per kind of names and server. */
static bool cache_name(const Invocation *invocation, WordKind word, Str *out)
{
    Arena *arena = invocation->arena;
    ClusterEndpoint endpoint;
    Error err;
    char digits[SHA256_HEX + 1];
    if (!cluster_endpoint_select(invocation, &endpoint, &err)) {
        return false;
    }
    Str whose = endpoint.is_local
                    ? file_absolute(arena, endpoint.socket.host)
                    : arena_format(arena, "%" STR_FMT " %" STR_FMT, STR_ARG(endpoint.context.name),
                                   STR_ARG(endpoint.context.servers[0]));
    sha256_hex(whose, digits);
    *out = arena_format(arena, "names-%s-%.*s", word_kind_name(word), KEY_DIGITS, digits);
    return true;
}

static bool read_cache(Arena *arena, const Directory *cache, Str name, int64_t *cached_ms,
                       Str *names)
{
    Str text;
    Error err;
    return directory_read(cache, arena, name.data, CACHE_MAX, &text, &err) &&
           completion_names_read(text, cached_ms, names);
}

/* --- Requests -------------------------------------------------------------------------------- */

static bool query(const Invocation *invocation, WordKind word, Buf *out)
{
    Str first = str_from_c(target_of(word)), target = first;
    int64_t until_us = clock_monotonic_us() + (int64_t)COMPLETION_NAMES_QUERY_MS * 1000;
    for (uint32_t i = 0; i < PAGES_MAX; i++) {
        int64_t left_ms = (until_us - clock_monotonic_us()) / 1000;
        Value response;
        bool was_requested;
        Error err;
        if (left_ms <= 0 ||
            !cluster_send(
                invocation,
                &(ClusterRequest){ .method = "GET", .target = target, .timeout_ms = left_ms },
                &response, &was_requested, &err)) {
            return false;
        }
        completion_names_collect(response, out);
        Value metadata = value_get_map(response, "metadata");
        Str next = value_get_text(metadata.kind == VALUE_MAP ? metadata : response, "continue");
        if (next.len == 0) {
            return true;
        }
        target = cluster_target(
            invocation->arena,
            arena_format(invocation->arena, "%" STR_FMT "&continue=", STR_ARG(first)).data, next);
    }
    return true;
}

void completion_names_refresh(const Invocation *invocation, WordKind word)
{
    Arena *arena = invocation->arena;
    AUTO_CLEAR(Directory) cache = { .descriptor = -1 };
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    AUTO_CLEAR(Buf) names = buf_make(CACHE_MAX / 2), text = buf_make(CACHE_MAX);
    Str name, found;
    Error err;
    if (!cache_name(invocation, word, &name) || !open_cache(arena, &cache) ||
        !file_lock_take(&cache, arena_format(arena, "%" STR_FMT ".lock", STR_ARG(name)).data,
                        STR_EMPTY, arena, &lock, &found, &err)) {
        return; /* another process is refreshing */
    }
    if (query(invocation, word, &names) && !names.overflow) {
        completion_names_print(clock_now_ms(), buf_str(&names), &text);
        (void)!directory_write(&cache, name.data, buf_str(&text), false, &err);
    }
}

/* Starts this program as a background process to query the same server. */
static void start_refresh(const Invocation *invocation, WordKind word, bool waits)
{
    const char *run_dir = invocation_text(invocation, "run-dir");
    const char *context = invocation_text(invocation, "context");
    const char *argv[10] = { "eden", "complete", word_kind_name(word), "--refresh" };
    size_t count = 4;
    bool ended;
    Error err;
    if (invocation_flag(invocation, "run-dir")) {
        argv[count++] = "--run-dir";
        argv[count++] = run_dir;
    }
    if (context != NULL) {
        argv[count++] = "--context";
        argv[count++] = context;
    }
    (void)!detached_run(argv, waits ? COMPLETION_NAMES_WAIT_MS : 0, &ended, &err);
}

Str completion_names_show(const Invocation *invocation, WordKind word)
{
    AUTO_CLEAR(Directory) cache = { .descriptor = -1 };
    int64_t cached_ms = 0, now_ms = clock_now_ms();
    Str name, names = STR_EMPTY;
    if (!cache_name(invocation, word, &name) || !open_cache(invocation->arena, &cache)) {
        return STR_EMPTY;
    }
    bool has = read_cache(invocation->arena, &cache, name, &cached_ms, &names);
    if (!has || now_ms - cached_ms > COMPLETION_NAMES_FRESH_MS || cached_ms > now_ms) {
        start_refresh(invocation, word, !has);
    }
    if (!has && !read_cache(invocation->arena, &cache, name, &cached_ms, &names)) {
        return STR_EMPTY;
    }
    return names;
}
