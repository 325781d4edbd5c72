/* Filters on path strings; the file system is not accessed. The separator is a slash, as in
 * POSIX. */
#include "lang/template/filter.h"

/* Number of bytes up to and including the last slash. */
static size_t directory_bytes(Str path)
{
    size_t slash = str_find_last(path, STR("/"));
    return slash == STR_NOT_FOUND ? 0 : slash + 1;
}

static bool filter_basename(Render *r, const Args *args, Value *out)
{
    Str path;
    if (!op_text(r, args->values[0], &path)) {
        return false;
    }
    *out = value_string(str_from_offset(path, directory_bytes(path)));
    return true;
}

/* Trailing slashes are stripped, unless there is nothing else. */
static bool filter_dirname(Render *r, const Args *args, Value *out)
{
    Str path;
    if (!op_text(r, args->values[0], &path)) {
        return false;
    }
    path.len = directory_bytes(path);
    size_t end = path.len;
    while (end > 0 && path.data[end - 1] == '/') {
        end--;
    }
    *out = value_string(end == 0 ? path : str_slice(path, 0, end));
    return true;
}

/* Leading dots belong to the name. */
static bool filter_splitext(Render *r, const Args *args, Value *out)
{
    Str path;
    if (!op_text(r, args->values[0], &path)) {
        return false;
    }
    size_t name = directory_bytes(path);
    size_t dot = str_find_last(path, STR("."));
    while (name < path.len && path.data[name] == '.') {
        name++;
    }
    size_t split_at = dot == STR_NOT_FOUND || dot < name ? path.len : dot;
    List *parts = list_new(r->arena, 2);
    list_push(r->arena, parts, value_string(str_slice(path, 0, split_at)));
    list_push(r->arena, parts, value_string(str_from_offset(path, split_at)));
    *out = value_tuple(parts);
    return true;
}

static bool put_part(Render *r, Value part, Buf *out)
{
    Str text;
    if (!op_text(r, part, &text)) {
        return false;
    }
    if (str_starts(text, STR("/"))) {
        out->len = 0; /* an absolute part discards what precedes it */
    } else if (out->len > 0 && out->data[out->len - 1] != '/') {
        buf_put_char(out, '/');
    }
    buf_put(out, text);
    return true;
}

static bool filter_path_join(Render *r, const Args *args, Value *out)
{
    Buf path = render_buf(r);
    for (uint32_t i = 0; i < args->count; i++) {
        Value part = args->values[i];
        if (!value_is_sequence(part)) {
            if (!put_part(r, part, &path)) {
                return false;
            }
            continue;
        }
        for (uint32_t k = 0; k < part.list->len; k++) {
            if (!put_part(r, part.list->items[k], &path)) {
                return false;
            }
        }
    }
    return take_text(r, &path, false, out);
}

/* The components of a path without ".", and with ".." applied where possible. */
static bool path_names(Render *r, Str path, List **out)
{
    bool absolute = str_starts(path, STR("/"));
    List *names = list_new(r->arena, 8);
    Str name;
    while (str_split_next(&path, '/', &name)) {
        if (name.len == 0 || str_eq(name, STR("."))) {
            continue;
        }
        bool up = str_eq(name, STR(".."));
        Str last = names->len > 0 ? value_str(names->items[names->len - 1]) : STR("..");
        if (!up || (!absolute && str_eq(last, STR("..")))) {
            if (!push_item(r, names, value_string(name))) {
                return false;
            }
        } else if (names->len > 0) {
            names->len--;
        }
    }
    *out = names;
    return true;
}

static void put_names(const List *names, uint32_t from, Buf *out)
{
    for (uint32_t i = from; i < names->len; i++) {
        if (out->len > 0 && out->data[out->len - 1] != '/') {
            buf_put_char(out, '/');
        }
        buf_put(out, value_str(names->items[i]));
    }
}

