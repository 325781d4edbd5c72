#include "run/variables_layers.h"

#include <stdio.h>

#include "lang/json.h"
#include "lang/yaml.h"
#include "model/document.h"
#include "model/document_location.h"
#include "sys/file.h"

enum {
    VARIABLES_FILE_MAX = 16 << 20,
    VARIABLES_FILES_MAX = 1000
};

static bool report_kind(const VariablesLoad *load, Value document)
{
    document_problem(load->problems, load->sources, SEVERITY_ERROR, "E0591", document,
                     "variables must be a map of names to values, not a %s",
                     value_kind_name((ValueKind)document.kind));
    return false;
}

/* Names are strings: `80:` as a key could not be referenced. */
static bool check_names(const VariablesLoad *load, const Map *map)
{
    bool ok = true;
    for (uint32_t i = 0; i < map->len; i++) {
        Value key = map->entries[i].key;
        if (!value_is_string(key)) {
            document_problem(load->problems, load->sources, SEVERITY_ERROR, "E0591", key,
                             "the name of a variable must be a string, not a %s",
                             value_kind_name((ValueKind)key.kind));
            ok = false;
        }
    }
    return ok;
}

static bool add_layer(const VariablesLoad *load, VariableLayers *layers, LayerKind kind,
                      Value document, Value named_at)
{
    if (document.kind == VALUE_NULL) {
        return true; /* an empty file */
    }
    if (document.kind != VALUE_MAP) {
        return report_kind(load, document);
    }
    if (!check_names(load, document.map)) {
        return false;
    }
    VEC_PUSH(load->arena, layers,
             ((VariableLayer){ .kind = kind, .document = document, .named_at = named_at }));
    return true;
}

/* --- Paths ---------------------------------------------------------------------------------- */

static Value plain_part(Str text)
{
    int64_t number;
    return ascii_is_digit(text.data[0]) && str_to_i64(text, &number) ? value_int(number)
                                                                     : value_string(text);
}

/* ['text'], ["text"] or [number]; `at` is after the bracket. */
static bool bracket_part(Str *rest, Value *part)
{
    Str text = str_from_offset(*rest, 1);
    bool quoted = text.len > 0 && (text.data[0] == '\'' || text.data[0] == '"');
    size_t end = quoted ? str_find(text, str_slice(text, 0, 1), 1) : str_find(text, STR("]"), 0);
    if (end == STR_NOT_FOUND || end == 0) {
        return false;
    }
    *part = quoted ? value_string(str_slice(text, 1, end)) : plain_part(str_slice(text, 0, end));
    *rest = str_from_offset(text, end + quoted);
    if (quoted && !str_starts(*rest, STR("]"))) {
        return false;
    }
    *rest = str_from_offset(*rest, 1);
    return true;
}

bool variable_path_next(Str *rest, Value *part, bool *wrong)
{
    *wrong = false;
    if (rest->len == 0) {
        return false;
    }
    if (rest->data[0] == '[') {
        *wrong = !bracket_part(rest, part);
        return !*wrong;
    }
    if (rest->data[0] == '.') {
        *rest = str_from_offset(*rest, 1);
    }
    size_t end = 0;
    while (end < rest->len && rest->data[end] != '.' && rest->data[end] != '[') {
        end++;
    }
    if (end == 0) {
        *wrong = true;
        return false;
    }
    *part = plain_part(str_slice(*rest, 0, end));
    *rest = str_from_offset(*rest, end);
    return true;
}

const MapEntry *variable_find(const Map *map, Value part)
{
    const MapEntry *entry = map_find(map, part);
    if (entry == NULL && part.kind == VALUE_INT) {
        char text[24];
        int len = snprintf(text, sizeof text, "%lld", (long long)part.integer);
        entry = map_find_str(map, str_from(text, (size_t)len));
    }
    return entry;
}

/* --- Layers of the site --------------------------------------------------------------------- */

static bool read_site_file(const VariablesLoad *load, VariableLayers *layers, Str path,
                           Value named_at)
{
    Value document;
    return site_read(load->site, path, named_at, &document) &&
           add_layer(load, layers, LAYER_SITE, document, named_at);
}

