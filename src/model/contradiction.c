#include "model/contradiction.h"

#include <stdlib.h>

#include "base/vec.h"
#include "lang/edit/data_path.h"
#include "model/contradiction_requests.h"
#include "model/document_place.h"

/* A decision of one step about one resource. */
typedef struct Decided {
    uint32_t step;
    int param;    /* -1: the action itself */
    Str resource; /* displayed name: "/etc/motd" */
    Str aspect;
    Str value;
    struct Decided *next; /* by a job that may apply to different nodes */
} Decided;

typedef VEC(Decided) DecidedVec;

/* A resource that a step requires. */
typedef struct Needed {
    uint32_t step;
    Str resource;
    bool is_directory;   /* a file is not sufficient */
    struct Needed *next; /* by a job that may apply to different nodes */
} Needed;

typedef VEC(Needed) NeededVec;

/* The name of a resource that exists once per machine. */
#define ONLY_ONE STR("of this machine")

enum {
    KEY_DATA_MIN = 40 /* characters */
};

typedef struct Reading {
    Arena *arena;
    const Step *step;
    const Action *action;
    const Value *values;
    bool resolved;
    DecidedVec found;
    NeededVec needs;
    Str line_path; /* the file that `line` refers to; empty: none */
    LineRequest line;
    Str data_path; /* the file that `data` refers to; empty: none */
    DataRequest data;
    Str text_path; /* the file that `text` refers to; empty: none */
    TextRequest text;
} Reading;

void contradictions_init(Contradictions *contradictions, Arena *arena)
{
    contradictions->arena = arena;
    str_map_init(&contradictions->decided, arena);
    str_map_init(&contradictions->needed, arena);
    str_map_init(&contradictions->lines, arena);
    str_map_init(&contradictions->values, arena);
    str_map_init(&contradictions->texts, arena);
}

/* --- Parsing a row --------------------------------------------------------------------------- */

static Value value_of(const Reading *reading, Str param)
{
    int at = action_param_index(reading->action, param);
    return at < 0 ? value_missing() : reading->values[at];
}

/* The first parameter in "a|b" that has a value; false if none is known. */
static bool first_given(const Reading *reading, Str names, Value *out)
{
    Str name;
    while (names.len > 0 && str_split_next(&names, '|', &name)) {
        *out = value_of(reading, name);
        if (!value_is_missing(*out)) {
            return true;
        }
    }
    return false;
}

/* Whether the value is among those after '!' in "state!restarted|reloaded", which have no lasting
 * effect. */
static bool is_passing(Str exceptions, Value value)
{
    Str one;
    while (exceptions.len > 0 && str_split_next(&exceptions, '|', &one)) {
        if (value_is_string(value) && str_eq(value_str(value), one)) {
            return true;
        }
    }
    return false;
}

/* "!content" of a parameter: while it is false, the content is not decided. "?kind": while it has a
 * value, the kind is not decided. */
static bool is_left_open(const Reading *reading, Str aspect)
{
    const ParamSpec *params = reading->action->params;
    for (uint32_t i = 0; params[i].name != NULL; i++) {
        const char *decides = params[i].decides == NULL ? "" : params[i].decides;
        Value value = reading->values[i];
        bool given = (reading->step->spec->params_set >> i & 1) != 0;
        bool opens = (decides[0] == '!' && !value_is_true(value)) || (decides[0] == '?' && given);
        if (opens && str_eq_c(aspect, decides + 1)) {
            return true;
        }
    }
    return false;
}

static void put(Reading *reading, Str resource, Str aspect, int param, Str value)
{
    VEC_PUSH(reading->arena, &reading->found,
             (Decided){ .step = reading->step->index,
                        .param = param,
                        .resource = resource,
                        .aspect = aspect,
                        .value = value });
}

static void need(Reading *reading, Str resource, bool is_directory)
{
    VEC_PUSH(reading->arena, &reading->needs,
             (Needed){ .step = reading->step->index,
                       .resource = resource,
                       .is_directory = is_directory });
}

