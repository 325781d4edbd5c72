/* Turns libyaml's events into values.
 *
 * Finished values are on a stack until their container ends; then the container copies its children
 * in one block of exact size. So building costs a few stores per node and one allocation per
 * container, and nothing here recurses. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "lang/yaml_load.h"

enum {
    TEXT_BLOCK = 4096,
};

static YamlFrame *top_frame(YamlLoad *load)
{
    return load->depth == 0 ? NULL : &load->frames[load->depth - 1];
}

static bool at_key(const YamlLoad *load, const YamlFrame *frame)
{
    return frame != NULL && frame->is_map && (load->stack_len - frame->first) % 2 == 0;
}

static void grow_stack(YamlLoad *load)
{
    uint32_t cap = load->stack_cap == 0 ? 256 : load->stack_cap * 2;
    yaml_load_charge(load, cap * sizeof(Value));
    Value *grown = realloc(load->stack, cap * sizeof *grown);
    if (grown == NULL) {
        memory_exhausted(cap * sizeof *grown);
    }
    load->stack = grown;
    load->stack_cap = cap;
}

/* The slot for the next value, which add_value() then adds. Values are built in place, because
 * copying one right after storing its fields stalls the processor. */
static inline Value *next_slot(YamlLoad *load)
{
    if (UNLIKELY(load->stack_len == load->stack_cap)) {
        grow_stack(load);
    }
    return &load->stack[load->stack_len];
}

/* The text of a scalar. Most are verbatim in the source and borrow from it; the others are copied,
 * short ones into shared blocks, because most are smaller than the alignment of the arena. */
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

/* --- Properties: anchors and tags --------------------------------------------------------- */

typedef struct Properties {
    bool anchor; /* which of them the node has */
    bool tag;
    uint32_t anchor_at; /* set to the offset of its '&' */
    uint32_t tag_at;    /* and that of its '!' */
    uint32_t tag_end;
} Properties;

/* The start of the content after the node's own anchor and tag, at most `end`; further ones belong
 * to its first key. */
static uint32_t skip_properties(const YamlLoad *load, uint32_t start, uint32_t end,
                                Properties *properties)
{
    Str text = str_slice(load->text, 0, end);
    bool anchor = properties->anchor, tag = properties->tag;
    size_t pos = start;
    while (pos < text.len) {
        char c = text.data[pos];
        if (ascii_is_space(c)) {
            pos++;
        } else if (c == '#') {
            while (pos < text.len && text.data[pos] != '\n' && text.data[pos] != '\r') {
                pos++;
            }
        } else if (str_starts(str_from_offset(text, pos), STR("\xef\xbb\xbf"))) {
            pos += 3; /* libyaml skips it at the start of any line */
        } else if (c == '&' && anchor) {
            anchor = false;
            properties->anchor_at = (uint32_t)pos;
            pos += 1 + yaml_repair_name(load, (uint32_t)pos).len;
        } else if (c == '!' && tag) {
            tag = false;
            properties->tag_at = (uint32_t)pos;
            pos++;
            bool verbatim = pos < text.len && text.data[pos] == '<';
            while (pos < text.len && !ascii_is_space(text.data[pos]) &&
                   (verbatim || strchr(",[]{}", text.data[pos]) == NULL)) {
                pos++;
            }
            properties->tag_end = (uint32_t)pos;
        } else {
            break;
        }
    }
    return pos < end ? (uint32_t)pos : end;
}

static uint32_t add_anchor(YamlLoad *load, Str name, Value v)
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
    map_set_str(load->arena, load->anchor_names, name, value_int(load->anchor_count));
    load->anchors[load->anchor_count++] = (YamlAnchor){ .value = v, .nodes = 1 };
    return load->anchor_count;
}

static YamlAnchor *find_anchor(YamlLoad *load, Str name)
{
    const MapEntry *entry =
        load->anchor_names == NULL ? NULL : map_find_str(load->anchor_names, name);
    return entry == NULL ? NULL : &load->anchors[entry->value.integer];
}

bool yaml_load_has_anchor(const YamlLoad *load, Str name)
{
    return load->anchor_names != NULL && map_find_str(load->anchor_names, name) != NULL;
}

/* libyaml ends names at characters that are part of them in YAML 1.2. */
static bool repair_anchor(YamlLoad *load, const yaml_char_t *name, uint32_t pos)
{
    return name != NULL && yaml_repair_name(load, pos).len > strlen((const char *)name) &&
           yaml_repair_anchor(load, pos);
}

static bool is_secret_tag(const yaml_char_t *tag)
{
    return tag != NULL && strcmp((const char *)tag, "!secret") == 0;
}

/* `<<`, or `!!merge <<` as written by yq. */
static bool may_merge(const yaml_char_t *tag)
{
    return tag == NULL || strcmp((const char *)tag, "tag:yaml.org,2002:merge") == 0;
}

static void check_tag(YamlLoad *load, const yaml_char_t *tag, const Properties *properties)
{
    if (tag != NULL) {
        yaml_tag_check(load, str_from_c((const char *)tag), properties->tag_at,
                       properties->tag_end);
    }
}

