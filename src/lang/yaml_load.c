/* From libyaml's events to values.
 *
 * Finished values wait on one stack until their container ends; then the container takes its
 * children in one exactly sized copy. So building costs a few stores per node and one allocation
 * per container, and nothing here recurses. */
#include "lang/yaml_load.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/suggest.h"
#include "base/utf8.h"

enum {
    DEPTH_MAX = 256,
    TEXT_BLOCK = 4096,
    LARGE_CONTAINER = 1024,
    LARGE_TEXT = 1 << 20,
    LARGE_TEXT_PROBLEMS = 20, /* finding the line of a problem walks the text */
    SHOWN_KEY_MAX = 60,
};

const YamlOptions yaml_options_default = {
    .limits = {
        .size = 64u << 20,
        .scalar = 16u << 20,
        .depth = 64,
        .nodes = 4000000,
        .aliases = 100000,
        .expanded = 1000000,
    },
};

static const Str bom = { "\xef\xbb\xbf", 3 };

bool yaml_load_has_room(const YamlLoad *load)
{
    uint32_t max = load->text.len > LARGE_TEXT ? LARGE_TEXT_PROBLEMS : PROBLEMS_MAX;
    return load->problems->count < max;
}

uint32_t yaml_load_offset(YamlLoad *load, size_t index)
{
    if (LIKELY(index <= load->ascii)) {
        return (uint32_t)(load->base + index);
    }
    const char *text = load->text.data;
    size_t offset = load->cursor_offset, at = load->cursor_index;
    if (at < load->ascii) {
        at = load->ascii;
        offset = load->base + at;
    }
    size_t len = load->text.len;
    while (at < index && offset < len) {
        uint64_t word;
        if (index - at >= sizeof word && len - offset >= sizeof word) {
            memcpy(&word, text + offset, sizeof word);
            if ((word & 0x8080808080808080u) == 0) {
                at += sizeof word;
                offset += sizeof word;
                continue;
            }
        }
        at++;
        offset++;
        while (offset < len && utf8_is_continuation(text[offset])) {
            offset++;
        }
    }
    for (; at > index; at--) {
        offset--;
        while (utf8_is_continuation(text[offset])) {
            offset--;
        }
    }
    load->cursor_index = at;
    load->cursor_offset = offset;
    return (uint32_t)offset;
}

static bool limit_reached(YamlLoad *load, uint32_t at, const char *what, uint64_t limit)
{
    problems_add(load->problems, "E0105", load->source, at, 1, "%s (the limit is %llu)", what,
                 (unsigned long long)limit);
    return false;
}

static YamlFrame *top_frame(YamlLoad *load)
{
    return load->depth == 0 ? NULL : &load->frames[load->depth - 1];
}

static bool at_key(const YamlLoad *load, const YamlFrame *frame)
{
    return frame != NULL && frame->is_map && (load->stack_len - frame->first) % 2 == 0;
}

/* Whether the arena's budget has room for a large block; if not, the load ends at its next
 * check. Small ones need not ask. */
static bool charge(YamlLoad *load, size_t size)
{
    if (size > load->arena->budget || arena_used(load->arena) > load->arena->budget - size) {
        load->arena->over_budget = true;
        return false;
    }
    return true;
}

static void grow_stack(YamlLoad *load)
{
    uint32_t cap = load->stack_cap == 0 ? 256 : load->stack_cap * 2;
    charge(load, cap * sizeof(Value));
    Value *grown = realloc(load->stack, cap * sizeof *grown);
    if (grown == NULL) {
        memory_exhausted(cap * sizeof *grown);
    }
    load->stack = grown;
    load->stack_cap = cap;
}

/* Where the next value is to be written; add_value() then takes it. Values are built in place
 * because copying one right after storing its fields stalls the processor. */
static inline Value *next_slot(YamlLoad *load)
{
    if (UNLIKELY(load->stack_len == load->stack_cap)) {
        grow_stack(load);
    }
    return &load->stack[load->stack_len];
}

/* The text of a scalar. Most stand in the source as they are and borrow it; the others are
 * copied, short ones into shared blocks, because most are smaller than the arena's alignment. */