static Str resource_name(Arena *arena, Str class, Str name)
{
    if (str_eq(name, ONLY_ONE)) {
        return arena_join(arena, class, STR(" "), name);
    }
    return arena_format(arena, "%" STR_FMT " '%" STR_FMT "'", STR_ARG(class), STR_ARG(name));
}

/* The parent directories must remain directories. */
static void need_parents(Reading *reading, Str path)
{
    for (size_t slash; (slash = str_find_last(path, STR("/"))) != STR_NOT_FOUND && slash > 0;) {
        path = str_slice(path, 0, slash);
        need(reading, resource_name(reading->arena, STR("path"), path), true);
    }
}

/* At load time only values in the same form can be compared: a template with a template. */
static Str comparable_aspect(const Reading *reading, const ParamSpec *spec, Str aspect, Value value)
{
    bool is_file = spec->kind == PARAM_SITE_FILE || spec->kind == PARAM_SITE_TEMPLATE;
    if (str_eq(aspect, STR("content")) && !reading->resolved) {
        return arena_format(reading->arena, "%" STR_FMT "%s%s", STR_ARG(aspect),
                            is_file ? " of " : "", is_file ? spec->name : "");
    }
    if (str_eq(aspect, STR("address"))) { /* a host has one address of each family */
        bool six =
            str_find(request_value_text(reading->arena, value), STR(":"), 0) != STR_NOT_FOUND;
        return six ? STR("IPv6 address") : STR("IPv4 address");
    }
    return aspect;
}

/* Owner and mode of a file do not depend on the part that a step edits. */
static bool is_of_whole(Str aspect)
{
    return str_eq(aspect, STR("owner")) || str_eq(aspect, STR("group")) ||
           str_eq(aspect, STR("mode"));
}

/* "content@copy": the origin of the content, in addition to the content itself. */
static void put_content(Reading *reading, Str resource, int param, Str origin)
{
    put(reading, resource, STR("origin of its content"), param, origin);
    Str text = request_value_text(reading->arena, reading->values[param]);
    if (str_eq(origin, STR("copy"))) {
        put(reading, resource, STR("file to copy"), param, text);
    } else if (str_eq(origin, STR("download")) &&
               value_is_missing(value_of(reading, STR("digest")))) {
        put(reading, resource, STR("address"), param, text); /* with a digest, any mirror will do */
    }
}

/* "uid#": the number belongs to one user. */
static void put_unique(Reading *reading, Str aspect, int param)
{
    Str rest = str_from_c(reading->action->resource), class;
    Value name;
    (void)str_split_next(&rest, ' ', &class);
    if (first_given(reading, rest, &name)) {
        Value value = reading->values[param];
        Str number =
            value.kind == VALUE_BOOL ? ONLY_ONE : request_value_text(reading->arena, value);
        put(reading, resource_name(reading->arena, aspect, number), class, param,
            request_value_text(reading->arena, name));
    }
}

/* Cuts the text off at the mark, and returns what follows; empty if the mark does not occur. */
static Str cut_behind(Str *text, const char *mark)
{
    size_t at = str_find(*text, str_from_c(mark), 0);
    Str rest = at == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(*text, at + 1);
    *text = str_slice(*text, 0, at);
    return rest;
}

static bool is_off(Value value)
{
    return value_is_string(value) ? str_eq(value_str(value), STR("stopped"))
                                  : !value_is_true(value);
}

/* Whether every format writes the value like this. */
static bool is_plain(Value value)
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
static void read_text(Reading *reading, Str path, Str aspect, Value value)
{
    const Action *action = reading->action;
    bool is_lines = str_eq(aspect, STR("content")) || str_eq(aspect, STR("line"));
    bool is_file = action->wants != NULL && strcmp(action->wants, "kind=file") == 0;
    Value state = value_of(reading, STR("state"));
    bool absent = value_is_string(state) && str_eq(value_str(state), STR("absent"));
    if (!is_file || !(is_lines ? value_is_string(value)
                               : str_eq(aspect, STR("value")) && !absent && is_plain(value))) {
        return;
    }
    reading->text_path = path;
    reading->text = (TextRequest){ .step = reading->step->index,
                                   .is_whole = action->part == NULL,
                                   .is_lines = is_lines,
                                   .absent = absent,
                                   .text = request_value_text(reading->arena, value) };
}

