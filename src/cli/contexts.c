#include "cli/contexts.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/suggest.h"
#include "lang/record.h"
#include "net/http1.h"
#include "server/server_settings.h"
#include "sys/clock.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/process.h"

enum {
    LOCK_WAIT_MS = 10 * 1000, /* other processes hold the lock only briefly */
    SERVERS_READ_MAX = 64,    /* maximum number of servers per context, including duplicates */
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
                         "the name of a context must consist of letters, digits and '-_.@', at "
                         "most %d characters",
                         CONTEXT_NAME_MAX);
    }
    return !str_eq_c(name, CONTEXT_LOCAL) ||
           error_set(err, ERROR_INVALID,
                     "'" CONTEXT_LOCAL "' is reserved for the server on this machine");
}

bool context_server_parse(Str text, Address *out, Error *err)
{
    if (str_starts(text, STR("http://"))) {
        return error_set(err, ERROR_INVALID, "a server URL must start with https://");
    }
    Str rest = str_starts(text, STR("https://")) ? str_from_offset(text, 8) : text;
    if (str_ends(rest, STR("/"))) {
        rest.len--;
    }
    if (str_find(rest, STR("/"), 0) != STR_NOT_FOUND) { /* also true for the path of a socket */
        return error_set(err, ERROR_INVALID, "a server must be https://NAME:PORT without a path");
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

/* A context as stored in the file. */
typedef struct ContextEntry {
    Str server; /* the first server; may be empty */
    Str *servers;
    uint32_t server_count;
    Context context; /* without its name and servers */
} ContextEntry;

static bool check_entry(const void *record, Error *err)
{
    const Context *context = &((const ContextEntry *)record)->context;
    if ((context->certificate.len > 0) != (context->key.len > 0)) {
        return error_set(err, ERROR_INVALID, "certificate and key must be given together");
    }
    return context->token.len == 0 || context->token_file.len == 0 ||
           error_set(err, ERROR_INVALID, "token and token_file are mutually exclusive");
}

static const RecordField entry_fields[] = {
    { "server", RECORD_TEXT, RECORD_STR_AT(ContextEntry, server), .min = 1,
      .help = "preferred server" },
    { "servers", RECORD_TEXT,
      RECORD_POINTER_AT(ContextEntry, servers, server_count, SERVERS_READ_MAX, Str, NULL), .min = 1,
      .help = "all servers" },
    { "ca", RECORD_TEXT, RECORD_STR_AT(ContextEntry, context.ca), .min = 1,
      .help =
          "the CA to trust: PEM, or the path of a file; the same applies to certificate and key" },
    { "certificate", RECORD_TEXT, RECORD_STR_AT(ContextEntry, context.certificate), .min = 1,
      .help = "certificate of the user" },
    { "key", RECORD_TEXT, RECORD_STR_AT(ContextEntry, context.key), .min = 1, .is_secret = true,
      .help = "key of the certificate" },
    { "token", RECORD_TEXT, RECORD_STR_AT(ContextEntry, context.token), .min = 1, .is_secret = true,
      .help = "token for the API" },
    { "token_file", RECORD_TEXT, RECORD_STR_AT(ContextEntry, context.token_file), .min = 1,
      .help = "path of a file with the token" },
    { "expires", RECORD_TEXT, RECORD_STR_AT(ContextEntry, context.expires), .min = 1,
      .help = "when the token expires" },
    { "user", RECORD_TEXT, RECORD_STR_AT(ContextEntry, context.user), .min = 1,
      .help = "name of the user, from the server" },
    { "roles", RECORD_TEXT, RECORD_STR_AT(ContextEntry, context.roles), .min = 1,
      .help = "roles of the user" },
    { 0 },
};

static const RecordFormat entry_format = {
    .what = "a context",
    .fields = entry_fields,
    .size = sizeof(ContextEntry),
    .check = check_entry,
};

static bool add_server(Arena *arena, Str given, Context *out, Error *err)
{
    Address address;
    if (!context_server_parse(given, &address, err)) {
        return error_wrap(err, "server");
    }
    Str text = context_server_text(arena, &address);
    for (uint32_t i = 0; i < out->server_count; i++) {
        if (str_eq(out->servers[i], text)) {
            return true;
        }
    }
    if (out->server_count == CONTEXT_SERVERS_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d servers", CONTEXT_SERVERS_MAX);
    }
    out->servers[out->server_count++] = text;
    return true;
}

static bool read_context(Arena *arena, Str name, Value map, Context *out, Error *err)
{
    ContextEntry entry;
    if (!context_name_check(name, err) ||
        !record_from_value(&entry_format, arena, map, RECORD_EXTERNAL, &entry, err)) {
        return false;
    }
    *out = entry.context;
    out->name = name;
    if (entry.server.len > 0 && !add_server(arena, entry.server, out, err)) {
        return false;
    }
    for (uint32_t i = 0; i < entry.server_count; i++) {
        if (!add_server(arena, entry.servers[i], out, err)) {
            return false;
        }
    }
    return out->server_count > 0 || error_set(err, ERROR_INVALID, "server: is required");
}

static bool read_all(Arena *arena, Value value, void *member, Error *err)
{
    const Map *all = value.map;
    if (all->len > CONTEXTS_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d contexts", CONTEXTS_MAX);
    }
    for (uint32_t i = 0; i < all->len; i++) {
        Context context;
        Str name = value_str(all->entries[i].key);
        if (!read_context(arena, name, all->entries[i].value, &context, err)) {
            return error_wrap(err, "context '%" STR_FMT "'", STR_ARG(name));
        }
        contexts_put(arena, member, &context);
    }
    return true;
}

static void print_all(const void *member, Buf *out)
{
    const Contexts *contexts = member;
    buf_put_char(out, '{');
    for (uint32_t i = 0; i < contexts->count; i++) {
        Context *context = &contexts->items[i];
        ContextEntry entry = { .server = context->servers[0], .context = *context };
        if (context->server_count > 1) {
            entry.servers = context->servers;
            entry.server_count = context->server_count;
        }
        json_out_item(out, context->name);
        buf_put_char(out, ':');
        record_print(&entry_format, &entry, out);
    }
    buf_put_char(out, '}');
}

static const RecordCodec all_codec = { read_all, print_all, NULL };

typedef struct ContextsFile {
    Str current;
    Contexts contexts;
} ContextsFile;

static bool check_file(const void *record, Error *err)
{
    const ContextsFile *file = record;
    return file->current.len == 0 || str_eq_c(file->current, CONTEXT_LOCAL) ||
           contexts_find(&file->contexts, file->current) != NULL ||
           error_set(err, ERROR_INVALID, "current: no such context");
}

static const RecordField file_fields[] = {
    { "current", RECORD_TEXT, RECORD_STR_AT(ContextsFile, current), .min = 1,
      .help = "the current context" },
    { "contexts", RECORD_OBJECT, RECORD_CODED_AT(ContextsFile, contexts, Contexts, all_codec),
      .shape = RECORD_MAP, .fields = entry_fields, .is_required = true,
      .help = "contexts by name" },
    { 0 },
};

static const RecordFormat file_format = {
    .format = "eden.contexts/1",
    .what = "the list of contexts",
    .fields = file_fields,
    .size = sizeof(ContextsFile),
    .text_max = CONTEXTS_BYTES_MAX,
    .check = check_file,
};

bool contexts_read(Arena *arena, Str text, Contexts *out, Error *err)
{
    ContextsFile file;
    if (!record_read(&file_format, arena, text, RECORD_EXTERNAL, &file, err)) {
        return false;
    }
    *out = file.contexts;
    out->current = file.current;
    return true;
}

void contexts_print(const Contexts *contexts, Buf *out)
{
    record_print_file(&file_format, &(ContextsFile){ contexts->current, *contexts }, out);
}

/* --- File ------------------------------------------------------------------------------------ */

Str contexts_directory(Arena *arena)
{
    const char *settings = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (settings != NULL && settings[0] == '/') {
        return arena_format(arena, "%s/eden", settings);
    }
    return home != NULL && home[0] == '/' ? arena_format(arena, "%s/.config/eden", home)
                                          : STR_EMPTY;
}

/* Contexts determine which server is trusted and which files are sent to it, so root does not use
 * the contexts of another user whose HOME it inherited (sudo). */
static bool check_owner(const Directory *opened, Error *err)
{
    uid_t user;
    gid_t group;
    return directory_owner(opened, &user, &group, err) &&
           (user == 0 || user == process_own_user() ||
            error_set(err, ERROR_DENIED,
                      "%s belongs to user %u; contexts of other users are not used; check HOME",
                      opened->path, (unsigned)user));
}

bool contexts_load(Arena *arena, Str directory, Contexts *out, Error *err)
{
    AUTO_CLEAR(Directory) opened = { .descriptor = -1 };
    size_t len;
    *out = (Contexts){ 0 };
    if (directory.len == 0) {
        return true;
    }
    char *text = arena_alloc(arena, CONTEXTS_BYTES_MAX);
    if (!directory_open(arena_copy_c(arena, directory), &opened, err) ||
        !check_owner(&opened, err) ||
        !directory_read_private(&opened, CONTEXTS_FILE, text, CONTEXTS_BYTES_MAX, &len, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    return contexts_read(arena, str_from(text, len), out, err) ||
           error_wrap(err, "%" STR_FMT "/" CONTEXTS_FILE, STR_ARG(directory));
}

static bool open_owned(Arena *arena, Str directory, Directory *out, Error *err)
{
    if (directory.len == 0) {
        return error_set(err, ERROR_NOT_FOUND,
                         "cannot save contexts: neither HOME nor XDG_CONFIG_HOME is set");
    }
    return directory_make(arena_copy_c(arena, directory), out, err) &&
           directory_set_mode(out, 0700, err);
}

bool contexts_lock(Arena *arena, Str directory, FileLock *out, Error *err)
{
    AUTO_CLEAR(Directory) opened = { .descriptor = -1 };
    int64_t until_us = clock_monotonic_us() + LOCK_WAIT_MS * 1000;
    Str holder;
    *out = (FileLock){ .descriptor = -1 };
    if (!open_owned(arena, directory, &opened, err)) {
        return false;
    }
    /* Each attempt waits for a short time. */
    while (!file_lock_take(&opened, CONTEXTS_LOCK, STR_EMPTY, arena, out, &holder, err)) {
        if (err->kind != ERROR_CONFLICT) {
            return false;
        }
        if (clock_monotonic_us() >= until_us) {
            return error_wrap(err, "another process has locked the contexts for %d seconds",
                              LOCK_WAIT_MS / 1000);
        }
    }
    return true;
}

bool contexts_save(Arena *arena, Str directory, const Contexts *contexts, Error *err)
{
    AUTO_CLEAR(Directory) opened = { .descriptor = -1 };
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    contexts_print(contexts, &text);
    if (contexts->count > CONTEXTS_MAX || text.len > CONTEXTS_BYTES_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "too many contexts; remove one with 'eden context remove'");
    }
    return open_owned(arena, directory, &opened, err) &&
           directory_write(&opened, CONTEXTS_FILE, buf_str(&text), true, err);
}

/* --- Single contexts ------------------------------------------------------------------------- */

Context *contexts_find(const Contexts *contexts, Str name)
{
    for (uint32_t i = 0; i < contexts->count; i++) {
        if (str_eq(contexts->items[i].name, name)) {
            return &contexts->items[i];
        }
    }
    return NULL;
}

Str contexts_suggest(const Contexts *contexts, Str name)
{
    Suggest suggest = suggest_make(name);
    Str suggestion = STR_EMPTY;
    for (uint32_t i = 0; i < contexts->count; i++) {
        suggest_offer(&suggest, contexts->items[i].name);
    }
    suggest_offer(&suggest, STR(CONTEXT_LOCAL));
    return suggest_found(&suggest, &suggestion) ? suggestion : STR_EMPTY;
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

/* --- Credentials ----------------------------------------------------------------------------- */

static bool read_named(Arena *arena, Str directory, Str path, Str *out, Error *err)
{
    Str full = str_starts(path, STR("/")) ? path
                                          : arena_format(arena, "%" STR_FMT "/%" STR_FMT,
                                                         STR_ARG(directory), STR_ARG(path));
    return file_read(arena, arena_copy_c(arena, full), CONTEXT_FILE_MAX, out, err);
}

static bool read_pem(Arena *arena, Str directory, Str given, Str *out, Error *err)
{
    *out = given;
    return given.len == 0 || is_pem(given) || read_named(arena, directory, given, out, err);
}

bool context_credentials(Arena *arena, Str directory, const Context *context,
                         ContextCredentials *out, Error *err)
{
    *out = (ContextCredentials){ .token = context->token };
    if (context->token_file.len > 0) {
        if (!read_named(arena, directory, context->token_file, &out->token, err)) {
            return error_wrap(err, "token_file");
        }
        out->token = str_trim(out->token);
    }
    if (!http1_is_field(STR("Authorization"), out->token)) {
        return error_set(err, ERROR_INVALID, "invalid token");
    }
    if (context->ca.len == 0) {
        return error_set(err, ERROR_INVALID, "the context has no CA to verify its servers with");
    }
    return read_pem(arena, directory, context->ca, &out->ca, err) &&
           read_pem(arena, directory, context->certificate, &out->certificate, err) &&
           read_pem(arena, directory, context->key, &out->key, err);
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
