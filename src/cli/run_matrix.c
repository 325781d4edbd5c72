/* Collects results by step and node, then sorts and groups them.
 *
 * A cell of a node is 0 if the node does not have the step. Otherwise the low bits are its result
 * plus 1, and the others the index of its detail plus 1, or 0. */
#include "cli/run_matrix.h"

#include <stdlib.h>

#include "base/word_replace.h"
#include "lang/json.h"
#include "run/report.h"
#include "sys/sha256.h"

enum {
    CELL_BITS = 4,
    CELL_MASK = (1 << CELL_BITS) - 1,
    /* maximum number of details; a node has a cell for each of its steps, whatever its result */
    DETAILS_MAX = 1 << 18,
};

void run_matrix_init(RunMatrix *matrix, Arena *arena)
{
    *matrix = (RunMatrix){ .arena = arena, .partial = buf_make(BUF_UNLIMITED) };
    str_map_init(&matrix->node_indexes, arena);
    str_map_init(&matrix->step_indexes, arena);
    str_map_init(&matrix->detail_indexes, arena);
}

void run_matrix_clear(RunMatrix *matrix)
{
    buf_clear(&matrix->partial);
}

/* --- Nodes, steps and cells ------------------------------------------------------------------- */

static MatrixNode *node_of(RunMatrix *matrix, Str name)
{
    uintptr_t index = (uintptr_t)str_map_find(&matrix->node_indexes, name);
    if (index == 0) {
        Str copy = arena_copy(matrix->arena, name);
        VEC_PUSH(matrix->arena, &matrix->nodes, (MatrixNode){ .name = copy, .duration_ms = -1 });
        index = matrix->nodes.len;
        str_map_put(&matrix->node_indexes, copy, (void *)index);
    }
    return &matrix->nodes.items[index - 1];
}

/* A new step is inserted after the step that precedes it on the node, so that the common steps of
 * several roles stay in order. `before` is an index plus 1; 0: it is the first. */
static uint32_t step_of(RunMatrix *matrix, Str id, uint32_t before)
{
    uintptr_t index = (uintptr_t)str_map_find(&matrix->step_indexes, id);
    if (index == 0) {
        MatrixStep step = { .id = arena_copy(matrix->arena, id) };
        uint32_t number = matrix->steps.len + 1;
        uint32_t *link = before > 0 ? &matrix->steps.items[before - 1].next : &matrix->first_step;
        step.next = *link;
        *link = number;
        VEC_PUSH(matrix->arena, &matrix->steps, step);
        index = number;
        str_map_put(&matrix->step_indexes, step.id, (void *)index);
    }
    return (uint32_t)index - 1;
}

static uint32_t *cell_of(RunMatrix *matrix, MatrixNode *node, uint32_t step)
{
    if (step >= node->cell_count) {
        uint32_t count = step + 1 > node->cell_count * 2 ? step + 1 : node->cell_count * 2;
        uint64_t all = matrix->cell_count + count - node->cell_count;
        if (all > MATRIX_CELLS_MAX) {
            matrix->is_incomplete = true;
            return &matrix->no_cell;
        }
        matrix->cell_count = all;
        node->cells = arena_grow(matrix->arena, node->cells, node->cell_count * sizeof(uint32_t),
                                 count * sizeof(uint32_t));
        memset(node->cells + node->cell_count, 0, (count - node->cell_count) * sizeof(uint32_t));
        node->cell_count = count;
    }
    return &node->cells[step];
}

static uint32_t get_cell(const MatrixNode *node, uint32_t step)
{
    return step < node->cell_count ? node->cells[step] : 0;
}

static StepResult cell_result(uint32_t cell)
{
    return (StepResult)((cell & CELL_MASK) - 1);
}

/* --- Details ---------------------------------------------------------------------------------- */

static bool has_detail(StepResult result)
{
    return result != RESULT_OK && result != RESULT_SKIPPED && result != RESULT_PENDING;
}

