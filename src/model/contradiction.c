#include "model/contradiction.h"

#include <stdlib.h>

#include "base/vec.h"
#include "lang/edit/data_path.h"
#include "model/document_location.h"

/* The state that a step wants one aspect of a resource to have. */
typedef struct DesiredState {
    uint32_t step;
    int param;    /* -1: the action itself */
    Str resource; /* displayed name: "/etc/motd" */
    Str aspect;
    Str value;
    struct DesiredState *next; /* from a job that may apply to other nodes */
} DesiredState;

typedef VEC(DesiredState) DesiredStateVec;

/* A resource that a step requires. */
typedef struct Requirement {
    uint32_t step;
    Str resource;
    bool is_directory;        /* a file is not sufficient */
    struct Requirement *next; /* from a job that may apply to other nodes */
} Requirement;

typedef VEC(Requirement) RequirementVec;

/* The name of a resource that exists once per machine. */
#define SINGLETON STR("of this machine")

enum {
    KEY_DATA_MIN = 40 /* characters */
};

typedef struct RowReader {
    Arena *arena;
    const Step *step;
    const Action *action;
    const Value *values;
    bool resolved;
    DesiredStateVec states;
    RequirementVec required;
    Str line_path; /* the file that `line` refers to; empty: none */
    LineRequest line;
    Str data_path; /* the file that `data` refers to; empty: none */
    DataRequest data;
    Str text_path; /* the file that `text` refers to; empty: none */
    TextRequest text;
    MembersRequest members; /* without a name: none */
} RowReader;

void contradictions_init(Contradictions *contradictions, Arena *arena)
{
    *contradictions = (Contradictions){ .arena = arena };
    str_map_init(&contradictions->states, arena);
    str_map_init(&contradictions->required, arena);
    str_map_init(&contradictions->lines, arena);
    str_map_init(&contradictions->values, arena);
    str_map_init(&contradictions->texts, arena);
}

/* --- Parsing a row --------------------------------------------------------------------------- */

static Value param_value(const RowReader *reader, Str param)
{
    int pos = action_param_index(reader->action, param);
    return pos < 0 ? value_missing() : reader->values[pos];
}

/* The first parameter in "a|b" that has a value; false if none is known. */
static bool first_value(const RowReader *reader, Str names, Value *out)
{
    Str name;
    while (names.len > 0 && str_split_next(&names, '|', &name)) {
        *out = param_value(reader, name);
        if (!value_is_missing(*out)) {
            return true;
        }
    }
    return false;
}

/* Whether the value is among those after '!' in "state!restarted|reloaded", which have no lasting
 * effect. */
static bool is_transient(Str exceptions, Value value)
{
    Str one;
    while (exceptions.len > 0 && str_split_next(&exceptions, '|', &one)) {
        if (value_is_string(value) && str_eq(value_str(value), one)) {
            return true;
        }
    }
    return false;
}

/* "!content": the content is undecided while the parameter is false. "?kind": the kind is
 * undecided while the parameter has a value. */
static bool is_undecided(const RowReader *reader, Str aspect)
{
    const ParamSpec *params = reader->action->params;
    for (uint32_t i = 0; params[i].name != NULL; i++) {
        const char *aspect_spec = params[i].aspect == NULL ? "" : params[i].aspect;
        Value value = reader->values[i];
        bool is_set = (reader->step->spec->params_set >> i & 1) != 0;
        bool is_exempt =
            (aspect_spec[0] == '!' && !value_is_true(value)) || (aspect_spec[0] == '?' && is_set);
        if (is_exempt && str_eq_c(aspect, aspect_spec + 1)) {
            return true;
        }
    }
    return false;
}

static void add_state(RowReader *reader, Str resource, Str aspect, int param, Str value)
{
    VEC_PUSH(reader->arena, &reader->states,
             (DesiredState){ .step = reader->step->index,
                             .param = param,
                             .resource = resource,
                             .aspect = aspect,
                             .value = value });
}

static void require(RowReader *reader, Str resource, bool is_directory)
{
    VEC_PUSH(reader->arena, &reader->required,
             (Requirement){
                 .step = reader->step->index, .resource = resource, .is_directory = is_directory });
}

static Str resource_name(Arena *arena, Str class, Str name)
{
    if (str_eq(name, SINGLETON)) {
        return arena_join(arena, class, STR(" "), name);
    }
    return arena_format(arena, "%" STR_FMT " '%" STR_FMT "'", STR_ARG(class), STR_ARG(name));
}

