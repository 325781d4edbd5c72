/* The outcome of each step on each node of a run across nodes, from its events and the results of
 * its nodes. Pure.
 *
 * Nodes with the same results are one group, and equal details of a step, such as a diff or an
 * error, are kept once: ten thousand nodes of three roles are a few groups. Texts count as equal if
 * they differ only in the name of the node; what is shown for several nodes then has "{node}".
 *
 * Call order: run_matrix_init(), events and nodes in any order, run_matrix_finish(); after that, it
 * is only read. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "lang/value.h"
#include "model/decide.h"

#define RUN_MATRIX_NODE "{node}" /* in texts, instead of the name of each node */

enum {
    MATRIX_RESULTS = RESULT_UNKNOWN + 1,
    MATRIX_TEXTS_MAX = 64 << 20, /* bytes of details; texts beyond are omitted */
    MATRIX_CELLS_MAX = 16 << 20, /* results of all nodes; those beyond are omitted */
};

/* Several nodes, as indexes of RunMatrix.nodes. */
typedef struct MatrixNodes {
    uint32_t *items;
    uint32_t len, cap;
} MatrixNodes;

typedef struct MatrixStep {
    Str id;
    Str job, action;                 /* empty: no node has reached it */
    uint32_t counts[MATRIX_RESULTS]; /* nodes by result; RESULT_PENDING: not reached */
    uint32_t nodes;                  /* that have it */
    uint32_t next;                   /* private: the following one, plus 1 */
} MatrixStep;

/* A result of a step other than "ok" and "skipped", as some nodes have it. */
typedef struct MatrixDetail {
    uint32_t step;
    StepResult result;
    Str cause;         /* "new", "drift", "intent" or empty */
    Str reason;        /* why it is blocked or waiting, or a comment */
    Str code, message; /* of the error */
    Str diff, out, error_out;
    Str changes; /* JSON: {"mode":{"old":..,"new":..}}; empty: none */
    bool is_cut; /* texts are not complete */
    bool has_exit_code;
    int64_t exit_code;
    MatrixNodes nodes;
    uint32_t first; /* private: the node that the texts are from */
} MatrixDetail;

typedef struct MatrixNode {
    Str name;
    Str outcome; /* "silent", "failed" ...; empty: only its events are known */
    Str reason, step, code, error, digest;
    int64_t duration_ms; /* -1: unknown */
    bool is_truncated;   /* its log is not complete */
    uint32_t group;
    uint32_t *cells; /* private; by step, see run_matrix_result() */
    uint32_t cell_count;
    uint32_t listed;  /* private: the last step that an event listed, plus 1 */
    uint32_t attempt; /* private */
} MatrixNode;

/* Nodes with the same outcome, for the same reason, and the same results of all steps. */
typedef struct MatrixGroup {
    MatrixNodes nodes;
} MatrixGroup;

typedef struct RunMatrix {
    Arena *arena;
    VEC(MatrixNode) nodes;     /* sorted by name when finished */
    VEC(MatrixStep) steps;     /* in the order in which they appeared */
    VEC(MatrixDetail) details; /* failures first, then by step, then most nodes first */
    VEC(MatrixGroup) groups;   /* failures first, then most nodes first */
    uint32_t *order;           /* indexes of the steps, in the order of the site */
    size_t text_bytes;         /* of the details */
    uint64_t cell_count;       /* of all nodes */
    uint32_t no_cell;          /* private: stands for those that are omitted */
    bool is_incomplete;        /* texts or results were omitted */
    int64_t removed_ms;        /* when the events were removed from the server; 0: they were not */
    const StrMap *only;        /* names of the nodes whose events count; NULL: all */
    StrMap node_indexes, step_indexes, detail_indexes; /* private; plus 1 */
    uint32_t first_step;                               /* private; plus 1 */
    Buf partial;                                       /* private: of an incomplete line */
} RunMatrix;

void run_matrix_init(RunMatrix *matrix, Arena *arena);
void run_matrix_clear(RunMatrix *matrix);
DEFINE_AUTO_CLEAR(RunMatrix, run_matrix_clear)

/* Takes a part of the stream of events. Returns true: for ClusterStreamHandler. Lines that are not
 * events are ignored. */
bool run_matrix_take(void *context, Str bytes); /* a RunMatrix */
void run_matrix_take_event(RunMatrix *matrix, Value event);
/* A node of GET /v1/runs/<id>/nodes. */
void run_matrix_add_node(RunMatrix *matrix, Value node);
/* Sorts and folds. */
void run_matrix_finish(RunMatrix *matrix);

/* --- Reading ----------------------------------------------------------------------------------- */

/* False if the step is not part of what the node runs. RESULT_PENDING: it was not reached. */
bool run_matrix_result(const RunMatrix *matrix, uint32_t node, uint32_t step, StepResult *out);
/* The texts of a detail that more nodes have than the matrix: without the name of its node. */
void run_matrix_hide_names(const RunMatrix *matrix, MatrixDetail *detail);
/* NULL: the result says it all. */
const MatrixDetail *run_matrix_detail(const RunMatrix *matrix, uint32_t node, uint32_t step);
const MatrixNode *run_matrix_first(const RunMatrix *matrix, const MatrixGroup *group);
/* Whether every node that has the step found nothing to do or skipped it. */
bool run_matrix_is_quiet(const MatrixStep *step);
/* 0: worst. For outcomes of nodes and results of steps alike. */
unsigned run_matrix_severity(Str outcome);
/* "web1, web2 and 410 more": at most `shown` names. */
Str run_matrix_names(const RunMatrix *matrix, Arena *arena, const MatrixNodes *nodes,
                     uint32_t shown);
