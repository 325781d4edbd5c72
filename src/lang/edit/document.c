/* Edits a value in a document: computes the changes, lets the format propose a text for each, and
 * verifies the result by parsing it again. */
#include "base/bug.h"
#include "base/problems.h"
#include "lang/edit/document_format.h"

typedef struct Editor {
    const DocumentFormat *format;
    Arena *out;       /* the caller's */
    Arena arenas[2];  /* text and values before and after a change */
    uint32_t current; /* index of the arena that holds `document` */
    Document document;
    DataPath path; /* has space for DATA_PATH_MAX segments */
} Editor;

static void editor_clear(Editor *editor)
{
    arena_clear(&editor->arenas[0]);
    arena_clear(&editor->arenas[1]);
}
DEFINE_AUTO_CLEAR(Editor, editor_clear)

bool document_set_error(Str name, const Problems *problems, Error *err)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        const Problem *problem = &problems->items[i];
        if (problem->severity == SEVERITY_ERROR) {
            return error_set(err, ERROR_INVALID, "%" STR_FMT ":%u:%u: %" STR_FMT, STR_ARG(name),
                             problem->line, problem->column, STR_ARG(problem->message));
        }
    }
    return error_set(err, ERROR_INVALID, "cannot parse %" STR_FMT, STR_ARG(name));
}

Str document_line_end(Str text)
{
    size_t end = str_find(text, STR("\n"), 0);
    return end != STR_NOT_FOUND && end > 0 && text.data[end - 1] == '\r' ? STR("\r\n") : STR("\n");
}

/* --- One change ----------------------------------------------------------------------------- */

typedef enum ChangeKind {
    CHANGE_REPLACE,
    CHANGE_INSERT,
    CHANGE_REMOVE,
} ChangeKind;

typedef struct Change {
    ChangeKind kind;
    const TreeLocation *location;
    Value key, value;
} Change;

static bool propose(const Editor *editor, const Change *change, unsigned variant, Splices *out)
{
    const DocumentFormat *format = editor->format;
    const Document *document = &editor->document;
    *out = (Splices){ .count = 0 };
    switch (change->kind) {
    case CHANGE_REPLACE:
        return format->replace(document, change->location, change->value, variant, out);
    case CHANGE_INSERT:
        return format->insert(document, change->location, change->key, change->value, variant, out);
    case CHANGE_REMOVE: return format->remove(document, change->location, variant, out);
    }
    BUG("change %d", change->kind);
}

static Value expected_root(const Editor *editor, const Change *change)
{
    Arena *arena = editor->document.arena;
    switch (change->kind) {
    case CHANGE_REPLACE: return tree_replace(arena, change->location, change->value);
    case CHANGE_INSERT: return tree_insert(arena, change->location, change->key, change->value);
    case CHANGE_REMOVE: return tree_remove(arena, change->location);
    }
    BUG("change %d", change->kind);
}

/* A format may propose invalid splices for a layout that it does not handle. */
static bool is_valid(const Splices *splices, Str text)
{
    size_t pos = 0;
    for (uint32_t i = 0; i < splices->count; i++) {
        const Splice *item = &splices->items[i];
        if (item->start < pos || item->end < item->start || item->end > text.len) {
            return false;
        }
        pos = item->end;
    }
    return true;
}

static Str splice(Arena *arena, Str text, const Splices *splices)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    size_t pos = 0;
    for (uint32_t i = 0; i < splices->count; i++) {
        const Splice *item = &splices->items[i];
        buf_put(&out, str_slice(text, pos, item->start));
        buf_put(&out, item->text);
        pos = item->end;
    }
    buf_put(&out, str_from_offset(text, pos));
    return buf_str(&out);
}

static bool set_conflict(Editor *editor, Error *err)
{
    Document *document = &editor->document;
    Str path_text = data_path_text(editor->out, &editor->path, editor->path.len);
    return error_set(err, ERROR_CONFLICT,
                     "%" STR_FMT ": cannot change '%" STR_FMT "' without touching other lines "
                     "(because of an anchor, alias, tag or unusual layout); change it by hand",
                     STR_ARG(document->name), STR_ARG(path_text));
}