static const char *keep_text(YamlLoad *load, Str text, bool quoted, uint32_t start, uint32_t end)
{
    const char *source = load->text.data + start + quoted;
    if (text.len + 2 * quoted == end - start && memcmp(text.data, source, text.len) == 0) {
        return source;
    }
    if (text.len > load->text_room) {
        if (text.len > TEXT_BLOCK / 4) {
            return arena_copy(load->arena, text).data;
        }
        load->text_next = arena_alloc(load->arena, TEXT_BLOCK);
        load->text_room = TEXT_BLOCK;
    }
    if (text.len == 0) {
        return "";
    }
    char *kept = memcpy(load->text_next, text.data, text.len);
    load->text_next += text.len;
    load->text_room -= text.len;
    return kept;
}

/* The text of a value as its author wrote it, short enough for a message. */
static Str shown(const YamlLoad *load, Value v)
{
    Str text = str_slice(load->text, v.start, (size_t)v.start + v.span);
    size_t len = 0;
    while (len < text.len && text.data[len] != '\n' && text.data[len] != '\r' &&
           (len < SHOWN_KEY_MAX || utf8_is_continuation(text.data[len]))) {
        len++;
    }
    return str_slice(text, 0, len);
}

/* --- Properties: anchors and tags --------------------------------------------------------- */

/* Where the content starts behind anchor and tag, at most `end`. */
static uint32_t skip_properties(const YamlLoad *load, uint32_t start, uint32_t end)
{
    Str text = str_slice(load->text, 0, end);
    size_t at = start;
    while (at < text.len) {
        char c = text.data[at];
        if (ascii_is_space(c)) {
            at++;
        } else if (c == '#') {
            while (at < text.len && text.data[at] != '\n' && text.data[at] != '\r') {
                at++;
            }
        } else if (c == '&' || c == '!') {
            at++;
            bool verbatim = at < text.len && c == '!' && text.data[at] == '<';
            while (at < text.len && !ascii_is_space(text.data[at]) &&
                   (verbatim || strchr(",[]{}", text.data[at]) == NULL)) {
                at++;
            }
        } else {
            break;
        }
    }
    return (uint32_t)at;
}

static uint32_t add_anchor(YamlLoad *load, const yaml_char_t *name, Value v)
{
    if (load->anchor_count == load->anchor_cap) {
        uint32_t cap = load->anchor_cap == 0 ? 8 : load->anchor_cap * 2;
        load->anchors = arena_grow(load->arena, load->anchors,
                                   load->anchor_cap * sizeof(YamlAnchor), cap * sizeof(YamlAnchor));
        load->anchor_cap = cap;
    }
    if (load->anchor_names == NULL) {
        load->anchor_names = map_new(load->arena, 0);
    }
    Str key = arena_copy(load->arena, str_from_c((const char *)name));
    map_set_str(load->arena, load->anchor_names, key, value_int(load->anchor_count));
    load->anchors[load->anchor_count++] = (YamlAnchor){ .value = v, .nodes = 1 };
    return load->anchor_count;
}

static YamlAnchor *find_anchor(YamlLoad *load, Str name)
{
    const MapEntry *entry =
        load->anchor_names == NULL ? NULL : map_find_str(load->anchor_names, name);
    return entry == NULL ? NULL : &load->anchors[entry->value.integer];
}

static bool is_secret_tag(const yaml_char_t *tag)
{
    return tag != NULL && strcmp((const char *)tag, "!secret") == 0;
}

/* --- Keys --------------------------------------------------------------------------------- */

/* Lists become tuples; anything that holds a map cannot be a key. */
static bool make_key(YamlLoad *load, Value *v)
{
    if (v->kind != VALUE_LIST && v->kind != VALUE_TUPLE) {
        return v->kind != VALUE_MAP;
    }
    List *items = list_new(load->arena, v->list->len);
    for (uint32_t i = 0; i < v->list->len; i++) {
        Value item = v->list->items[i];
        if (!make_key(load, &item)) {
            return false;
        }
        list_push(load->arena, items, item);
    }
    v->kind = VALUE_TUPLE;
    v->list = items;
    return true;
}

/* Makes a container that stands as a key one; when it cannot be one, tells so and goes on with
 * a string. */