/* The parent directories must remain directories. */
static void require_parents(RowReader *reader, Str path)
{
    for (size_t slash; (slash = str_find_last(path, STR("/"))) != STR_NOT_FOUND && slash > 0;) {
        path = str_slice(path, 0, slash);
        require(reader, resource_name(reader->arena, STR("path"), path), true);
    }
}

/* At load time only values of the same form can be compared, such as a template with a template. */
static Str compared_aspect(const RowReader *reader, const ParamSpec *spec, Str aspect, Value value)
{
    bool is_file = spec->kind == PARAM_SITE_FILE || spec->kind == PARAM_SITE_TEMPLATE;
    if (str_eq(aspect, STR("content")) && !reader->resolved) {
        return arena_format(reader->arena, "%" STR_FMT "%s%s", STR_ARG(aspect),
                            is_file ? " of " : "", is_file ? spec->name : "");
    }
    if (str_eq(aspect, STR("address"))) { /* a host has one address of each family */
        bool six = str_find(request_value_text(reader->arena, value), STR(":"), 0) != STR_NOT_FOUND;
        return six ? STR("IPv6 address") : STR("IPv4 address");
    }
    return aspect;
}

/* The owner and the mode of a file do not depend on the part that a step edits. */
static bool is_file_attribute(Str aspect)
{
    return str_eq(aspect, STR("owner")) || str_eq(aspect, STR("group")) ||
           str_eq(aspect, STR("mode"));
}

/* "content@copy": the origin of the content, in addition to the content itself. */
static void add_content(RowReader *reader, Str resource, int param, Str origin)
{
    add_state(reader, resource, STR("origin of its content"), param, origin);
    Str text = request_value_text(reader->arena, reader->values[param]);
    if (str_eq(origin, STR("copy"))) {
        add_state(reader, resource, STR("file to copy"), param, text);
    } else if (str_eq(origin, STR("download")) &&
               value_is_missing(param_value(reader, STR("digest")))) {
        add_state(reader, resource, STR("address"), param,
                  text); /* with a digest, any mirror will do */
    }
}

/* "uid#": the number belongs to one user. */
static void add_unique(RowReader *reader, Str aspect, int param)
{
    Str rest = str_from_c(reader->action->resource), class;
    Value name;
    (void)str_split_next(&rest, ' ', &class);
    if (first_value(reader, rest, &name)) {
        Value value = reader->values[param];
        Str number =
            value.kind == VALUE_BOOL ? SINGLETON : request_value_text(reader->arena, value);
        add_state(reader, resource_name(reader->arena, aspect, number), class, param,
                  request_value_text(reader->arena, name));
    }
}

/* Cuts the text off at the mark, and returns what follows; empty if the mark does not occur. */
static Str split_at_mark(Str *text, const char *mark)
{
    size_t pos = str_find(*text, str_from_c(mark), 0);
    Str rest = pos == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(*text, pos + 1);
    *text = str_slice(*text, 0, pos);
    return rest;
}

static bool is_disabled(Value value)
{
    return value_is_string(value) ? str_eq(value_str(value), STR("stopped"))
                                  : !value_is_true(value);
}

/* Whether every file format spells the value in the same way. */
static bool is_portable(Value value)
{
    Str text = value_is_string(value) ? value_str(value) : STR("0");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c < ' ' || c > '~' || strchr("\"'\\&<>", c) != NULL) {
            return false;
        }
    }
    return text.len > 0 && (value_is_string(value) || value.kind == VALUE_INT);
}

/* The text of a file, or of an edit: `aspect` is "content", "line" or "value". */
static void read_text(RowReader *reader, Str path, Str aspect, Value value)
{
    const Action *action = reader->action;
    bool is_lines = str_eq(aspect, STR("content")) || str_eq(aspect, STR("line"));
    bool is_file = action->desired_state != NULL && strcmp(action->desired_state, "kind=file") == 0;
    Value state = param_value(reader, STR("state"));
    bool absent = value_is_string(state) && str_eq(value_str(state), STR("absent"));
    if (!is_file || !(is_lines ? value_is_string(value)
                               : str_eq(aspect, STR("value")) && !absent && is_portable(value))) {
        return;
    }
    reader->text_path = path;
    reader->text = (TextRequest){ .step = reader->step->index,
                                  .is_whole = action->part == NULL,
                                  .is_lines = is_lines,
                                  .absent = absent,
                                  .text = request_value_text(reader->arena, value) };
}

