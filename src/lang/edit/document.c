/* Decides what to change, lets the format propose how, and verifies the result by parsing it
 * again. */
#include "base/bug.h"
#include "base/problems.h"
#include "lang/edit/document_inner.h"

typedef struct Editor {
    const DocumentFormat *format;
    Arena *out;       /* of the caller */
    Arena arenas[2];  /* text and values before and after a change */
    uint32_t current; /* index of the one that `document` is in */
    Document document;
    DataPath path; /* with space for more segments */
} Editor;

static void editor_clear(Editor *editor)
{
    arena_clear(&editor->arenas[0]);
    arena_clear(&editor->arenas[1]);
}
DEFINE_AUTO_CLEAR(Editor, editor_clear)

bool document_refuse(Str name, const Problems *problems, Error *err)
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
    const Spot *spot;
    Value key, value;
} Change;

static bool propose(const Editor *editor, const Change *change, unsigned way, Splices *out)
{
    const DocumentFormat *format = editor->format;
    const Document *document = &editor->document;
    *out = (Splices){ .count = 0 };
    switch (change->kind) {
    case CHANGE_REPLACE: return format->replace(document, change->spot, change->value, way, out);
    case CHANGE_INSERT:
        return format->insert(document, change->spot, change->key, change->value, way, out);
    case CHANGE_REMOVE: return format->remove(document, change->spot, way, out);
    }
    BUG("change %d", change->kind);
}

static Value expect(const Editor *editor, const Change *change)
{
    Arena *arena = editor->document.arena;
    switch (change->kind) {
    case CHANGE_REPLACE: return tree_replace(arena, change->spot, change->value);
    case CHANGE_INSERT: return tree_insert(arena, change->spot, change->key, change->value);
    case CHANGE_REMOVE: return tree_remove(arena, change->spot);
    }
    BUG("change %d", change->kind);
}

/* A proposal for a layout that the format does not understand may be invalid. */
static bool is_sound(const Splices *splices, Str text)
{
    size_t at = 0;
    for (uint32_t i = 0; i < splices->count; i++) {
        const Splice *one = &splices->items[i];
        if (one->start < at || one->end < one->start || one->end > text.len) {
            return false;
        }
        at = one->end;
    }
    return true;
}

static Str splice(Arena *arena, Str text, const Splices *splices)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    size_t at = 0;
    for (uint32_t i = 0; i < splices->count; i++) {
        const Splice *one = &splices->items[i];
        buf_put(&out, str_slice(text, at, one->start));
        buf_put(&out, one->text);
        at = one->end;
    }
    buf_put(&out, str_from_offset(text, at));
    return buf_str(&out);
}

static bool refuse_change(Editor *editor, Error *err)
{
    Document *document = &editor->document;
    Str place = data_path_text(editor->out, &editor->path, editor->path.len);
    return error_set(err, ERROR_CONFLICT,
                     "%" STR_FMT ": cannot change '%" STR_FMT "' without touching other lines "
                     "(because of an anchor, alias, tag or unusual layout); change it by hand",
                     STR_ARG(document->name), STR_ARG(place));
}

static bool perform(Editor *editor, const Change *change, Error *err)
{
    Value wanted = expect(editor, change);
    Splices splices;
    uint32_t next = 1 - editor->current;
    for (unsigned way = 0; propose(editor, change, way, &splices); way++) {
        Arena *arena = &editor->arenas[next];
        arena_clear(arena);
        if (!is_sound(&splices, editor->document.text)) {
            continue;
        }
        Error unread;
        Document after = { .arena = arena,
                           .name = editor->document.name,
                           .text = splice(arena, editor->document.text, &splices) };
        if (editor->format->load(&after, &unread) && tree_same(after.root, wanted)) {
            editor->document = after;
            editor->current = next;
            return true;
        }
    }
    return refuse_change(editor, err);
}

/* --- Computing changes ---------------------------------------------------------------------- */