static void take_key(YamlLoad *load, YamlFrame *frame, Value *v)
{
    if (make_key(load, v)) {
        return;
    }
    Str text = load->text;
    if (frame->flow && v->start == frame->start + 1 && text.data[frame->start] == '{' &&
        text.data[v->start] == '{') {
        frame->template = true; /* told when both braces are closed */
    } else if (yaml_load_has_room(load)) {
        Problem *problem = problems_add(load->problems, "E0114", load->source, v->start, v->span,
                                        "a map cannot be a key");
        problem->hint = STR("use a string, a number or a list of them");
    }
    Str key = shown(load, *v);
    v->kind = VALUE_STRING;
    v->text = key.data;
    v->len = (uint32_t)key.len;
}

/* --- Adding finished values --------------------------------------------------------------- */

/* Takes the value in the next slot, which ends at `end`, into its container. */
static bool add_value(YamlLoad *load, uint32_t end, uint64_t nodes, uint32_t depth)
{
    YamlFrame *frame = top_frame(load);
    Value *v = &load->stack[load->stack_len];
    if (UNLIKELY(frame == NULL)) {
        load->stack_len++;
        return true;
    }
    if (UNLIKELY(frame->secret)) {
        v->flags |= VALUE_SECRET;
    }
    if (UNLIKELY(v->kind > VALUE_STRING) && at_key(load, frame)) {
        take_key(load, frame, v);
    }
    load->stack_len++;
    frame->end = end;
    frame->nodes += nodes;
    if (depth > frame->below) {
        frame->below = depth;
    }
    return !frame->flow || yaml_strict_separator(load, end);
}

static bool check_memory(YamlLoad *load, uint32_t at)
{
    return LIKELY(!arena_exceeded(load->arena)) ||
           limit_reached(load, at, "reading the text takes too much memory", load->arena->budget);
}

static bool count_node(YamlLoad *load, uint32_t at)
{
    if (UNLIKELY(++load->nodes > load->options.limits.nodes)) {
        return limit_reached(load, at, "the text holds too many values",
                             load->options.limits.nodes);
    }
    return check_memory(load, at);
}

static void scalar_problem(YamlLoad *load, YamlScalar outcome, Value v, Str tag)
{
    if (outcome == YAML_SCALAR_TOO_BIG) {
        Problem *problem = problems_add(load->problems, "E0112", load->source, v.start, v.span,
                                        "the number does not fit in 64 bits");
        problem->hint = STR("quote it to keep it as text");
        return;
    }
    Str name = yaml_schema_tag_name(tag);
    problems_add(load->problems, "E0113", load->source, v.start, v.span,
                 "'%" STR_FMT "' is not of the type that its tag !!%" STR_FMT " says",
                 STR_ARG(shown(load, v)), STR_ARG(name));
}

static void lint_scalar(YamlLoad *load, Str text, Value v)
{
    const char *code;
    const char *hint = yaml_schema_surprise(text, &code);
    if (hint != NULL && yaml_load_has_room(load)) {
        Problem *problem =
            problems_add_as(load->problems, SEVERITY_HINT, code, load->source, v.start, v.span,
                            "'%" STR_FMT "' means something else in YAML 1.1", STR_ARG(text));
        problem->hint = str_from_c(hint);
    }
}

