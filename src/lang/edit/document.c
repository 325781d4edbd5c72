/* Decides what to change, lets the format propose how, and reads the result again. */
#include "base/bug.h"
#include "base/problems.h"
#include "lang/edit/document_inner.h"

typedef struct Editing {
    const DocumentFormat *format;
    Arena *out;       /* the caller's */
    Arena arenas[2];  /* the text and values before and after a change */
    uint32_t current; /* which of them `document` is in */
    Document document;
    DataPath path; /* with room for more steps */
} Editing;

static void editing_clear(Editing *editing)
{
    arena_clear(&editing->arenas[0]);
    arena_clear(&editing->arenas[1]);
}
DEFINE_AUTO_CLEAR(Editing, editing_clear)

bool document_refuse(Str name, const Problems *problems, Error *err)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        const Problem *problem = &problems->items[i];
        if (problem->severity == SEVERITY_ERROR) {
            return error_set(err, ERROR_INVALID, "%" STR_FMT ":%u:%u: %" STR_FMT, STR_ARG(name),
                             problem->line, problem->column, STR_ARG(problem->message));
        }
    }
    return error_set(err, ERROR_INVALID, "%" STR_FMT " cannot be read", STR_ARG(name));
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

static bool propose(const Editing *editing, const Change *change, unsigned way, Splices *out)
{
    const DocumentFormat *format = editing->format;
    const Document *document = &editing->document;
    *out = (Splices){ .count = 0 };
    switch (change->kind) {
    case CHANGE_REPLACE: return format->replace(document, change->spot, change->value, way, out);
    case CHANGE_INSERT:
        return format->insert(document, change->spot, change->key, change->value, way, out);
    case CHANGE_REMOVE: return format->remove(document, change->spot, way, out);
    }
    BUG("change %d", change->kind);
}

static Value expect(const Editing *editing, const Change *change)
{
    Arena *arena = editing->document.arena;
    switch (change->kind) {
    case CHANGE_REPLACE: return tree_replace(arena, change->spot, change->value);
    case CHANGE_INSERT: return tree_insert(arena, change->spot, change->key, change->value);
    case CHANGE_REMOVE: return tree_remove(arena, change->spot);
    }
    BUG("change %d", change->kind);
}

/* A proposal for a text that the format does not see through may be nonsense. */
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

static bool refuse_change(Editing *editing, Error *err)
{
    Document *document = &editing->document;
    Str place = data_path_text(editing->out, &editing->path, editing->path.len);
    return error_set(err, ERROR_CONFLICT,
                     "%" STR_FMT ": '%" STR_FMT "' cannot be changed without touching other lines "
                     "(an anchor, alias, tag or unusual layout is in the way): change it by hand",
                     STR_ARG(document->name), STR_ARG(place));
}

static bool perform(Editing *editing, const Change *change, Error *err)
{
    Value wanted = expect(editing, change);
    Splices splices;
    uint32_t next = 1 - editing->current;
    for (unsigned way = 0; propose(editing, change, way, &splices); way++) {
        Arena *arena = &editing->arenas[next];
        arena_clear(arena);
        if (!is_sound(&splices, editing->document.text)) {
            continue;
        }
        Error unread;
        Document after = { .arena = arena,
                           .name = editing->document.name,
                           .text = splice(arena, editing->document.text, &splices) };
        if (editing->format->load(&after, &unread) && tree_same(after.root, wanted)) {
            editing->document = after;
            editing->current = next;
            return true;
        }
    }
    return refuse_change(editing, err);
}

/* --- From what is there to what is wanted --------------------------------------------------- */

static bool reconcile(Editing *editing, Value wanted, Error *err);

static bool look(Editing *editing, Spot *spot, Error *err)
{
    return tree_find(editing->document.arena, editing->document.root, &editing->path, spot, err);
}

static void enter(Editing *editing, Value key)
{
    editing->path.steps[editing->path.len++] = (DataStep){ .key = key };
}

static void leave(Editing *editing)
{
    editing->path.len--;
}

/* `wanted` in new containers below `around`, which is empty or null; that one included. */
static bool fill(Editing *editing, const Spot *spot, Value wanted, Value *out, Error *err)
{
    Value around = spot->chain[spot->depth];
    const DataStep *step = &editing->path.steps[spot->depth];
    if (around.kind != VALUE_MAP && !value_is_sequence(around)) {
        return tree_wrap(editing->out, &editing->path, spot->depth, wanted, out, err);
    }
    if (!tree_wrap(editing->out, &editing->path, spot->depth + 1, wanted, &wanted, err)) {
        return false;
    }
    if (around.kind == VALUE_MAP) {
        Map *map = map_new(editing->out, 1);
        map_set(editing->out, map, step->key, wanted);
        *out = value_map(map);
    } else {
        List *list = list_new(editing->out, 1);
        list_push(editing->out, list, wanted);
        *out = value_list(list);
    }
    return true;
}

