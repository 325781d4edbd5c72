/* Control transfer between templates: blocks, includes, imports, inheritance; and helpers for calls
 * and assignments that the interpreter loop keeps out of line. */
#pragma once

#include "lang/template/runtime.h"

bool transfer_block(Render *r, Frame *frame, const Name *name, unsigned flags,
                    const LocalSet *locals);
bool transfer_include(Render *r, Frame *frame, Value name, unsigned flags, const LocalSet *locals);
bool transfer_import(Render *r, Frame *frame, Value name, unsigned flags, const LocalSet *locals,
                     Value *out);
/* `from template import name`; undefined if the template does not export the name. */
Value transfer_import_name(Render *r, const Frame *frame, Value module, const Name *name,
                           uint32_t offset);
bool transfer_extends(Render *r, Frame *frame, Value name);

/* The frame of the template's top level that encloses this one. */
const Frame *root_frame(const Frame *frame);

/* {% set namespace.name = value %}: the check of the target, then the assignment. */
bool check_namespace(Render *r, Value namespace);
bool set_attribute(Render *r, Value namespace, const Name *name, Value value);
/* Adds the **mapping of a call to its keyword arguments. */
bool arguments_add_mapping(Render *r, Value mapping, Map *named);
/* Markup(v) */
bool make_markup(Render *r, Value *v);