/* --- Adding finished values --------------------------------------------------------------- */

/* Adds the value in the next slot, which ends at `end`, to its container. */
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
        yaml_build_key(load, frame, v);
    }
    load->stack_len++;
    frame->end = end;
    frame->nodes += nodes;
    if (depth > frame->below) {
        frame->below = depth;
    }
    return !frame->flow || yaml_strict_separator(load, end);
}

static bool count_node(YamlLoad *load, uint32_t pos)
{
    if (UNLIKELY(++load->nodes > load->options.limits.nodes)) {
        return yaml_load_limit(load, pos, "the YAML text has too many values",
                               load->options.limits.nodes);
    }
    return yaml_load_check_memory(load, pos);
}

static void scalar_problem(YamlLoad *load, YamlScalar outcome, Value v, Str tag)
{
    if (outcome == YAML_SCALAR_TOO_BIG) {
        Problem *problem = problems_add(load->problems, "E0112", load->source, v.start, v.span,
                                        "the number does not fit in 64 bits");
        problem->hint = STR("quote it to make it a string");
        return;
    }
    Str name = yaml_schema_tag_name(tag);
    problems_add(load->problems, "E0113", load->source, v.start, v.span,
                 "'%" STR_FMT "' does not match its tag !!%" STR_FMT,
                 STR_ARG(yaml_load_excerpt(load, v)), STR_ARG(name));
}

static void lint_scalar(YamlLoad *load, Str text, Value v)
{
    const char *code;
    const char *hint = yaml_schema_lint(text, &code);
    if (hint != NULL && yaml_load_may_report(load)) {
        Problem *problem = problems_add_severity(
            load->problems, SEVERITY_HINT, code, load->source, v.start, v.span,
            "'%" STR_FMT "' has a different meaning in YAML 1.1", STR_ARG(text));
        problem->hint = str_from_c(hint);
    }
}

/* Whether only spaces follow, up to a last line without a newline. */
static bool ends_in_blanks(Str text, uint32_t pos)
{
    size_t end = text.len;
    while (end > 0 && text.data[end - 1] == ' ') {
        end--;
    }
    return end < text.len && end <= pos && end > 0 &&
           (text.data[end - 1] == '\n' || text.data[end - 1] == '\r');
}

/* The text of a scalar in the source, if the parser does not see it verbatim. Sets `*own` if it was
 * parsed here; returns false if the source must be parsed again. */
static bool scalar_text(YamlLoad *load, const yaml_event_t *event, uint32_t start, uint32_t end,
                        Str *text, bool *own)
{
    yaml_scalar_style_t style = event->data.scalar.style;
    if (UNLIKELY(load->has_breaks)) {
        *text = yaml_breaks_restore(load, *text);
    }
    *own = load->repair.copy != NULL && yaml_repair_text(load, event, start, end, text);
    if (*own) {
        return true;
    }
    if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE) {
        if (load->depth == 0 && yaml_repair_root_block(load, start)) {
            return false;
        }
        YamlBlock block;
        int parent = load->depth == 0 ? -1 : (int)load->frames[load->depth - 1].column;
        bool blanks_end = ends_in_blanks(load->text, end);
        if (blanks_end && yaml_block_read(load, start, parent, &block)) {
            *text = block.text;
            *own = true;
        }
        return true;
    }
    return load->flow_depth == 0 || !yaml_repair_question(load, start);
}

bool yaml_node_scalar(YamlLoad *load, const yaml_event_t *event)
{
    uint32_t start = yaml_load_offset(load, event->start_mark.index);
    uint32_t end = yaml_load_offset(load, event->end_mark.index);
    const yaml_char_t *tag = event->data.scalar.tag;
    yaml_scalar_style_t style = event->data.scalar.style;
    bool quoted = style != YAML_PLAIN_SCALAR_STYLE;
    Str text = str_from((const char *)event->data.scalar.value, event->data.scalar.length);
    Properties properties = { .anchor = event->data.scalar.anchor != NULL, .tag = tag != NULL };
    if (!count_node(load, start)) {
        return false;
    }
    if (UNLIKELY(text.len > load->options.limits.scalar)) {
        return yaml_load_limit(load, start, "scalar too long", load->options.limits.scalar);
    }
    if (UNLIKELY(properties.tag || properties.anchor)) {
        start = skip_properties(load, start, end, &properties);
        if (repair_anchor(load, event->data.scalar.anchor, properties.anchor_at)) {
            return false;
        }
        check_tag(load, tag, &properties);
    }
    bool own;
    if (!scalar_text(load, event, start, end, &text, &own)) {
        return false;
    }

    Value *v = next_slot(load);
    YamlScalar outcome = YAML_SCALAR_FITS;
    if (UNLIKELY(tag != NULL)) {
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
        if (yaml_load_may_report(load)) {
            scalar_problem(load, outcome, *v, str_from_c((const char *)tag));
        }
        v->kind = VALUE_NULL;
    }
    if (UNLIKELY(load->options.lint) && !quoted && tag == NULL) {
        lint_scalar(load, text, *v);
    }
    if (!own && !yaml_strict_scalar(load, event, start, end)) {
        return false;
    }
    YamlFrame *frame = top_frame(load);
    if (text.len == 2 && !quoted && at_key(load, frame) && memcmp(text.data, "<<", 2) == 0 &&
        may_merge(tag)) {
        frame->merge = frame->merge == 0 ? load->stack_len + 1 : frame->merge;
    }
    if (event->data.scalar.anchor != NULL) {
        add_anchor(load, yaml_repair_name(load, properties.anchor_at), *v);
    }
    load->last_start = start;
    load->last_end = end;
    load->last_quoted =
        style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return add_value(load, end, 1, 0);
}