static bool apply_change(Editor *editor, const Change *change, Error *err)
{
    Value desired = expected_root(editor, change);
    Splices splices;
    uint32_t next = 1 - editor->current;
    for (unsigned variant = 0; propose(editor, change, variant, &splices); variant++) {
        Arena *arena = &editor->arenas[next];
        arena_clear(arena);
        if (!is_valid(&splices, editor->document.text)) {
            continue;
        }
        Error ignored;
        Document after = { .arena = arena,
                           .name = editor->document.name,
                           .text = splice(arena, editor->document.text, &splices) };
        if (editor->format->load(&after, &ignored) && tree_same(after.root, desired)) {
            editor->document = after;
            editor->current = next;
            return true;
        }
    }
    return set_conflict(editor, err);
}

/* --- Computing changes ---------------------------------------------------------------------- */

static bool reconcile(Editor *editor, Value desired, Error *err);

static bool lookup(Editor *editor, TreeLocation *location, Error *err)
{
    return tree_find(editor->document.arena, editor->document.root, &editor->path, location, err);
}

static void path_push(Editor *editor, Value key)
{
    editor->path.segments[editor->path.len++] = (DataSegment){ .key = key };
}

static void path_pop(Editor *editor)
{
    editor->path.len--;
}

/* Builds the replacement for the innermost existing container, which is empty or null: `desired`,
 * wrapped in new containers. */
static bool wrap_in_container(Editor *editor, const TreeLocation *location, Value desired,
                              Value *out, Error *err)
{
    Value container = location->chain[location->depth];
    const DataSegment *segment = &editor->path.segments[location->depth];
    if (container.kind != VALUE_MAP && !value_is_sequence(container)) {
        return tree_wrap(editor->out, &editor->path, location->depth, desired, out, err);
    }
    if (!tree_wrap(editor->out, &editor->path, location->depth + 1, desired, &desired, err)) {
        return false;
    }
    if (container.kind == VALUE_MAP) {
        Map *map = map_new(editor->out, 1);
        map_set(editor->out, map, segment->key, desired);
        *out = value_map(map);
    } else {
        List *list = list_new(editor->out, 1);
        list_push(editor->out, list, desired);
        *out = value_list(list);
    }
    return true;
}

static bool insert(Editor *editor, const TreeLocation *location, Value desired, Error *err)
{
    Value container = location->chain[location->depth];
    const DataSegment *segment = &editor->path.segments[location->depth];
    bool is_map = container.kind == VALUE_MAP;
    Change change = { .kind = CHANGE_INSERT, .location = location, .key = segment->key };
    if (editor->format->string_keys && is_map && segment->key.kind == VALUE_INT) {
        return error_set(err, ERROR_CONFLICT, "keys in %s are strings; quote %lld",
                         editor->format->name, (long long)segment->key.integer);
    }
    bool is_empty = is_map                         ? container.map->len == 0
                    : value_is_sequence(container) ? container.list->len == 0
                                                   : true;
    if (is_empty) {
        change.kind = CHANGE_REPLACE;
        return wrap_in_container(editor, location, desired, &change.value, err) &&
               apply_change(editor, &change, err);
    }
    return tree_wrap(editor->out, &editor->path, location->depth + 1, desired, &change.value,
                     err) &&
           apply_change(editor, &change, err);
}

static bool remove_at_path(Editor *editor, Error *err)
{
    TreeLocation location;
    if (!lookup(editor, &location, err)) {
        return false;
    }
    BUG_IF(location.depth != editor->path.len || location.depth == 0);
    Value container = location.chain[location.depth - 1];
    uint32_t count = container.kind == VALUE_MAP ? container.map->len : container.list->len;
    Change change = { .kind = CHANGE_REMOVE, .location = &location };
    TreeLocation outer = location;
    if (count == 1) {
        /* The container becomes empty. */
        outer.depth--;
        change =
            (Change){ .kind = CHANGE_REPLACE,
                      .location = &outer,
                      .value = container.kind == VALUE_MAP ? value_map(map_new(editor->out, 0))
                                                           : value_list(list_new(editor->out, 0)) };
    }
    return apply_change(editor, &change, err);
}

