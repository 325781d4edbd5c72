#include "model/contradiction_requests.h"

#include <stdlib.h>

#include "lang/json.h"
#include "lang/pattern.h"
#include "model/document_location.h"

enum {
    COMPARED_MAX = 200,    /* lines or values of a file; compared pairwise */
    TEXT_MAX = 1024 * 1024 /* bytes; longer texts are not compared */
};

typedef VEC(LineRequest) LineRequestVec;
typedef VEC(TextRequest) TextRequestVec;
typedef VEC(DataRequest) DataRequestVec;

Str request_value_text(Arena *arena, Value value)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    if (value_is_string(value)) {
        return value_str(value);
    }
    return json_print(&text, value, NULL, &err) ? buf_str(&text) : STR("?");
}

static int compare_texts(const void *a, const void *b)
{
    const Value *first = a, *second = b;
    return str_compare(value_is_string(*first) ? value_str(*first) : STR_EMPTY,
                       value_is_string(*second) ? value_str(*second) : STR_EMPTY);
}

Value request_sorted(Arena *arena, Value value)
{
    if (!value_is_sequence(value) || value.list->len == 0) {
        return value;
    }
    List *copy = list_new(arena, value.list->len);
    for (uint32_t i = 0; i < value.list->len; i++) {
        list_push(arena, copy, value.list->items[i]);
    }
    qsort(copy->items, copy->len, sizeof *copy->items, compare_texts);
    return value_list(copy);
}

Str request_resource_name(Arena *arena, Str class, Str name)
{
    if (str_eq(class, STR("unit")) && str_find(name, STR("."), 0) == STR_NOT_FOUND) {
        return arena_join(arena, name, STR(".service"), STR_EMPTY);
    }
    if (str_eq(class, STR("path")) && name.len > 1 && str_ends(name, STR("/"))) {
        return str_slice(name, 0, name.len - 1);
    }
    /* As in sysctl.d(5): after a slash as the first separator, dots are part of names. */
    size_t first = 0;
    while (first < name.len && name.data[first] != '.' && name.data[first] != '/') {
        first++;
    }
    if (!str_eq(class, STR("kernel-setting")) || first == name.len || name.data[first] == '.') {
        return name;
    }
    char *swapped = arena_alloc(arena, name.len);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        swapped[i] = c == '.' ? '/' : c == '/' ? '.' : c;
    }
    return str_from(swapped, name.len);
}

bool steps_may_share_node(const Graph *graph, uint32_t a, uint32_t b)
{
    const Job *job = graph_step(graph, a)->spec->job, *other = graph_step(graph, b)->spec->job;
    Str all_nodes = STR("*");
    bool listed_together = str_eq(job->selector, all_nodes) || str_eq(other->selector, all_nodes) ||
                           (job->selector.len > 0 && str_eq(job->selector, other->selector));
    return a != b && (job == other || listed_together || !graph->steps.without_node);
}

void problem_note_other_step(const Graph *graph, Value location, Problem *problem,
                             Problems *problems)
{
    Problems ignored;
    problems_init(&ignored, problems->arena);
    const Problem *where =
        document_problem(&ignored, graph->sources, SEVERITY_ERROR, "", location, "other");
    problem_add_note(problems->arena, problem, STR("the other step is here"), where->file,
                     where->line);
}

/* --- Lines of one file ------------------------------------------------------------------------ */

static bool line_matches(const LineRequest *request, Str line)
{
    AUTO(Pattern) *pattern = NULL;
    bool found = false;
    Error ignored;
    if (line.data == NULL) {
        return false;
    }
    if (request->match.data == NULL) {
        return request->absent && request->line.data != NULL && str_eq(request->line, line);
    }
    return pattern_new(request->match, &pattern, &ignored) &&
           pattern_find(pattern, line, &found, &ignored) && found;
}

