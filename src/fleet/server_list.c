#include "fleet/server_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "lang/json.h"
#include "source/manifest.h"

enum {
    HASH_START = 0x811c9dc5,
    HASH_FACTOR = 0x01000193,
    MS_PER_NODES = 10, /* number of nodes per millisecond of delay */
};

/* A blob, possibly one of several of a large file. Shared by all lists in which the file is the
 * same. */
typedef struct ServerFile {
    uint32_t references;
    Buf text;
    char (*ids)[BLOB_ID_TEXT + 1];
    uint32_t count; /* 0: the file contains no node */
} ServerFile;

typedef struct NodeList {
    char manifest[BLOB_ID_TEXT + 1]; /* empty: none */
    Buf text;
    ServerFile *files[SERVER_LIST_FILES];
} NodeList;

struct ServerList {
    ClusterStore cluster_store;
    Arena arena;
    StateView view;
    bool is_changed[SERVER_LIST_FILES];
    int64_t created_ms;
    NodeList lists[SERVER_LISTS_RETAINED + 1];
    uint32_t current;
};

/* --- Files ------------------------------------------------------------------------------------ */

/* The file of a node, the same on all servers and permanently. */
static uint32_t file_of_node(Str node)
{
    uint32_t hash = HASH_START;
    for (size_t i = 0; i < node.len; i++) {
        hash = (hash ^ (unsigned char)node.data[i]) * HASH_FACTOR;
    }
    return hash % SERVER_LIST_FILES;
}

static void file_unref(ServerFile *file)
{
    if (file != NULL && --file->references == 0) {
        buf_clear(&file->text);
        free(file->ids);
        free(file);
    }
}

static Str find_blob(const ServerFile *file, uint32_t index)
{
    size_t start = (size_t)index * BLOB_MAX;
    return str_slice(buf_str(&file->text), start, start + BLOB_MAX);
}

/* A report of a node is only included if it is a JSON object, so that it cannot change other
 * entries. */
static Str facts_of(Arena *arena, const RosterNode *node)
{
    Value facts;
    Error ignored;
    bool is_object = node->facts.len > 0 &&
                     json_parse_text(arena, node->facts, NULL, &facts, &ignored) &&
                     facts.kind == VALUE_MAP;
    return is_object ? node->facts : STR("{}");
}

static void put_node(Buf *out, const RosterNode *node, Arena *arena)
{
    static const JsonStyle style = { .sort_keys = true };
    AUTO_CLEAR(Buf) labels = buf_make(BUF_UNLIMITED);
    Error ignored;
    bool has_labels = node->record.labels.kind == VALUE_MAP &&
                      json_print(&labels, node->record.labels, &style, &ignored);
    buf_put_c(out, out->len == 0 ? "{" : ",\n");
    json_print_string(out, str_from_c(node->record.name), NULL);
    buf_put_c(out, ":{\"labels\":");
    buf_put(out, has_labels ? buf_str(&labels) : STR("{}"));
    buf_put_c(out, ",\"facts\":");
    buf_put(out, facts_of(arena, node));
    buf_put_c(out, "}");
}

static void file_end(ServerFile *file)
{
    if (file->text.len == 0) {
        return;
    }
    buf_put_c(&file->text, "}\n");
    file->count = (uint32_t)((file->text.len + BLOB_MAX - 1) / BLOB_MAX);
    file->ids = calloc(file->count, sizeof *file->ids);
    if (file->ids == NULL) {
        memory_exhausted(file->count * sizeof *file->ids);
    }
    for (uint32_t i = 0; i < file->count; i++) {
        blob_id_of(find_blob(file, i), file->ids[i]);
    }
}

/* Creates the files that are NULL. */
static void make_files(const ServerList *list, ServerFile *files[SERVER_LIST_FILES])
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    bool is_missing[SERVER_LIST_FILES];
    for (uint32_t i = 0; i < SERVER_LIST_FILES; i++) {
        is_missing[i] = files[i] == NULL;
        if (is_missing[i]) {
            files[i] = memory_new(sizeof *files[i]);
            *files[i] = (ServerFile){ .references = 1, .text = buf_make(BUF_UNLIMITED) };
        }
    }
    RosterRange range = roster_range(list->cluster_store.roster, &arena, NULL, STR_EMPTY);
    ArenaMark mark = arena_mark(&arena);
    for (const RosterNode *node; (node = roster_next(&range)) != NULL;) {
        uint32_t index = file_of_node(str_from_c(node->record.name));
        if (node->error.len == 0 && is_missing[index]) {
            put_node(&files[index]->text, node, &arena);
            arena_release(&arena, mark);
        }
    }
    for (uint32_t i = 0; i < SERVER_LIST_FILES; i++) {
        if (is_missing[i]) {
            file_end(files[i]);
        }
    }
}

/* --- Lists ------------------------------------------------------------------------------------ */

static void list_clear(NodeList *node_list)
{
    for (uint32_t i = 0; i < SERVER_LIST_FILES; i++) {
        file_unref(node_list->files[i]);
    }
    buf_clear(&node_list->text);
    *node_list = (NodeList){ 0 };
}