static void put_part(Buf *key, Arena *arena, Str text, Str node)
{
    Str same = word_replace(arena, text, node, STR(RUN_MATRIX_NODE));
    buf_put_format(key, "%zu:", same.len);
    buf_put(key, same);
}

static Str print_changes(Arena *arena, Value event)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Value value = value_get_map(event, "changes");
    Error ignored;
    const Map *changes = step_changes_beside(value.kind == VALUE_MAP ? value.map : NULL,
                                             value_get_text(event, "diff"), arena);
    return changes != NULL && changes->len > 0 &&
                   json_print(&text, value_map((Map *)changes), NULL, &ignored)
               ? buf_str(&text)
               : STR_EMPTY;
}

static MatrixDetail parse_detail(Arena *arena, Value event, uint32_t step, StepResult result)
{
    Value error = value_get_map(event, "error");
    const Value *exit_code = value_get(event, STR("exit_code"));
    MatrixDetail detail = { .step = step,
                            .result = result,
                            .cause = value_get_text(event, "cause"),
                            .reason = value_get_text(event, "reason"),
                            .code = value_get_text(error, "code"),
                            .message = value_get_text(error, "message"),
                            .diff = value_get_text(event, "diff"),
                            .out = value_get_text(event, "stdout"),
                            .error_out = value_get_text(event, "stderr"),
                            .changes = print_changes(arena, event),
                            .is_truncated = value_get_bool(event, "cut") };
    if (exit_code != NULL && exit_code->kind == VALUE_INT) {
        detail.has_exit_code = true;
        detail.exit_code = exit_code->integer;
    }
    return detail;
}

enum {
    TEXTS = 8
};

static void texts_of(MatrixDetail *detail, Str *out[TEXTS])
{
    out[0] = &detail->code;
    out[1] = &detail->message;
    out[2] = &detail->reason;
    out[3] = &detail->cause;
    out[4] = &detail->changes;
    out[5] = &detail->diff;
    out[6] = &detail->out;
    out[7] = &detail->error_out;
}

/* Hashes all fields, because the texts may be large. */
static Str detail_key(Arena *arena, const MatrixDetail *detail, Str node)
{
    char *hash = arena_alloc(arena, SHA256_HEX + 1);
    Buf key = buf_make_in(arena, BUF_UNLIMITED);
    MatrixDetail normalized = *detail;
    Str *texts[TEXTS];
    texts_of(&normalized, texts);
    if (normalized.result == RESULT_FAILED && normalized.message.len > 0) {
        normalized.reason = STR_EMPTY; /* the reason is only a comment, such as the command */
    }
    buf_put_format(&key, "%u,%d,%lld:", detail->step, (int)detail->result,
                   (long long)detail->exit_code);
    for (size_t i = 0; i < TEXTS; i++) {
        put_part(&key, arena, *texts[i], node);
    }
    sha256_hex(buf_str(&key), hash);
    return str_from(hash, SHA256_HEX);
}

static void keep_texts(RunMatrix *matrix, MatrixDetail *detail)
{
    Str *texts[TEXTS];
    texts_of(detail, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        /* What happened may take up twice as much memory as how it happened. */
        size_t max = i < 4 ? 2 * (size_t)MATRIX_TEXTS_MAX : MATRIX_TEXTS_MAX;
        if (matrix->text_bytes + texts[i]->len > max) {
            detail->is_truncated = detail->is_truncated || texts[i]->len > 0;
            matrix->is_incomplete = matrix->is_incomplete || texts[i]->len > 0;
            *texts[i] = STR_EMPTY;
        } else {
            matrix->text_bytes += texts[i]->len;
            *texts[i] = arena_copy(matrix->arena, *texts[i]);
        }
    }
}