/* "rules=": without the parameter there are none. */
static Value setting_of(const RowReader *reader, int param)
{
    const char *aspect = reader->action->params[param].aspect;
    Value value = reader->values[param], state = param_value(reader, STR("state"));
    bool is_set = (reader->step->spec->params_set >> param & 1) != 0;
    bool absent = value_is_string(state) && str_eq(value_str(state), STR("absent")),
         is_empty = value_is_sequence(value) && value.list->len == 0;
    if (aspect == NULL || !str_ends(str_from_c(aspect), STR("=")) || absent) {
        return value;
    }
    return !is_set || is_empty ? value_string(STR_EMPTY) : value;
}

/* "groups%" of a user, "members%" of a group. */
static void read_members(RowReader *reader, Str name, Str aspect, Value names)
{
    reader->members = (MembersRequest){ .step = reader->step->index,
                                        .is_group = str_eq(aspect, STR("members")),
                                        .is_exact = !is_undecided(reader, aspect),
                                        .name = name,
                                        .names = names };
}

static void read_params(RowReader *reader, Str resource, Str path, Str part)
{
    const ParamSpec *params = reader->action->params;
    for (int i = 0; params[i].name != NULL; i++) {
        Value value = setting_of(reader, i);
        if (params[i].aspect == NULL || strchr("!?+", params[i].aspect[0]) != NULL ||
            value_is_missing(value) || value.kind == VALUE_MAP) {
            continue;
        }
        Str aspect = str_from_c(params[i].aspect);
        Str excluded = split_at_mark(&aspect, "^"), exceptions = split_at_mark(&aspect, "!");
        bool is_unique = str_ends(aspect, STR("#"));
        bool is_set = str_ends(aspect, STR("%"));
        bool is_marked = is_unique || is_set || str_ends(aspect, STR("="));
        aspect = is_marked ? str_slice(aspect, 0, aspect.len - 1) : aspect;
        if (is_set && value_is_sequence(value)) {
            read_members(reader, path, aspect, value);
        }
        if (excluded.len > 0 && !is_disabled(value)) {
            add_state(reader, resource, excluded, i, STR("false"));
        }
        if (is_unique && (value.kind != VALUE_BOOL || value_is_true(value))) {
            add_unique(reader, aspect, i);
        }
        if (is_unique && value.kind == VALUE_BOOL) {
            continue;
        }
        size_t pos = str_find(aspect, STR("@"), 0);
        if (pos != STR_NOT_FOUND) {
            add_content(reader, resource, i, str_from_offset(aspect, pos + 1));
            continue;
        }
        if (!is_undecided(reader, aspect) && !is_transient(exceptions, value)) {
            if (reader->action->part == NULL && str_eq(aspect, STR("content"))) {
                add_content(reader, resource, i, STR("site"));
            }
            Str comparable = compared_aspect(reader, &params[i], aspect, value);
            add_state(reader, is_file_attribute(aspect) ? resource : part, comparable, i,
                      request_value_text(reader->arena,
                                         is_set ? request_sorted(reader->arena, value) : value));
            read_text(reader, path, comparable, value);
        }
    }
}

/* Parses "state=absent version=latest". */
static void read_desired_state(RowReader *reader, Str resource, Str name)
{
    Str rest = reader->action->desired_state == NULL ? STR_EMPTY
                                                     : str_from_c(reader->action->desired_state);
    Value state = param_value(reader, STR("state"));
    if (value_is_string(state) && str_eq(value_str(state), STR("absent"))) {
        return; /* a part is absent, which does not affect the whole */
    }
    Str pair;
    while (rest.len > 0 && str_split_next(&rest, ' ', &pair)) {
        size_t equals = str_find(pair, STR("="), 0);
        Str aspect = str_slice(pair, 0, equals);
        if (!is_undecided(reader, aspect)) {
            add_state(reader, resource, aspect, -1, str_from_offset(pair, equals + 1));
        }
        if (str_eq(aspect, STR("kind")) && !str_eq(pair, STR("kind=absent"))) {
            require_parents(reader, name);
        }
        if (str_eq(pair, STR("state=mounted"))) {
            require(reader, resource_name(reader->arena, STR("path"), name),
                    !value_is_true(param_value(reader, STR("file"))));
            require_parents(reader, name);
        }
    }
}

