/* The table of all modules: what a program hands to those who look for actions. */
#pragma once

#include "model/module.h"

extern const Module *const modules[]; /* ends with NULL */
