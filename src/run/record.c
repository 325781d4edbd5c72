/* This does not use lang/record.h: a record is written as a stream, section by section, and may
 * have a hundred thousand lines. */
#include "run/record.h"

#include <stdio.h>

#include "base/json_out.h"
#include "base/utc.h"
#include "lang/json.h"
#include "lang/scrub.h"
#include "sys/clock.h"
#include "sys/file.h"

enum {
    RECORD_MAX = 256 << 20, /* in bytes */
    LISTED_MAX = 1 << 20,
};

static const char suffix[] = ".json";

Str run_id_format(Arena *arena, int64_t ms, uint64_t random)
{
    Buf id = buf_make_in(arena, RECORD_ID_MAX);
    Str now = utc_text(arena, ms);
    for (size_t i = 0; i < now.len && now.data[i] != 'Z'; i++) {
        if (now.data[i] != '-' && now.data[i] != ':') {
            buf_put_char(&id, now.data[i]);
        }
    }
    buf_put_format(&id, ".%03d-%04x", (int)(ms % 1000), (unsigned)(random & 0xffff));
    return buf_str(&id);
}

Str run_id_make(Arena *arena)
{
    return run_id_format(arena, clock_now_ms(), random_seed());
}

void run_record_init(RunRecord *record, Str id)
{
    *record = (RunRecord){ .id = id, .text = buf_make(RECORD_MAX) };
    buf_put(&record->text, STR("{\"format\":\"eden.record/1\""));
    run_record_set_text(record, "run", id);
}

void run_record_clear(RunRecord *record)
{
    buf_clear(&record->text);
}

Buf *run_record_begin(RunRecord *record, const char *section)
{
    buf_put(&record->text, STR(",\n\""));
    buf_put_c(&record->text, section);
    buf_put(&record->text, STR("\":"));
    return &record->text;
}

void run_record_set(RunRecord *record, const char *section, Value value)
{
    (void)run_record_begin(record, section);
    run_record_put(record, value);
}

void run_record_set_text(RunRecord *record, const char *section, Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    if (record->secrets != NULL) {
        text = secrets_scrub(record->secrets, text, &arena);
    }
    json_text_put(run_record_begin(record, section), text);
}

/* Values without a JSON form (a function, an undefined value) are represented by their kind. */
static bool replace(void *context, Value v, Value *out, Error *err)
{
    *out = value_string(str_from_c(value_kind_name(v.kind)));
    return true;
}

void run_record_put(RunRecord *record, Value value)
{
    static const JsonStyle style = { .replace = replace, .allow_nan = true };
    Error err;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value shown = record->secrets == NULL ? secrets_hide(&arena, value)
                                          : secrets_scrub_value(record->secrets, value, &arena);
    if (!json_print(&record->text, shown, &style, &err) && !record->failed) {
        record->failed = true;
        record->error = err;
    }
}

/* --- Files --------------------------------------------------------------------------------- */

static bool is_record(const DirectoryEntry *entry)
{
    return str_ends(entry->name, str_from_c(suffix));
}

static bool list_runs(const Directory *runs, Arena *arena, Str **ids, uint32_t *count, Error *err)
{
    DirectoryEntry *entries;
    uint32_t found;
    if (!directory_list(runs, arena, LISTED_MAX, &entries, &found, err)) {
        return false;
    }
    *ids = ARENA_ARRAY(arena, Str, found + 1);
    *count = 0;
    for (uint32_t i = 0; i < found; i++) {
        if (is_record(&entries[i])) {
            (*ids)[(*count)++] =
                str_slice(entries[i].name, 0, entries[i].name.len - (sizeof suffix - 1));
        }
    }
    return true;
}

static const char *file_of(Arena *arena, Str id)
{
    return arena_format(arena, "%" STR_FMT "%s%c", STR_ARG(id), suffix, '\0').data;
}

/* Keeps the newest `kept` records, as far as they fit into `bytes`. */
static bool drop_old(const Directory *runs, uint32_t kept, int64_t bytes, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    DirectoryEntry *entries;
    uint32_t count;
    if (!directory_list(runs, &arena, LISTED_MAX, &entries, &count, err)) {
        return false;
    }
    for (uint32_t i = count; i-- > 0;) {
        const DirectoryEntry *entry = &entries[i];
        if (!is_record(entry)) {
            continue;
        }
        if (kept > 0 && entry->size <= bytes) {
            kept--;
            bytes -= entry->size;
            continue;
        }
        kept = 0; /* no gaps: older ones are removed too */
        if (!directory_remove(runs, entry->name.data, err)) {
            return false;
        }
    }
    return true;
}