/* The base64 part of a public key, without type, options and comment. */
static Str key_data(Str text)
{
    Str rest = text, word;
    while (rest.len > 0 && str_split_next(&rest, ' ', &word)) {
        if (word.len >= KEY_DATA_MIN && str_starts(word, STR("AAAA"))) {
            return word;
        }
    }
    return text;
}

/* Normalized name of the part, so that different spellings compare equal. */
static Str part_name(const RowReader *reader, Value value)
{
    DataPath path;
    Error ignored;
    if (reader->action->part_kind == PART_DATA_PATH &&
        data_path_parse(reader->arena, value, &path, &ignored)) {
        List *keys = list_new(reader->arena, path.len + 1);
        bool has_dot = false; /* a dot in a key: as a string it would be two keys */
        for (uint32_t i = 0; i < path.len; i++) {
            Str key = request_value_text(reader->arena, path.segments[i].key);
            has_dot = has_dot || str_find(key, STR("."), 0) != STR_NOT_FOUND;
            list_push(reader->arena, keys, path.segments[i].key);
        }
        return has_dot ? request_value_text(reader->arena, value_list(keys))
                       : data_path_text(reader->arena, &path, path.len);
    }
    Str text = request_value_text(reader->arena, value);
    return reader->action->part_kind == PART_KEY ? key_data(text) : text;
}

static Str text_value(const RowReader *reader, Str param)
{
    Value value = param_value(reader, param);
    return value_is_string(value) ? value_str(value) : (Str){ 0 };
}

static void read_line(RowReader *reader, Str path)
{
    Str state = text_value(reader, STR("state"));
    reader->line_path = path;
    reader->line = (LineRequest){ .step = reader->step->index,
                                  .line = text_value(reader, STR("line")),
                                  .match = text_value(reader, STR("match")),
                                  .absent = str_eq(state, STR("absent")) };
}

static void read_data(RowReader *reader, Str path)
{
    DataPath keys;
    Error ignored;
    bool absent = str_eq(text_value(reader, STR("state")), STR("absent"));
    Value value = param_value(reader, STR("value"));
    if (!data_path_parse(reader->arena, param_value(reader, STR("path")), &keys, &ignored) ||
        (value_is_missing(value) && !absent)) {
        return;
    }
    List *list = list_new(reader->arena, keys.len + 1);
    for (uint32_t i = 0; i < keys.len; i++) {
        if (data_segment_is_end(&keys.segments[i])) {
            return; /* an item of a list, at any position */
        }
        list_push(reader->arena, list, keys.segments[i].key);
    }
    reader->data_path = path;
    reader->data = (DataRequest){ reader->step->index, value_list(list), value, absent };
}

/* One resource: what the action wants of the whole, and its parameters of the part that they
 * name. */
static void read_resource(RowReader *reader, Str class, Str name)
{
    name = request_resource_name(reader->arena, class, name);
    Str resource = resource_name(reader->arena, class, name);
    read_desired_state(reader, resource, name);
    if (reader->action->part_kind == PART_LINE) {
        read_line(reader, name);
    }
    if (reader->action->part_kind == PART_DATA_PATH) {
        read_data(reader, name);
    }
    Str names = reader->action->part == NULL ? STR_EMPTY : str_from_c(reader->action->part), one;
    Str part = resource, parent_part = resource;
    while (names.len > 0 && str_split_next(&names, ' ', &one)) {
        Value value;
        bool is_set = first_value(reader, one, &value);
        parent_part = part;
        part = arena_format(reader->arena, "%" STR_FMT ", %" STR_FMT, STR_ARG(part),
                            STR_ARG(is_set ? part_name(reader, value) : STR("-")));
    }
    if (reader->action->part_kind == PART_KEY &&
        !str_eq(text_value(reader, STR("state")), STR("absent"))) {
        require(reader, arena_join(reader->arena, parent_part, STR(", -"), STR_EMPTY),
                false); /* any key */
    }
    read_params(reader, resource, name, part);
}

