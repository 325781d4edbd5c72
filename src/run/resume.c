#include "run/resume.h"

#include "base/buf.h"
#include "lang/json.h"
#include "sys/file.h"
#include "sys/machine.h"
#include "sys/sha256.h"

enum {
    NOTE_MAX = 1 << 20,
    NOTES_MAX = 256,
    NAME_DIGITS = 16
};

#define UNIT      STR("/etc/systemd/system/eden-resume.service")
#define UNIT_WANT STR("/etc/systemd/system/multi-user.target.wants/eden-resume.service")
#define WANTS     STR("/etc/systemd/system/multi-user.target.wants")

static const char folder_name[] = "resume";
static const char format[] = "eden.resume/1";

/* --- As text --------------------------------------------------------------------------------- */

static void put(Arena *arena, Map *map, const char *key, Value value)
{
    map_append(arena, map, value_string(str_from_c(key)), value);
}

static Value resume_value(Arena *arena, const Resume *resume)
{
    Map *map = map_new(arena, 6);
    List *argv = list_new(arena, resume->argc), *steps = list_new(arena, resume->step_count);
    for (uint32_t i = 0; i < resume->argc; i++) {
        list_push(arena, argv, value_string(resume->argv[i]));
    }
    for (uint32_t i = 0; i < resume->step_count; i++) {
        Map *step = map_new(arena, 3);
        put(arena, step, "id", value_string(resume->steps[i].id));
        put(arena, step, "boot", value_string(resume->steps[i].boot));
        put(arena, step, "asked_ms", value_int(resume->steps[i].asked_ms));
        list_push(arena, steps, value_map(step));
    }
    put(arena, map, "format", value_string(str_from_c(format)));
    put(arena, map, "site", value_string(resume->site));
    put(arena, map, "home", value_string(resume->home));
    put(arena, map, "resumes", value_bool(resume->resumes));
    put(arena, map, "argv", value_list(argv));
    put(arena, map, "steps", value_list(steps));
    return value_map(map);
}

static bool get_text(Value map, const char *key, Str *out)
{
    *out = value_get_text(map, key);
    return out->len > 0;
}

static bool read_note(Arena *arena, Str text, Resume *out)
{
    Value note;
    Error err;
    Str kind;
    *out = (Resume){ 0 };
    if (!json_parse_text(arena, text, NULL, &note, &err) || !get_text(note, "format", &kind) ||
        !str_eq_c(kind, format) || !get_text(note, "home", &out->home)) {
        return false;
    }
    out->site = value_get_text(note, "site");
    const List *argv = value_get_list(note, "argv"), *steps = value_get_list(note, "steps");
    out->resumes = value_get_bool(note, "resumes");
    out->argv = ARENA_ARRAY(arena, Str, argv->len + 1);
    out->steps = ARENA_ARRAY(arena, ResumeStep, steps->len + 1);
    for (; out->argc < argv->len; out->argc++) {
        if (!value_is_string(argv->items[out->argc])) {
            return false;
        }
        out->argv[out->argc] = value_str(argv->items[out->argc]);
    }
    for (; out->step_count < steps->len; out->step_count++) {
        Value from = steps->items[out->step_count];
        ResumeStep *step = &out->steps[out->step_count];
        const Value *asked = value_get(from, STR("asked_ms"));
        if (!get_text(from, "id", &step->id) || !get_text(from, "boot", &step->boot) ||
            asked == NULL || asked->kind != VALUE_INT) {
            return false;
        }
        step->asked_ms = asked->integer;
    }
    return true;
}

/* --- On the disk ----------------------------------------------------------------------------- */

static const char *note_name(Arena *arena, Str site, Str home)
{
    char digits[SHA256_HEX + 1];
    sha256_hex(site.len > 0 ? site : home, digits);
    return arena_copy_c(arena, arena_format(arena, "%.*s.json", NAME_DIGITS, digits));
}

static bool open_folder(const char *state, Directory *out, Error *err)
{
    AUTO_CLEAR(Directory) above = { .descriptor = -1 };
    out->descriptor = -1;
    return directory_open(state, &above, err) &&
           directory_open_child(&above, folder_name, out, err);
}

static bool load_note(const Directory *folder, Arena *arena, const char *name, Resume *out)
{
    Str text;
    Error err;
    return directory_read(folder, arena, name, NOTE_MAX, &text, &err) &&
           read_note(arena, text, out);
}

