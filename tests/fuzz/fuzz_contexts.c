/* Input: cluster data that commands keep in the user's files: contexts, and cached object names for
 * shell completion. Invariants: the result is a value or an error; an accepted value survives a
 * round trip; no name can be mistaken for a command or an option. */
#include "base/bug.h"
#include "cli/completion_names.h"
#include "cli/contexts.h"
#include "lang/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_contexts(Arena *arena, Str text)
{
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    Contexts contexts, again;
    Error err = { 0 };
    if (!contexts_read(arena, text, &contexts, &err)) {
        BUG_IF(err.kind == ERROR_NONE || err.text[0] == '\0');
        return;
    }
    contexts_print(&contexts, &printed);
    bool ok = contexts_read(arena, buf_str(&printed), &again, &err);
    BUG_IF(!ok || again.count != contexts.count || !str_eq(again.current, contexts.current));
    contexts_print(&again, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
    while (again.count > 0) {
        const Context *one = &again.items[0];
        Address address;
        BUG_IF(!context_name_check(one->name, &err) || one->server_count == 0);
        for (uint32_t i = 0; i < one->server_count; i++) {
            BUG_IF(!context_server_parse(one->servers[i], &address, &err));
            BUG_IF(!str_eq(context_server_text(arena, &address), one->servers[i]));
        }
        context_roles(arena, one);
        contexts_remove(&again, one->name);
    }
}

static void read_server(Arena *arena, Str text)
{
    Address address, again;
    Error err = { 0 };
    if (!context_server_parse(text, &address, &err)) {
        BUG_IF(err.kind != ERROR_INVALID || err.text[0] == '\0');
        return;
    }
    Str printed = context_server_text(arena, &address);
    bool ok = context_server_parse(printed, &again, &err);
    BUG_IF(!ok || !str_eq(context_server_text(arena, &again), printed));
    BUG_IF(address.host[0] == '-' || address.kind == ADDRESS_UNIX);
}

static void read_names(Arena *arena, Str text)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    int64_t made_ms;
    Str names, name;
    Value answer;
    Error err;
    if (completion_names_read(text, &made_ms, &names)) {
        completion_names_print(made_ms, names, &out);
        BUG_IF(!completion_names_read(buf_str(&out), &made_ms, &names));
        buf_reset(&out);
    }
    if (json_parse_text(arena, text, NULL, &answer, &err)) {
        completion_names_collect(answer, &out);
        names = buf_str(&out);
        while (names.len > 0 && str_split_next(&names, '\n', &name)) {
            BUG_IF(name.len > 0 && !completion_names_is_safe(name));
        }
    }
    for (size_t i = 0; i < text.len && completion_names_is_safe(text); i++) {
        unsigned char c = (unsigned char)text.data[i];
        BUG_IF(c <= ' ' || c == 0x7f || strchr("$`\"'\\;|&<>(){}*?!", c) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size);
    read_contexts(&arena, text);
    read_server(&arena, text);
    read_names(&arena, text);
    return 0;
}
