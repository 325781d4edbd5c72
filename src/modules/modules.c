#include "modules/modules.h"

#include <stddef.h>

#define MODULE(name) extern const Module modules_##name;
#include "modules/modules.def"
#undef MODULE

const Module *const modules[] = {
#define MODULE(name) &modules_##name,
#include "modules/modules.def"
#undef MODULE
    NULL,
};