static bool insert(Editing *editing, const Spot *spot, Value wanted, Error *err)
{
    Value around = spot->chain[spot->depth];
    const DataStep *step = &editing->path.steps[spot->depth];
    bool is_map = around.kind == VALUE_MAP;
    Change change = { .kind = CHANGE_INSERT, .spot = spot, .key = step->key };
    if (editing->format->text_keys && is_map && step->key.kind == VALUE_INT) {
        return error_set(err, ERROR_CONFLICT, "%s has text as keys: put %lld into quotes",
                         editing->format->name, (long long)step->key.integer);
    }
    bool empty = is_map                      ? around.map->len == 0
                 : value_is_sequence(around) ? around.list->len == 0
                                             : true;
    if (empty) {
        change.kind = CHANGE_REPLACE;
        return fill(editing, spot, wanted, &change.value, err) && perform(editing, &change, err);
    }
    return tree_wrap(editing->out, &editing->path, spot->depth + 1, wanted, &change.value, err) &&
           perform(editing, &change, err);
}

static bool remove_here(Editing *editing, Error *err)
{
    Spot spot;
    if (!look(editing, &spot, err)) {
        return false;
    }
    BUG_IF(spot.depth != editing->path.len || spot.depth == 0);
    Value around = spot.chain[spot.depth - 1];
    uint32_t count = around.kind == VALUE_MAP ? around.map->len : around.list->len;
    Change change = { .kind = CHANGE_REMOVE, .spot = &spot };
    Spot outer = spot;
    if (count == 1) {
        /* The last one leaves an empty container. */
        outer.depth--;
        change =
            (Change){ .kind = CHANGE_REPLACE,
                      .spot = &outer,
                      .value = around.kind == VALUE_MAP ? value_map(map_new(editing->out, 0))
                                                        : value_list(list_new(editing->out, 0)) };
    }
    return perform(editing, &change, err);
}

static bool reconcile_map(Editing *editing, const Map *wanted, Error *err)
{
    Spot spot;
    for (bool more = true; more;) {
        more = false;
        if (!look(editing, &spot, err)) {
            return false;
        }
        const Map *now = spot.chain[spot.depth].map;
        for (uint32_t i = 0; i < now->len && !more; i++) {
            if (map_find(wanted, now->entries[i].key) == NULL) {
                enter(editing, value_copy(editing->out, now->entries[i].key));
                if (!remove_here(editing, err)) {
                    return false;
                }
                leave(editing);
                more = true;
            }
        }
    }
    for (uint32_t i = 0; i < wanted->len; i++) {
        enter(editing, wanted->entries[i].key);
        if (!reconcile(editing, wanted->entries[i].value, err)) {
            return false;
        }
        leave(editing);
    }
    return true;
}

static bool reconcile_list(Editing *editing, const List *now, const List *wanted, Error *err)
{
    uint32_t first = 0;
    uint32_t surplus = now->len > wanted->len ? now->len - wanted->len : 0;
    while (first < wanted->len && first < now->len &&
           tree_same(now->items[first], wanted->items[first])) {
        first++;
    }
    for (uint32_t i = 0; i < surplus; i++) {
        enter(editing, value_int(first));
        if (!remove_here(editing, err)) {
            return false;
        }
        leave(editing);
    }
    for (uint32_t i = first; i < wanted->len; i++) {
        enter(editing, value_int(i));
        if (!reconcile(editing, wanted->items[i], err)) {
            return false;
        }
        leave(editing);
    }
    return true;
}

/* How many changes lead from one to the other, up to the maximum; `common` counts what stays. */
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

/* Brings what is at the path to the wanted value by changes as small as can be. */
static bool reconcile(Editing *editing, Value wanted, Error *err)
{
    Spot spot;
    uint32_t common;
    if (!look(editing, &spot, err)) {
        return false;
    }
    if (spot.depth < editing->path.len) {
        return insert(editing, &spot, wanted, err);
    }
    Value now = spot.chain[spot.depth];
    if (tree_same(now, wanted)) {
        return true;
    }
    bool small = count_changes(now, wanted, &common) < DOCUMENT_EDITS_MAX && common > 0 &&
                 editing->path.len < DATA_PATH_MAX;
    if (small && wanted.kind == VALUE_MAP) {
        return reconcile_map(editing, wanted.map, err);
    }
    if (small) {
        return reconcile_list(editing, value_copy(editing->out, now).list, wanted.list, err);
    }
    return perform(editing, &(Change){ .kind = CHANGE_REPLACE, .spot = &spot, .value = wanted },
                   err);
}

