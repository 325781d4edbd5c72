#include "run/resume.h"

#include "base/buf.h"
#include "lang/record.h"
#include "sys/file.h"
#include "sys/machine.h"
#include "sys/sha256.h"

enum {
    NOTE_MAX = 1 << 20,
    NOTES_MAX = 256,
    NAME_DIGITS = 16
};

#define UNIT            STR("/etc/systemd/system/eden-resume.service")
#define UNIT_WANT       STR("/etc/systemd/system/multi-user.target.wants/eden-resume.service")
#define WANTS_DIRECTORY STR("/etc/systemd/system/multi-user.target.wants")

static const char directory_name[] = "resume";

/* --- Text format ----------------------------------------------------------------------------- */

static const RecordField step_fields[] = {
    { "id", RECORD_TEXT, RECORD_STR_AT(ResumeStep, id), .is_required = true, .min = 1,
      .help = "ID of the step" },
    { "boot", RECORD_TEXT, RECORD_STR_AT(ResumeStep, boot), .is_required = true, .min = 1,
      .help = "boot ID at the time of the request" },
    { "asked_ms", RECORD_INT, RECORD_INT_AT(ResumeStep, asked_ms), .is_required = true,
      .help = "time of the request" },
    { 0 },
};

static const RecordField resume_fields[] = {
    { "site", RECORD_TEXT, RECORD_STR_AT(Resume, site), .is_printed = true,
      .help = "name of the site" },
    { "home", RECORD_TEXT, RECORD_STR_AT(Resume, home), .is_required = true, .min = 1,
      .help = "path of the site" },
    { "resumes", RECORD_BOOL, RECORD_BOOL_AT(Resume, resumes), .is_printed = true,
      .help = "whether the run resumes automatically" },
    { "argv", RECORD_TEXT, RECORD_POINTER_AT(Resume, argv, argc, NOTE_MAX, Str, NULL),
      .is_printed = true, .help = "arguments of the command" },
    { "steps", RECORD_OBJECT,
      RECORD_POINTER_AT(Resume, steps, step_count, NOTE_MAX, ResumeStep, step_fields),
      .is_printed = true, .help = "steps that requested a reboot" },
    { RECORD_UNKNOWN_AT(Resume, unknown) },
    { 0 },
};

static const RecordFormat resume_format = {
    .format = "eden.resume/1",
    .what = "the resume record of a run",
    .fields = resume_fields,
    .size = sizeof(Resume),
    .text_max = NOTE_MAX,
};

static bool read_note(Arena *arena, Str text, Resume *out)
{
    Error err;
    return record_read(&resume_format, arena, text, RECORD_STORED, out, &err);
}

/* --- Files ----------------------------------------------------------------------------------- */

static const char *note_name(Arena *arena, Str site, Str home)
{
    char digits[SHA256_HEX + 1];
    sha256_hex(site.len > 0 ? site : home, digits);
    return arena_copy_c(arena, arena_format(arena, "%.*s.json", NAME_DIGITS, digits));
}

static bool open_directory(const char *state, Directory *out, Error *err)
{
    AUTO_CLEAR(Directory) above = { .descriptor = -1 };
    out->descriptor = -1;
    return directory_open(state, &above, err) &&
           directory_open_child(&above, directory_name, out, err);
}

static bool load_note(const Directory *directory, Arena *arena, const char *name, Resume *out)
{
    Str text;
    Error err;
    return directory_read(directory, arena, name, NOTE_MAX, &text, &err) &&
           read_note(arena, text, out);
}

bool resume_load(const char *state, Arena *arena, Str site, Str home, Resume *out)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    bool found = open_directory(state, &directory, &err) &&
                 ((load_note(&directory, arena, note_name(arena, site, home), out) &&
                   str_eq(out->site, site) && (site.len > 0 || str_eq(out->home, home))) ||
                  (load_note(&directory, arena, note_name(arena, STR_EMPTY, home), out) &&
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
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    DirectoryEntry *entries;
    uint32_t found;
    *count = 0;
    if (!open_directory(state, &directory, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    if (!directory_list(&directory, arena, NOTES_MAX, &entries, &found, err)) {
        return false;
    }
    *out = ARENA_ARRAY(arena, Resume, found + 1);
    for (uint32_t i = 0; i < found; i++) {
        Str text;
        if (!str_ends(entries[i].name, STR(".json"))) {
            continue; /* a temporary file of a killed process */
        }
        if (!directory_read(&directory, arena, entries[i].name.data, NOTE_MAX, &text, err)) {
            return false;
        }
        *count += read_note(arena, text, &(*out)[*count]) && (*out)[*count].resumes;
    }
    return true;
}

static bool write_note(const Directory *directory, const char *name, const Resume *resume,
                       Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    if (resume->step_count == 0) {
        return directory_remove(directory, name, err) || err->kind == ERROR_NOT_FOUND;
    }
    record_print(&resume_format, resume, &text);
    buf_put_char(&text, '\n');
    return directory_write(directory, name, buf_str(&text), true, err);
}

/* The note named after the path is removed last. If the process is killed in between, both exist
 * and the other one takes precedence. */
bool resume_save(const Directory *state, const Resume *resume, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const char *name = note_name(&arena, resume->site, resume->home);
    const char *former = note_name(&arena, STR_EMPTY, resume->home);
    return directory_make_child(state, directory_name, &directory, err) &&
           write_note(&directory, name, resume, err) &&
           (strcmp(name, former) == 0 || !directory_has(&directory, former) ||
            directory_remove(&directory, former, err));
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

/* --- The systemd unit ------------------------------------------------------------------------ */

/* Quotes a word of a command for systemd. */
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
    buf_put_c(&text, "# Created by eden, and removed when the run has ended.\n"
                     "[Unit]\n"
                     "Description=Resume the eden run that restarted this machine\n"
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
    return host_make_directory(host, WANTS_DIRECTORY, 0755, true, err) &&
           host_write(host, UNIT, &write, err) &&
           host_make_link(host, UNIT_WANT, STR("/etc/systemd/system/eden-resume.service"), err) &&
           host_sync(host, err);
}

bool resume_unit_remove(Host *host, Error *err)
{
    return host_remove(host, UNIT_WANT, err) && host_remove(host, UNIT, err);
}