bool resume_load(const char *state, Arena *arena, Str site, Str home, Resume *out)
{
    AUTO_CLEAR(Directory) folder = { .descriptor = -1 };
    Error err;
    bool found = open_folder(state, &folder, &err) &&
                 ((load_note(&folder, arena, note_name(arena, site, home), out) &&
                   str_eq(out->site, site) && (site.len > 0 || str_eq(out->home, home))) ||
                  (load_note(&folder, arena, note_name(arena, STR_EMPTY, home), out) &&
                   out->site.len == 0 && str_eq(out->home, home)));
    if (!found) {
        *out = (Resume){ 0 };
    }
    out->site = site;
    out->home = home;
    return found;
}

bool resume_list(const char *state, Arena *arena, Resume **out, uint32_t *count, Error *err)
{
    AUTO_CLEAR(Directory) folder = { .descriptor = -1 };
    DirectoryEntry *entries;
    uint32_t found;
    *count = 0;
    if (!open_folder(state, &folder, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    if (!directory_list(&folder, arena, NOTES_MAX, &entries, &found, err)) {
        return false;
    }
    *out = ARENA_ARRAY(arena, Resume, found + 1);
    for (uint32_t i = 0; i < found; i++) {
        Str text;
        if (!str_ends(entries[i].name, STR(".json"))) {
            continue; /* a draft of somebody who was killed */
        }
        if (!directory_read(&folder, arena, entries[i].name.data, NOTE_MAX, &text, err)) {
            return false;
        }
        *count += read_note(arena, text, &(*out)[*count]) && (*out)[*count].resumes;
    }
    return true;
}

static bool write_note(const Directory *folder, Arena *arena, const char *name,
                       const Resume *resume, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    if (resume->step_count == 0) {
        return directory_remove(folder, name, err) || err->kind == ERROR_NOT_FOUND;
    }
    if (!json_print(&text, resume_value(arena, resume), NULL, err)) {
        return false;
    }
    buf_put_char(&text, '\n');
    return directory_write(folder, name, buf_str(&text), true, err);
}

/* The note by the place of the site goes last: killed in between, there are two, and the other counts. */
bool resume_save(const Directory *state, const Resume *resume, Error *err)
{
    AUTO_CLEAR(Directory) folder = { .descriptor = -1 };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const char *name = note_name(&arena, resume->site, resume->home);
    const char *former = note_name(&arena, STR_EMPTY, resume->home);
    return directory_make_child(state, folder_name, &folder, err) &&
           write_note(&folder, &arena, name, resume, err) &&
           (strcmp(name, former) == 0 || !directory_has(&folder, former) ||
            directory_remove(&folder, former, err));
}

const ResumeStep *resume_find(const Resume *resume, Str id)
{
    for (uint32_t i = 0; i < resume->step_count; i++) {
        if (str_eq(resume->steps[i].id, id)) {
            return &resume->steps[i];
        }
    }
    return NULL;
}

/* --- The unit -------------------------------------------------------------------------------- */

/* A word of a command as systemd reads it. */
static void put_unit_word(Buf *out, Str word)
{
    buf_put_char(out, '"');
    for (size_t i = 0; i < word.len; i++) {
        char c = word.data[i];
        if (c == '"' || c == '\\') {
            buf_put_char(out, '\\');
        } else if (c == '%' || c == '$') {
            buf_put_char(out, c);
        }
        buf_put_char(out, c);
    }
    buf_put_char(out, '"');
}

bool resume_unit_put(Host *host, Arena *arena, Str state, Error *err)
{
    Str program;
    if (!machine_own_program(arena, &program, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&text, "# Made by eden, which takes it away when the run has ended.\n"
                     "[Unit]\n"
                     "Description=Continue the run of eden that restarted this machine\n"
                     "Wants=network-online.target\n"
                     "After=network-online.target multi-user.target\n"
                     "\n"
                     "[Service]\n"
                     "Type=oneshot\n"
                     "TimeoutStartSec=infinity\n"
                     "ExecStart=");
    put_unit_word(&text, program);
    buf_put_c(&text, " apply --resume --state-dir ");
    put_unit_word(&text, state);
    buf_put_c(&text, "\n\n[Install]\nWantedBy=multi-user.target\n");
    FileWrite write = {
        .content = buf_str(&text), .mode = 0644, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    return host_make_directory(host, WANTS, 0755, true, err) &&
           host_write(host, UNIT, &write, err) &&
           host_make_link(host, UNIT_WANT, STR("/etc/systemd/system/eden-resume.service"), err) &&
           host_sync(host, err);
}

bool resume_unit_remove(Host *host, Error *err)
{
    return host_remove(host, UNIT_WANT, err) && host_remove(host, UNIT, err);
}