static bool filter_normpath(Render *r, const Args *args, Value *out)
{
    Str path;
    List *names;
    if (!op_text(r, args->values[0], &path) || !path_names(r, path, &names)) {
        return false;
    }
    Buf normal = render_buf(r);
    if (str_starts(path, STR("/"))) {
        /* POSIX gives exactly two leading slashes a special meaning. */
        bool two = str_starts(path, STR("//")) && !str_starts(path, STR("///"));
        buf_put_c(&normal, two ? "//" : "/");
    }
    put_names(names, 0, &normal);
    if (normal.len == 0) {
        buf_put_char(&normal, '.');
    }
    return take_text(r, &normal, false, out);
}

static bool filter_relpath(Render *r, const Args *args, Value *out)
{
    Str path, start;
    if (!op_text(r, args->values[0], &path) || !op_text(r, args->values[1], &start)) {
        return false;
    }
    if (str_starts(path, STR("/")) != str_starts(start, STR("/"))) {
        return render_raise(r, FAULT_VALUE, "relpath requires two absolute or two relative paths");
    }
    List *names, *base;
    if (!path_names(r, path, &names) || !path_names(r, start, &base)) {
        return false;
    }
    uint32_t common = 0;
    while (common < names->len && common < base->len &&
           str_eq(value_str(names->items[common]), value_str(base->items[common]))) {
        common++;
    }
    Buf relative = render_buf(r);
    for (uint32_t i = common; i < base->len; i++) {
        buf_put_c(&relative, relative.len == 0 ? ".." : "/..");
    }
    put_names(names, common, &relative);
    if (relative.len == 0) {
        buf_put_char(&relative, '.');
    }
    return take_text(r, &relative, false, out);
}

static bool test_abs(Render *r, const Args *args, Value *out)
{
    Str path;
    if (!op_text(r, args->values[0], &path)) {
        return false;
    }
    *out = value_bool(str_starts(path, STR("/")));
    return true;
}

const Native filters_path[] = {
    { .name = "basename",
      .call = filter_basename,
      .params = { { "value" } },
      .help = "Returns the part of a path after the last slash.",
      .example = "{{ '/etc/ssh/sshd_config' | basename }}",
      .output = "sshd_config" },
    { .name = "dirname",
      .call = filter_dirname,
      .params = { { "value" } },
      .help = "Returns the part of a path before the last slash.",
      .example = "{{ '/etc/ssh/sshd_config' | dirname }}",
      .output = "/etc/ssh" },
    { .name = "splitext",
      .call = filter_splitext,
      .params = { { "value" } },
      .help = "Splits a path into the part before its extension, and the extension.",
      .example = "{{ 'nginx.conf' | splitext }} {{ '.bashrc' | splitext | first }}",
      .output = "('nginx', '.conf') .bashrc" },
    { .name = "path_join",
      .call = filter_path_join,
      .params = { { "value" } },
      .flags = NATIVE_VARIADIC,
      .help = "Joins parts of a path; an absolute part discards the parts before it.",
      .example = "{{ ['/etc', 'ssh', 'keys'] | path_join }} {{ '/etc' | path_join('hosts') }}",
      .output = "/etc/ssh/keys /etc/hosts" },
    { .name = "normpath",
      .call = filter_normpath,
      .params = { { "value" } },
      .help = "Removes duplicate slashes, '.' and '..' without accessing the file system.",
      .example = "{{ '/srv//www/./a/../b' | normpath }}",
      .output = "/srv/www/b" },
    { .name = "relpath",
      .call = filter_relpath,
      .params = { { "value" }, { "start" } },
      .help = "Returns the path relative to the directory `start`.",
      .example = "{{ '/srv/www/a' | relpath('/srv/log') }}",
      .output = "../www/a" },
    { 0 },
};

const Native tests_path[] = {
    { .name = "abs",
      .call = test_abs,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "The path is absolute.",
      .example = "{{ '/etc' is abs }} {{ 'etc' is abs }}",
      .output = "True False" },
    { 0 },
};