static bool reconcile(Editor *editor, Value wanted, Error *err);

static bool lookup(Editor *editor, Spot *spot, Error *err)
{
    return tree_find(editor->document.arena, editor->document.root, &editor->path, spot, err);
}

static void enter(Editor *editor, Value key)
{
    editor->path.steps[editor->path.len++] = (DataSegment){ .key = key };
}

static void leave(Editor *editor)
{
    editor->path.len--;
}

/* Wraps `wanted` in new containers below `around`, which is empty or null; includes `around`
 * itself. */
static bool fill(Editor *editor, const Spot *spot, Value wanted, Value *out, Error *err)
{
    Value around = spot->chain[spot->depth];
    const DataSegment *step = &editor->path.steps[spot->depth];
    if (around.kind != VALUE_MAP && !value_is_sequence(around)) {
        return tree_wrap(editor->out, &editor->path, spot->depth, wanted, out, err);
    }
    if (!tree_wrap(editor->out, &editor->path, spot->depth + 1, wanted, &wanted, err)) {
        return false;
    }
    if (around.kind == VALUE_MAP) {
        Map *map = map_new(editor->out, 1);
        map_set(editor->out, map, step->key, wanted);
        *out = value_map(map);
    } else {
        List *list = list_new(editor->out, 1);
        list_push(editor->out, list, wanted);
        *out = value_list(list);
    }
    return true;
}

static bool insert(Editor *editor, const Spot *spot, Value wanted, Error *err)
{
    Value around = spot->chain[spot->depth];
    const DataSegment *step = &editor->path.steps[spot->depth];
    bool is_map = around.kind == VALUE_MAP;
    Change change = { .kind = CHANGE_INSERT, .spot = spot, .key = step->key };
    if (editor->format->text_keys && is_map && step->key.kind == VALUE_INT) {
        return error_set(err, ERROR_CONFLICT, "keys in %s are strings; quote %lld",
                         editor->format->name, (long long)step->key.integer);
    }
    bool empty = is_map                      ? around.map->len == 0
                 : value_is_sequence(around) ? around.list->len == 0
                                             : true;
    if (empty) {
        change.kind = CHANGE_REPLACE;
        return fill(editor, spot, wanted, &change.value, err) && perform(editor, &change, err);
    }
    return tree_wrap(editor->out, &editor->path, spot->depth + 1, wanted, &change.value, err) &&
           perform(editor, &change, err);
}

static bool remove_here(Editor *editor, Error *err)
{
    Spot spot;
    if (!lookup(editor, &spot, err)) {
        return false;
    }
    BUG_IF(spot.depth != editor->path.len || spot.depth == 0);
    Value around = spot.chain[spot.depth - 1];
    uint32_t count = around.kind == VALUE_MAP ? around.map->len : around.list->len;
    Change change = { .kind = CHANGE_REMOVE, .spot = &spot };
    Spot outer = spot;
    if (count == 1) {
        /* Removing the last one leaves an empty container. */
        outer.depth--;
        change =
            (Change){ .kind = CHANGE_REPLACE,
                      .spot = &outer,
                      .value = around.kind == VALUE_MAP ? value_map(map_new(editor->out, 0))
                                                        : value_list(list_new(editor->out, 0)) };
    }
    return perform(editor, &change, err);
}

static bool reconcile_map(Editor *editor, const Map *wanted, Error *err)
{
    Spot spot;
    for (bool more = true; more;) {
        more = false;
        if (!lookup(editor, &spot, err)) {
            return false;
        }
        const Map *now = spot.chain[spot.depth].map;
        for (uint32_t i = 0; i < now->len && !more; i++) {
            if (map_find(wanted, now->entries[i].key) == NULL) {
                enter(editor, value_copy(editor->out, now->entries[i].key));
                if (!remove_here(editor, err)) {
                    return false;
                }
                leave(editor);
                more = true;
            }
        }
    }
    for (uint32_t i = 0; i < wanted->len; i++) {
        enter(editor, wanted->entries[i].key);
        if (!reconcile(editor, wanted->entries[i].value, err)) {
            return false;
        }
        leave(editor);
    }
    return true;
}