static int compare_texts(const void *a, const void *b)
{
    const Value *first = a, *second = b;
    return str_compare(value_is_string(*first) ? value_str(*first) : STR_EMPTY,
                       value_is_string(*second) ? value_str(*second) : STR_EMPTY);
}

static Value sorted(const Reading *reading, Value list)
{
    if (!value_is_sequence(list) || list.list->len == 0) {
        return list;
    }
    List *copy = list_new(reading->arena, list.list->len);
    for (uint32_t i = 0; i < list.list->len; i++) {
        list_push(reading->arena, copy, list.list->items[i]);
    }
    qsort(copy->items, copy->len, sizeof *copy->items, compare_texts);
    return value_list(copy);
}

static void read_params(Reading *reading, Str resource, Str path, Str part)
{
    const ParamSpec *params = reading->action->params;
    for (int i = 0; params[i].name != NULL; i++) {
        Value value = reading->values[i];
        if (params[i].decides == NULL || strchr("!?+", params[i].decides[0]) != NULL ||
            value_is_missing(value) || value.kind == VALUE_MAP) {
            continue;
        }
        Str aspect = str_from_c(params[i].decides);
        Str excluded = cut_behind(&aspect, "^"), exceptions = cut_behind(&aspect, "!");
        bool is_unique = str_ends(aspect, STR("#"));
        bool is_set = str_ends(aspect, STR("%"));
        aspect = is_unique || is_set ? str_slice(aspect, 0, aspect.len - 1) : aspect;
        if (excluded.len > 0 && !is_off(value)) {
            put(reading, resource, excluded, i, STR("false"));
        }
        if (is_unique && (value.kind != VALUE_BOOL || value_is_true(value))) {
            put_unique(reading, aspect, i);
        }
        if (is_unique && value.kind == VALUE_BOOL) {
            continue;
        }
        size_t at = str_find(aspect, STR("@"), 0);
        if (at != STR_NOT_FOUND) {
            put_content(reading, resource, i, str_from_offset(aspect, at + 1));
            continue;
        }
        if (!is_left_open(reading, aspect) && !is_passing(exceptions, value)) {
            if (reading->action->part == NULL && str_eq(aspect, STR("content"))) {
                put_content(reading, resource, i, STR("site"));
            }
            Str comparable = comparable_aspect(reading, &params[i], aspect, value);
            put(reading, is_of_whole(aspect) ? resource : part, comparable, i,
                request_value_text(reading->arena, is_set ? sorted(reading, value) : value));
            read_text(reading, path, comparable, value);
        }
    }
}

