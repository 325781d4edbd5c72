#include "cli/contexts.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "lang/json.h"
#include "net/http1.h"
#include "server/server_settings.h"
#include "sys/clock.h"
#include "sys/directory.h"
#include "sys/file.h"

enum {
    LOCK_WAIT_MS = 10 * 1000, /* for who writes the file, which takes an instant */
};

/* --- Names and addresses --------------------------------------------------------------------- */

bool context_name_check(Str name, Error *err)
{
    bool fine = name.len > 0 && name.len <= CONTEXT_NAME_MAX;
    for (size_t i = 0; fine && i < name.len; i++) {
        char c = name.data[i];
        fine = ascii_is_alpha(c) || ascii_is_digit(c) ||
               (i > 0 && c != '\0' && strchr("-_.@", c) != NULL);
    }
    if (!fine) {
        return error_set(err, ERROR_INVALID,
                         "the name of a context is letters, digits and '-_.@', at most %d",
                         CONTEXT_NAME_MAX);
    }
    return !str_eq_c(name, CONTEXT_LOCAL) ||
           error_set(err, ERROR_INVALID, "'" CONTEXT_LOCAL "' is the server on this machine");
}

bool context_server_parse(Str text, Address *out, Error *err)
{
    if (str_starts(text, STR("http://"))) {
        return error_set(err, ERROR_INVALID, "a server is asked by https:// only");
    }
    Str rest = str_starts(text, STR("https://")) ? str_from_offset(text, 8) : text;
    if (str_ends(rest, STR("/"))) {
        rest.len--;
    }
    if (str_find(rest, STR("/"), 0) != STR_NOT_FOUND) { /* which a socket has, too */
        return error_set(err, ERROR_INVALID, "a server is https://NAME:PORT, nothing more");
    }
    return address_parse(rest, PORT_API, out, err);
}

Str context_server_text(Arena *arena, const Address *server)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&text, "https://");
    address_format(server, &text);
    return buf_str(&text);
}

/* --- Reading --------------------------------------------------------------------------------- */

static bool is_pem(Str text)
{
    return str_starts(str_trim(text), STR("-----BEGIN "));
}

/* The words of a context that are plain texts. */
static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    { "ca", offsetof(Context, ca) },
    { "certificate", offsetof(Context, certificate) },
    { "key", offsetof(Context, key) },
    { "token", offsetof(Context, token) },
    { "token_file", offsetof(Context, token_file) },
    { "expires", offsetof(Context, expires) },
    { "user", offsetof(Context, user) },
    { "roles", offsetof(Context, roles) },
};

static Str *text_of(const Context *context, size_t i)
{
    return (Str *)((char *)context + texts[i].offset);
}

static bool add_server(Arena *arena, Value value, Context *out, Error *err)
{
    Address address;
    if (!value_is_string(value)) {
        return error_set(err, ERROR_INVALID, "a server is a text");
    }
    if (!context_server_parse(value_str(value), &address, err)) {
        return false;
    }
    Str text = context_server_text(arena, &address);
    for (uint32_t i = 0; i < out->server_count; i++) {
        if (str_eq(out->servers[i], text)) {
            return true;
        }
    }
    if (out->server_count == CONTEXT_SERVERS_MAX) {
        return error_set(err, ERROR_LIMIT, "there are more than %d servers", CONTEXT_SERVERS_MAX);
    }
    out->servers[out->server_count++] = text;
    return true;
}

static bool read_servers(Arena *arena, Value map, Context *out, Error *err)
{
    const Value *first = value_get(map, STR("server")), *all = value_get(map, STR("servers"));
    if (first != NULL && !add_server(arena, *first, out, err)) {
        return error_wrap(err, "server");
    }
    if (all != NULL && all->kind != VALUE_LIST) {
        return error_set(err, ERROR_INVALID, "servers: is no list");
    }
    for (uint32_t i = 0; all != NULL && i < all->list->len; i++) {
        if (!add_server(arena, all->list->items[i], out, err)) {
            return error_wrap(err, "servers");
        }
    }
    return out->server_count > 0 || error_set(err, ERROR_INVALID, "server: is missing");
}

