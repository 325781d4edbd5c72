/* The changes of a run across nodes, or of a plan: each distinct change once, with its nodes.
 *
 * Nodes with the same digest (run/report.h) have the same changes, so the events of one node
 * describe the changes of all of them. Changes that affect the same nodes form a section. Pure.
 *
 * Call order: run_fold_init(), events of the representatives, run_fold_finish(). */
#pragma once

#include "cli/run_matrix.h"

typedef struct FoldSection {
    MatrixNodes nodes;   /* indexes into RunFold.nodes */
    MatrixNodes details; /* indexes into the details of the matrix: failures first */
    uint32_t failures;
} FoldSection;

typedef struct FoldNode {
    Str name, outcome, digest;
} FoldNode;

typedef struct RunFold {
    Arena *arena;
    VEC(FoldNode) nodes;        /* all nodes of the run, sorted by name */
    RunMatrix matrix;           /* the matrix of the representatives, one node for each digest */
    StrMap representatives;     /* name to index of the digest, plus 1 */
    VEC(MatrixNodes) digests;   /* the nodes of each digest */
    VEC(FoldSection) sections;  /* sections with failures first, then those with most nodes */
    uint32_t changes, failures; /* number of distinct changes and failures */
    uint32_t changing;          /* number of nodes with a digest */
} RunFold;

/* `nodes` as in GET /v1/runs/<id>/nodes, sorted by name. */
void run_fold_init(RunFold *fold, Arena *arena, const List *nodes);
void run_fold_clear(RunFold *fold);
DEFINE_AUTO_CLEAR(RunFold, run_fold_clear)

/* A callback for ClusterStreamHandler: parses a chunk of events; those of other nodes are
 * ignored. */
bool run_fold_add(void *context, Str bytes); /* context is a RunFold */
void run_fold_finish(RunFold *fold);

/* "412 nodes: the same 3 changes", "web1: 1 failure and 2 changes". */
Str run_fold_title(const RunFold *fold, Arena *arena, const FoldSection *section);
/* "web1, web2 and 410 more". */
Str run_fold_names(const RunFold *fold, Arena *arena, const FoldSection *section, uint32_t shown);
