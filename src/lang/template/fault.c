#include "lang/template/fault.h"

#include "base/own.h"

static const struct {
    const char *name;
    const char *code;
} rows[] = {
#define X(constant, name, code) [constant] = { name, code },
    FAULT_CLASSES(X)
#undef X
};

const char *fault_class_name(FaultClass class)
{
    return (size_t) class < COUNT_OF(rows) ? rows[class].name : "";
}

const char *fault_class_code(FaultClass class)
{
    return (size_t) class < COUNT_OF(rows) ? rows[class].code : "";
}
