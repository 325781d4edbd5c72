/* Concatenates the codes.def files of all directories into one table. */
#include "cli/codes.h"

#include "lang/template/fault.h"

const Code codes[] = {
#define CODE(name, title, text) { #name, title, text },
#include "lang/codes.def"

#include "model/codes.def"

#include "facts/codes.def"

#include "run/codes.def"

#include "cli/codes.def"
#undef CODE
    { 0 },
};

static const char *code_of_class(Str name)
{
    static const FaultClass classes[] = {
#define X(constant, name, code) constant,
        FAULT_CLASSES(X)
#undef X
    };
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (name.len > 0 && str_eq_c(name, fault_class_name(classes[i]))) {
            return fault_class_code(classes[i]);
        }
    }
    return NULL;
}

const Code *code_find(Str name)
{
    const char *by_class = code_of_class(name);
    Str code_name = by_class != NULL ? str_from_c(by_class) : name;
    for (const Code *code = codes; code->name != NULL; code++) {
        if (str_eq_ignore_case(code_name, str_from_c(code->name))) {
            return code;
        }
    }
    return NULL;
}
