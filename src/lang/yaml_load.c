/* One load of a source: sets up the parser, dispatches its events, and enforces the limits. */
#include "lang/yaml_load.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/utf8.h"

enum {
    DEPTH_MAX = 256,
    LARGE_TEXT = 1 << 20,
    LARGE_TEXT_PROBLEMS = 20, /* locating a problem scans the text */
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

bool yaml_load_may_report(const YamlLoad *load)
{
    uint32_t max = load->text.len > LARGE_TEXT ? LARGE_TEXT_PROBLEMS : PROBLEMS_MAX;
    return load->problems->count < max;
}

Str yaml_load_parsed_text(const YamlLoad *load)
{
    return load->repair.copy == NULL ? load->text : str_from(load->repair.copy, load->text.len);
}

uint32_t yaml_load_offset(YamlLoad *load, size_t index)
{
    if (LIKELY(index <= load->ascii)) {
        return (uint32_t)(load->base + index);
    }
    const char *text = yaml_load_parsed_text(load).data;
    size_t offset = load->cursor_offset, pos = load->cursor_index;
    if (pos < load->ascii) {
        pos = load->ascii;
        offset = load->base + pos;
    }
    size_t len = load->text.len;
    while (pos < index && offset < len) {
        uint64_t word;
        if (index - pos >= sizeof word && len - offset >= sizeof word) {
            memcpy(&word, text + offset, sizeof word);
            if ((word & 0x8080808080808080u) == 0) {
                pos += sizeof word;
                offset += sizeof word;
                continue;
            }
        }
        pos++;
        offset++;
        while (offset < len && utf8_is_continuation(text[offset])) {
            offset++;
        }
    }
    for (; pos > index; pos--) {
        offset--;
        while (utf8_is_continuation(text[offset])) {
            offset--;
        }
    }
    load->cursor_index = pos;
    load->cursor_offset = offset;
    return (uint32_t)offset;
}

bool yaml_load_limit(YamlLoad *load, uint32_t pos, const char *what, uint64_t limit)
{
    problems_add(load->problems, "E0105", load->source, pos, 1, "%s (limit: %llu)", what,
                 (unsigned long long)limit);
    return false;
}

bool yaml_load_check_memory(YamlLoad *load, uint32_t pos)
{
    return LIKELY(!arena_exceeded(load->arena)) ||
           yaml_load_limit(load, pos, "the YAML text needs too much memory", load->arena->budget);
}

bool yaml_load_charge(YamlLoad *load, size_t size)
{
    if (size > load->arena->budget || arena_used(load->arena) > load->arena->budget - size) {
        load->arena->over_budget = true;
        return false;
    }
    return true;
}

/* --- Documents ---------------------------------------------------------------------------- */

static bool open_document(YamlLoad *load)
{
    load->anchor_names = NULL;
    load->anchor_count = 0;
    load->stack_len = 0;
    return true;
}

static bool close_document(YamlLoad *load, const yaml_event_t *event, List *documents)
{
    list_push(load->arena, documents, load->stack[0]);
    load->document_open_ended = event->data.document_end.implicit != 0;
    uint32_t dots =
        load->document_open_ended ? UINT32_MAX : yaml_load_offset(load, event->start_mark.index);
    return yaml_load_check_memory(load, load->stack[0].start) &&
           yaml_strict_prologue(load, yaml_load_offset(load, event->end_mark.index), dots);
}

static bool take_event(YamlLoad *load, const yaml_event_t *event, List *documents)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: return yaml_node_scalar(load, event);
    case YAML_ALIAS_EVENT: return yaml_node_alias(load, event);
    case YAML_SEQUENCE_START_EVENT:
        return yaml_node_open(load, event, event->data.sequence_start.anchor,
                              event->data.sequence_start.tag,
                              event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
    case YAML_MAPPING_START_EVENT:
        return yaml_node_open(load, event, event->data.mapping_start.anchor,
                              event->data.mapping_start.tag,
                              event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return yaml_node_close(load, event);
    case YAML_STREAM_START_EVENT:
        return yaml_strict_prologue(load, (uint32_t)load->base, UINT32_MAX);
    case YAML_DOCUMENT_START_EVENT: return open_document(load);
    case YAML_DOCUMENT_END_EVENT: return close_document(load, event, documents);
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
            if (!yaml_repair_syntax(load)) {
                yaml_build_check_open(load);
                yaml_problem_syntax(load);
            }
            return;
        }
        if (event.type == YAML_DOCUMENT_START_EVENT && documents->len == max) {
            uint32_t pos = yaml_load_offset(load, event.start_mark.index);
            Problem *problem = problems_add(load->problems, "E0116", load->source, pos, 3,
                                            "a second document starts here");
            problem->hint = STR("this file must contain a single document");
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
        return yaml_load_limit(load, 0, "the YAML text is too long", load->options.limits.size);
    }
    if (str_starts(text, STR("\xff\xfe")) || str_starts(text, STR("\xfe\xff"))) {
        Problem *problem =
            problems_add(load->problems, "E0106", load->source, 0, 1, "the text is UTF-16");
        problem->hint = STR("save it as UTF-8");
        return false;
    }
    return true;
}

/* Called before the first pass and before each further one. */
static void reset(YamlLoad *load)
{
    load->repair.needs_reparse = false;
    load->cursor_index = 0;
    load->cursor_offset = load->base;
    load->stack_len = 0;
    load->depth = 0;
    load->flow_depth = 0;
    load->nodes = 0;
    load->aliases = 0;
    load->expanded = 0;
    load->last_start = 0;
    load->last_end = 0;
    load->last_quoted = false;
    load->template_line_end = 0;
    load->document_open_ended = false;
    Str input = str_from_offset(yaml_load_parsed_text(load), load->base);
    load->ascii = utf8_ascii_prefix(input);
    if (!yaml_parser_initialize(&load->parser)) {
        memory_exhausted(sizeof load->parser);
    }
    yaml_parser_set_encoding(&load->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(
        &load->parser, (const unsigned char *)(input.len == 0 ? "" : input.data), input.len);
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
    if (!check_text(&load)) {
        return false;
    }
    load.base = str_starts(load.text, bom) ? bom.len : 0;
    load.frames = ARENA_ARRAY(arena, YamlFrame, load.options.limits.depth + 1);
    Problems before = *problems;
    if (utf8_ascii_prefix(load.text) < load.text.len && !yaml_breaks_hide(&load)) {
        return false;
    }
    do {
        *problems = before;
        documents->len = 0;
        reset(&load);
        read_documents(&load, documents, max);
        yaml_parser_delete(&load.parser);
    } while (load.repair.needs_reparse);
    free(load.stack);
    return problems->errors == before.errors;
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