static bool reconcile_list(Editor *editor, const List *now, const List *wanted, Error *err)
{
    uint32_t first = 0;
    uint32_t surplus = now->len > wanted->len ? now->len - wanted->len : 0;
    while (first < wanted->len && first < now->len &&
           tree_same(now->items[first], wanted->items[first])) {
        first++;
    }
    for (uint32_t i = 0; i < surplus; i++) {
        enter(editor, value_int(first));
        if (!remove_here(editor, err)) {
            return false;
        }
        leave(editor);
    }
    for (uint32_t i = first; i < wanted->len; i++) {
        enter(editor, value_int(i));
        if (!reconcile(editor, wanted->items[i], err)) {
            return false;
        }
        leave(editor);
    }
    return true;
}

/* The number of changes from one to the other, up to the maximum; `common` counts what is
 * unchanged. */
static uint32_t count_changes(Value now, Value wanted, uint32_t *common)
{
    uint32_t count = 0, kept = 0;
    if (now.kind == VALUE_MAP && wanted.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < wanted.map->len && count < DOCUMENT_EDITS_MAX; i++) {
            const MapEntry *entry = map_find(now.map, wanted.map->entries[i].key);
            kept += entry != NULL;
            count +=
                entry == NULL ? 1 : count_changes(entry->value, wanted.map->entries[i].value, NULL);
        }
        count += now.map->len - kept;
    } else if (value_is_sequence(now) && value_is_sequence(wanted)) {
        kept = now.list->len < wanted.list->len ? now.list->len : wanted.list->len;
        for (uint32_t i = 0; i < kept && count < DOCUMENT_EDITS_MAX; i++) {
            count += count_changes(now.list->items[i], wanted.list->items[i], NULL);
        }
        count += now.list->len + wanted.list->len - 2 * kept;
    } else {
        count = !tree_same(now, wanted);
    }
    if (common != NULL) {
        *common = kept;
    }
    return count;
}

/* Changes the value at the path to the wanted one by the smallest possible changes. */
static bool reconcile(Editor *editor, Value wanted, Error *err)
{
    Spot spot;
    uint32_t common;
    if (!lookup(editor, &spot, err)) {
        return false;
    }
    if (spot.depth < editor->path.len) {
        return insert(editor, &spot, wanted, err);
    }
    Value now = spot.chain[spot.depth];
    if (tree_same(now, wanted)) {
        return true;
    }
    bool small = count_changes(now, wanted, &common) < DOCUMENT_EDITS_MAX && common > 0 &&
                 editor->path.len < DATA_PATH_MAX;
    if (small && wanted.kind == VALUE_MAP) {
        return reconcile_map(editor, wanted.map, err);
    }
    if (small) {
        return reconcile_list(editor, value_copy(editor->out, now).list, wanted.list, err);
    }
    return perform(editor, &(Change){ .kind = CHANGE_REPLACE, .spot = &spot, .value = wanted },
                   err);
}

/* --- Requests ------------------------------------------------------------------------------- */

static bool is_item_path(const DataPath *path)
{
    return path->len > 0 && data_segment_is_end(&path->steps[path->len - 1]);
}