/* Returns the index of the detail plus 1; 0: there are too many details. */
static uint32_t add_detail(RunMatrix *matrix, Arena *scratch, uint32_t node, uint32_t step,
                           StepResult result, Value event)
{
    MatrixDetail detail = parse_detail(scratch, event, step, result);
    Str key = detail_key(scratch, &detail, matrix->nodes.items[node].name);
    uintptr_t index = (uintptr_t)str_map_find(&matrix->detail_indexes, key);
    if (index == 0) {
        if (matrix->details.len >= DETAILS_MAX) {
            matrix->is_incomplete = true;
            return 0;
        }
        keep_texts(matrix, &detail);
        detail.first = node;
        VEC_PUSH(matrix->arena, &matrix->details, detail);
        index = matrix->details.len;
        str_map_put(&matrix->detail_indexes, arena_copy(matrix->arena, key), (void *)index);
    }
    return (uint32_t)index;
}

/* --- Events ----------------------------------------------------------------------------------- */

static bool result_of(Str name, StepResult *out)
{
    for (uint32_t i = 0; i < MATRIX_RESULTS; i++) {
        if (str_eq_c(name, step_result_name((StepResult)i))) {
            *out = (StepResult)i;
            return true;
        }
    }
    return false;
}

static void on_steps(RunMatrix *matrix, MatrixNode *node, Value event)
{
    const List *ids = value_get_list(event, "steps");
    for (uint32_t i = 0; i < ids->len; i++) {
        uint32_t step = step_of(matrix, value_str(ids->items[i]), node->listed);
        uint32_t *cell = cell_of(matrix, node, step);
        *cell = *cell == 0 ? RESULT_PENDING + 1 : *cell;
        node->listed = step + 1;
    }
}

static void on_step(RunMatrix *matrix, MatrixNode *node, Value event)
{
    StepResult result;
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    uint32_t known_steps = matrix->steps.len;
    uint32_t step = step_of(matrix, value_get_text(event, "step"), node->listed);
    node->listed = matrix->steps.len > known_steps ? step + 1 : node->listed;
    uint32_t *cell = cell_of(matrix, node, step);
    if (!result_of(value_get_text(event, "result"), &result)) {
        return;
    }
    MatrixStep *known = &matrix->steps.items[step];
    if (known->action.len == 0) {
        known->job = arena_copy(matrix->arena, value_get_text(event, "job"));
        known->action = arena_copy(matrix->arena, value_get_text(event, "action"));
    }
    /* An interrupted run is repeated. For the second attempt, what the first one changed is already
     * done, so keep the first result. */
    if (node->attempt > 1 && result == RESULT_OK && *cell != 0 &&
        cell_result(*cell) == RESULT_CHANGED) {
        return;
    }
    uint32_t index = (uint32_t)(node - matrix->nodes.items);
    uint32_t detail =
        has_detail(result) ? add_detail(matrix, &scratch, index, step, result, event) : 0;
    *cell = detail << CELL_BITS | ((uint32_t)result + 1);
}

void run_matrix_add_event(RunMatrix *matrix, Value event)
{
    Str kind = value_get_text(event, "event"), name = value_get_text(event, "node");
    if (str_eq_c(kind, "removed")) {
        matrix->removed_ms = value_get_int(event, "at_ms");
    }
    if (name.len == 0 || (matrix->only != NULL && !str_map_has(matrix->only, name))) {
        return;
    }
    MatrixNode *node = node_of(matrix, name);
    if (str_eq_c(kind, "begin")) {
        node->attempt = (uint32_t)value_get_int(event, "attempt");
        node->listed = 0;
        on_steps(matrix, node, event);
    } else if (str_eq_c(kind, "steps")) {
        on_steps(matrix, node, event);
    } else if (str_eq_c(kind, "step")) {
        on_step(matrix, node, event);
    } else if (str_eq_c(kind, "end")) {
        node->duration_ms = value_get(event, STR("duration_ms")) != NULL
                                ? value_get_int(event, "duration_ms")
                                : node->duration_ms;
    } else if (str_eq_c(kind, "truncated")) {
        node->is_truncated = true;
    }
}

static void take_line(RunMatrix *matrix, Str line)
{
    AUTO_CLEAR(Arena) arena;
    Value event;
    Error ignored;
    arena_init(&arena, ARENA_UNLIMITED);
    if (json_parse_text(&arena, line, &json_options_default, &event, &ignored)) {
        run_matrix_add_event(matrix, event);
    }
}

