/* file.content and file.contents: reads files for other steps and for macros.
 *
 * The content of a file that is not world-readable is marked secret, so that a private key does not
 * appear in the diff of the step that writes it elsewhere. */
#include "modules/file/actions.h"
#include "modules/file/target.h"

enum {
    PUBLISHED_FILES_MAX = 10000,
    PUBLISHED_BYTES_MAX = 64 << 20,
    DEPTH_MAX = 64
};

const ParamSpec content_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path of a file or directory" },
    { "recursive", PARAM_BOOL, .fallback = "false", .help = "read all files under the directory" },
    { 0 },
};

const ParamSpec contents_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path of the file" },
    { 0 },
};

void content_claims(Arena *arena, const Value *params, List *claims)
{
    claims_add_param(arena, claims, "needs:path:", params[0]);
}

static Value secret_unless_public(Value value, mode_t mode)
{
    return (mode & S_IROTH) != 0 ? value : value_with_secret(value);
}

/* A plan cannot read what an earlier step will write. */
static bool tolerate_absence(Call *call, Outcome *outcome, const Error *err)
{
    outcome->unknown = err->kind == ERROR_NOT_FOUND &&
                       call_report_missing(call, "name", "path", call_str(call, "name"));
    return outcome->unknown;
}

static bool not_found(Str path, Error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "%" STR_FMT ": No such file or directory",
                     STR_ARG(path));
}

/* --- Content of one file --------------------------------------------------------------------- */

bool contents_query(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name"), text;
    FileInfo info;
    if (!host_read_info(call->host, call->arena, path, FILE_CONTENT_MAX, &info, &text, err)) {
        return false;
    }
    if ((info.mode & S_IROTH) == 0 && !host_check_content(call->host, path, &info, err)) {
        return false;
    }
    outcome->value = secret_unless_public(value_string(text), info.mode);
    return true;
}

bool contents_check(Call *call, Outcome *outcome, Error *err)
{
    if (!contents_query(call, outcome, err)) {
        return tolerate_absence(call, outcome, err);
    }
    outcome->out = value_str(outcome->value);
    outcome->state = STR("present");
    return true;
}

/* --- Published files ------------------------------------------------------------------------- */

typedef struct TreeReader {
    Call *call;
    Host *host; /* for a tree, confined to its directory, so that links cannot point outside it */
    List *files;
    size_t bytes;
} TreeReader;

static void publish(TreeReader *reader, Str name, const FileInfo *info, Str content, bool single)
{
    Arena *arena = reader->call->arena;
    Map *file = map_new(arena, 4);
    map_set_str(arena, file, STR("path"), value_string(name));
    map_set_str(arena, file, STR("mode"), value_int(info->mode));
    map_set_str(arena, file, STR("content"),
                secret_unless_public(value_string(content), info->mode));
    map_set_str(arena, file, STR("single"), value_bool(single));
    list_push(arena, reader->files, value_map(file));
}

static bool read_one(TreeReader *reader, Str path, Str name, bool single, Error *err)
{
    FileInfo info;
    Str content;
    Call *call = reader->call;
    if (!host_inspect(reader->host, call->arena, path, PUBLISHED_BYTES_MAX - reader->bytes, &info,
                      &content, err)) {
        return false;
    }
    if (info.kind != FILE_REGULAR) {
        return true; /* links and special files are meaningless on another machine */
    }
    if ((size_t)info.size > PUBLISHED_BYTES_MAX - reader->bytes ||
        reader->files->len == PUBLISHED_FILES_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": too much data to publish", STR_ARG(path));
    }
    if ((info.mode & S_IROTH) == 0 && !host_check_content(reader->host, path, &info, err)) {
        return false;
    }
    reader->bytes += content.len;
    publish(reader, name, &info, content, single);
    return true;
}

static Str join(Arena *arena, Str directory, Str name)
{
    return directory.len == 0
               ? name
               : arena_format(arena, "%" STR_FMT "/%" STR_FMT,
                              STR_ARG(str_eq(directory, STR("/")) ? STR_EMPTY : directory),
                              STR_ARG(name));
}

static bool read_tree(TreeReader *reader, Str path, Str prefix, unsigned depth, Error *err)
{
    Call *call = reader->call;
    Str *names;
    uint32_t count;
    if (depth == DEPTH_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": nested too deeply", STR_ARG(path));
    }
    if (!host_list(reader->host, call->arena, path, PUBLISHED_FILES_MAX, &names, &count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        FileInfo info;
        Str inner = join(call->arena, path, names[i]), name = join(call->arena, prefix, names[i]);
        if (!host_stat(reader->host, inner, &info, err)) {
            return false;
        }
        bool ok = info.kind == FILE_DIRECTORY ? read_tree(reader, inner, name, depth + 1, err)
                                              : read_one(reader, inner, name, false, err);
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool read_directory(TreeReader *reader, Str path, Error *err)
{
    AUTO(Host) *inside = NULL;
    if (!call_bool(reader->call, "recursive")) {
        return error_set(err, ERROR_INVALID, "%" STR_FMT " is a directory; set 'recursive: true'",
                         STR_ARG(path));
    }
    if (!host_open_below(reader->call->host, path, &inside, err)) {
        return false;
    }
    reader->host = inside;
    return read_tree(reader, STR("/"), STR_EMPTY, 0, err) ||
           error_wrap(err, "in '%" STR_FMT "'", STR_ARG(path));
}

static bool read_all(Call *call, List **out, Error *err)
{
    Str path = call_str(call, "name");
    TreeReader reader = { .call = call, .host = call->host, .files = list_new(call->arena, 4) };
    FileInfo info;
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    *out = reader.files;
    switch (info.kind) {
    case FILE_ABSENT: return not_found(path, err);
    case FILE_DIRECTORY: return read_directory(&reader, path, err);
    case FILE_REGULAR: {
        Str name = str_from_offset(path, str_find_last(path, STR("/")) + 1);
        return read_one(&reader, path, name, true, err);
    }
    default:
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a file", STR_ARG(path),
                         file_kind_name(info.kind));
    }
}

bool content_check(Call *call, Outcome *outcome, Error *err)
{
    if (!read_all(call, &outcome->files, err)) {
        outcome->files = NULL;
        return tolerate_absence(call, outcome, err);
    }
    outcome->state = STR("present");
    outcome->comment = arena_format(call->arena, "read %u file%s", outcome->files->len,
                                    outcome->files->len == 1 ? "" : "s");
    return true;
}

bool content_query(Call *call, Outcome *outcome, Error *err)
{
    List *files;
    if (!read_all(call, &files, err)) {
        return false;
    }
    outcome->value = value_list(files);
    return true;
}