static bool make_manifest(NodeList *node_list, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    ManifestFile items[SERVER_LIST_FILES];
    Manifest manifest = { items, 0 };
    for (uint32_t i = 0; i < SERVER_LIST_FILES; i++) {
        const ServerFile *file = node_list->files[i];
        if (file->count == 0) {
            continue;
        }
        Str *blobs = ARENA_ARRAY(&arena, Str, file->count);
        for (uint32_t k = 0; k < file->count; k++) {
            blobs[k] = str_from_c(file->ids[k]);
        }
        items[manifest.file_count++] =
            (ManifestFile){ .path = arena_format(&arena, "servers/%02u.json", i),
                            .mode = "0644",
                            .size = (int64_t)file->text.len,
                            .blobs = blobs,
                            .blob_count = file->count };
    }
    node_list->text = buf_make(BLOB_MANIFEST_MAX);
    manifest_print(&manifest, &node_list->text);
    blob_id_of(buf_str(&node_list->text), node_list->manifest);
    return manifest_check(&manifest, err);
}

static NodeList *current_list(ServerList *list)
{
    return &list->lists[list->current];
}

static bool rebuild(ServerList *list, Error *err)
{
    NodeList next = { 0 };
    const NodeList *before = current_list(list);
    for (uint32_t i = 0; i < SERVER_LIST_FILES; i++) {
        if (before->manifest[0] != '\0' && !list->is_changed[i]) {
            next.files[i] = before->files[i];
            next.files[i]->references++;
        }
    }
    make_files(list, next.files);
    if (!make_manifest(&next, err)) {
        list_clear(&next);
        return false;
    }
    memset(list->is_changed, 0, sizeof list->is_changed);
    list->created_ms = loop_now_ms(list->cluster_store.loop);
    if (strcmp(next.manifest, before->manifest) == 0) {
        list_clear(&next); /* changes since then are not in the list */
        return true;
    }
    list->current = (list->current + 1) % COUNT_OF(list->lists);
    list_clear(current_list(list));
    *current_list(list) = next;
    return true;
}

static bool is_outdated(const ServerList *list)
{
    bool is_changed = list->lists[list->current].manifest[0] == '\0';
    for (uint32_t i = 0; i < SERVER_LIST_FILES; i++) {
        is_changed = is_changed || list->is_changed[i];
    }
    return is_changed;
}

int64_t server_list_delay_ms(const ServerList *list)
{
    int64_t interval_ms = roster_count(list->cluster_store.roster) / MS_PER_NODES;
    interval_ms = interval_ms < SERVER_LIST_MS ? interval_ms : SERVER_LIST_MS;
    int64_t delay_ms = list->created_ms + interval_ms - loop_now_ms(list->cluster_store.loop);
    bool is_first = list->lists[list->current].manifest[0] == '\0';
    return is_first || delay_ms < 0 || !is_outdated(list) ? 0 : delay_ms;
}

bool server_list_make(ServerList *list, char out[BLOB_ID_TEXT + 1], Error *err)
{
    if (is_outdated(list) && !rebuild(list, err)) {
        return false;
    }
    memcpy(out, current_list(list)->manifest, BLOB_ID_TEXT + 1);
    return true;
}

static const NodeList *find_list(const ServerList *list, Str manifest)
{
    for (uint32_t i = 0; i < COUNT_OF(list->lists); i++) {
        if (manifest.len > 0 && str_eq_c(manifest, list->lists[i].manifest)) {
            return &list->lists[i];
        }
    }
    return NULL;
}

bool server_list_has(const ServerList *list, Str manifest)
{
    return find_list(list, manifest) != NULL;
}

bool server_list_find(const ServerList *list, Str manifest, Str id, Str *out)
{
    const NodeList *node_list = find_list(list, manifest);
    if (node_list != NULL && str_eq(id, manifest)) {
        *out = buf_str(&node_list->text);
        return true;
    }
    for (uint32_t i = 0; node_list != NULL && i < SERVER_LIST_FILES; i++) {
        for (uint32_t k = 0; k < node_list->files[i]->count; k++) {
            if (str_eq_c(id, node_list->files[i]->ids[k])) {
                *out = find_blob(node_list->files[i], k);
                return true;
            }
        }
    }
    return false;
}

/* --- Life cycle ------------------------------------------------------------------------------- */

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    ServerList *list = context;
    const StateEntry *either = now != NULL ? now : before;
    list->is_changed[file_of_node(either->parts[0])] = true;
}

ServerList *server_list_new(const ClusterStore *cluster_store)
{
    ServerList *list = memory_new(sizeof *list);
    arena_init(&list->arena, ARENA_UNLIMITED);
    list->cluster_store = *cluster_store;
    list->cluster_store.prefix = arena_copy(&list->arena, cluster_store->prefix);
    list->view = (StateView){ .kinds = STATE_KIND(KEY_NODE) | STATE_KIND(KEY_FACTS),
                              .changed = changed,
                              .context = list };
    state_attach(cluster_store->state, &list->view);
    return list;
}

void server_list_free(ServerList *list)
{
    if (list == NULL) {
        return;
    }
    state_detach(list->cluster_store.state, &list->view);
    for (size_t i = 0; i < COUNT_OF(list->lists); i++) {
        if (list->lists[i].manifest[0] != '\0') {
            list_clear(&list->lists[i]);
        }
    }
    arena_clear(&list->arena);
    free(list);
}
