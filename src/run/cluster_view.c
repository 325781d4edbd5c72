#include "run/cluster_view.h"

#include <stdlib.h>

#include "base/vec.h"
#include "lang/json.h"
#include "sys/file.h"
#include "sys/file_tree.h"

enum {
    FILES_MAX = 1000,
    FILE_BYTES_MAX = 64 << 20,
    EVENT_BYTES_MAX = 1 << 20,
};

typedef struct NamedServer {
    Str name;
    Value server;
} NamedServer;

typedef VEC(NamedServer) NamedServers;

static Map *map_of(Arena *arena, Value parent, Str name)
{
    const Value *found = value_get(parent, name);
    return found != NULL && found->kind == VALUE_MAP ? found->map : map_new(arena, 0);
}

static void take_servers(Arena *arena, const Map *all, const Node *own, NamedServers *out)
{
    for (uint32_t i = 0; i < all->len; i++) {
        Str name = value_str(all->entries[i].key);
        Value entry = all->entries[i].value;
        if (entry.kind != VALUE_MAP || str_eq(name, own->name)) {
            continue;
        }
        Value facts = value_map(map_of(arena, entry, STR("facts")));
        Str fqdn = value_get_text(facts, "fqdn");
        Node node = { .name = name,
                      .fqdn = fqdn.len > 0 ? fqdn : name,
                      .labels = map_of(arena, entry, STR("labels")) };
        VEC_PUSH(arena, out, ((NamedServer){ name, node_server(arena, &node, facts) }));
    }
}

static bool read_json(Arena *arena, const char *path, size_t max, Value *out, Error *err)
{
    Str text;
    if (!file_read(arena, path, max, &text, err)) {
        return false;
    }
    return json_parse_text(arena, text, NULL, out, err) || error_wrap(err, "%s", path);
}

static bool read_servers(Arena *arena, const char *path, const Node *own, NamedServers *out,
                         Error *err)
{
    static const FileTreeLimits limits = { .entries_max = FILES_MAX, .depth_max = 2 };
    FileTree tree;
    if (!file_tree_list(arena, path, &limits, &tree, err)) {
        return false;
    }
    for (uint32_t i = 0; i < tree.count; i++) {
        Value all;
        if (tree.items[i].kind != FILE_TREE_FILE ||
            !str_starts(tree.items[i].path, STR("servers/"))) {
            continue;
        }
        Str file = arena_format(arena, "%s/%" STR_FMT, path, STR_ARG(tree.items[i].path));
        if (!read_json(arena, file.data, FILE_BYTES_MAX, &all, err)) {
            return false;
        }
        if (all.kind != VALUE_MAP) {
            return error_set(err, ERROR_INVALID, "%s: not a map of nodes", file.data);
        }
        take_servers(arena, all.map, own, out);
    }
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return str_compare(((const NamedServer *)a)->name, ((const NamedServer *)b)->name);
}

bool cluster_view_servers(Arena *arena, const char *path, const Node *own, Map **out, Error *err)
{
    NamedServers all = { 0 };
    VEC_PUSH(arena, &all, ((NamedServer){ own->name, own->server }));
    if (path != NULL && !read_servers(arena, path, own, &all, err)) {
        return false;
    }
    qsort(all.items, all.len, sizeof *all.items, compare_names);
    Map *servers = map_new(arena, all.len);
    for (uint32_t i = 0; i < all.len; i++) {
        map_set_str(arena, servers, all.items[i].name, all.items[i].server);
    }
    value_freeze(value_map(servers));
    *out = servers;
    return true;
}

bool cluster_view_events(Arena *arena, const char *path, Value *event, Value *events, Error *err)
{
    Value value;
    if (!read_json(arena, path, EVENT_BYTES_MAX, &value, err)) {
        return false;
    }
    List *list = value.kind == VALUE_LIST ? value.list : list_new(arena, 1);
    if (value.kind != VALUE_LIST) {
        list_push(arena, list, value);
    }
    if (list->len == 0) {
        return error_set(err, ERROR_INVALID, "%s: no events", path);
    }
    *event = list->items[list->len - 1];
    *events = value_list(list);
    value_freeze(*events);
    return true;
}