static bool render_path(const VariablesLoad *load, const Dynamic *dynamic, Str *out)
{
    Rendered *rendered = renders_push(load->renders);
    if (rendered == NULL) {
        return false;
    }
    Value path;
    DynamicOutcome outcome = dynamic_evaluate(dynamic, load->path_scope, load->sources, rendered,
                                              load->arena, &path, load->problems);
    renders_pop(load->renders);
    if (outcome == DYNAMIC_OK && value_is_string(path) && path.len > 0) {
        *out = value_str(path);
        return true;
    }
    if (outcome != DYNAMIC_FAILED) {
        document_problem(load->problems, load->sources, SEVERITY_ERROR, "E0592", dynamic->value,
                         "a path of variables must be a string that is known before the run");
    }
    return false;
}

/* Existing files in the listed order; without `merge: all`, only the first. */
static bool read_paths(const VariablesLoad *load, VariableLayers *layers, const SiteEntry *entry)
{
    const SiteReader *reader = &site_load_settings(load->site)->reader;
    Str *found = ARENA_ARRAY(load->arena, Str, entry->path_count);
    Value *places = ARENA_ARRAY(load->arena, Value, entry->path_count);
    uint32_t count = 0;
    bool ok = true;
    for (uint32_t i = 0; i < entry->path_count && (count == 0 || entry->merge_all); i++) {
        Str path;
        if (!render_path(load, &entry->paths[i], &path)) {
            ok = false;
            continue;
        }
        path = arena_format(load->arena, "variables/%" STR_FMT, STR_ARG(path));
        if (reader->exists == NULL || reader->exists(reader->context, path) ||
            document_has_yml(site_load_settings(load->site), path)) {
            places[count] = entry->paths[i].value;
            found[count++] = path;
        }
    }
    while (count-- > 0) {
        ok = read_site_file(load, layers, found[count], places[count]) && ok;
    }
    return ok;
}

static bool read_entry(const VariablesLoad *load, VariableLayers *layers, const SiteEntry *entry)
{
    bool matches;
    if (entry->selector == NULL || !selector_match(entry->selector, load->subject, &matches)) {
        return false;
    }
    if (!matches) {
        return true;
    }
    if (entry->path_count > 0) {
        return read_paths(load, layers, entry);
    }
    Str path = arena_format(load->arena, "variables/%" STR_FMT ".yaml", STR_ARG(entry->name));
    return read_site_file(load, layers, path, entry->location);
}

static bool read_site(const VariablesLoad *load, VariableLayers *layers)
{
    const SiteEntries *entries = site_variables(load->site);
    bool ok = true;
    for (uint32_t i = 0; i < entries->count; i++) {
        ok = read_entry(load, layers, &entries->items[i]) && ok;
    }
    return ok;
}

/* --- Layers of the host and the command line ------------------------------------------------ */

static bool report_file(const VariablesLoad *load, const Error *err)
{
    problems_add(load->problems, "E0593", NULL, 0, 0, "%s", err->text);
    return false;
}

static bool read_file(const VariablesLoad *load, VariableLayers *layers, LayerKind kind,
                      const char *path)
{
    Str text;
    Error err;
    if (!file_read(load->arena, path, VARIABLES_FILE_MAX, &text, &err)) {
        return report_file(load, &err);
    }
    uint16_t source = sources_add(load->sources, str_from_c(path), text);
    Value document;
    bool ok;
    if (str_ends(str_from_c(path), STR(".json"))) {
        ok = json_parse(load->arena, load->sources, source, NULL, &document, load->problems);
    } else {
        YamlOptions options = yaml_options_default;
        options.strict_tags = true;
        ok = yaml_load(load->arena, load->sources, source, &options, &document, load->problems);
    }
    return ok && add_layer(load, layers, kind, document, value_missing());
}

/* "a.yaml" and "a.yml" are ambiguous. */
static bool is_twin(const VariablesLoad *load, const FileList *list, uint32_t at)
{
    Str path = list->paths[at];
    if (!str_ends(path, STR(".yml"))) {
        return false;
    }
    Str other = arena_join(load->arena, str_slice(path, 0, path.len - strlen("yml")), STR_EMPTY,
                           STR("yaml"));
    for (uint32_t i = 0; i < list->count; i++) {
        if (str_eq(list->paths[i], other)) {
            Error err;
            error_set(&err, ERROR_INVALID,
                      "both '%" STR_FMT "' and '%" STR_FMT "' exist: remove one of them",
                      STR_ARG(other), STR_ARG(path));
            report_file(load, &err);
            return true;
        }
    }
    return false;
}