static bool reconcile_map(Editor *editor, const Map *desired, Error *err)
{
    TreeLocation location;
    for (bool more = true; more;) {
        more = false;
        if (!lookup(editor, &location, err)) {
            return false;
        }
        const Map *current_value = location.chain[location.depth].map;
        for (uint32_t i = 0; i < current_value->len && !more; i++) {
            if (map_find(desired, current_value->entries[i].key) == NULL) {
                path_push(editor, value_copy(editor->out, current_value->entries[i].key));
                if (!remove_at_path(editor, err)) {
                    return false;
                }
                path_pop(editor);
                more = true;
            }
        }
    }
    for (uint32_t i = 0; i < desired->len; i++) {
        path_push(editor, desired->entries[i].key);
        if (!reconcile(editor, desired->entries[i].value, err)) {
            return false;
        }
        path_pop(editor);
    }
    return true;
}

static bool reconcile_list(Editor *editor, const List *current_value, const List *desired,
                           Error *err)
{
    uint32_t first = 0;
    uint32_t surplus = current_value->len > desired->len ? current_value->len - desired->len : 0;
    while (first < desired->len && first < current_value->len &&
           tree_same(current_value->items[first], desired->items[first])) {
        first++;
    }
    for (uint32_t i = 0; i < surplus; i++) {
        path_push(editor, value_int(first));
        if (!remove_at_path(editor, err)) {
            return false;
        }
        path_pop(editor);
    }
    for (uint32_t i = first; i < desired->len; i++) {
        path_push(editor, value_int(i));
        if (!reconcile(editor, desired->items[i], err)) {
            return false;
        }
        path_pop(editor);
    }
    return true;
}

/* Counts the changes between two values, up to the maximum; `common` receives the number of entries
 * or items that both have. */
static uint32_t count_changes(Value current_value, Value desired, uint32_t *common)
{
    uint32_t count = 0, common_count = 0;
    if (current_value.kind == VALUE_MAP && desired.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < desired.map->len && count < DOCUMENT_EDITS_MAX; i++) {
            const MapEntry *entry = map_find(current_value.map, desired.map->entries[i].key);
            common_count += entry != NULL;
            count += entry == NULL
                         ? 1
                         : count_changes(entry->value, desired.map->entries[i].value, NULL);
        }
        count += current_value.map->len - common_count;
    } else if (value_is_sequence(current_value) && value_is_sequence(desired)) {
        common_count = current_value.list->len < desired.list->len ? current_value.list->len
                                                                   : desired.list->len;
        for (uint32_t i = 0; i < common_count && count < DOCUMENT_EDITS_MAX; i++) {
            count += count_changes(current_value.list->items[i], desired.list->items[i], NULL);
        }
        count += current_value.list->len + desired.list->len - 2 * common_count;
    } else {
        count = !tree_same(current_value, desired);
    }
    if (common != NULL) {
        *common = common_count;
    }
    return count;
}

/* Changes the value at the path to `desired` with as few changes as possible. */
static bool reconcile(Editor *editor, Value desired, Error *err)
{
    TreeLocation location;
    uint32_t common;
    if (!lookup(editor, &location, err)) {
        return false;
    }
    if (location.depth < editor->path.len) {
        return insert(editor, &location, desired, err);
    }
    Value current_value = location.chain[location.depth];
    if (tree_same(current_value, desired)) {
        return true;
    }
    bool is_small = count_changes(current_value, desired, &common) < DOCUMENT_EDITS_MAX &&
                    common > 0 && editor->path.len < DATA_PATH_MAX;
    if (is_small && desired.kind == VALUE_MAP) {
        return reconcile_map(editor, desired.map, err);
    }
    if (is_small) {
        return reconcile_list(editor, value_copy(editor->out, current_value).list, desired.list,
                              err);
    }
    return apply_change(
        editor, &(Change){ .kind = CHANGE_REPLACE, .location = &location, .value = desired }, err);
}

/* --- Requests ------------------------------------------------------------------------------- */

static bool is_item_path(const DataPath *path)
{
    return path->len > 0 && data_segment_is_end(&path->segments[path->len - 1]);
}