/* Parses "state=absent version=latest". */
static void read_wants(Reading *reading, Str resource, Str name)
{
    Str rest = reading->action->wants == NULL ? STR_EMPTY : str_from_c(reading->action->wants);
    Value state = value_of(reading, STR("state"));
    if (value_is_string(state) && str_eq(value_str(state), STR("absent"))) {
        return; /* a part is absent, which does not affect the whole */
    }
    Str pair;
    while (rest.len > 0 && str_split_next(&rest, ' ', &pair)) {
        size_t equals = str_find(pair, STR("="), 0);
        Str aspect = str_slice(pair, 0, equals);
        if (!is_left_open(reading, aspect)) {
            put(reading, resource, aspect, -1, str_from_offset(pair, equals + 1));
        }
        if (str_eq(aspect, STR("kind")) && !str_eq(pair, STR("kind=absent"))) {
            need_parents(reading, name);
        }
        if (str_eq(pair, STR("state=mounted"))) {
            need(reading, resource_name(reading->arena, STR("path"), name),
                 !value_is_true(value_of(reading, STR("file"))));
            need_parents(reading, name);
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
static Str part_name(const Reading *reading, Value value)
{
    DataPath path;
    Error ignored;
    if (reading->action->part_kind == PART_DATA_PATH &&
        data_path_parse(reading->arena, value, &path, &ignored)) {
        List *keys = list_new(reading->arena, path.len + 1);
        bool has_dot = false; /* a dot in a key: as a string it would be two keys */
        for (uint32_t i = 0; i < path.len; i++) {
            Str key = request_value_text(reading->arena, path.segments[i].key);
            has_dot = has_dot || str_find(key, STR("."), 0) != STR_NOT_FOUND;
            list_push(reading->arena, keys, path.segments[i].key);
        }
        return has_dot ? request_value_text(reading->arena, value_list(keys))
                       : data_path_text(reading->arena, &path, path.len);
    }
    Str text = request_value_text(reading->arena, value);
    return reading->action->part_kind == PART_KEY ? key_data(text) : text;
}

static Str text_of(const Reading *reading, Str param)
{
    Value value = value_of(reading, param);
    return value_is_string(value) ? value_str(value) : (Str){ 0 };
}

static void read_line(Reading *reading, Str path)
{
    Str state = text_of(reading, STR("state"));
    reading->line_path = path;
    reading->line = (LineRequest){ .step = reading->step->index,
                                   .line = text_of(reading, STR("line")),
                                   .match = text_of(reading, STR("match")),
                                   .absent = str_eq(state, STR("absent")) };
}

static void read_data(Reading *reading, Str path)
{
    DataPath keys;
    Error ignored;
    bool absent = str_eq(text_of(reading, STR("state")), STR("absent"));
    Value value = value_of(reading, STR("value"));
    if (!data_path_parse(reading->arena, value_of(reading, STR("path")), &keys, &ignored) ||
        (value_is_missing(value) && !absent)) {
        return;
    }
    List *list = list_new(reading->arena, keys.len + 1);
    for (uint32_t i = 0; i < keys.len; i++) {
        if (data_segment_is_end(&keys.segments[i])) {
            return; /* an item of a list, at any position */
        }
        list_push(reading->arena, list, keys.segments[i].key);
    }
    reading->data_path = path;
    reading->data = (DataRequest){ reading->step->index, value_list(list), value, absent };
}

static Str plain_name(Arena *arena, Str class, Str name)
{
    if (str_eq(class, STR("unit")) && str_find(name, STR("."), 0) == STR_NOT_FOUND) {
        return arena_join(arena, name, STR(".service"), STR_EMPTY);
    }
    if (str_eq(class, STR("path")) && name.len > 1 && str_ends(name, STR("/"))) {
        return str_slice(name, 0, name.len - 1);
    }
    return name;
}

/* One resource: what the action wants of the whole, and its parameters of the part that they
 * name. */
static void read_resource(Reading *reading, Str class, Str name)
{
    name = plain_name(reading->arena, class, name);
    Str resource = resource_name(reading->arena, class, name);
    read_wants(reading, resource, name);
    if (reading->action->part_kind == PART_LINE) {
        read_line(reading, name);
    }
    if (reading->action->part_kind == PART_DATA_PATH) {
        read_data(reading, name);
    }
    Str names = reading->action->part == NULL ? STR_EMPTY : str_from_c(reading->action->part), one;
    Str part = resource, above = resource;
    while (names.len > 0 && str_split_next(&names, ' ', &one)) {
        Value value;
        bool given = first_given(reading, one, &value);
        above = part;
        part = arena_format(reading->arena, "%" STR_FMT ", %" STR_FMT, STR_ARG(part),
                            STR_ARG(given ? part_name(reading, value) : STR("-")));
    }
    if (reading->action->part_kind == PART_KEY &&
        !str_eq(text_of(reading, STR("state")), STR("absent"))) {
        need(reading, arena_join(reading->arena, above, STR(", -"), STR_EMPTY),
             false); /* any key */
    }
    read_params(reading, resource, name, part);
}

/* Parameters that decide "+name". */
static void read_more_names(Reading *reading, Str class)
{
    const ParamSpec *params = reading->action->params;
    for (uint32_t i = 0; params[i].name != NULL; i++) {
        const char *decides = params[i].decides;
        Value names = reading->values[i];
        bool are_names = decides != NULL && strcmp(decides, "+name") == 0;
        for (uint32_t k = 0; are_names && value_is_sequence(names) && k < names.list->len; k++) {
            read_resource(reading, class, request_value_text(reading->arena, names.list->items[k]));
        }
    }
}

/* `resource` is "path name": a class, and the parameter that names the resource; one value may
 * contain several package names with versions. "timezone": there is only one. */
static void read_row(Reading *reading)
{
    Str rest = str_from_c(reading->action->resource), class;
    Value name;
    (void)str_split_next(&rest, ' ', &class);
    if (rest.len == 0) {
        read_resource(reading, class, ONLY_ONE);
        return;
    }
    if (!first_given(reading, rest, &name)) {
        return;
    }
    if (name.kind != VALUE_MAP) {
        read_resource(reading, class, request_value_text(reading->arena, name));
        read_more_names(reading, class);
        return;
    }
    for (uint32_t i = 0; i < name.map->len; i++) {
        const MapEntry *entry = &name.map->entries[i];
        Str key = request_value_text(reading->arena, entry->key);
        read_resource(reading, class, key);
        if (value_is_string(entry->value)) {
            put(reading, resource_name(reading->arena, class, key), STR("version"),
                action_param_index(reading->action, STR("pkgs")), value_str(entry->value));
        }
    }
}

/* From its claims: the files that it writes as a whole, and the accounts that it requires. A
 * command may have a guard that checks for them. */
static void read_claims(Reading *reading)
{
    const List *claims = reading->step->claims;
    for (uint32_t i = 0; claims != NULL && i < claims->len; i++) {
        Str claim = value_str(claims->items[i]), class, name = claim;
        bool needs = str_starts(claim, STR("needs:"));
        name = needs ? str_from_offset(claim, STR("needs:").len) : name;
        (void)str_split_next(&name, ':', &class);
        bool is_account = str_eq(class, STR("user")) || str_eq(class, STR("group"));
        if (needs && is_account && !reading->action->repeats) {
            need(reading, resource_name(reading->arena, class, name), false);
        } else if (reading->action->writes_claims && str_eq(class, STR("path"))) {
            Str resource = resource_name(reading->arena, class, name);
            put(reading, resource, STR("kind"), -1, STR("file"));
            put(reading, resource, STR("origin of its content"), -1,
                str_from_c(reading->step->spec->module->name));
            need_parents(reading, name);
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
static bool can_compare(const Decided *a, const Decided *b)
{
    bool people = str_eq(a->aspect, STR("owner")) || str_eq(a->aspect, STR("group"));
    return !people || is_number(a->value) == is_number(b->value);
}

static Value place_of(const Graph *graph, const Decided *decided)
{
    const StepSpec *spec = graph_step(graph, decided->step)->spec;
    return decided->param >= 0 && (spec->params_set >> decided->param & 1) != 0
               ? spec->params[decided->param]->value
               : spec->action_place;
}

static void report_contradiction(const Graph *graph, const Decided *first, const Decided *second,
                                 Problems *problems)
{
    Problems other;
    problems_init(&other, problems->arena);
    const Problem *where = document_problem(&other, graph->sources, SEVERITY_ERROR, "",
                                            place_of(graph, first), "first");
    Str id = graph_step(graph, first->step)->id;
    bool plain = first->param < 0 && second->param < 0;
    Problem *problem =
        plain ? document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407",
                                 place_of(graph, second),
                                 "%" STR_FMT " cannot be '%" STR_FMT "' here: step '%" STR_FMT
                                 "' sets it to '%" STR_FMT "'",
                                 STR_ARG(second->resource), STR_ARG(second->value), STR_ARG(id),
                                 STR_ARG(first->value))
              : document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407",
                                 place_of(graph, second),
                                 "%" STR_FMT " cannot have a different %" STR_FMT
                                 " here than in step '%" STR_FMT "'",
                                 STR_ARG(second->resource), STR_ARG(second->aspect), STR_ARG(id));
    problem_add_note(problems->arena, problem, STR("the other step is here"), where->file,
                     where->line);
}

static bool is_alternative(RequisiteKind kind)
{
    return kind == REQUISITE_ONFAIL || kind == REQUISITE_ONCHANGES || kind == REQUISITE_PREREQ;
}

bool contradiction_counts(const Graph *graph, uint32_t step, bool running)
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
    return running || (!spec->when->given && spec->job->gate_count == 0 &&
                       spec->run->target_count == 0 && graph_step(graph, step)->untargeted == 0);
}

static bool contradicts(const Graph *graph, const Decided *first, const Decided *second)
{
    return requests_may_meet(graph, first->step, second->step) && can_compare(first, second) &&
           !str_eq(first->value, second->value);
}

/* --- Requirements of other steps -------------------------------------------------------------- */

static bool rules_out(const Needed *needed, const Decided *decided)
{
    bool is_state = str_eq(decided->aspect, STR("kind")) || str_eq(decided->aspect, STR("state"));
    return is_state && (str_eq(decided->value, STR("absent")) ||
                        (needed->is_directory && str_eq(decided->value, STR("file"))));
}

/* Without the names of parts that are not given. */
static Str shown(Str resource)
{
    while (str_ends(resource, STR(", -"))) {
        resource = str_slice(resource, 0, resource.len - 3);
    }
    return resource;
}

/* `needs_it`: the second step is the one that requires the resource. */
static void report_need(const Graph *graph, const Needed *needed, const Decided *decided,
                        bool needs_it, Problems *problems)
{
    uint32_t here = needs_it ? needed->step : decided->step;
    uint32_t other = needs_it ? decided->step : needed->step;
    const char *as = needed->is_directory ? " as a directory" : "";
    Str id = graph_step(graph, other)->id;
    Value place = graph_step(graph, here)->spec->action_place;
    Problem *problem =
        needs_it ? document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407", place,
                                    "%" STR_FMT " is required%s here, but step '%" STR_FMT
                                    "' sets it to '%" STR_FMT "'",
                                    STR_ARG(shown(needed->resource)), as, STR_ARG(id),
                                    STR_ARG(decided->value))
                 : document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407", place,
                                    "%" STR_FMT " cannot be '%" STR_FMT "' here: step '%" STR_FMT
                                    "' requires it%s",
                                    STR_ARG(shown(decided->resource)), STR_ARG(decided->value),
                                    STR_ARG(id), as);
    request_note_other(graph, other, problem, problems);
}

static void keep_need(Contradictions *contradictions, const Graph *graph, const Needed *needed)
{
    Arena *arena = contradictions->arena;
    Needed *first = str_map_find(&contradictions->needed, needed->resource), *known = first;
    while (known != NULL && known->step != needed->step &&
           !requests_may_meet(graph, known->step, needed->step)) {
        known = known->next;
    }
    if (known != NULL) {
        if (needed->is_directory && !known->is_directory) {
            known->step = needed->step;
            known->is_directory = true;
        }
        return;
    }
    Needed *kept = ARENA_NEW(arena, Needed);
    *kept = *needed;
    kept->resource = arena_copy(arena, needed->resource);
    if (first == NULL) {
        str_map_put(&contradictions->needed, kept->resource, kept);
    } else {
        kept->next = first->next;
        first->next = kept;
    }
}

static Decided *find_decided(const Contradictions *contradictions, Arena *scratch, Str resource,
                             Str aspect)
{
    return str_map_find(&contradictions->decided, arena_format(scratch, "%" STR_FMT "\n%" STR_FMT,
                                                               STR_ARG(resource), STR_ARG(aspect)));
}

/* Compares each requirement with earlier decisions, and vice versa. */
static bool check_needs(Contradictions *contradictions, const Graph *graph, const Reading *reading,
                        Problems *problems)
{
    for (uint32_t i = 0; i < reading->needs.len; i++) {
        const Needed *needed = &reading->needs.items[i];
        Str aspect = str_starts(needed->resource, STR("path ")) ? STR("kind") : STR("state");
        const Decided *decided =
            find_decided(contradictions, reading->arena, needed->resource, aspect);
        for (; decided != NULL; decided = decided->next) {
            if (rules_out(needed, decided) &&
                requests_may_meet(graph, decided->step, needed->step)) {
                report_need(graph, needed, decided, true, problems);
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < reading->found.len; i++) {
        const Decided *decided = &reading->found.items[i];
        const Needed *needed = str_map_find(&contradictions->needed, decided->resource);
        for (; needed != NULL; needed = needed->next) {
            if (rules_out(needed, decided) &&
                requests_may_meet(graph, needed->step, decided->step)) {
                report_need(graph, needed, decided, false, problems);
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < reading->needs.len; i++) {
        keep_need(contradictions, graph, &reading->needs.items[i]);
    }
    return true;
}

/* --- Public API ------------------------------------------------------------------------------- */

static void keep(Contradictions *contradictions, Str key, const Decided *decided)
{
    Arena *arena = contradictions->arena;
    Decided *kept = ARENA_NEW(arena, Decided);
    *kept = (Decided){ .step = decided->step,
                       .param = decided->param,
                       .resource = arena_copy(arena, decided->resource),
                       .aspect = arena_copy(arena, decided->aspect),
                       .value = arena_copy(arena, decided->value) };
    Decided *first = str_map_find(&contradictions->decided, key);
    if (first == NULL) {
        str_map_put(&contradictions->decided, arena_copy(arena, key), kept);
    } else {
        kept->next = first->next;
        first->next = kept;
    }
}

/* Compares a decision with those of earlier steps, and stores it if none of them can represent it.
 * Returns the one that it contradicts, or NULL. A step that is retried adds the same values again,
 * possibly forever: only new ones are stored. */
static const Decided *add_decided(Contradictions *contradictions, const Graph *graph, Str key,
                                  const Decided *now)
{
    bool represented = false;
    for (Decided *at = str_map_find(&contradictions->decided, key); at != NULL; at = at->next) {
        if (at->step == now->step) {
            if (!str_eq(at->value, now->value)) {
                at->value = arena_copy(contradictions->arena, now->value);
            }
            return NULL;
        }
        if (contradicts(graph, at, now)) {
            return at;
        }
        represented = represented || requests_may_meet(graph, at->step, now->step);
    }
    if (!represented) {
        keep(contradictions, key, now);
    }
    return NULL;
}

bool contradictions_add(Contradictions *contradictions, const Graph *graph, uint32_t step,
                        const Value *values, bool resolved, Problems *problems)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    const Step *of = graph_step(graph, step);
    Reading reading = { .arena = &scratch,
                        .step = of,
                        .action = of->spec->action,
                        .values = values,
                        .resolved = resolved };
    read_row(&reading);
    read_claims(&reading);
    if (!resolved && reading.text_path.len > 0) {
        text_request_add(&contradictions->texts, contradictions->arena, graph, reading.text_path,
                         &reading.text, problems);
    }
    bool ok = true;
    for (uint32_t i = 0; i < reading.found.len; i++) {
        const Decided *now = &reading.found.items[i];
        Str key = arena_format(&scratch, "%" STR_FMT "\n%" STR_FMT, STR_ARG(now->resource),
                               STR_ARG(now->aspect));
        const Decided *other = add_decided(contradictions, graph, key, now);
        if (ok && other != NULL) {
            report_contradiction(graph, other, now, problems);
            ok = false; /* the others follow from it */
        }
    }
    return ok && check_needs(contradictions, graph, &reading, problems) &&
           (reading.line_path.len == 0 ||
            line_request_add(&contradictions->lines, contradictions->arena, graph,
                             reading.line_path, &reading.line, problems)) &&
           (reading.data_path.len == 0 ||
            data_request_add(&contradictions->values, contradictions->arena, graph,
                             reading.data_path, &reading.data, problems));
}

bool contradictions_check(const Graph *graph, Problems *problems)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Contradictions contradictions;
    contradictions_init(&contradictions, &arena);
    bool ok = true;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        ok = (!contradiction_counts(graph, i, false) ||
              contradictions_add(&contradictions, graph, i, graph_step(graph, i)->values, false,
                                 problems)) &&
             ok;
    }
    return ok;
}
