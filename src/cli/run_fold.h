/* The changes of a run across nodes, or of a plan: each distinct change once, with its nodes.
 *
 * Nodes with the same digest (run/report.h) have the same changes, so the events of one of them say
 * what these are. Changes that the same nodes have are one section. Pure.
 *
 * Call order: run_fold_init(), events of the representatives, run_fold_finish(). */
#pragma once

#include "cli/run_matrix.h"

typedef struct FoldSection {
    MatrixNodes nodes;   /* indexes of RunFold.nodes */
    MatrixNodes details; /* indexes of the details of the matrix: failures first */
    uint32_t failures;
} FoldSection;

typedef struct FoldNode {
    Str name, outcome, digest;
} FoldNode;

typedef struct RunFold {
    Arena *arena;
    VEC(FoldNode) nodes;        /* all of the run, sorted by name */
    RunMatrix matrix;           /* of the representatives */
    StrMap representatives;     /* names to (index of the digest plus 1) */
    VEC(MatrixNodes) digests;   /* nodes of each digest */
    VEC(FoldSection) sections;  /* those with failures first, then most nodes first */
    uint32_t changes, failures; /* distinct ones */
    uint32_t changing;          /* nodes with a digest */
} RunFold;

/* `nodes` as of GET /v1/runs/<id>/nodes, sorted by name. */
void run_fold_init(RunFold *fold, Arena *arena, const List *nodes);
void run_fold_clear(RunFold *fold);
DEFINE_AUTO_CLEAR(RunFold, run_fold_clear)

/* For ClusterStreamHandler: takes a part of the events; those of other nodes are ignored. */
bool run_fold_take(void *context, Str bytes); /* a RunFold */
void run_fold_finish(RunFold *fold);

/* "412 nodes: the same 3 changes", "web1: 1 failure and 2 changes". */
Str run_fold_title(const RunFold *fold, Arena *arena, const FoldSection *section);
/* "web1, web2 and 410 more". */
Str run_fold_names(const RunFold *fold, Arena *arena, const FoldSection *section, uint32_t shown);