/* A path that ends with "-": one of the items, at any index. */
static bool edit_items(Editor *editor, const DocumentRequest *request, Value wanted,
                       DocumentChange *out, Error *err)
{
    Spot spot;
    uint32_t end = editor->path.len - 1;
    for (bool more = true; more;) {
        more = false;
        if (!lookup(editor, &spot, err)) {
            return request->absent && err->kind == ERROR_CONFLICT;
        }
        Value around = spot.chain[spot.depth];
        bool is_list = spot.depth == end && value_is_sequence(around);
        uint32_t at = 0;
        while (is_list && at < around.list->len && !tree_same(around.list->items[at], wanted)) {
            at++;
        }
        bool found = is_list && at < around.list->len;
        if (found && value_is_missing(out->old)) {
            out->old = wanted;
        }
        if (request->absent && found) {
            DataSegment dash = editor->path.steps[end];
            editor->path.steps[end] = (DataSegment){ .key = value_int(at) };
            if (!remove_here(editor, err)) {
                return false;
            }
            editor->path.steps[end] = dash;
            more = true;
        } else if (!request->absent && !found) {
            return insert(editor, &spot, wanted, err);
        }
    }
    return true;
}

static bool edit_value(Editor *editor, const DocumentRequest *request, Value wanted,
                       DocumentChange *out, Error *err)
{
    Spot spot;
    if (!lookup(editor, &spot, err)) {
        /* If the path is blocked, the value is absent. */
        return request->absent && err->kind == ERROR_CONFLICT;
    }
    bool found = spot.depth == editor->path.len && !value_is_missing(spot.chain[spot.depth]);
    if (found) {
        out->old = value_copy(editor->out, spot.chain[spot.depth]);
    }
    if (!request->absent) {
        return reconcile(editor, wanted, err);
    }
    if (found && value_is_sequence(spot.chain[spot.depth - 1])) {
        return error_set(err, ERROR_INVALID,
                         "cannot remove a list index, because the next item would move there; end "
                         "'path' with '-' and pass the item as 'value'");
    }
    return !found || remove_here(editor, err);
}

bool document_request_check(const DocumentRequest *request, Error *err)
{
    bool given = !value_is_missing(request->value);
    for (uint32_t i = 0; i + 1 < request->path.len; i++) {
        if (data_segment_is_end(&request->path.steps[i])) {
            return error_set(err, ERROR_INVALID, "'path': '-' is only allowed as the last segment");
        }
    }
    if (is_item_path(&request->path) || !request->absent) {
        return given || error_set(err, ERROR_INVALID, "'value' is required");
    }
    if (request->path.len == 0) {
        return error_set(err, ERROR_INVALID,
                         "cannot remove the entire document; use file.absent to remove files");
    }
    return !given ||
           error_set(err, ERROR_INVALID,
                     "'value' is not allowed with 'state: absent', unless 'path' ends with '-'");
}

bool document_edit(Arena *arena, const DocumentFormat *format, Str name, Str text,
                   const DocumentRequest *request, DocumentChange *out, Error *err)
{
    AUTO_CLEAR(Editor) editor = { .format = format, .out = arena };
    Value wanted = request->value;
    arena_init(&editor.arenas[0], ARENA_UNLIMITED);
    arena_init(&editor.arenas[1], ARENA_UNLIMITED);
    editor.document = (Document){ .arena = &editor.arenas[0], .name = name, .text = text };
    editor.path.steps = ARENA_ARRAY(arena, DataSegment, DATA_PATH_MAX);
    editor.path.len = request->path.len;
    memcpy(editor.path.steps, request->path.steps, request->path.len * sizeof(DataSegment));
    *out = (DocumentChange){ .text = text, .old = value_missing() };
    if (text.len > DOCUMENT_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %d bytes", STR_ARG(name),
                         DOCUMENT_MAX);
    }
    if (!value_is_missing(wanted) && !format->normalize(arena, wanted, &wanted, err)) {
        return error_wrap(err, "'value'");
    }
    if (!format->load(&editor.document, err)) {
        return false;
    }
    bool done = is_item_path(&request->path) ? edit_items(&editor, request, wanted, out, err)
                                             : edit_value(&editor, request, wanted, out, err);
    if (done && editor.document.text.data != text.data) {
        out->text = arena_copy(arena, editor.document.text);
    }
    return done;
}