bool run_matrix_add(void *context, Str bytes)
{
    RunMatrix *matrix = context;
    Buf *partial = &matrix->partial;
    size_t used = 0, end;
    buf_put(partial, bytes);
    Str text = buf_str(partial);
    while ((end = str_find(text, STR("\n"), used)) != STR_NOT_FOUND) {
        take_line(matrix, str_slice(text, used, end));
        used = end + 1;
    }
    if (used > 0) {
        memmove(partial->data, partial->data + used, partial->len - used);
        partial->len -= used;
    }
    return true;
}

void run_matrix_add_node(RunMatrix *matrix, Value node)
{
    Arena *arena = matrix->arena;
    MatrixNode *of = node_of(matrix, value_get_text(node, "node"));
    of->outcome = arena_copy(arena, value_get_text(node, "outcome"));
    of->reason = arena_copy(arena, value_get_text(node, "reason"));
    of->step = arena_copy(arena, value_get_text(node, "step"));
    of->code = arena_copy(arena, value_get_text(node, "code"));
    of->error = arena_copy(arena, value_get_text(node, "error"));
    of->digest = arena_copy(arena, value_get_text(node, "digest"));
}

/* --- Order ------------------------------------------------------------------------------------ */

/* Sorts possible changes together with changes, in the order of the site. */
unsigned run_matrix_severity(Str outcome)
{
    static const char *const worst_first[] = { "failed",  "silent",  "canceled", "blocked",
                                               "waiting", "running", "pending",  "changed",
                                               "ok",      "skipped" };
    Str shown = str_eq_c(outcome, "unknown") ? STR("changed") : outcome;
    for (unsigned i = 0; i < COUNT_OF(worst_first); i++) {
        if (str_eq_c(shown, worst_first[i])) {
            return i;
        }
    }
    return COUNT_OF(worst_first);
}

typedef struct NodeRank {
    Str name;
    uint32_t index;
} NodeRank;

static int compare_nodes(const void *a, const void *b)
{
    const NodeRank *x = a, *y = b;
    return str_compare(x->name, y->name);
}

/* Sorts the nodes, and updates the indexes that refer to them. */
static void sort_nodes(RunMatrix *matrix)
{
    uint32_t count = matrix->nodes.len;
    NodeRank *ranks = ARENA_ARRAY(matrix->arena, NodeRank, count + 1);
    uint32_t *new_indexes = ARENA_ARRAY(matrix->arena, uint32_t, count + 1);
    MatrixNode *nodes = ARENA_ARRAY(matrix->arena, MatrixNode, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = (NodeRank){ matrix->nodes.items[i].name, i };
    }
    qsort(ranks, count, sizeof *ranks, compare_nodes);
    for (uint32_t i = 0; i < count; i++) {
        nodes[i] = matrix->nodes.items[ranks[i].index];
        new_indexes[ranks[i].index] = i;
    }
    matrix->nodes.items = nodes;
    for (uint32_t i = 0; i < matrix->details.len; i++) {
        matrix->details.items[i].first = new_indexes[matrix->details.items[i].first];
    }
}

static void order_steps(RunMatrix *matrix)
{
    uint32_t count = 0;
    matrix->order = ARENA_ARRAY(matrix->arena, uint32_t, matrix->steps.len + 1);
    for (uint32_t at = matrix->first_step; at > 0; at = matrix->steps.items[at - 1].next) {
        matrix->order[count++] = at - 1;
    }
}

/* --- Folding ---------------------------------------------------------------------------------- */

