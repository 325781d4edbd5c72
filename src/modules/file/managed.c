/* file.managed: a file with this content, owner and mode; or, with content that another step has
 * published, a tree of files. */
#include "modules/file/actions.h"
#include "modules/file/target.h"

const ParamSpec managed_params[] = {
    { "name", PARAM_DESTINATION, .required = true, .help = "path of the file" },
    { "content", PARAM_STRING, .help = "content of the file", .aspect = "content" },
    { "template", PARAM_SITE_TEMPLATE,
      .help = "template in templates/ from which the content is rendered", .aspect = "content" },
    { "context", PARAM_MAP, .help = "variables for the template" },
    { "source", PARAM_SITE_FILE, .help = "file with the content, in the site's files/",
      .aspect = "content" },
    { "from", PARAM_PUBLISHED, .aspect = "?kind",
      .help = "files that a file.content step has published" },
    { "replace", PARAM_BOOL, .fallback = "true", .aspect = "!content",
      .help = "false: leave the content of an existing file unchanged" },
    FILE_WRITE_PARAMS,
    { 0 },
};

typedef struct Managed {
    Target *items;
    uint32_t count;
} Managed;

/* Published paths are relative and must stay under `name`. */
static bool is_safe(Str path)
{
    Str part;
    if (path.len == 0 || path.data[0] == '/') {
        return false;
    }
    while (str_split_next(&path, '/', &part)) {
        if (part.len == 0 || str_eq(part, STR(".")) || str_eq(part, STR(".."))) {
            return false;
        }
    }
    return true;
}

static bool read_published(Call *call, Value entry, bool only_entry, Target *target, Error *err)
{
    const Value *path = value_get(entry, STR("path"));
    const Value *mode = value_get(entry, STR("mode"));
    const Value *content = value_get(entry, STR("content"));
    const Value *single = value_get(entry, STR("single"));
    if (path == NULL || !value_is_string(*path) || content == NULL || !value_is_string(*content) ||
        !is_safe(value_str(*path))) {
        return error_set(err, ERROR_INVALID, "the published value is not a file");
    }
    Str place = call_str(call, "name");
    bool into = str_ends(place, STR("/")); /* a directory, existing or not */
    place = into ? str_slice(place, 0, place.len - 1) : place;
    FileInfo info = { .kind = FILE_ABSENT };
    bool is_single =
        !into && only_entry && single != NULL && single->kind == VALUE_BOOL && single->boolean;
    if (is_single && !host_stat(call->host, place, &info, err)) {
        return false;
    }
    if (!is_single || info.kind == FILE_DIRECTORY) {
        place = arena_format(call->arena, "%" STR_FMT "/%" STR_FMT, STR_ARG(place),
                             STR_ARG(value_str(*path)));
    }
    if (!target_read(call, place, target, err)) {
        return false;
    }
    target->is_complete_content = true;
    target_set_content(target, *content);
    target->parents = true;
    if (!target->has_mode && mode != NULL && mode->kind == VALUE_INT) {
        target->has_mode = true;
        target->mode = (mode_t)mode->integer & FILE_MODE_COPIED;
    }
    return true;
}

static bool read_targets(Call *call, Managed *managed, Error *err)
{
    static const char *const sources[] = { "content", "template", "source", "from", NULL };
    const char *source;
    if (!call_choose(call, sources, &source, err)) {
        return false;
    }
    Value from = call_param(call, "from");
    bool published = value_is_sequence(from);
    managed->count = published ? from.list->len : 1;
    managed->items = ARENA_ARRAY(call->arena, Target, managed->count + 1);
    for (uint32_t i = 0; published && i < managed->count; i++) {
        if (!read_published(call, from.list->items[i], managed->count == 1, &managed->items[i],
                            err)) {
            return error_wrap(err, "from");
        }
    }
    if (published) {
        return true;
    }
    Target *target = &managed->items[0];
    Str name = call_str(call, "name");
    if (str_ends(name, STR("/"))) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is a directory; without 'from', 'name' must be the path "
                         "of a file and not end with '/'",
                         STR_ARG(name));
    }
    if (!target_read(call, name, target, err)) {
        return false;
    }
    if (source != NULL) {
        target->is_complete_content = true;
        target_set_content(target, call_param(call, source));
    }
    return true;
}

/* With `replace: false`, the content is used only if the file does not exist. */
static bool preserve_content(Call *call, Target *target, Error *err)
{
    FileInfo info;
    if (call_bool(call, "replace") || !target->has_content) {
        return true;
    }
    if (!host_stat(call->host, target->path, &info, err)) {
        return false;
    }
    target->has_content = info.kind != FILE_REGULAR;
    return true;
}

bool managed_check(Call *call, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Buf) diff = buf_make(BUF_UNLIMITED);
    Managed *managed = ARENA_NEW(call->arena, Managed);
    if (!read_targets(call, managed, err)) {
        return false;
    }
    for (uint32_t i = 0; i < managed->count; i++) {
        if (!preserve_content(call, &managed->items[i], err) ||
            !target_compare(call, &managed->items[i], managed->count > 1, outcome, &diff, err)) {
            return false;
        }
    }
    if (diff.len > 0) {
        outcome->diff = arena_copy(call->arena, buf_str(&diff));
    }
    outcome->state = STR("present");
    outcome->check_data = managed;
    return true;
}

bool managed_apply(Call *call, Outcome *outcome, Error *err)
{
    Managed *managed = outcome->check_data;
    for (uint32_t i = 0; i < managed->count; i++) {
        if (!target_apply(call, &managed->items[i], outcome, err)) {
            return false;
        }
    }
    return true;
}

void managed_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, managed_params, params, claims);
    Value name = params_get(managed_params, params, "name");
    if (!value_is_missing(params_get(managed_params, params, "from")) && value_is_string(name)) {
        Str place = value_str(name);
        place = str_ends(place, STR("/")) ? str_slice(place, 0, place.len - 1) : place;
        claims_add(arena, claims, "fills:", place);
    }
}