/* Reads the additional names of the resource, from parameters with the aspect "+name". */
static void read_names(RowReader *reader, Str class)
{
    const ParamSpec *params = reader->action->params;
    for (uint32_t i = 0; params[i].name != NULL; i++) {
        const char *aspect_spec = params[i].aspect;
        Value names = reader->values[i];
        bool are_names = aspect_spec != NULL && strcmp(aspect_spec, "+name") == 0;
        for (uint32_t k = 0; are_names && value_is_sequence(names) && k < names.list->len; k++) {
            read_resource(reader, class, request_value_text(reader->arena, names.list->items[k]));
        }
    }
}

/* `resource` is "path name": a class, and the parameter that names the resource; one value may
 * contain several package names with versions. "timezone": there is only one. */
static void read_row(RowReader *reader)
{
    Str rest = str_from_c(reader->action->resource), class;
    Value name;
    (void)str_split_next(&rest, ' ', &class);
    if (rest.len == 0) {
        read_resource(reader, class, SINGLETON);
        return;
    }
    if (!first_value(reader, rest, &name)) {
        return;
    }
    if (name.kind != VALUE_MAP) {
        read_resource(reader, class, request_value_text(reader->arena, name));
        read_names(reader, class);
        return;
    }
    for (uint32_t i = 0; i < name.map->len; i++) {
        const MapEntry *entry = &name.map->entries[i];
        Str key = request_value_text(reader->arena, entry->key);
        read_resource(reader, class, key);
        if (value_is_string(entry->value)) {
            add_state(reader, resource_name(reader->arena, class, key), STR("version"),
                      action_param_index(reader->action, STR("pkgs")), value_str(entry->value));
        }
    }
}

/* Adds the files that the step writes as a whole and the accounts that it requires, according to
 * its claims. Commands are exempt: their guards may check for the account. */
static void read_claims(RowReader *reader)
{
    const List *claims = reader->step->claims;
    for (uint32_t i = 0; claims != NULL && i < claims->len; i++) {
        Str claim = value_str(claims->items[i]), class, name = claim;
        bool needs = str_starts(claim, STR("needs:"));
        name = needs ? str_from_offset(claim, STR("needs:").len) : name;
        (void)str_split_next(&name, ':', &class);
        bool is_account = str_eq(class, STR("user")) || str_eq(class, STR("group"));
        if (needs && is_account && !reader->action->always_changes) {
            require(reader, resource_name(reader->arena, class, name), false);
        } else if (reader->action->writes_whole_files && str_eq(class, STR("path"))) {
            Str resource = resource_name(reader->arena, class, name);
            add_state(reader, resource, STR("kind"), -1, STR("file"));
            add_state(reader, resource, STR("origin of its content"), -1,
                      str_from_c(reader->step->spec->module->name));
            require_parents(reader, name);
        }
    }
}

/* --- Comparing ------------------------------------------------------------------------------- */

static bool is_number(Str text)
{
    int64_t number;
    return str_to_i64(text, &number);
}

/* An owner may be given by name or by ID. */
static bool can_compare(const DesiredState *a, const DesiredState *b)
{
    bool by_account = str_eq(a->aspect, STR("owner")) || str_eq(a->aspect, STR("group"));
    return !by_account || is_number(a->value) == is_number(b->value);
}

static Value location_of(const Graph *graph, const DesiredState *state)
{
    const StepSpec *spec = graph_step(graph, state->step)->spec;
    return state->param >= 0 && (spec->params_set >> state->param & 1) != 0
               ? spec->params[state->param]->value
               : spec->action_location;
}

static void report_contradiction(const Graph *graph, const DesiredState *first,
                                 const DesiredState *second, Problems *problems)
{
    Str id = graph_step(graph, first->step)->id;
    bool plain = first->param < 0 && second->param < 0;
    Problem *problem =
        plain ? document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407",
                                 location_of(graph, second),
                                 "%" STR_FMT " cannot be '%" STR_FMT "' here: step '%" STR_FMT
                                 "' sets it to '%" STR_FMT "'",
                                 STR_ARG(second->resource), STR_ARG(second->value), STR_ARG(id),
                                 STR_ARG(first->value))
              : document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407",
                                 location_of(graph, second),
                                 "%" STR_FMT " cannot have a different %" STR_FMT
                                 " here than in step '%" STR_FMT "'",
                                 STR_ARG(second->resource), STR_ARG(second->aspect), STR_ARG(id));
    problem_note_other_step(graph, location_of(graph, first), problem, problems);
}

static bool is_alternative(RequisiteKind kind)
{
    return kind == REQUISITE_ONFAIL || kind == REQUISITE_ONCHANGES || kind == REQUISITE_PREREQ;
}