static void count_cells(RunMatrix *matrix)
{
    for (uint32_t i = 0; i < matrix->nodes.len; i++) {
        const MatrixNode *node = &matrix->nodes.items[i];
        for (uint32_t step = 0; step < node->cell_count && step < matrix->steps.len; step++) {
            uint32_t cell = node->cells[step], detail = cell >> CELL_BITS;
            if (cell == 0) {
                continue;
            }
            matrix->steps.items[step].counts[cell_result(cell)]++;
            matrix->steps.items[step].nodes++;
            if (detail > 0) {
                VEC_PUSH(matrix->arena, &matrix->details.items[detail - 1].nodes, i);
            }
        }
    }
}

void run_matrix_hide_names(const RunMatrix *matrix, MatrixDetail *detail)
{
    Str *texts[TEXTS];
    texts_of(detail, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        *texts[i] = word_replace(matrix->arena, *texts[i], matrix->nodes.items[detail->first].name,
                                 STR(RUN_MATRIX_NODE));
    }
}

/* Details that several nodes share are shown without node names. */
static void hide_names(RunMatrix *matrix)
{
    for (uint32_t i = 0; i < matrix->details.len; i++) {
        if (matrix->details.items[i].nodes.len > 1) {
            run_matrix_hide_names(matrix, &matrix->details.items[i]);
        }
    }
}

typedef struct DetailRank {
    uint32_t index, severity, step, nodes;
} DetailRank;

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_details(const void *a, const void *b)
{
    const DetailRank *x = a, *y = b;
    int order = compare_numbers(x->severity, y->severity);
    order = order != 0 ? order : compare_numbers(x->step, y->step);
    order = order != 0 ? order : compare_numbers(y->nodes, x->nodes);
    return order != 0 ? order : compare_numbers(x->index, y->index);
}

/* Removes details that no longer apply to any node, because the step was repeated. */
static void sort_details(RunMatrix *matrix)
{
    Arena *arena = matrix->arena;
    uint32_t all = matrix->details.len, count = 0;
    DetailRank *ranks = ARENA_ARRAY(arena, DetailRank, all + 1);
    uint32_t *new_indexes = ARENA_ARRAY(arena, uint32_t, all + 1);
    uint32_t *positions = ARENA_ARRAY(arena, uint32_t, matrix->steps.len + 1);
    MatrixDetail *details = ARENA_ARRAY(arena, MatrixDetail, all + 1);
    for (uint32_t i = 0; i < matrix->steps.len; i++) {
        positions[matrix->order[i]] = i;
    }
    for (uint32_t i = 0; i < all; i++) {
        const MatrixDetail *detail = &matrix->details.items[i];
        if (detail->nodes.len > 0) {
            ranks[count++] =
                (DetailRank){ i, run_matrix_severity(str_from_c(step_result_name(detail->result))),
                              positions[detail->step], detail->nodes.len };
        }
    }
    qsort(ranks, count, sizeof *ranks, compare_details);
    for (uint32_t i = 0; i < count; i++) {
        details[i] = matrix->details.items[ranks[i].index];
        new_indexes[ranks[i].index] = i;
    }
    matrix->details.items = details;
    matrix->details.len = count;
    for (uint32_t i = 0; i < matrix->nodes.len; i++) {
        MatrixNode *node = &matrix->nodes.items[i];
        for (uint32_t step = 0; step < node->cell_count; step++) {
            uint32_t detail = node->cells[step] >> CELL_BITS;
            if (detail > 0) {
                node->cells[step] =
                    (new_indexes[detail - 1] + 1) << CELL_BITS | (node->cells[step] & CELL_MASK);
            }
        }
    }
}

/* Encodes the results of all steps as bytes, without missing ones at the end. */
static Str row_key(const MatrixNode *node, Arena *arena, Buf *key)
{
    uint32_t count = node->cell_count;
    bool explains_itself = false;
    buf_reset(key);
    while (count > 0 && node->cells[count - 1] == 0) {
        count--;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t result = node->cells[i] & CELL_MASK;
        buf_put_char(key, (char)('a' + result));
        explains_itself = explains_itself || result == RESULT_FAILED + 1;
    }
    buf_put_char(key, '\n');
    put_part(key, arena, node->outcome, STR_EMPTY);
    put_part(key, arena, node->reason, node->name);
    if (!explains_itself) {
        put_part(key, arena, node->error, node->name);
    }
    return buf_str(key);
}