static bool read_word(Str name, Value value, Context *out, Error *err)
{
    Suggest suggest = suggest_make(name);
    Str near = STR_EMPTY;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (str_eq_c(name, texts[i].name)) {
            if (!value_is_string(value) || value_str(value).len == 0) {
                return error_set(err, ERROR_INVALID, "%s: is no text", texts[i].name);
            }
            *text_of(out, i) = value_str(value);
            return true;
        }
        suggest_offer(&suggest, str_from_c(texts[i].name));
    }
    if (str_eq_c(name, "server") || str_eq_c(name, "servers")) {
        return true;
    }
    bool has_near = suggest_found(&suggest, &near);
    return error_set(err, ERROR_INVALID, "'%" STR_FMT "' means nothing%s%" STR_FMT "%s",
                     STR_ARG(name), has_near ? "; did you mean '" : "", STR_ARG(near),
                     has_near ? "'?" : "");
}

static bool read_context(Arena *arena, Str name, Value map, Context *out, Error *err)
{
    *out = (Context){ .name = name };
    if (!context_name_check(name, err)) {
        return false;
    }
    if (map.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "is no object");
    }
    for (uint32_t i = 0; i < map.map->len; i++) {
        const MapEntry *entry = &map.map->entries[i];
        if (!read_word(value_str(entry->key), entry->value, out, err)) {
            return false;
        }
    }
    if ((out->certificate.len > 0) != (out->key.len > 0)) {
        return error_set(err, ERROR_INVALID, "a certificate and its key belong together");
    }
    if (out->token.len > 0 && out->token_file.len > 0) {
        return error_set(err, ERROR_INVALID, "token and token_file are two of one thing");
    }
    return read_servers(arena, map, out, err);
}

/* What was meant to be one of them would be left out silently. */
static bool check_words(Value root, Error *err)
{
    static const char *const words[] = { "format", "current", "contexts" };
    for (uint32_t i = 0; i < root.map->len; i++) {
        Str name = value_str(root.map->entries[i].key), near = STR_EMPTY;
        Suggest suggest = suggest_make(name);
        bool known = false;
        for (size_t k = 0; k < COUNT_OF(words); k++) {
            known = known || str_eq_c(name, words[k]);
            suggest_offer(&suggest, str_from_c(words[k]));
        }
        bool has_near = !known && suggest_found(&suggest, &near);
        if (!known) {
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "' means nothing%s%" STR_FMT "%s",
                             STR_ARG(name), has_near ? "; did you mean '" : "", STR_ARG(near),
                             has_near ? "'?" : "");
        }
    }
    return true;
}

bool contexts_read(Arena *arena, Str text, Contexts *out, Error *err)
{
    Value root;
    Contexts read = { 0 };
    if (!json_parse_text(arena, text, NULL, &root, err)) {
        return false;
    }
    const Value *format = root.kind == VALUE_MAP ? value_get(root, STR("format")) : NULL;
    if (format == NULL || !value_is_string(*format) ||
        !str_eq_c(value_str(*format), "eden.contexts/1")) {
        return error_set(err, ERROR_INVALID, "its format is not \"eden.contexts/1\"");
    }
    if (!check_words(root, err)) {
        return false;
    }
    const Value *all = value_get(root, STR("contexts")), *current = value_get(root, STR("current"));
    if (all == NULL || all->kind != VALUE_MAP || all->map->len > CONTEXTS_MAX) {
        return error_set(err, ERROR_INVALID, "contexts: is no object with at most %d",
                         CONTEXTS_MAX);
    }
    for (uint32_t i = 0; i < all->map->len; i++) {
        Context context;
        Str name = value_str(all->map->entries[i].key);
        if (!read_context(arena, name, all->map->entries[i].value, &context, err)) {
            return error_wrap(err, "context '%" STR_FMT "'", STR_ARG(name));
        }
        contexts_put(arena, &read, &context);
    }
    if (current != NULL && current->kind != VALUE_NULL) {
        read.current = value_is_string(*current) ? value_str(*current) : STR_EMPTY;
        if (contexts_find(&read, read.current) == NULL && !str_eq_c(read.current, CONTEXT_LOCAL)) {
            return error_set(err, ERROR_INVALID, "current: names none of the contexts");
        }
    }
    *out = read;
    return true;
}