static bool read_host(const VariablesLoad *load, VariableLayers *layers)
{
    static const char *const suffixes[] = { ".yaml", ".yml", NULL };
    Str directory = arena_format(load->arena, "%s/vars.d", load->etc);
    const char *path = arena_copy_c(load->arena, directory);
    if (!file_is_directory(path)) {
        return true;
    }
    FileList list;
    Error err;
    if (!file_list(load->arena, path, suffixes, VARIABLES_FILES_MAX, &list, &err)) {
        return report_file(load, &err);
    }
    bool ok = true;
    for (uint32_t i = 0; i < list.count; i++) {
        if (str_find(list.paths[i], STR("/"), directory.len + 1) == STR_NOT_FOUND) {
            ok = !is_twin(load, &list, i) &&
                 read_file(load, layers, LAYER_HOST, arena_copy_c(load->arena, list.paths[i])) &&
                 ok;
        }
    }
    return ok;
}

static bool report_define(const VariablesLoad *load, Str key)
{
    problems_add(load->problems, "E0593", NULL, 0, 0,
                 "-D must be KEY=TEXT or KEY:=JSON, not '%" STR_FMT "'", STR_ARG(key));
    return false;
}

static bool is_marked(const VariableLayers *layers, Str key)
{
    for (uint32_t i = 0; i < layers->len; i++) {
        const Value *value = value_get(layers->items[i].document, key);
        if (value != NULL && value_holds_secret(*value)) {
            return true;
        }
    }
    return false;
}

/* Errors show the text, unless it is secret. */
static bool read_json(const VariablesLoad *load, const VariableLayers *layers, uint16_t source,
                      Str key, Value *out)
{
    Problems found;
    problems_init(&found, load->problems->arena);
    if (json_parse(load->arena, load->sources, source, NULL, out, &found)) {
        return true;
    }
    if (is_marked(layers, key)) {
        problems_add(load->problems, "E0593", NULL, 0, 0,
                     "the value of -D %" STR_FMT ":= is not JSON; it is secret and not shown",
                     STR_ARG(key));
        return false;
    }
    for (uint32_t i = 0; i < found.count; i++) {
        problems_add_copy(load->problems, &found.items[i]);
    }
    return false;
}

/* KEY=TEXT or KEY:=JSON. The value may be a secret, so messages do not show it. */
static bool read_define(const VariablesLoad *load, VariableLayers *layers, const char *word)
{
    Str text = str_from_c(word);
    size_t equals = str_find(text, STR("="), 0);
    bool typed = equals != STR_NOT_FOUND && equals > 0 && text.data[equals - 1] == ':';
    Str key = str_slice(text, 0, equals == STR_NOT_FOUND ? text.len : equals - typed);
    if (equals == STR_NOT_FOUND || key.len == 0) {
        return report_define(load, key);
    }
    Str name = arena_format(load->arena, "-D %" STR_FMT, STR_ARG(key));
    Str given = str_from_offset(text, equals + 1);
    uint16_t source = sources_add(load->sources, name, given);
    Value value = value_string(given);
    if (typed && !read_json(load, layers, source, key, &value)) {
        return false;
    }
    value.source = source;
    value.start = 0;
    value.span = (uint32_t)given.len;
    Map *map = map_new(load->arena, 1);
    Value name_given = value_string(key);
    name_given.source = source;
    map_set(load->arena, map, name_given, value);
    Value document = value_map(map);
    document.source = source;
    return add_layer(load, layers, LAYER_DEFINE, document, value_missing());
}

bool variables_read_layers(const VariablesLoad *load, VariableLayers *out)
{
    *out = (VariableLayers){ 0 };
    bool ok = load->site == NULL || read_site(load, out);
    ok = (load->etc == NULL || read_host(load, out)) && ok;
    for (uint32_t i = 0; i < load->file_count; i++) {
        ok = read_file(load, out, LAYER_FILE, load->files[i]) && ok;
    }
    for (uint32_t i = 0; i < load->define_count; i++) {
        ok = read_define(load, out, load->defines[i]) && ok;
    }
    return ok;
}

/* --- Marks ---------------------------------------------------------------------------------- */

/* A mark belongs to the name of a variable: if one layer has it, the values of all layers are
 * marked.
 *
 * Marks are a value with the same shape as the variables: true for what is marked, including
 * everything below it; a map for marks further down; null for none. All items of a list share one
 * entry, under null, because lists of two layers replace each other. */

