#include "model/step_fields.h"

const char *const step_field_names[FIELD_COUNT] = {
    "State",     "StdOut", "StdErr", "ExitCode", "Changed", "Result", "Files", "RawStdOut",
    "RawStdErr", "Value",  "Reason", "Error",    "Name",    "Key",    "Item",  "Items",
};

static bool same_name(Str name, const char *field)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '_') {
            continue;
        }
        if (*field == '\0' || ascii_lower(name.data[i]) != ascii_lower(*field)) {
            return false;
        }
        field++;
    }
    return *field == '\0';
}

StepField step_field_find(Str name)
{
    StepField field = 0;
    while (field < FIELD_COUNT && !same_name(name, step_field_names[field])) {
        field++;
    }
    return field;
}