/* Whether each run would remove the line of one of them because of the other. */
static bool lines_contradict(const LineRequest *a, const LineRequest *b)
{
    if (a->absent || b->absent) {
        const LineRequest *removal = a->absent ? a : b, *kept = a->absent ? b : a;
        return a->absent != b->absent && line_matches(removal, kept->line);
    }
    if (a->line.data == NULL || b->line.data == NULL || str_eq(a->line, b->line)) {
        return false;
    }
    bool a_matches_b = line_matches(a, b->line), b_matches_a = line_matches(b, a->line);
    return (a_matches_b && b_matches_a) || (a_matches_b && b->match.data == NULL) ||
           (b_matches_a && a->match.data == NULL);
}

static void report_conflict(const Graph *graph, uint32_t other, uint32_t now, const char *class,
                            Str name, Severity severity, Problems *problems)
{
    Str id = graph_step(graph, other)->id;
    Problem *problem = document_problem(
        problems, graph->sources, severity, "E0407", graph_step(graph, now)->spec->action_location,
        "%s '%" STR_FMT "': this step and step '%" STR_FMT "' undo each other's change", class,
        STR_ARG(name), STR_ARG(id));
    problem_note_other_step(graph, graph_step(graph, other)->spec->action_location, problem,
                            problems);
}

bool line_request_add(StrMap *lines, Arena *arena, const Graph *graph, Str path,
                      const LineRequest *request, Problems *problems)
{
    LineRequestVec *known = str_map_find(lines, path);
    for (uint32_t i = 0; known != NULL && i < known->len; i++) {
        const LineRequest *other = &known->items[i];
        if (other->step == request->step) {
            return true; /* a retry */
        }
        if (steps_may_share_node(graph, other->step, request->step) &&
            lines_contradict(other, request)) {
            report_conflict(graph, other->step, request->step, "path", path, SEVERITY_ERROR,
                            problems);
            return false;
        }
    }
    if (known == NULL) {
        known = ARENA_NEW(arena, LineRequestVec);
        str_map_put(lines, arena_copy(arena, path), known);
    }
    if (known->len < COMPARED_MAX) {
        LineRequest kept = *request;
        kept.line = request->line.data == NULL ? request->line : arena_copy(arena, request->line);
        kept.match =
            request->match.data == NULL ? request->match : arena_copy(arena, request->match);
        VEC_PUSH(arena, known, kept);
    }
    return true;
}

/* --- Values of one document ------------------------------------------------------------------- */

static const Value *find_item(Value in, Value key)
{
    int64_t pos;
    Str text = value_is_string(key) ? value_str(key) : STR_EMPTY;
    if (in.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < in.map->len; i++) {
            if (value_is_string(in.map->entries[i].key) &&
                str_eq(value_str(in.map->entries[i].key), text)) {
                return &in.map->entries[i].value;
            }
        }
    }
    pos = key.kind == VALUE_INT ? key.integer : -1;
    bool is_index = pos >= 0 || str_to_i64(text, &pos);
    return in.kind == VALUE_LIST && is_index && pos >= 0 && pos < in.list->len
               ? &in.list->items[pos]
               : NULL;
}

/* `outer` decides what is at a path, and `inner` what is below it. */
static bool nested_values_contradict(Arena *arena, const DataRequest *outer,
                                     const DataRequest *inner)
{
    const List *keys = inner->path.list, *above = outer->path.list;
    for (uint32_t i = 0; i < above->len; i++) {
        if (!str_eq(request_value_text(arena, above->items[i]),
                    request_value_text(arena, keys->items[i]))) {
            return false;
        }
    }
    if (outer->absent) {
        return !inner->absent;
    }
    const Value *found = &outer->value;
    for (uint32_t i = above->len; found != NULL && i < keys->len; i++) {
        found = find_item(*found, keys->items[i]);
    }
    return inner->absent ? found != NULL
                         : found == NULL || !str_eq(request_value_text(arena, *found),
                                                    request_value_text(arena, inner->value));
}

