/* Input: files written by some version of this program, from anywhere: the record of a run, which
 * `eden replay` decides again, a saved plan, the settings of a server. Invariants: the result is a
 * value or an error; replaying an accepted record twice gives the same result; settings, printed,
 * read back the same. */
#include "base/bug.h"
#include "lang/json.h"
#include "run/plan_file.h"
#include "run/recorded.h"
#include "server/server_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_record(Arena *arena, Str text)
{
    const JsonOptions options = { .limits = { .size = 1 << 16, .depth = 64, .nodes = 5000 } };
    Value value;
    Recorded recorded;
    Error err = { 0 };
    if (!json_parse_text(arena, text, &options, &value, &err) || value.kind != VALUE_MAP) {
        return;
    }
    if (!recorded_read(arena, value, &recorded, &err)) {
        BUG_IF(err.kind != ERROR_INVALID || err.text[0] == '\0');
        return;
    }
    Replay first = replay_run(&recorded.recording, arena);
    Replay second = replay_run(&recorded.recording, arena);
    BUG_IF(first.differs != second.differs || first.turns != second.turns ||
           !str_eq(first.difference, second.difference));
    BUG_IF(first.differs != (first.difference.len > 0));
}

static void read_plan(Arena *arena, Str text)
{
    RunConfig config = { 0 };
    Value plan;
    Error err = { 0 };
    if (!plan_file_is(text)) {
        return;
    }
    if (plan_file_config(arena, text, &plan, &config, &err)) {
        BUG_IF(config.path == NULL || config.root == NULL || config.node == NULL);
    } else {
        BUG_IF(err.kind == ERROR_NONE || err.text[0] == '\0');
    }
}

static void read_settings(Arena *arena, Str text)
{
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    ServerSettings settings;
    Error err = { 0 };
    if (!server_settings_read(arena, text, &settings, &err)) {
        BUG_IF(err.kind == ERROR_NONE || err.text[0] == '\0');
        return;
    }
    server_settings_print(&settings, &printed);
    bool ok = server_settings_read(arena, buf_str(&printed), &settings, &err);
    BUG_IF(!ok);
    server_settings_print(&settings, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size);
    read_record(&arena, text);
    read_plan(&arena, text);
    read_settings(&arena, text);
    return 0;
}