/* Adds or removes `desired` as an item of the list: the path ends with "-". */
static bool edit_items(Editor *editor, const DocumentRequest *request, Value desired,
                       DocumentChange *out, Error *err)
{
    TreeLocation location;
    uint32_t end = editor->path.len - 1;
    for (bool more = true; more;) {
        more = false;
        if (!lookup(editor, &location, err)) {
            return request->absent && err->kind == ERROR_CONFLICT;
        }
        Value container = location.chain[location.depth];
        bool is_list = location.depth == end && value_is_sequence(container);
        uint32_t pos = 0;
        while (is_list && pos < container.list->len &&
               !tree_same(container.list->items[pos], desired)) {
            pos++;
        }
        bool is_found = is_list && pos < container.list->len;
        if (is_found && value_is_missing(out->old)) {
            out->old = desired;
        }
        if (request->absent && is_found) {
            DataSegment dash = editor->path.segments[end];
            editor->path.segments[end] = (DataSegment){ .key = value_int(pos) };
            if (!remove_at_path(editor, err)) {
                return false;
            }
            editor->path.segments[end] = dash;
            more = true;
        } else if (!request->absent && !is_found) {
            return insert(editor, &location, desired, err);
        }
    }
    return true;
}

static bool edit_value(Editor *editor, const DocumentRequest *request, Value desired,
                       DocumentChange *out, Error *err)
{
    TreeLocation location;
    if (!lookup(editor, &location, err)) {
        /* If the path is blocked, the value is absent. */
        return request->absent && err->kind == ERROR_CONFLICT;
    }
    bool is_found =
        location.depth == editor->path.len && !value_is_missing(location.chain[location.depth]);
    if (is_found) {
        out->old = value_copy(editor->out, location.chain[location.depth]);
    }
    if (!request->absent) {
        return reconcile(editor, desired, err);
    }
    if (is_found && value_is_sequence(location.chain[location.depth - 1])) {
        return error_set(err, ERROR_INVALID,
                         "cannot remove a list index, because the next item would move there; end "
                         "'path' with '-' and pass the item as 'value'");
    }
    return !is_found || remove_at_path(editor, err);
}

bool document_request_check(const DocumentRequest *request, Error *err)
{
    bool has_value = !value_is_missing(request->value);
    for (uint32_t i = 0; i + 1 < request->path.len; i++) {
        if (data_segment_is_end(&request->path.segments[i])) {
            return error_set(err, ERROR_INVALID, "'path': '-' is only allowed as the last segment");
        }
    }
    if (is_item_path(&request->path) || !request->absent) {
        return has_value || error_set(err, ERROR_INVALID, "'value' is required");
    }
    if (request->path.len == 0) {
        return error_set(err, ERROR_INVALID,
                         "cannot remove the entire document; use file.absent to remove files");
    }
    return !has_value ||
           error_set(err, ERROR_INVALID,
                     "'value' is not allowed with 'state: absent', unless 'path' ends with '-'");
}

bool document_edit(Arena *arena, const DocumentFormat *format, Str name, Str text,
                   const DocumentRequest *request, DocumentChange *out, Error *err)
{
    AUTO_CLEAR(Editor) editor = { .format = format, .out = arena };
    Value desired = request->value;
    arena_init(&editor.arenas[0], ARENA_UNLIMITED);
    arena_init(&editor.arenas[1], ARENA_UNLIMITED);
    editor.document = (Document){ .arena = &editor.arenas[0], .name = name, .text = text };
    editor.path.segments = ARENA_ARRAY(arena, DataSegment, DATA_PATH_MAX);
    editor.path.len = request->path.len;
    memcpy(editor.path.segments, request->path.segments, request->path.len * sizeof(DataSegment));
    *out = (DocumentChange){ .text = text, .old = value_missing() };
    if (text.len > DOCUMENT_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %d bytes", STR_ARG(name),
                         DOCUMENT_MAX);
    }
    if (!value_is_missing(desired) && !format->normalize(arena, desired, &desired, err)) {
        return error_wrap(err, "'value'");
    }
    if (!format->load(&editor.document, err)) {
        return false;
    }
    bool ok = is_item_path(&request->path) ? edit_items(&editor, request, desired, out, err)
                                           : edit_value(&editor, request, desired, out, err);
    if (ok && editor.document.text.data != text.data) {
        out->text = arena_copy(arena, editor.document.text);
    }
    return ok;
}
