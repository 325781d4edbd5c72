/* The outcome of each step on each node of a run across nodes, from its events and the results of
 * its nodes. Pure.
 *
 * Nodes with the same results form a group, and identical details of a step, such as a diff or an
 * error, are stored once: ten thousand nodes with three roles form a few groups. Texts count as
 * equal if they differ only in the name of the node; what is shown for several nodes then contains
 * "{node}".
 *
 * Call order: run_matrix_init(), events and nodes in any order, run_matrix_finish(); after that, it
 * is only read. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "lang/value.h"
#include "model/decide.h"

#define RUN_MATRIX_NODE "{node}" /* stands for the name of each node in texts */

enum {
    MATRIX_RESULTS = RESULT_UNKNOWN + 1,
    MATRIX_TEXTS_MAX =
        64 << 20, /* maximum total size of all details; texts beyond that are omitted */
    MATRIX_CELLS_MAX =
        16 << 20, /* maximum number of results of all nodes; further ones are omitted */
};

/* Several nodes, as indexes into RunMatrix.nodes. */
typedef struct MatrixNodes {
    uint32_t *items;
    uint32_t len, cap;
} MatrixNodes;

typedef struct MatrixStep {
    Str id;
    Str job, action;                 /* action of the step; empty: no node has reached it */
    uint32_t counts[MATRIX_RESULTS]; /* number of nodes by result; RESULT_PENDING: not reached */
    uint32_t nodes;                  /* number of nodes that have it */
    uint32_t next;                   /* private: index of the following step, plus 1 */
} MatrixStep;

/* A result of a step other than "ok" and "skipped", with the nodes that have it. */
typedef struct MatrixDetail {
    uint32_t step;
    StepResult result;
    Str cause;         /* "new", "drift", "intent" or empty */
    Str reason;        /* why the step is blocked or waiting, or a comment */
    Str code, message; /* code of the error */
    Str diff, out, error_out;
    Str changes;       /* JSON: {"mode":{"old":..,"new":..}}; empty: none */
    bool is_truncated; /* some texts were truncated */
    bool has_exit_code;
    int64_t exit_code;
    MatrixNodes nodes;
    uint32_t first; /* private: the node whose name may occur in the texts */
} MatrixDetail;

typedef struct MatrixNode {
    Str name;
    Str outcome; /* "silent", "failed" ...; empty: only the node's events are known */
    Str reason, step, code, error, digest;
    int64_t duration_ms; /* -1: unknown */
    bool is_truncated;   /* its log is incomplete */
    uint32_t group;
    uint32_t *cells; /* private; by step, see run_matrix_result() */
    uint32_t cell_count;
    uint32_t listed;  /* private: index of the last step that an event listed, plus 1 */
    uint32_t attempt; /* private: number of the attempt that its events are from */
} MatrixNode;

/* Nodes with the same outcome and reason, and the same results of all steps. */
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
    size_t text_bytes;         /* size of the texts of all details */
    uint64_t cell_count;       /* of all nodes */
    uint32_t no_cell;          /* private: stands for those that are omitted */
    bool is_incomplete;        /* texts or results were omitted */
    int64_t removed_ms;        /* when the events were removed from the server; 0: never */
    const StrMap *only;        /* names of the nodes whose events are used; NULL: all nodes */
    StrMap node_indexes, step_indexes, detail_indexes; /* private; values are plus 1 */
    uint32_t first_step;                               /* private; index plus 1 */
    Buf partial;                                       /* private: an incomplete line */
} RunMatrix;

void run_matrix_init(RunMatrix *matrix, Arena *arena);
void run_matrix_clear(RunMatrix *matrix);
DEFINE_AUTO_CLEAR(RunMatrix, run_matrix_clear)

/* Parses a chunk of the stream of events. Returns true, as required by ClusterStreamHandler. Lines
 * that are not events are ignored. */
bool run_matrix_add(void *context, Str bytes); /* context is a RunMatrix */
void run_matrix_add_event(RunMatrix *matrix, Value event);
/* Adds a node of GET /v1/runs/<id>/nodes. */
void run_matrix_add_node(RunMatrix *matrix, Value node);
/* Sorts the matrix and forms the groups. */
void run_matrix_finish(RunMatrix *matrix);

/* --- Reading ---------------------------------------------------------------------------------- */

/* Returns false if the node does not have the step. RESULT_PENDING: it was not reached. */
bool run_matrix_result(const RunMatrix *matrix, uint32_t node, uint32_t step, StepResult *out);
/* Replaces the name of the node in the texts of a detail that also applies to nodes outside of the
 * matrix. */
void run_matrix_hide_names(const RunMatrix *matrix, MatrixDetail *detail);
/* Returns the detail of a result; NULL if it has none. */
const MatrixDetail *run_matrix_detail(const RunMatrix *matrix, uint32_t node, uint32_t step);
const MatrixNode *run_matrix_first(const RunMatrix *matrix, const MatrixGroup *group);
/* Whether the step was "ok" or skipped on all nodes that have it. */
bool run_matrix_is_unchanged(const MatrixStep *step);
/* Returns the rank of a node's outcome or a step's result; 0 is the worst. */
unsigned run_matrix_severity(Str outcome);
/* "web1, web2 and 410 more": at most `shown` names. */
Str run_matrix_names(const RunMatrix *matrix, Arena *arena, const MatrixNodes *nodes,
                     uint32_t shown);
