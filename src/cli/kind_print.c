#include "cli/kind_print.h"

#include "base/bug.h"
#include "cli/output.h"
#include "cli/table.h"
#include "lang/json.h"

enum {
    RESPONSE_MAX = 64 << 20
};

Str object_name(Value object)
{
    return value_get_text(value_get_map(object, "metadata"), "name");
}

Value object_status(Value object)
{
    return value_get_map(object, "status");
}

const List *object_items(Value list)
{
    return value_get_list(list, "items");
}

/* --- Fetching -------------------------------------------------------------------------------- */

static Str page_target(Arena *arena, const Kind *kind, const char *selector, Str next)
{
    Str target = arena_format(arena, "/v1/%s?limit=%d", kind->plural, KIND_PAGE_MAX);
    if (selector != NULL) {
        Str before = arena_format(arena, "%" STR_FMT "&selector=", STR_ARG(target));
        target = cluster_target(arena, before.data, str_from_c(selector));
    }
    if (next.len > 0) {
        Str before = arena_format(arena, "%" STR_FMT "&continue=", STR_ARG(target));
        target = cluster_target(arena, before.data, next);
    }
    return target;
}

int kind_fetch(Invocation *invocation, const Kind *kind, const char *selector, Value *list)
{
    Arena *arena = invocation->arena;
    List *items = list_new(arena, 0);
    Value first = value_null(), response, metadata;
    Str next = STR_EMPTY;
    do {
        int code =
            cluster_call(invocation,
                         &(ClusterRequest){ .method = "GET",
                                            .target = page_target(arena, kind, selector, next),
                                            .response_max = RESPONSE_MAX },
                         &response);
        if (code != EXIT_OK) {
            return code;
        }
        first = first.kind == VALUE_MAP ? first : response;
        const List *more = object_items(response);
        for (uint32_t i = 0; i < more->len; i++) {
            list_push(arena, items, more->items[i]);
        }
        next = value_get_text(value_get_map(response, "metadata"), "continue");
    } while (next.len > 0);
    metadata = value_get_map(first, "metadata");
    if (metadata.kind == VALUE_MAP) {
        map_set_str(arena, metadata.map, STR("continue"), value_null());
        map_set_str(arena, metadata.map, STR("truncated"), value_bool(false));
    }
    map_set_str(arena, first.map, STR("items"), value_list(items));
    *list = first;
    return EXIT_OK;
}

/* --- Values ---------------------------------------------------------------------------------- */

static void print_name(const Invocation *invocation, Value object)
{
    output_line(invocation->out, "%" STR_FMT, STR_ARG(object_name(object)));
}

bool kind_print_value(const Invocation *invocation, Value value, int *code)
{
    *code = EXIT_OK;
    if (output_wants_value(invocation)) {
        *code = output_response(invocation, value);
        return true;
    }
    if (!invocation_prints(invocation, "name")) {
        return false;
    }
    if (value_get(value, STR("items")) == NULL) {
        print_name(invocation, value);
    }
    const List *items = object_items(value);
    for (uint32_t i = 0; i < items->len; i++) {
        print_name(invocation, items->items[i]);
    }
    return true;
}

/* --- Tables ---------------------------------------------------------------------------------- */

static void put_cell(Buf *out, Value value)
{
    Error err;
    if (value_is_string(value)) {
        buf_put(out, value_str(value));
    } else if (value.kind == VALUE_BOOL) {
        buf_put_c(out, value.boolean ? "yes" : "no");
    } else {
        bool printed = json_print(out, value, NULL, &err);
        BUG_IF(!printed); /* cannot fail, because the value was parsed from JSON */
    }
}

/* "role=web, rack=7" */
static void put_map(Buf *out, const Map *map)
{
    for (uint32_t i = 0; i < map->len; i++) {
        buf_put_c(out, i > 0 ? ", " : "");
        put_cell(out, map->entries[i].key);
        buf_put_char(out, '=');
        put_cell(out, map->entries[i].value);
    }
}

/* Returns "web, db"; the number of items if they have no short form. */
static void put_list(Buf *out, const List *list)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (list->items[i].kind == VALUE_MAP || list->items[i].kind == VALUE_LIST) {
            out->len = 0;
            buf_put_format(out, "%u", list->len);
            return;
        }
        buf_put_c(out, i > 0 ? ", " : "");
        put_cell(out, list->items[i]);
    }
}

Str kind_cell(Arena *arena, Value object, const char *path, const char *none)
{
    Str rest = str_from_c(path), part;
    const Value *value = &object;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    while (value != NULL && str_split_next(&rest, '.', &part)) {
        value = value->kind == VALUE_MAP ? value_get(*value, part) : NULL;
    }
    if (value != NULL && value->kind == VALUE_MAP) {
        put_map(&text, value->map);
    } else if (value != NULL && value->kind == VALUE_LIST) {
        put_list(&text, value->list);
    } else if (value != NULL && value->kind == VALUE_BOOL && !value->boolean && none != NULL) {
        return str_from_c(none);
    } else if (value != NULL && value->kind != VALUE_NULL) {
        put_cell(&text, *value);
    }
    return text.len > 0 ? buf_str(&text) : str_from_c(none != NULL ? none : "-");
}

void kind_print_table(const Invocation *invocation, const Kind *kind, const List *items)
{
    Arena *arena = invocation->arena;
    const char *headings[KIND_COLUMNS_MAX + 2] = { "NAME" };
    KindColumn shown[KIND_COLUMNS_MAX];
    uint32_t count = kind_columns(arena, kind, invocation_prints(invocation, "wide"), shown);
    for (uint32_t i = 0; i < count; i++) {
        headings[i + 1] = shown[i].title;
    }
    Table table;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < items->len; i++) {
        table_add(&table, object_name(items->items[i]));
        for (uint32_t k = 0; k < count; k++) {
            table_add(&table,
                      kind_cell(arena, items->items[i], shown[k].path, shown[k].placeholder));
        }
    }
    table_print(&table, invocation->out);
}

Str kind_line(const Invocation *invocation, Arena *arena, const Kind *kind, Str before,
              Value object)
{
    KindColumn shown[KIND_COLUMNS_MAX];
    uint32_t count = kind_columns(arena, kind, invocation_prints(invocation, "wide"), shown);
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    if (before.len > 0) {
        buf_put_format(&text, "%-8" STR_FMT "  ", STR_ARG(before));
    }
    buf_put(&text, object_name(object));
    for (uint32_t i = 0; i < count; i++) {
        Str cell = kind_cell(arena, object, shown[i].path, shown[i].placeholder);
        buf_put_format(&text, "  %" STR_FMT, STR_ARG(cell));
    }
    return buf_str(&text);
}
