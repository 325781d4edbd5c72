#include "run/node.h"

#include "base/suggest.h"
#include "lang/yaml.h"
#include "membership/node_state.h"
#include "sys/file.h"

enum {
    NODE_FILE_MAX = 1 << 20
};

typedef struct NodeLoader {
    Arena *arena;
    Sources *sources;
    Problems *problems;
    Map *labels;
    Str name;
    bool renamed; /* renamed by the administrator: known by that name only */
    bool ok;
} NodeLoader;

static Problem *report(NodeLoader *l, Value at, const char *message)
{
    l->ok = false;
    return problems_add(l->problems, "E0590", sources_get(l->sources, at.source), at.start, at.span,
                        "%s", message);
}

/* Numbers and booleans are used as they are spelled. */
static bool text_of(const NodeLoader *l, Value v, Str *out)
{
    switch ((ValueKind)v.kind) {
    case VALUE_NULL: *out = STR_EMPTY; return true;
    case VALUE_STRING: *out = value_str(v); return true;
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_FLOAT: *out = value_original(l->sources, v); return true;
    default: return false;
    }
}

static void take_labels(NodeLoader *l, Value labels)
{
    if (labels.kind == VALUE_NULL) {
        return;
    }
    if (labels.kind != VALUE_MAP) {
        report(l, labels, "labels must be a map of names to strings");
        return;
    }
    for (uint32_t i = 0; i < labels.map->len; i++) {
        const MapEntry *entry = &labels.map->entries[i];
        Str key, value;
        if (!text_of(l, entry->key, &key) || key.len == 0) {
            report(l, entry->key, "the name of a label must be a string");
        } else if (!text_of(l, entry->value, &value)) {
            report(l, entry->value, "the value of a label must be a string");
        } else {
            map_set_str(l->arena, l->labels, key, value_string(value));
        }
    }
}

static void take_document(NodeLoader *l, Value document);

/* A document may be wrapped: its metadata can then have labels, too. */
static void take_key(NodeLoader *l, Value key, Value value, bool metadata)
{
    static const Str known[] = { { "name", 4 }, { "labels", 6 }, { "metadata", 8 }, { "spec", 4 } };
    static const Str ignored[] = {
        { "apiVersion", 10 }, { "kind", 4 }, { "annotations", 11 }, { "uuid", 4 }
    };
    Str name = value_is_string(key) ? value_str(key) : STR_EMPTY;
    for (size_t i = 0; metadata && i < COUNT_OF(ignored); i++) {
        if (str_eq(name, ignored[i])) {
            return;
        }
    }
    if (str_eq(name, known[0])) {
        if (!text_of(l, value, &l->name)) {
            report(l, value, "the name of the node must be a string");
        }
    } else if (str_eq(name, known[1])) {
        take_labels(l, value);
    } else if (!metadata && str_eq(name, known[2]) && value.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < value.map->len; i++) {
            take_key(l, value.map->entries[i].key, value.map->entries[i].value, true);
        }
    } else if (!metadata && str_eq(name, known[3])) {
        take_document(l, value);
    } else {
        Problem *problem =
            report(l, key, "unknown key in node.yaml; it can have 'name' and 'labels'");
        Str nearest;
        if (suggest_best(name, known, 2, &nearest)) {
            problem->hint =
                arena_format(l->arena, "did you mean '%" STR_FMT "'?", STR_ARG(nearest));
        }
    }
}

static void take_document(NodeLoader *l, Value document)
{
    if (document.kind == VALUE_NULL) {
        return;
    }
    if (document.kind != VALUE_MAP) {
        report(l, document, "node.yaml must be a map with name and labels");
        return;
    }
    for (uint32_t i = 0; i < document.map->len; i++) {
        take_key(l, document.map->entries[i].key, document.map->entries[i].value, false);
    }
}

static void take_file(NodeLoader *l, const char *etc)
{
    Str path = arena_format(l->arena, "%s/node.yaml", etc);
    Str other = arena_format(l->arena, "%s/node.yml", etc);
    Str text;
    Error err;
    if (file_exists(other.data) && file_exists(path.data)) {
        l->ok = false;
        problems_add(l->problems, "E0590", NULL, 0, 0,
                     "both '%s' and 'node.yml' exist: remove one of them", path.data);
        return;
    }
    path = file_exists(other.data) ? other : path;
    if (!file_read(l->arena, path.data, NODE_FILE_MAX, &text, &err)) {
        if (err.kind != ERROR_NOT_FOUND) {
            l->ok = false;
            problems_add(l->problems, "E0590", NULL, 0, 0, "%s", err.text);
        }
        return;
    }
    uint16_t source = sources_add(l->sources, path, text);
    YamlOptions options = yaml_options_default;
    options.strict_tags = true;
    Value document;
    if (!yaml_load(l->arena, l->sources, source, &options, &document, l->problems)) {
        l->ok = false;
        return;
    }
    take_document(l, document);
}