static Value marks_join(Arena *arena, Value marks, Value v)
{
    if (value_is_secret(v) || marks.kind == VALUE_BOOL) {
        return value_bool(true);
    }
    if (!value_holds_secret(v)) {
        return marks;
    }
    Map *below = marks.kind == VALUE_MAP ? marks.map : map_new(arena, 4);
    bool is_map = v.kind == VALUE_MAP;
    uint32_t count = is_map ? v.map->len : v.list->len;
    for (uint32_t i = 0; i < count; i++) {
        Value key = is_map ? v.map->entries[i].key : value_null();
        const MapEntry *known = map_find(below, key);
        Value joined = marks_join(arena, known == NULL ? value_null() : known->value,
                                  is_map ? v.map->entries[i].value : v.list->items[i]);
        if (joined.kind != VALUE_NULL) {
            map_set(arena, below, key, joined);
        }
    }
    return value_map(below);
}

static Value marks_apply(Arena *arena, Value marks, Value v);

static Value marks_below(Arena *arena, const Map *marks, Value key, Value v)
{
    const MapEntry *mark = map_find(marks, key);
    return mark == NULL ? v : marks_apply(arena, mark->value, v);
}

static bool is_plain_item(Value v)
{
    return !value_is_sequence(v) && v.kind != VALUE_MAP &&
           !(value_is_string(v) && dynamic_has_template(value_str(v)));
}

/* A value whose shape differs from the marked one counts as marked, because it may be a template
 * that produces the same data. Plain items of a list may have any shape. */
static Value marks_apply(Arena *arena, Value marks, Value v)
{
    if (marks.kind == VALUE_BOOL) {
        return value_with_secret(v);
    }
    const MapEntry *items = map_find(marks.map, value_null()); /* NULL: marks of a map */
    if (v.kind == VALUE_MAP && items == NULL) {
        Map *map = map_new(arena, v.map->len);
        for (uint32_t i = 0; i < v.map->len; i++) {
            const MapEntry *entry = &v.map->entries[i];
            map_append(arena, map, entry->key,
                       marks_below(arena, marks.map, entry->key, entry->value));
        }
        v.map = map;
        return v;
    }
    if (value_is_sequence(v) && items != NULL) {
        List *list = list_new(arena, v.list->len);
        for (uint32_t i = 0; i < v.list->len; i++) {
            Value item = v.list->items[i];
            bool stays = items->value.kind == VALUE_MAP && is_plain_item(item);
            list_push(arena, list, stays ? item : marks_apply(arena, items->value, item));
        }
        v.list = list;
        return v;
    }
    return v.kind == VALUE_NULL || v.kind == VALUE_BOOL ? v : value_with_secret(v);
}

void variables_share_marks(Arena *arena, VariableLayers *layers)
{
    Value *documents = ARENA_ARRAY(arena, Value, layers->len);
    for (uint32_t i = 0; i < layers->len; i++) {
        Value marks = value_null(); /* of the others: items of its own list may differ */
        for (uint32_t other = 0; other < layers->len; other++) {
            if (other != i) {
                marks = marks_join(arena, marks, layers->items[other].document);
            }
        }
        documents[i] = layers->items[i].document;
        if (marks.kind != VALUE_NULL) {
            documents[i] = marks_apply(arena, marks, documents[i]);
        }
    }
    for (uint32_t i = 0; i < layers->len; i++) {
        layers->items[i].document = documents[i];
    }
}

/* --- Merging -------------------------------------------------------------------------------- */

bool variable_is_blank(const Sources *sources, Value value)
{
    return value.kind == VALUE_NULL && value.source != SOURCE_NONE &&
           value_original(sources, value).len == 0;
}

static void merge(Arena *arena, const Sources *sources, Map *into, const Map *from)
{
    for (uint32_t i = 0; i < from->len; i++) {
        const MapEntry *entry = &from->entries[i];
        if (variable_is_blank(sources, entry->value)) {
            continue;
        }
        MapEntry *known = map_find(into, entry->key);
        if (entry->value.kind != VALUE_MAP) {
            map_set(arena, into, entry->key, entry->value);
            continue;
        }
        /* Always a copy: the map may be shared through an alias, and later layers are merged into
         * it. */
        bool both = known != NULL && known->value.kind == VALUE_MAP;
        Value merged = entry->value;
        merged.map = both ? known->value.map : map_new(arena, entry->value.map->len);
        merged.flags |= both ? known->value.flags & VALUE_SECRET : 0;
        merge(arena, sources, merged.map, entry->value.map);
        map_set(arena, into, entry->key, merged);
    }
}

Value variables_merge(Arena *arena, const Sources *sources, const VariableLayers *layers)
{
    Map *merged = map_new(arena, 16);
    for (uint32_t i = 0; i < layers->len; i++) {
        merge(arena, sources, merged, layers->items[i].document.map);
    }
    return value_map(merged);
}
