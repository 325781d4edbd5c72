/* Reading and merging the layers of variables; see variables.h. */
#pragma once

#include "base/vec.h"
#include "run/variables.h"

typedef VEC(VariableLayer) VariableLayers;

/* All layers in order, the weakest first. */
MUST_CHECK bool variables_read_layers(const VariablesLoad *load, VariableLayers *out);
/* Marks as secret in every layer what any of them marks. */
void variables_share_marks(Arena *arena, VariableLayers *layers);
/* One map of all. What came from which layer can be told from its source. */
Value variables_merge(Arena *arena, const Sources *sources, const VariableLayers *layers);

/* A key that has nothing behind it, which is as good as absent. */
bool variable_is_blank(const Sources *sources, Value value);

/* Takes the next part off a path: a name, a number, or ['any text']. False at the end, or with
 * `*wrong` when it cannot be read. */
bool variable_path_next(Str *rest, Value *part, bool *wrong);
/* The entry of one part; a number may also be text that looks like one. */
const MapEntry *variable_find(const Map *map, Value part);