bool run_record_save(RunRecord *record, const Directory *state, uint32_t kept, Error *err)
{
    AUTO_CLEAR(Directory) runs = { .descriptor = -1 };
    char name[RECORD_ID_MAX + sizeof suffix];
    snprintf(name, sizeof name, "%" STR_FMT "%s", STR_ARG(record->id), suffix);
    buf_put(&record->text, STR("}\n"));
    if (record->failed) {
        *err = record->error;
        return false;
    }
    if (record->text.overflow) {
        return error_set(err, ERROR_LIMIT, "it is larger than %d bytes", RECORD_MAX);
    }
    if (!directory_make_child(state, "runs", &runs, err)) {
        return false;
    }
    directory_remove_temporaries(&runs);
    /* Before writing: on a full disk, old records make space. */
    int64_t bytes = directory_disk_size(&runs) / RECORDS_SHARE - (int64_t)record->text.len;
    return drop_old(&runs, kept > 0 ? kept - 1 : 0, bytes, err) &&
           directory_write(&runs, name, buf_str(&record->text), false, err);
}

bool run_records_list(const Directory *state, Arena *arena, Str **ids, uint32_t *count, Error *err)
{
    AUTO_CLEAR(Directory) runs = { .descriptor = -1 };
    Error why;
    if (!directory_open_child(state, "runs", &runs, &why)) {
        *ids = NULL;
        *count = 0;
        if (why.kind == ERROR_NOT_FOUND) {
            return true;
        }
        *err = why;
        return false;
    }
    return list_runs(&runs, arena, ids, count, err);
}

static bool find_id(const Directory *state, Arena *arena, Str wanted, Str *out, Error *err)
{
    Str *ids;
    uint32_t count, matches = 0;
    *out = STR_EMPTY;
    if (!run_records_list(state, arena, &ids, &count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (wanted.len == 0 || str_eq(ids[i], wanted)) {
            *out = ids[i];
            matches = 1;
            if (wanted.len > 0) {
                break;
            }
        } else if (str_starts(ids[i], wanted)) {
            *out = ids[i];
            matches++;
        }
    }
    if (matches == 0) {
        return wanted.len == 0
                   ? error_set(err, ERROR_NOT_FOUND, "no runs recorded in %s", state->path)
                   : error_set(err, ERROR_NOT_FOUND, "run '%" STR_FMT "' not found in %s",
                               STR_ARG(wanted), state->path);
    }
    return matches == 1 ||
           error_set(err, ERROR_CONFLICT, "%u runs match '%" STR_FMT "'", matches, STR_ARG(wanted));
}

static bool parse(Arena *arena, Str text, Value *out, Error *err)
{
    const JsonOptions options = { .limits = { .size = RECORD_MAX,
                                              .depth = json_options_default.limits.depth,
                                              .nodes = UINT32_MAX },
                                  .python_constants = true };
    if (!json_parse_text(arena, text, &options, out, err)) {
        return false;
    }
    const Value *format = value_get(*out, STR("format"));
    return (format != NULL && value_is_string(*format) &&
            str_eq(value_str(*format), STR("eden.record/1"))) ||
           error_set(err, ERROR_INVALID, "not the record of a run (\"format\":\"eden.record/1\")");
}

bool run_record_load(const Directory *state, Arena *arena, Str id, Value *out, Error *err)
{
    AUTO_CLEAR(Directory) runs = { .descriptor = -1 };
    Str found, text;
    if (!find_id(state, arena, id, &found, err) ||
        !directory_open_child(state, "runs", &runs, err) ||
        !directory_read(&runs, arena, file_of(arena, found), RECORD_MAX, &text, err)) {
        return false;
    }
    return parse(arena, text, out, err) ||
           error_wrap(err, "the record of run %" STR_FMT, STR_ARG(found));
}

bool run_record_read(const char *path, Arena *arena, Value *out, Error *err)
{
    Str text;
    return file_read(arena, path, RECORD_MAX, &text, err) &&
           (parse(arena, text, out, err) || error_wrap(err, "%s", path));
}