bool data_request_add(StrMap *values, Arena *arena, const Graph *graph, Str path,
                      const DataRequest *request, Problems *problems)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    DataRequestVec *known = str_map_find(values, path);
    for (uint32_t i = 0; known != NULL && i < known->len; i++) {
        const DataRequest *other = &known->items[i];
        uint32_t len = request->path.list->len, other_len = other->path.list->len;
        if (other->step == request->step) {
            return true; /* a retry */
        }
        if (steps_may_share_node(graph, other->step, request->step) && len != other_len &&
            nested_values_contradict(&scratch, len < other_len ? request : other,
                                     len < other_len ? other : request)) {
            report_conflict(graph, other->step, request->step, "path", path, SEVERITY_ERROR,
                            problems);
            return false;
        }
    }
    if (known == NULL) {
        known = ARENA_NEW(arena, DataRequestVec);
        str_map_put(values, arena_copy(arena, path), known);
    }
    if (known->len < COMPARED_MAX) {
        DataRequest kept = *request;
        kept.path = value_copy(arena, request->path);
        kept.value = value_copy(arena, request->value);
        VEC_PUSH(arena, known, kept);
    }
    return true;
}

/* --- Texts and edits of one file -------------------------------------------------------------- */

static bool has_line(Str text, Str line)
{
    Str candidate;
    while (text.len > 0 && str_split_next(&text, '\n', &candidate)) {
        if (str_eq(candidate, line)) {
            return true;
        }
    }
    return false;
}

/* Whether the file would be changed by the edit, so that both steps change it in every run. */
static bool edit_changes_text(const TextRequest *whole, const TextRequest *edit)
{
    Str rest = edit->text, line;
    if (!edit->is_lines) {
        return str_find(whole->text, edit->text, 0) == STR_NOT_FOUND;
    }
    bool has_all = true;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        has_all = has_all && (line.len == 0 || has_line(whole->text, line));
    }
    return edit->absent ? has_all : !has_all;
}

void text_request_add(StrMap *texts, Arena *arena, const Graph *graph, Str path,
                      const TextRequest *request, Problems *problems)
{
    TextRequestVec *known = str_map_find(texts, path);
    for (uint32_t i = 0; known != NULL && i < known->len; i++) {
        const TextRequest *other = &known->items[i];
        if (other->step == request->step) {
            return;
        }
        if (other->is_whole != request->is_whole &&
            steps_may_share_node(graph, other->step, request->step) &&
            edit_changes_text(request->is_whole ? request : other,
                              request->is_whole ? other : request)) {
            report_conflict(graph, other->step, request->step, "path", path, SEVERITY_WARNING,
                            problems);
            return;
        }
    }
    if (known == NULL) {
        known = ARENA_NEW(arena, TextRequestVec);
        str_map_put(texts, arena_copy(arena, path), known);
    }
    if (known->len < COMPARED_MAX && request->text.len <= TEXT_MAX) {
        TextRequest kept = *request;
        kept.text = arena_copy(arena, request->text);
        VEC_PUSH(arena, known, kept);
    }
}

/* --- Members of groups, and groups of users --------------------------------------------------- */

static bool has_name(Arena *scratch, Value names, Str name)
{
    for (uint32_t i = 0; i < names.list->len; i++) {
        if (str_eq(request_value_text(scratch, names.list->items[i]), name)) {
            return true;
        }
    }
    return false;
}

static bool members_contradict(Arena *scratch, const MembersRequest *a, const MembersRequest *b)
{
    if (a->is_group == b->is_group) {
        return false;
    }
    bool a_has_b = has_name(scratch, a->names, b->name),
         b_has_a = has_name(scratch, b->names, a->name);
    return (a_has_b && !b_has_a && b->is_exact) || (b_has_a && !a_has_b && a->is_exact);
}

bool members_request_add(MembersRequestVec *known, Arena *arena, const Graph *graph,
                         const MembersRequest *request, Problems *problems)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    for (uint32_t i = 0; i < known->len; i++) {
        const MembersRequest *other = &known->items[i];
        if (other->step == request->step) {
            return true; /* a retry */
        }
        if (steps_may_share_node(graph, other->step, request->step) &&
            members_contradict(&scratch, other, request)) {
            report_conflict(graph, other->step, request->step, request->is_group ? "group" : "user",
                            request->name, SEVERITY_ERROR, problems);
            return false;
        }
    }
    if (known->len < COMPARED_MAX) {
        MembersRequest kept = *request;
        kept.name = arena_copy(arena, request->name);
        kept.names = value_copy(arena, request->names);
        VEC_PUSH(arena, known, kept);
    }
    return true;
}
