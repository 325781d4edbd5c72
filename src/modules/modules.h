/* The table of all built-in modules. */
#pragma once

#include "model/module.h"

extern const Module *const modules[]; /* terminated by NULL */
