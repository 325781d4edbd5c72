/* Groups nodes by the digest of their changes, and takes the details of each group from the events
 * of one of its nodes. */
#include "cli/run_fold.h"

#include <stdlib.h>

#include "lang/json.h"

static Str field(Arena *arena, Value node, const char *name)
{
    return arena_copy(arena, value_get_text(node, name));
}

void run_fold_init(RunFold *fold, Arena *arena, const List *nodes)
{
    StrMap indexes;
    *fold = (RunFold){ .arena = arena };
    run_matrix_init(&fold->matrix, arena);
    str_map_init(&fold->representatives, arena);
    str_map_init(&indexes, arena);
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value value = nodes->items[i];
        FoldNode node = { field(arena, value, "node"), field(arena, value, "outcome"),
                          field(arena, value, "digest") };
        VEC_PUSH(arena, &fold->nodes, node);
        if (node.digest.len == 0) {
            continue;
        }
        uintptr_t index = (uintptr_t)str_map_find(&indexes, node.digest);
        if (index == 0) {
            VEC_PUSH(arena, &fold->digests, (MatrixNodes){ 0 });
            index = fold->digests.len;
            str_map_put(&indexes, node.digest, (void *)index);
            str_map_put(&fold->representatives, node.name, (void *)index);
        }
        VEC_PUSH(arena, &fold->digests.items[index - 1], i);
        fold->changing++;
    }
    fold->matrix.only = &fold->representatives;
}

void run_fold_clear(RunFold *fold)
{
    run_matrix_clear(&fold->matrix);
}

bool run_fold_add(void *context, Str bytes)
{
    RunFold *fold = context;
    return run_matrix_add(&fold->matrix, bytes);
}

/* --- Folding ---------------------------------------------------------------------------------- */

/* Blocked steps are consequences of failures, and are not part of a digest. */
static bool has_detail(StepResult result)
{
    return result == RESULT_CHANGED || result == RESULT_FAILED || result == RESULT_UNKNOWN;
}

/* Returns the set of digests whose nodes have a detail, as bytes, so that sets can be compared. */
static Str set_of(const RunFold *fold, const MatrixDetail *detail, Buf *key)
{
    buf_reset(key);
    for (uint32_t i = 0; i < detail->nodes.len; i++) {
        Str name = fold->matrix.nodes.items[detail->nodes.items[i]].name;
        buf_put_format(key, "%u,", (unsigned)(uintptr_t)str_map_find(&fold->representatives, name));
    }
    return buf_str(key);
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static MatrixNodes all_nodes(const RunFold *fold, const MatrixDetail *detail)
{
    MatrixNodes nodes = { 0 };
    for (uint32_t i = 0; i < detail->nodes.len; i++) {
        Str name = fold->matrix.nodes.items[detail->nodes.items[i]].name;
        uintptr_t digest = (uintptr_t)str_map_find(&fold->representatives, name);
        const MatrixNodes *same = &fold->digests.items[digest - 1];
        for (uint32_t j = 0; j < same->len; j++) {
            VEC_PUSH(fold->arena, &nodes, same->items[j]);
        }
    }
    qsort(nodes.items, nodes.len, sizeof *nodes.items, compare_numbers);
    return nodes;
}

static int compare_sections(const void *a, const void *b)
{
    const FoldSection *x = a, *y = b;
    if ((x->failures > 0) != (y->failures > 0)) {
        return x->failures > 0 ? -1 : 1;
    }
    if (x->nodes.len != y->nodes.len) {
        return x->nodes.len > y->nodes.len ? -1 : 1;
    }
    return compare_numbers(&x->details.items[0], &y->details.items[0]);
}

void run_fold_finish(RunFold *fold)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    StrMap indexes;
    str_map_init(&indexes, fold->arena);
    run_matrix_finish(&fold->matrix);
    for (uint32_t i = 0; i < fold->matrix.details.len; i++) {
        MatrixDetail *detail = &fold->matrix.details.items[i];
        if (!has_detail(detail->result)) {
            continue;
        }
        Str key = set_of(fold, detail, &text);
        uintptr_t index = (uintptr_t)str_map_find(&indexes, key);
        if (index == 0) {
            VEC_PUSH(fold->arena, &fold->sections,
                     (FoldSection){ .nodes = all_nodes(fold, detail) });
            index = fold->sections.len;
            str_map_put(&indexes, arena_copy(fold->arena, key), (void *)index);
        }
        FoldSection *section = &fold->sections.items[index - 1];
        bool has_failed = detail->result == RESULT_FAILED;
        VEC_PUSH(fold->arena, &section->details, i);
        section->failures += has_failed;
        fold->failures += has_failed;
        fold->changes += !has_failed;
        if (section->nodes.len > 1) {
            run_matrix_hide_names(&fold->matrix, detail);
        }
    }
    if (fold->sections.len > 0) {
        qsort(fold->sections.items, fold->sections.len, sizeof(FoldSection), compare_sections);
    }
}

/* --- Words ------------------------------------------------------------------------------------ */

static void put_count(Buf *out, uint32_t count, bool with_one, const char *what)
{
    if (count > 1 || with_one) {
        buf_put_format(out, "%u ", count);
    }
    buf_put_format(out, "%s%s", what, count == 1 ? "" : "s");
}

Str run_fold_title(const RunFold *fold, Arena *arena, const FoldSection *section)
{
    Buf title = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t changes = section->details.len - section->failures;
    if (section->nodes.len == 1) {
        buf_put_format(&title, "%" STR_FMT ": ",
                       STR_ARG(fold->nodes.items[section->nodes.items[0]].name));
    } else {
        buf_put_format(&title, "%u nodes: the same ", section->nodes.len);
    }
    bool with_one = section->nodes.len == 1 || section->details.len > 1;
    if (section->failures > 0) {
        put_count(&title, section->failures, with_one, "failure");
        buf_put(&title, changes > 0 ? STR(" and ") : STR_EMPTY);
    }
    if (changes > 0) {
        put_count(&title, changes, with_one, "change");
    }
    return buf_str(&title);
}

Str run_fold_names(const RunFold *fold, Arena *arena, const FoldSection *section, uint32_t shown)
{
    Buf names = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < section->nodes.len && i < shown; i++) {
        buf_put_format(&names, "%s%" STR_FMT, i > 0 ? ", " : "",
                       STR_ARG(fold->nodes.items[section->nodes.items[i]].name));
    }
    if (section->nodes.len > shown) {
        buf_put_format(&names, " and %u more", section->nodes.len - shown);
    }
    return buf_str(&names);
}