static bool take_scalar(YamlLoad *load, const yaml_event_t *event)
{
    uint32_t start = yaml_load_offset(load, event->start_mark.index);
    uint32_t end = yaml_load_offset(load, event->end_mark.index);
    const char *data = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    const yaml_char_t *tag = event->data.scalar.tag;
    yaml_scalar_style_t style = event->data.scalar.style;
    bool quoted = style != YAML_PLAIN_SCALAR_STYLE;
    if (!count_node(load, start)) {
        return false;
    }
    if (UNLIKELY(len > load->options.limits.scalar)) {
        return limit_reached(load, start, "a scalar is too long", load->options.limits.scalar);
    }
    if (UNLIKELY(tag != NULL || event->data.scalar.anchor != NULL)) {
        start = skip_properties(load, start, end);
    }

    Value *v = next_slot(load);
    YamlScalar outcome = YAML_SCALAR_FITS;
    Str text = str_from(data, len);
    if (tag != NULL) {
        outcome = yaml_schema_resolve_tagged(text, str_from_c((const char *)tag), quoted, v);
    } else if (quoted) {
        *v = value_string(text);
    } else {
        outcome = yaml_schema_resolve(text, v);
    }
    if (v->kind == VALUE_STRING) {
        bool in_quotes =
            style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
        v->text = keep_text(load, text, in_quotes, start, end);
        v->flags = quoted ? VALUE_QUOTED : 0;
    }
    v->source = load->source_id;
    v->start = start;
    v->span = end - start;
    if (UNLIKELY(tag != NULL) && is_secret_tag(tag)) {
        v->flags |= VALUE_SECRET;
    }
    if (UNLIKELY(outcome != YAML_SCALAR_FITS)) {
        if (yaml_load_has_room(load)) {
            scalar_problem(load, outcome, *v, str_from_c((const char *)tag));
        }
        v->kind = VALUE_NULL;
    }
    if (UNLIKELY(load->options.lint) && !quoted && tag == NULL) {
        lint_scalar(load, text, *v);
    }
    if (!yaml_strict_scalar(load, event, start, end)) {
        return false;
    }
    YamlFrame *frame = top_frame(load);
    if (len == 2 && !quoted && tag == NULL && at_key(load, frame) && memcmp(data, "<<", 2) == 0) {
        frame->merge = frame->merge == 0 ? load->stack_len + 1 : frame->merge;
    }
    if (event->data.scalar.anchor != NULL) {
        add_anchor(load, event->data.scalar.anchor, *v);
    }
    load->last_start = start;
    load->last_end = end;
    load->last_quoted =
        style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return add_value(load, end, 1, 0);
}

static bool take_alias(YamlLoad *load, const yaml_event_t *event)
{
    uint32_t start = yaml_load_offset(load, event->start_mark.index);
    uint32_t end = yaml_load_offset(load, event->end_mark.index);
    Str name = str_from_c((const char *)event->data.alias.anchor);
    const YamlLimits *limits = &load->options.limits;
    if (!count_node(load, start)) {
        return false;
    }
    if (++load->aliases > limits->aliases) {
        return limit_reached(load, start, "the text uses too many aliases", limits->aliases);
    }
    load->last_start = start;
    load->last_end = end;
    load->last_quoted = false;
    const YamlAnchor *anchor = find_anchor(load, name);
    if (anchor == NULL || anchor->open) {
        Problem *problem = problems_add(
            load->problems, "E0109", load->source, start, end - start,
            anchor == NULL ? "no anchor '&%" STR_FMT "' stands before this alias"
                           : "the alias '*%" STR_FMT "' stands inside the value that it names",
            STR_ARG(name));
        Suggest suggest = suggest_make(name);
        for (uint32_t i = 0; load->anchor_names != NULL && i < load->anchor_names->len; i++) {
            suggest_offer(&suggest, value_str(load->anchor_names->entries[i].key));
        }
        Str nearest;
        if (anchor == NULL && suggest_found(&suggest, &nearest)) {
            problem->hint = arena_format(load->problems->arena, "did you mean '*%" STR_FMT "'?",
                                         STR_ARG(nearest));
        }
        *next_slot(load) = (Value){
            .kind = VALUE_NULL,
            .source = load->source_id,
            .start = start,
            .span = end - start,
        };
        return yaml_load_has_room(load) && add_value(load, end, 1, 0);
    }
    load->expanded += anchor->nodes;
    if (load->expanded > limits->expanded) {
        return limit_reached(load, start, "the aliases stand for too many values",
                             limits->expanded);
    }
    if (load->depth + anchor->depth > limits->depth) {
        return limit_reached(load, start, "the text is nested too deep through aliases",
                             limits->depth);
    }
    *next_slot(load) = anchor->value;
    return add_value(load, end, anchor->nodes, anchor->depth);
}

/* --- Containers --------------------------------------------------------------------------- */

/* Column of a byte offset, counted from 0. */
static uint32_t column_of(const YamlLoad *load, uint32_t offset)
{
    uint32_t column = 0;
    while (offset > load->base && load->text.data[offset - 1] != '\n' &&
           load->text.data[offset - 1] != '\r') {
        offset--;
        column += !utf8_is_continuation(load->text.data[offset]);
    }
    return column;
}

