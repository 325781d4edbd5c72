/* Where one template hands over to another: blocks, includes, imports, inheritance; and the
 * small helpers of calls and assignments that the interpreter's loop leaves out of line. */
#pragma once

#include "lang/template/runtime.h"

bool transfer_block(Render *r, Frame *frame, const Name *name, unsigned flags,
                    const LocalSet *locals);
bool transfer_include(Render *r, Frame *frame, Value name, unsigned flags, const LocalSet *locals);
bool transfer_import(Render *r, Frame *frame, Value name, unsigned flags, const LocalSet *locals,
                     Value *out);
/* `from template import name`; undefined when it exports no such name. */
Value transfer_import_name(Render *r, const Frame *frame, Value module, const Name *name,
                           uint32_t offset);
bool transfer_extends(Render *r, Frame *frame, Value name);

/* The frame of the template's top level around this one. */
const Frame *root_frame(const Frame *frame);

/* {% set namespace.name = value %}: first what it is, then the assignment. */
bool check_namespace(Render *r, Value namespace);
bool set_attribute(Render *r, Value namespace, const Name *name, Value value);
/* **mapping of a call, added to the keyword arguments. */
bool arguments_add_mapping(Render *r, Value mapping, Map *named);
/* Markup(v) */
bool make_markup(Render *r, Value *v);
