/* Used by contradiction.h to compare the parts of one file that steps manage: lines, values of
 * documents, and text. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "model/graph.h"

/* A line that a step requires to be present in a file, or absent from it. */
typedef struct LineRequest {
    uint32_t step;
    Str line, match; /* data is NULL if not given */
    bool absent;
} LineRequest;

/* A value that a step requires at a path of a document, or requires to be absent. */
typedef struct DataRequest {
    uint32_t step;
    Value path; /* list of keys */
    Value value;
    bool absent;
} DataRequest;

/* The complete text of a file, or an edit that needs or excludes some of it. */
typedef struct TextRequest {
    uint32_t step;
    bool is_whole;
    bool is_lines; /* of an edit: its text consists of entire lines */
    bool absent;   /* of an edit: the file must not contain it */
    Str text;
} TextRequest;

/* The members that a step wants in a group, or the groups that it wants a user in. */
typedef struct MembersRequest {
    uint32_t step;
    bool is_group; /* `name` is that of a group */
    bool is_exact; /* no others */
    Str name;
    Value names; /* list */
} MembersRequest;

typedef VEC(MembersRequest) MembersRequestVec;

/* Adds the request to a map from paths to requests, in `arena`. Returns false, with a problem, if
 * this step and an earlier one undo each other's changes. */
MUST_CHECK bool line_request_add(StrMap *lines, Arena *arena, const Graph *graph, Str path,
                                 const LineRequest *request, Problems *problems);
MUST_CHECK bool data_request_add(StrMap *values, Arena *arena, const Graph *graph, Str path,
                                 const DataRequest *request, Problems *problems);
/* The same as a warning: each run changes the file twice, but ends in the state that both want. */
void text_request_add(StrMap *texts, Arena *arena, const Graph *graph, Str path,
                      const TextRequest *request, Problems *problems);

MUST_CHECK bool members_request_add(MembersRequestVec *known, Arena *arena, const Graph *graph,
                                    const MembersRequest *request, Problems *problems);

/* Whether both steps may run on the same node. Without a node, jobs may apply to different ones,
 * unless they are listed together, or one of them is listed for every node. */
bool steps_may_share_node(const Graph *graph, uint32_t a, uint32_t b);
/* Adds the location of the other step. */
void problem_note_other_step(const Graph *graph, Value location, Problem *problem,
                             Problems *problems);
/* A string verbatim, other values as JSON. */
Str request_value_text(Arena *arena, Value value);
/* The list in alphabetical order; any other value as it is. */
Value request_sorted(Arena *arena, Value value);
/* The same text for all spellings of the name of a resource of this class. */
Str request_resource_name(Arena *arena, Str class, Str name);