/* The cluster's record of this node. Users other than root cannot read it and get a warning: their
 * plan may lack labels that a selector needs. */
static void take_record(NodeLoader *l, const NodeOptions *options)
{
    const char *const places[] = { options->state, options->home };
    NodeRecord record;
    Error err = { .kind = ERROR_NOT_FOUND };
    bool found = false;
    for (size_t i = 0; !found && err.kind == ERROR_NOT_FOUND && i < COUNT_OF(places); i++) {
        found = places[i] != NULL && node_state_load_record(places[i], l->arena, &record, &err);
    }
    if (!found) {
        if (err.kind == ERROR_DENIED) {
            Problem *problem = problems_add_severity(
                l->problems, SEVERITY_WARNING, "E0596", NULL, 0, 0,
                "cannot read the labels of this node in the cluster: %s", err.text);
            problem->hint = STR("run the command as root, or set them with --label");
        } else if (err.kind != ERROR_NOT_FOUND) {
            l->ok = false;
            Problem *problem = problems_add(l->problems, "E0596", NULL, 0, 0, "%s", err.text);
            problem->hint =
                STR("restart the agent, which will fetch the record of this node again");
        }
        return;
    }
    if (options->name != NULL && strcmp(options->name, record.name) != 0) {
        return;
    }
    l->name = arena_copy(l->arena, str_from_c(record.name));
    l->renamed = false;
    for (uint32_t i = 0; record.labels.kind == VALUE_MAP && i < record.labels.map->len; i++) {
        const MapEntry *entry = &record.labels.map->entries[i];
        map_set_str(l->arena, l->labels, value_str(entry->key), entry->value);
    }
}

static void take_options(NodeLoader *l, const NodeOptions *options)
{
    for (uint32_t i = 0; i < options->label_count; i++) {
        Str label = str_from_c(options->labels[i]);
        size_t equals = str_find(label, STR("="), 0);
        if (equals == STR_NOT_FOUND || equals == 0) {
            uint16_t source = sources_add(l->sources, STR("--label"), label);
            l->ok = false;
            problems_add(l->problems, "E0590", sources_get(l->sources, source), 0,
                         (uint32_t)label.len, "a label must be NAME=VALUE");
            continue;
        }
        map_set_str(l->arena, l->labels, str_slice(label, 0, equals),
                    value_string(str_from_offset(label, equals + 1)));
    }
    if (options->name != NULL) {
        l->name = str_from_c(options->name);
        l->renamed = true;
    }
}

Value node_server(Arena *arena, const Node *node, Value facts)
{
    Map *server = map_new(arena, 32);
    for (uint32_t i = 0; facts.kind == VALUE_MAP && i < facts.map->len; i++) {
        map_append(arena, server, facts.map->entries[i].key, facts.map->entries[i].value);
    }
    Value name = value_string(node->name);
    Value fqdn = value_string(node->fqdn);
    Value labels = value_map(node->labels);
    map_set_str(arena, server, STR("name"), name);
    map_set_str(arena, server, STR("fqdn"), fqdn);
    map_set_str(arena, server, STR("labels"), labels);
    Map *spec = map_new(arena, 2);
    map_set_str(arena, spec, STR("FQDN"), fqdn);
    map_set_str(arena, spec, STR("fqdn"), fqdn);
    Map *metadata = map_new(arena, 4);
    map_set_str(arena, metadata, STR("Name"), name);
    map_set_str(arena, metadata, STR("Labels"), labels);
    map_set_str(arena, metadata, STR("name"), name);
    map_set_str(arena, metadata, STR("labels"), labels);
    map_set_str(arena, server, STR("Spec"), value_map(spec));
    map_set_str(arena, server, STR("spec"), value_map(spec));
    map_set_str(arena, server, STR("ObjectMetadata"), value_map(metadata));
    map_set_str(arena, server, STR("metadata"), value_map(metadata));
    Value value = value_map(server);
    value_freeze(value);
    return value;
}

bool node_load(Arena *arena, Sources *sources, const NodeOptions *options, Node *out,
               Problems *problems)
{
    NodeLoader l = { arena, sources, problems, .labels = map_new(arena, 8), .ok = true };
    take_file(&l, options->etc);
    l.renamed = l.name.len > 0;
    take_record(&l, options);
    take_options(&l, options);
    *out = (Node){ .name = l.name, .fqdn = value_get_text(options->facts, "fqdn") };
    if (out->name.len == 0) {
        out->name = value_get_text(options->facts, "name");
    }
    if (out->name.len == 0) {
        out->name = STR("localhost");
    }
    if (out->fqdn.len == 0 || l.renamed) {
        out->fqdn = out->name;
    }
    out->labels = l.labels;
    out->server = node_server(arena, out, options->facts);
    return l.ok;
}

SelectorSubject node_subject(const Node *node)
{
    return (SelectorSubject){ .name = node->name, .fqdn = node->fqdn, .labels = node->labels };
}
