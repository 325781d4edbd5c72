#include "base/enum_names.h"
#include "model/step.h"

static const char *const kind_names[REQUISITE_KINDS] = {
    [REQUISITE_REQUIRE] = "require", [REQUISITE_WATCH] = "watch",
    [REQUISITE_PREREQ] = "prereq",   [REQUISITE_ONCHANGES] = "onchanges",
    [REQUISITE_ONFAIL] = "onfail",   [REQUISITE_LISTEN] = "listen",
    [REQUISITE_USE] = "use",         [REQUISITE_ORDER] = "order",
};

const char *requisite_kind_name(RequisiteKind kind)
{
    return enum_names_get(kind_names, COUNT_OF(kind_names), (size_t)kind, "RequisiteKind");
}