bool contradiction_applies(const Graph *graph, uint32_t step, bool running)
{
    const StepSpec *spec = graph_step(graph, step)->spec;
    if (spec->action->resource == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < spec->requisite_count; i++) {
        if (is_alternative(spec->requisites[i].kind)) {
            return false;
        }
    }
    Edges edges = graph_edges(graph, step);
    for (uint32_t i = 0; i < edges.count; i++) {
        if (is_alternative(edges.items[i].kind)) {
            return false;
        }
    }
    return running ||
           (!spec->when->is_set && spec->job->gate_count == 0 && spec->run->target_count == 0 &&
            graph_step(graph, step)->kinds_without_targets == 0);
}

static bool contradicts(const Graph *graph, const DesiredState *first, const DesiredState *second)
{
    return steps_may_share_node(graph, first->step, second->step) && can_compare(first, second) &&
           !str_eq(first->value, second->value);
}

/* --- Requirements of other steps -------------------------------------------------------------- */

static bool excludes(const Requirement *required, const DesiredState *state)
{
    bool is_state = str_eq(state->aspect, STR("kind")) || str_eq(state->aspect, STR("state"));
    return is_state && (str_eq(state->value, STR("absent")) ||
                        (required->is_directory && str_eq(state->value, STR("file"))));
}

/* Omits the parts that are not set. */
static Str printed_name(Str resource)
{
    while (str_ends(resource, STR(", -"))) {
        resource = str_slice(resource, 0, resource.len - 3);
    }
    return resource;
}

/* `needs_it`: the second step is the one that requires the resource. */
static void report_required(const Graph *graph, const Requirement *required,
                            const DesiredState *state, bool needs_it, Problems *problems)
{
    uint32_t here = needs_it ? required->step : state->step;
    uint32_t other = needs_it ? state->step : required->step;
    const char *role = required->is_directory ? " as a directory" : "";
    Str id = graph_step(graph, other)->id;
    Value location = graph_step(graph, here)->spec->action_location;
    Problem *problem =
        needs_it ? document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407", location,
                                    "%" STR_FMT " is required%s here, but step '%" STR_FMT
                                    "' sets it to '%" STR_FMT "'",
                                    STR_ARG(printed_name(required->resource)), role, STR_ARG(id),
                                    STR_ARG(state->value))
                 : document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407", location,
                                    "%" STR_FMT " cannot be '%" STR_FMT "' here: step '%" STR_FMT
                                    "' requires it%s",
                                    STR_ARG(printed_name(state->resource)), STR_ARG(state->value),
                                    STR_ARG(id), role);
    problem_note_other_step(graph, graph_step(graph, other)->spec->action_location, problem,
                            problems);
}

static void store_required(Contradictions *contradictions, const Graph *graph,
                           const Requirement *required)
{
    Arena *arena = contradictions->arena;
    Requirement *first = str_map_find(&contradictions->required, required->resource),
                *known = first;
    while (known != NULL && known->step != required->step &&
           !steps_may_share_node(graph, known->step, required->step)) {
        known = known->next;
    }
    if (known != NULL) {
        if (required->is_directory && !known->is_directory) {
            known->step = required->step;
            known->is_directory = true;
        }
        return;
    }
    Requirement *stored = ARENA_NEW(arena, Requirement);
    *stored = *required;
    stored->resource = arena_copy(arena, required->resource);
    if (first == NULL) {
        str_map_put(&contradictions->required, stored->resource, stored);
    } else {
        stored->next = first->next;
        first->next = stored;
    }
}

static DesiredState *find_state(const Contradictions *contradictions, Arena *scratch, Str resource,
                                Str aspect)
{
    return str_map_find(&contradictions->states, arena_format(scratch, "%" STR_FMT "\n%" STR_FMT,
                                                              STR_ARG(resource), STR_ARG(aspect)));
}

