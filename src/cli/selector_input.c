#include "cli/selector_input.h"

#include "base/glob.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cluster/object_selector.h"

int selector_input_read(const Invocation *invocation, const Selector **out)
{
    const char *text = invocation_text(invocation, "selector");
    Inputs inputs;
    *out = NULL;
    if (text == NULL) {
        return EXIT_OK;
    }
    inputs_init(&inputs, invocation->arena);
    if (object_selector_parse_as(invocation->arena, STR("--selector"), str_from_c(text), out,
                                 &inputs.problems)) {
        return EXIT_OK;
    }
    (void)inputs_report(&inputs, invocation);
    return EXIT_USAGE;
}

int selector_input_none(const Invocation *invocation, const Selector *selector)
{
    Str text = selector_text(selector), name = selector_name(selector);
    if (name.len > 0 && !glob_is_pattern(name)) {
        output_line(invocation->err,
                    "nothing has the name '%" STR_FMT "'; for a label of that name write '%" STR_FMT
                    "=VALUE', or '%" STR_FMT "=*' for any value; see: eden help selectors",
                    STR_ARG(name), STR_ARG(name), STR_ARG(name));
    } else {
        output_line(invocation->err, "nothing is selected by '%" STR_FMT "'", STR_ARG(text));
    }
    return EXIT_NOT_MATCHED;
}