/* --- Wishes --------------------------------------------------------------------------------- */

static bool names_an_item(const DataPath *path)
{
    return path->len > 0 && data_step_is_end(&path->steps[path->len - 1]);
}

/* A path that ends with "-": one of the items, wherever it is. */
static bool edit_items(Editing *editing, const DocumentWish *wish, Value wanted,
                       DocumentChange *out, Error *err)
{
    Spot spot;
    uint32_t end = editing->path.len - 1;
    for (bool more = true; more;) {
        more = false;
        if (!look(editing, &spot, err)) {
            return wish->absent && err->kind == ERROR_CONFLICT;
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
        if (wish->absent && found) {
            DataStep dash = editing->path.steps[end];
            editing->path.steps[end] = (DataStep){ .key = value_int(at) };
            if (!remove_here(editing, err)) {
                return false;
            }
            editing->path.steps[end] = dash;
            more = true;
        } else if (!wish->absent && !found) {
            return insert(editing, &spot, wanted, err);
        }
    }
    return true;
}

static bool edit_value(Editing *editing, const DocumentWish *wish, Value wanted,
                       DocumentChange *out, Error *err)
{
    Spot spot;
    if (!look(editing, &spot, err)) {
        /* What is in the way of an absent value keeps it absent. */
        return wish->absent && err->kind == ERROR_CONFLICT;
    }
    bool found = spot.depth == editing->path.len && !value_is_missing(spot.chain[spot.depth]);
    if (found) {
        out->old = value_copy(editing->out, spot.chain[spot.depth]);
    }
    if (!wish->absent) {
        return reconcile(editing, wanted, err);
    }
    if (found && value_is_sequence(spot.chain[spot.depth - 1])) {
        return error_set(err, ERROR_INVALID,
                         "a place in a list cannot be absent, as the next item moves there; end "
                         "'path' with '-' and give the item as 'value'");
    }
    return !found || remove_here(editing, err);
}

bool document_wish_check(const DocumentWish *wish, Error *err)
{
    bool given = !value_is_missing(wish->value);
    for (uint32_t i = 0; i + 1 < wish->path.len; i++) {
        if (data_step_is_end(&wish->path.steps[i])) {
            return error_set(err, ERROR_INVALID, "'path': '-' can only be the last step");
        }
    }
    if (names_an_item(&wish->path) || !wish->absent) {
        return given || error_set(err, ERROR_INVALID, "needs 'value'");
    }
    if (wish->path.len == 0) {
        return error_set(err, ERROR_INVALID,
                         "the whole document cannot be absent; file.absent "
                         "removes files");
    }
    return !given || error_set(err, ERROR_INVALID,
                               "'state: absent' takes no 'value', unless 'path' ends with '-'");
}

bool document_edit(Arena *arena, const DocumentFormat *format, Str name, Str text,
                   const DocumentWish *wish, DocumentChange *out, Error *err)
{
    AUTO_CLEAR(Editing) editing = { .format = format, .out = arena };
    Value wanted = wish->value;
    arena_init(&editing.arenas[0], ARENA_UNLIMITED);
    arena_init(&editing.arenas[1], ARENA_UNLIMITED);
    editing.document = (Document){ .arena = &editing.arenas[0], .name = name, .text = text };
    editing.path.steps = ARENA_ARRAY(arena, DataStep, DATA_PATH_MAX);
    editing.path.len = wish->path.len;
    memcpy(editing.path.steps, wish->path.steps, wish->path.len * sizeof(DataStep));
    *out = (DocumentChange){ .text = text, .old = value_missing() };
    if (text.len > DOCUMENT_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %d bytes", STR_ARG(name),
                         DOCUMENT_MAX);
    }
    if (!value_is_missing(wanted) && !format->normalize(arena, wanted, &wanted, err)) {
        return error_wrap(err, "'value'");
    }
    if (!format->load(&editing.document, err)) {
        return false;
    }
    bool done = names_an_item(&wish->path) ? edit_items(&editing, wish, wanted, out, err)
                                           : edit_value(&editing, wish, wanted, out, err);
    if (done && editing.document.text.data != text.data) {
        out->text = arena_copy(arena, editing.document.text);
    }
    return done;
}