static bool open_frame(YamlLoad *load, const yaml_event_t *event, const yaml_char_t *anchor,
                       const yaml_char_t *tag, bool flow)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    uint32_t start = yaml_load_offset(load, event->start_mark.index);
    if (!count_node(load, start)) {
        return false;
    }
    if (load->depth >= load->options.limits.depth) {
        return limit_reached(load, start, "the text is nested too deep",
                             load->options.limits.depth);
    }
    YamlFrame *parent = top_frame(load);
    YamlFrame *frame = &load->frames[load->depth];
    *frame = (YamlFrame){
        .first = load->stack_len,
        .column = (uint32_t)event->start_mark.column,
        .nodes = 1,
        .is_map = is_map,
        .flow = flow,
        .secret = is_secret_tag(tag) || (parent != NULL && parent->secret),
    };
    if (UNLIKELY(anchor != NULL || tag != NULL)) {
        start = skip_properties(load, start, (uint32_t)load->text.len);
        frame->column = flow ? 0 : column_of(load, start);
    }
    frame->start = start;
    frame->end = start;
    if (tag != NULL && !yaml_schema_tag_fits(str_from_c((const char *)tag), is_map) &&
        yaml_load_has_room(load)) {
        problems_add(load->problems, "E0113", load->source, start, 1,
                     "this is a %s, but its tag is !!%" STR_FMT, is_map ? "map" : "list",
                     STR_ARG(yaml_schema_tag_name(str_from_c((const char *)tag))));
    }
    if (anchor != NULL) {
        frame->anchor = add_anchor(load, anchor, value_null());
        load->anchors[frame->anchor - 1].open = true;
    }
    load->depth++;
    load->flow_depth += flow;
    return !flow || yaml_strict_flow_start(load, start);
}

static void duplicate_problem(YamlLoad *load, Value first, Value again)
{
    if (!yaml_load_has_room(load)) {
        return;
    }
    Place place = source_place(load->source, first.start);
    Problem *problem = problems_add(load->problems, "E0102", load->source, again.start, again.span,
                                    "duplicate key '%" STR_FMT "'", STR_ARG(shown(load, again)));
    problem->hint = arena_format(load->problems->arena, "first at line %u, column %u", place.line,
                                 place.column);
}

/* Takes the pairs between the frame's first child and `end` on the stack. */
static Map *build_map(YamlLoad *load, const YamlFrame *frame, uint32_t end)
{
    /* Keys and values alternate on the stack, which is how entries lie in memory. */
    _Static_assert(sizeof(MapEntry) == 2 * sizeof(Value), "an entry is two values");
    const MapEntry *entries = (const MapEntry *)(load->stack + frame->first);
    uint32_t count = (end - frame->first) / 2;
    Map *map = map_from_entries(load->arena, entries, count);
    if (LIKELY(map != NULL)) {
        return map;
    }
    map = map_new(load->arena, count);
    for (uint32_t i = 0; i < count; i++) {
        const MapEntry *before = map_add(load->arena, map, entries[i].key, entries[i].value);
        if (before != NULL) {
            duplicate_problem(load, before->key, entries[i].key);
        }
    }
    return map;
}

static void merge_from(YamlLoad *load, Map *merged, const Map *own, Value from)
{
    for (uint32_t i = 0; i < from.map->len; i++) {
        const MapEntry *entry = &from.map->entries[i];
        const MapEntry *override = map_find(own, entry->key);
        Value v = override != NULL ? override->value : entry->value;
        v.flags |= override != NULL ? 0 : from.flags & VALUE_SECRET;
        map_add(load->arena, merged, entry->key, v);
    }
}

static uint32_t merged_size(Value from)
{
    uint32_t size = from.kind == VALUE_MAP ? from.map->len : 0;
    for (uint32_t i = 0; from.kind == VALUE_LIST && i < from.list->len; i++) {
        Value part = from.list->items[i];
        size += part.kind == VALUE_MAP ? part.map->len : 0;
    }
    return size;
}

/* `<<: *a` or `<<: [*a, *b]`: what the named maps hold comes first, earlier maps win over later
 * ones, and the map's own keys win over all. */