typedef struct GroupRank {
    MatrixGroup group;
    unsigned severity;
} GroupRank;

static int compare_groups(const void *a, const void *b)
{
    const GroupRank *x = a, *y = b;
    int order = compare_numbers(x->severity, y->severity);
    order = order != 0 ? order : compare_numbers(y->group.nodes.len, x->group.nodes.len);
    return order != 0 ? order : compare_numbers(x->group.nodes.items[0], y->group.nodes.items[0]);
}

static void sort_groups(RunMatrix *matrix)
{
    uint32_t count = matrix->groups.len;
    GroupRank *ranks = ARENA_ARRAY(matrix->arena, GroupRank, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        MatrixGroup group = matrix->groups.items[i];
        ranks[i] =
            (GroupRank){ group, run_matrix_severity(run_matrix_first(matrix, &group)->outcome) };
    }
    qsort(ranks, count, sizeof *ranks, compare_groups);
    for (uint32_t i = 0; i < count; i++) {
        const MatrixNodes *nodes = &ranks[i].group.nodes;
        matrix->groups.items[i] = ranks[i].group;
        for (uint32_t j = 0; j < nodes->len; j++) {
            matrix->nodes.items[nodes->items[j]].group = i;
        }
    }
}

static void fold(RunMatrix *matrix)
{
    AUTO_CLEAR(Arena) scratch;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    StrMap indexes;
    arena_init(&scratch, ARENA_UNLIMITED);
    str_map_init(&indexes, &scratch);
    for (uint32_t i = 0; i < matrix->nodes.len; i++) {
        Str key = row_key(&matrix->nodes.items[i], &scratch, &text);
        uintptr_t index = (uintptr_t)str_map_find(&indexes, key);
        if (index == 0) {
            VEC_PUSH(matrix->arena, &matrix->groups, (MatrixGroup){ 0 });
            index = matrix->groups.len;
            str_map_put(&indexes, arena_copy(&scratch, key), (void *)index);
        }
        VEC_PUSH(matrix->arena, &matrix->groups.items[index - 1].nodes, i);
    }
    sort_groups(matrix);
}

void run_matrix_finish(RunMatrix *matrix)
{
    sort_nodes(matrix);
    order_steps(matrix);
    count_cells(matrix);
    hide_names(matrix);
    sort_details(matrix);
    fold(matrix);
}

/* --- Reading ---------------------------------------------------------------------------------- */

bool run_matrix_result(const RunMatrix *matrix, uint32_t node, uint32_t step, StepResult *out)
{
    uint32_t cell = get_cell(&matrix->nodes.items[node], step);
    *out = cell == 0 ? RESULT_PENDING : cell_result(cell);
    return cell != 0;
}

const MatrixDetail *run_matrix_detail(const RunMatrix *matrix, uint32_t node, uint32_t step)
{
    uint32_t detail = get_cell(&matrix->nodes.items[node], step) >> CELL_BITS;
    return detail == 0 ? NULL : &matrix->details.items[detail - 1];
}

const MatrixNode *run_matrix_first(const RunMatrix *matrix, const MatrixGroup *group)
{
    return &matrix->nodes.items[group->nodes.items[0]];
}

bool run_matrix_is_unchanged(const MatrixStep *step)
{
    return step->counts[RESULT_OK] + step->counts[RESULT_SKIPPED] == step->nodes;
}

Str run_matrix_names(const RunMatrix *matrix, Arena *arena, const MatrixNodes *nodes,
                     uint32_t shown)
{
    Buf names = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < nodes->len && i < shown; i++) {
        buf_put_format(&names, "%s%" STR_FMT, i > 0 ? ", " : "",
                       STR_ARG(matrix->nodes.items[nodes->items[i]].name));
    }
    if (nodes->len > shown) {
        buf_put_format(&names, " and %u more", nodes->len - shown);
    }
    return buf_str(&names);
}