/* --- Writing --------------------------------------------------------------------------------- */

static void put_pair(Buf *out, const char *name, Str value)
{
    buf_put_format(out, ",\n      \"%s\": ", name);
    json_print_string(out, value, NULL);
}

static void put_context(Buf *out, const Context *context)
{
    buf_put_c(out, "    ");
    json_print_string(out, context->name, NULL);
    buf_put_c(out, ": {\n      \"server\": ");
    json_print_string(out, context->servers[0], NULL);
    if (context->server_count > 1) {
        buf_put_c(out, ",\n      \"servers\": [");
        for (uint32_t i = 0; i < context->server_count; i++) {
            buf_put_c(out, i > 0 ? ", " : "");
            json_print_string(out, context->servers[i], NULL);
        }
        buf_put_c(out, "]");
    }
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (text_of(context, i)->len > 0) {
            put_pair(out, texts[i].name, *text_of(context, i));
        }
    }
    buf_put_c(out, "\n    }");
}

void contexts_print(const Contexts *contexts, Buf *out)
{
    buf_put_c(out, "{\n  \"format\": \"eden.contexts/1\",\n  \"current\": ");
    if (contexts->current.len > 0) {
        json_print_string(out, contexts->current, NULL);
    } else {
        buf_put_c(out, "null");
    }
    buf_put_c(out, ",\n  \"contexts\": {");
    for (uint32_t i = 0; i < contexts->count; i++) {
        buf_put_c(out, i > 0 ? ",\n" : "\n");
        put_context(out, &contexts->items[i]);
    }
    buf_put_c(out, contexts->count > 0 ? "\n  }\n}\n" : "}\n}\n");
}

/* --- The file -------------------------------------------------------------------------------- */

Str contexts_directory(Arena *arena)
{
    const char *settings = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (settings != NULL && settings[0] == '/') {
        return arena_format(arena, "%s/eden", settings);
    }
    return home != NULL && home[0] == '/' ? arena_format(arena, "%s/.config/eden", home)
                                          : STR_EMPTY;
}