static Map *merge_maps(YamlLoad *load, Map *own, Value merge_key)
{
    Value from = map_find_str(own, STR("<<"))->value;
    map_remove(own, merge_key);
    Map *merged = map_new(load->arena, own->len + merged_size(from));
    bool fits = from.kind == VALUE_MAP;
    if (fits) {
        merge_from(load, merged, own, from);
    } else if (from.kind == VALUE_LIST) {
        fits = true;
        for (uint32_t i = 0; i < from.list->len; i++) {
            Value part = from.list->items[i];
            part.flags |= from.flags & VALUE_SECRET;
            if (part.kind == VALUE_MAP) {
                merge_from(load, merged, own, part);
            } else {
                fits = false;
            }
        }
    }
    if (!fits && yaml_load_has_room(load)) {
        Problem *problem = problems_add(load->problems, "E0115", load->source, merge_key.start,
                                        merge_key.span, "only maps can be merged");
        problem->hint = STR("write '<<: *anchor' or '<<: [*first, *second]'");
    }
    for (uint32_t i = 0; i < own->len; i++) {
        map_add(load->arena, merged, own->entries[i].key, own->entries[i].value);
    }
    return merged;
}

static Value finish_container(YamlLoad *load, const YamlFrame *frame)
{
    uint32_t count = load->stack_len - frame->first;
    if (count > LARGE_CONTAINER && !charge(load, count * sizeof(Value) * (frame->is_map ? 2 : 1))) {
        return value_null();
    }
    if (!frame->is_map) {
        List *list = list_new(load->arena, count);
        if (count > 0) {
            memcpy(list->items, load->stack + frame->first, count * sizeof(Value));
            list->len = count;
        }
        return value_list(list);
    }
    Map *map = build_map(load, frame, load->stack_len);
    if (frame->merge != 0) {
        map = merge_maps(load, map, load->stack[frame->merge - 1]);
    }
    return value_map(map);
}

static bool close_frame(YamlLoad *load, const yaml_event_t *event)
{
    YamlFrame *frame = &load->frames[load->depth - 1];
    uint32_t end = frame->flow ? yaml_load_offset(load, event->end_mark.index) : frame->end;
    if (frame->start > end) {
        frame->start = end; /* a comment before its content, ended by a line break of YAML 1.1 */
    }
    Value v;
    if (UNLIKELY(frame->template)) {
        yaml_problem_template(load, frame->start, end,
                              load->depth > 1 && load->frames[load->depth - 2].flow);
        v = value_string(str_slice(load->text, frame->start, end));
    } else {
        v = finish_container(load, frame);
    }
    v.flags = frame->secret ? VALUE_SECRET : 0;
    v.source = load->source_id;
    v.start = frame->start;
    v.span = end - frame->start;
    load->stack_len = frame->first;
    load->depth--;
    load->flow_depth -= frame->flow;
    uint32_t depth = frame->below + 1;
    if (frame->anchor != 0) {
        load->anchors[frame->anchor - 1] =
            (YamlAnchor){ .value = v, .nodes = frame->nodes, .depth = depth };
    }
    load->last_start = frame->start;
    load->last_end = end;
    load->last_quoted = false;
    if (frame->flow && load->flow_depth == 0 && !yaml_strict_flow_end(load, frame, end)) {
        return false;
    }
    *next_slot(load) = v;
    return add_value(load, end, frame->nodes, depth);
}

/* After a syntax error the open maps still show their duplicate keys. */
static void check_open_frames(YamlLoad *load)
{
    uint32_t end = load->stack_len;
    for (uint32_t i = load->depth; i > 0; i--) {
        const YamlFrame *frame = &load->frames[i - 1];
        if (frame->is_map && !frame->template) {
            build_map(load, frame, end);
        }
        end = frame->first;
    }
}

/* --- Documents ---------------------------------------------------------------------------- */

static bool open_document(YamlLoad *load, const yaml_event_t *event)
{
    load->anchor_names = NULL;
    load->anchor_count = 0;
    load->stack_len = 0;
    return yaml_strict_document(load, event);
}