/* Compares each required resource with the states set by earlier steps, and vice versa. */
static bool check_required(Contradictions *contradictions, const Graph *graph,
                           const RowReader *reader, Problems *problems)
{
    for (uint32_t i = 0; i < reader->required.len; i++) {
        const Requirement *required = &reader->required.items[i];
        Str aspect = str_starts(required->resource, STR("path ")) ? STR("kind") : STR("state");
        const DesiredState *state =
            find_state(contradictions, reader->arena, required->resource, aspect);
        for (; state != NULL; state = state->next) {
            if (excludes(required, state) &&
                steps_may_share_node(graph, state->step, required->step)) {
                report_required(graph, required, state, true, problems);
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < reader->states.len; i++) {
        const DesiredState *state = &reader->states.items[i];
        const Requirement *required = str_map_find(&contradictions->required, state->resource);
        for (; required != NULL; required = required->next) {
            if (excludes(required, state) &&
                steps_may_share_node(graph, required->step, state->step)) {
                report_required(graph, required, state, false, problems);
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < reader->required.len; i++) {
        store_required(contradictions, graph, &reader->required.items[i]);
    }
    return true;
}

/* --- Public API ------------------------------------------------------------------------------- */

static void store_state(Contradictions *contradictions, Str key, const DesiredState *state)
{
    Arena *arena = contradictions->arena;
    DesiredState *stored = ARENA_NEW(arena, DesiredState);
    *stored = (DesiredState){ .step = state->step,
                              .param = state->param,
                              .resource = arena_copy(arena, state->resource),
                              .aspect = arena_copy(arena, state->aspect),
                              .value = arena_copy(arena, state->value) };
    DesiredState *first = str_map_find(&contradictions->states, key);
    if (first == NULL) {
        str_map_put(&contradictions->states, arena_copy(arena, key), stored);
    } else {
        stored->next = first->next;
        first->next = stored;
    }
}

/* Compares a state with those of earlier steps, and stores it unless an equal one covers it.
 * Returns the one that it contradicts, or NULL. A step that is retried adds the same values again,
 * possibly forever: only new ones are stored. */
static const DesiredState *add_checked(Contradictions *contradictions, const Graph *graph, Str key,
                                       const DesiredState *now)
{
    bool represented = false;
    for (DesiredState *other = str_map_find(&contradictions->states, key); other != NULL;
         other = other->next) {
        if (other->step == now->step) {
            if (!str_eq(other->value, now->value)) {
                other->value = arena_copy(contradictions->arena, now->value);
            }
            return NULL;
        }
        if (contradicts(graph, other, now)) {
            return other;
        }
        represented = represented || steps_may_share_node(graph, other->step, now->step);
    }
    if (!represented) {
        store_state(contradictions, key, now);
    }
    return NULL;
}

bool contradictions_add(Contradictions *contradictions, const Graph *graph, uint32_t step,
                        const Value *values, bool resolved, Problems *problems)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    const Step *data = graph_step(graph, step);
    RowReader reader = { .arena = &scratch,
                         .step = data,
                         .action = data->spec->action,
                         .values = values,
                         .resolved = resolved };
    read_row(&reader);
    read_claims(&reader);
    if (!resolved && reader.text_path.len > 0) {
        text_request_add(&contradictions->texts, contradictions->arena, graph, reader.text_path,
                         &reader.text, problems);
    }
    bool ok = true;
    for (uint32_t i = 0; i < reader.states.len; i++) {
        const DesiredState *now = &reader.states.items[i];
        Str key = arena_format(&scratch, "%" STR_FMT "\n%" STR_FMT, STR_ARG(now->resource),
                               STR_ARG(now->aspect));
        const DesiredState *other = add_checked(contradictions, graph, key, now);
        if (ok && other != NULL) {
            report_contradiction(graph, other, now, problems);
            ok = false; /* further contradictions are consequences */
        }
    }
    return ok && check_required(contradictions, graph, &reader, problems) &&
           (reader.line_path.len == 0 ||
            line_request_add(&contradictions->lines, contradictions->arena, graph, reader.line_path,
                             &reader.line, problems)) &&
           (reader.data_path.len == 0 ||
            data_request_add(&contradictions->values, contradictions->arena, graph,
                             reader.data_path, &reader.data, problems)) &&
           (reader.members.name.len == 0 ||
            members_request_add(&contradictions->members, contradictions->arena, graph,
                                &reader.members, problems));
}

bool contradictions_check(const Graph *graph, Problems *problems)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Contradictions contradictions;
    contradictions_init(&contradictions, &arena);
    bool ok = true;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        ok = (!contradiction_applies(graph, i, false) ||
              contradictions_add(&contradictions, graph, i, graph_step(graph, i)->values, false,
                                 problems)) &&
             ok;
    }
    return ok;
}