bool contexts_load(Arena *arena, Str directory, Contexts *out, Error *err)
{
    AUTO_CLEAR(Directory) place = { .descriptor = -1 };
    size_t len;
    *out = (Contexts){ 0 };
    if (directory.len == 0) {
        return true;
    }
    char *text = arena_alloc(arena, CONTEXTS_BYTES_MAX);
    if (!directory_open(arena_copy_c(arena, directory), &place, err) ||
        !directory_read_private(&place, CONTEXTS_FILE, text, CONTEXTS_BYTES_MAX, &len, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    return contexts_read(arena, str_from(text, len), out, err) ||
           error_wrap(err, "%" STR_FMT "/" CONTEXTS_FILE, STR_ARG(directory));
}

static bool open_own(Arena *arena, Str directory, Directory *out, Error *err)
{
    if (directory.len == 0) {
        return error_set(err, ERROR_NOT_FOUND,
                         "there is no place to keep it: neither HOME nor XDG_CONFIG_HOME is set");
    }
    return directory_make(arena_copy_c(arena, directory), out, err) &&
           directory_set_mode(out, 0700, err);
}

bool contexts_lock(Arena *arena, Str directory, FileLock *out, Error *err)
{
    AUTO_CLEAR(Directory) place = { .descriptor = -1 };
    int64_t until_us = clock_monotonic_us() + LOCK_WAIT_MS * 1000;
    Str holder;
    *out = (FileLock){ .descriptor = -1 };
    if (!open_own(arena, directory, &place, err)) {
        return false;
    }
    /* Each try waits for a moment by itself. */
    while (!file_lock_take(&place, CONTEXTS_LOCK, STR_EMPTY, arena, out, &holder, err)) {
        if (err->kind != ERROR_CONFLICT) {
            return false;
        }
        if (clock_monotonic_us() >= until_us) {
            return error_wrap(err, "another process has been changing the contexts for %d seconds",
                              LOCK_WAIT_MS / 1000);
        }
    }
    return true;
}

bool contexts_save(Arena *arena, Str directory, const Contexts *contexts, Error *err)
{
    AUTO_CLEAR(Directory) place = { .descriptor = -1 };
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    contexts_print(contexts, &text);
    if (contexts->count > CONTEXTS_MAX || text.len > CONTEXTS_BYTES_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "there are too many contexts; 'eden context remove' forgets one");
    }
    return open_own(arena, directory, &place, err) &&
           directory_write(&place, CONTEXTS_FILE, buf_str(&text), true, err);
}

/* --- One of them ----------------------------------------------------------------------------- */

Context *contexts_find(const Contexts *contexts, Str name)
{
    for (uint32_t i = 0; i < contexts->count; i++) {
        if (str_eq(contexts->items[i].name, name)) {
            return &contexts->items[i];
        }
    }
    return NULL;
}

Str contexts_near(const Contexts *contexts, Str name)
{
    Suggest suggest = suggest_make(name);
    Str near = STR_EMPTY;
    for (uint32_t i = 0; i < contexts->count; i++) {
        suggest_offer(&suggest, contexts->items[i].name);
    }
    suggest_offer(&suggest, STR(CONTEXT_LOCAL));
    return suggest_found(&suggest, &near) ? near : STR_EMPTY;
}

void contexts_put(Arena *arena, Contexts *contexts, const Context *context)
{
    Context *old = contexts_find(contexts, context->name);
    if (old != NULL) {
        *old = *context;
        return;
    }
    if (contexts->count == contexts->cap) {
        uint32_t cap = contexts->cap == 0 ? 4 : contexts->cap * 2;
        contexts->items = arena_grow(arena, contexts->items, contexts->cap * sizeof(Context),
                                     cap * sizeof(Context));
        contexts->cap = cap;
    }
    contexts->items[contexts->count++] = *context;
}

void contexts_remove(Contexts *contexts, Str name)
{
    const Context *found = contexts_find(contexts, name);
    if (found == NULL) {
        return;
    }
    if (str_eq(contexts->current, name)) {
        contexts->current = STR_EMPTY;
    }
    size_t at = (size_t)(found - contexts->items);
    memmove(contexts->items + at, contexts->items + at + 1,
            (contexts->count - at - 1) * sizeof(Context));
    contexts->count--;
}

/* --- What it has ----------------------------------------------------------------------------- */

static bool read_named(Arena *arena, Str directory, Str path, Str *out, Error *err)
{
    Str full = str_starts(path, STR("/")) ? path
                                          : arena_format(arena, "%" STR_FMT "/%" STR_FMT,
                                                         STR_ARG(directory), STR_ARG(path));
    return file_read(arena, arena_copy_c(arena, full), CONTEXT_FILE_MAX, out, err);
}

static bool take_pem(Arena *arena, Str directory, Str given, Str *out, Error *err)
{
    *out = given;
    return given.len == 0 || is_pem(given) || read_named(arena, directory, given, out, err);
}

bool context_material(Arena *arena, Str directory, const Context *context, ContextMaterial *out,
                      Error *err)
{
    *out = (ContextMaterial){ .token = context->token };
    if (context->token_file.len > 0) {
        if (!read_named(arena, directory, context->token_file, &out->token, err)) {
            return error_wrap(err, "token_file");
        }
        out->token = str_trim(out->token);
    }
    if (!http1_is_field(STR("Authorization"), out->token)) {
        return error_set(err, ERROR_INVALID, "its token is invalid");
    }
    if (context->ca.len == 0) {
        return error_set(err, ERROR_INVALID, "it has no CA by which to know its servers");
    }
    return take_pem(arena, directory, context->ca, &out->ca, err) &&
           take_pem(arena, directory, context->certificate, &out->certificate, err) &&
           take_pem(arena, directory, context->key, &out->key, err);
}

Value context_roles(Arena *arena, const Context *context)
{
    List *roles = list_new(arena, 2);
    Str rest = context->roles, role;
    while (str_split_next(&rest, ',', &role)) {
        list_push(arena, roles, value_string(str_trim(role)));
    }
    return context->roles.len > 0 ? value_list(roles) : value_null();
}