static bool take_event(YamlLoad *load, const yaml_event_t *event, List *documents)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: return take_scalar(load, event);
    case YAML_ALIAS_EVENT: return take_alias(load, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_frame(load, event, event->data.sequence_start.anchor,
                          event->data.sequence_start.tag,
                          event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
    case YAML_MAPPING_START_EVENT:
        return open_frame(load, event, event->data.mapping_start.anchor,
                          event->data.mapping_start.tag,
                          event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return close_frame(load, event);
    case YAML_STREAM_START_EVENT: return yaml_strict_directives(load, (uint32_t)load->base);
    case YAML_DOCUMENT_START_EVENT: return open_document(load, event);
    case YAML_DOCUMENT_END_EVENT:
        list_push(load->arena, documents, load->stack[0]);
        load->document_open_ended = event->data.document_end.implicit != 0;
        return check_memory(load, load->stack[0].start) &&
               yaml_strict_directives(load, yaml_load_offset(load, event->end_mark.index));
    case YAML_STREAM_END_EVENT:
    case YAML_NO_EVENT: break;
    }
    return false;
}

static void read_documents(YamlLoad *load, List *documents, uint32_t max)
{
    bool go_on = true;
    while (go_on) {
        yaml_event_t event;
        if (!yaml_parser_parse(&load->parser, &event)) {
            check_open_frames(load);
            yaml_problem_syntax(load);
            return;
        }
        if (event.type == YAML_DOCUMENT_START_EVENT && documents->len == max) {
            uint32_t at = yaml_load_offset(load, event.start_mark.index);
            Problem *problem = problems_add(load->problems, "E0116", load->source, at, 3,
                                            "a second document starts here");
            problem->hint = STR("this file may hold one only");
            go_on = false;
        } else {
            go_on = take_event(load, &event, documents);
        }
        yaml_event_delete(&event);
    }
}

static bool check_text(YamlLoad *load)
{
    Str text = load->text;
    if (text.len > load->options.limits.size) {
        return limit_reached(load, 0, "the text is too long", load->options.limits.size);
    }
    if (str_starts(text, STR("\xff\xfe")) || str_starts(text, STR("\xfe\xff"))) {
        Problem *problem =
            problems_add(load->problems, "E0106", load->source, 0, 1, "the text is UTF-16");
        problem->hint = STR("save it as UTF-8");
        return false;
    }
    return true;
}

static bool load_documents(Arena *arena, const Sources *sources, uint16_t source,
                           const YamlOptions *options, List *documents, uint32_t max,
                           Problems *problems)
{
    YamlLoad load = {
        .arena = arena,
        .source = sources_get(sources, source),
        .source_id = source,
        .options = options == NULL ? yaml_options_default : *options,
        .problems = problems,
    };
    BUG_IF(load.source == NULL || load.options.limits.depth > DEPTH_MAX);
    load.text = load.source->text;
    uint32_t errors_before = problems->errors;
    if (!check_text(&load)) {
        return false;
    }
    load.base = str_starts(load.text, bom) ? bom.len : 0;
    Str input = str_from_offset(load.text, load.base);
    load.ascii = utf8_ascii_prefix(input);
    load.frames = ARENA_ARRAY(arena, YamlFrame, load.options.limits.depth + 1);
    if (!yaml_parser_initialize(&load.parser)) {
        memory_exhausted(sizeof load.parser);
    }
    yaml_parser_set_encoding(&load.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(
        &load.parser, (const unsigned char *)(input.len == 0 ? "" : input.data), input.len);
    read_documents(&load, documents, max);
    yaml_parser_delete(&load.parser);
    free(load.stack);
    return problems->errors == errors_before;
}

bool yaml_load(Arena *arena, const Sources *sources, uint16_t source, const YamlOptions *options,
               Value *out, Problems *problems)
{
    List *documents = list_new(arena, 1);
    bool ok = load_documents(arena, sources, source, options, documents, 1, problems);
    if (documents->len > 0) {
        *out = documents->items[0];
    } else {
        *out = value_null();
        out->source = source;
    }
    return ok;
}

bool yaml_load_all(Arena *arena, const Sources *sources, uint16_t source,
                   const YamlOptions *options, List **out, Problems *problems)
{
    *out = list_new(arena, 4);
    return load_documents(arena, sources, source, options, *out, UINT32_MAX, problems);
}