bool yaml_node_alias(YamlLoad *load, const yaml_event_t *event)
{
    uint32_t start = yaml_load_offset(load, event->start_mark.index);
    uint32_t end = yaml_load_offset(load, event->end_mark.index);
    Str name = str_from_c((const char *)event->data.alias.anchor);
    Str whole_name = yaml_repair_name(load, start);
    if (load->repair.copy != NULL && whole_name.len == name.len) {
        name = whole_name;
    } else if (whole_name.len > name.len && yaml_load_has_anchor(load, whole_name) &&
               yaml_repair_anchor(load, start)) {
        return false;
    }
    const YamlLimits *limits = &load->options.limits;
    if (!count_node(load, start)) {
        return false;
    }
    if (++load->aliases > limits->aliases) {
        return yaml_load_limit(load, start, "the YAML text uses too many aliases", limits->aliases);
    }
    load->last_start = start;
    load->last_end = end;
    load->last_quoted = false;
    const YamlAnchor *anchor = find_anchor(load, name);
    if (anchor == NULL || anchor->open) {
        Problem *problem = problems_add(
            load->problems, "E0109", load->source, start, end - start,
            anchor == NULL ? "no anchor '&%" STR_FMT "' is defined before this alias"
                           : "the alias '*%" STR_FMT "' is inside the value it refers to",
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
        return yaml_load_may_report(load) && add_value(load, end, 1, 0);
    }
    load->expanded += anchor->nodes;
    if (load->expanded > limits->expanded) {
        return yaml_load_limit(load, start, "the aliases expand to too many values",
                               limits->expanded);
    }
    if (load->depth + anchor->depth > limits->depth) {
        return yaml_load_limit(load, start, "the YAML text is nested too deeply through aliases",
                               limits->depth);
    }
    *next_slot(load) = anchor->value;
    return add_value(load, end, anchor->nodes, anchor->depth);
}

/* --- Containers --------------------------------------------------------------------------- */

/* The column of a byte offset, from 0. */
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

bool yaml_node_open(YamlLoad *load, const yaml_event_t *event, const yaml_char_t *anchor,
                    const yaml_char_t *tag, bool flow)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    uint32_t start = yaml_load_offset(load, event->start_mark.index);
    if (!count_node(load, start)) {
        return false;
    }
    if (load->depth >= load->options.limits.depth) {
        return yaml_load_limit(load, start, "the YAML text is nested too deeply",
                               load->options.limits.depth);
    }
    Properties properties = { .anchor = anchor != NULL, .tag = tag != NULL };
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
        start = skip_properties(load, start, (uint32_t)load->text.len, &properties);
        if (repair_anchor(load, anchor, properties.anchor_at)) {
            return false;
        }
        check_tag(load, tag, &properties);
        frame->column = flow ? 0 : column_of(load, start);
    }
    frame->start = start;
    frame->end = start;
    if (!flow && !yaml_strict_block_start(load, start)) {
        return false;
    }
    if (tag != NULL && !yaml_schema_tag_matches(str_from_c((const char *)tag), is_map) &&
        yaml_load_may_report(load)) {
        problems_add(load->problems, "E0113", load->source, start, 1,
                     "this is a %s, but its tag is !!%" STR_FMT, is_map ? "map" : "list",
                     STR_ARG(yaml_schema_tag_name(str_from_c((const char *)tag))));
    }
    if (anchor != NULL) {
        frame->anchor =
            add_anchor(load, yaml_repair_name(load, properties.anchor_at), value_null());
        load->anchors[frame->anchor - 1].open = true;
    }
    load->depth++;
    load->flow_depth += flow;
    return !flow || yaml_strict_flow_start(load, start);
}

bool yaml_node_close(YamlLoad *load, const yaml_event_t *event)
{
    YamlFrame *frame = &load->frames[load->depth - 1];
    uint32_t end = frame->flow ? yaml_load_offset(load, event->end_mark.index) : frame->end;
    Value v;
    if (UNLIKELY(frame->template)) {
        yaml_problem_template(load, frame->start, end,
                              load->depth > 1 && load->frames[load->depth - 2].flow);
        v = value_string(str_slice(load->text, frame->start, end));
    } else {
        v = yaml_build_container(load, frame);
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
