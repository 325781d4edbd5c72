/* Reading and merging the layers of variables; see variables.h. */
#pragma once

#include "base/vec.h"
#include "run/variables.h"

typedef VEC(VariableLayer) VariableLayers;

/* All layers in order, lowest precedence first. */
MUST_CHECK bool variables_read_layers(const VariablesLoad *load, VariableLayers *out);
/* Marks as secret in every layer what any of them marks. */
void variables_share_marks(Arena *arena, VariableLayers *layers);
/* One merged map. The source of a value tells which layer it came from. */
Value variables_merge(Arena *arena, const Sources *sources, const VariableLayers *layers);

/* A key without a value, which counts as absent. */
bool variable_is_blank(const Sources *sources, Value value);

/* Removes the next component from a path: a name, a number, or ['any text']. Returns false at the
 * end, or with `*wrong` if it is invalid. */
bool variable_path_next(Str *rest, Value *part, bool *wrong);
/* The entry of one component; a number may also be text that looks like one. */
const MapEntry *variable_find(const Map *map, Value part);
