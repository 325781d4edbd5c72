#include "cli/selector_input.h"

#include "base/glob.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cluster/object_selector.h"
#include "membership/facts_selector.h"

/* Returns false and adds problems if it is invalid. */
static bool parse(Arena *arena, Str text, bool by_facts, Str *name, Problems *problems)
{
    AUTO(FactsSelector) *selector = NULL;
    const Selector *plain;
    bool ok = by_facts
                  ? facts_selector_parse_as(arena, STR("--selector"), text, &selector, problems)
                  : object_selector_parse_as(arena, STR("--selector"), text, &plain, problems);
    if (ok) {
        *name = arena_copy(arena, selector_name(by_facts ? facts_selector_plain(selector) : plain));
    }
    return ok;
}

int selector_input_read(const Invocation *invocation, bool by_facts, SelectorInput *out)
{
    const char *text = invocation_text(invocation, "selector");
    Inputs inputs;
    *out = (SelectorInput){ .is_given = text != NULL };
    if (text == NULL) {
        return EXIT_OK;
    }
    out->text = str_from_c(text);
    inputs_init(&inputs, invocation->arena);
    if (parse(invocation->arena, out->text, by_facts, &out->name, &inputs.problems)) {
        return EXIT_OK;
    }
    (void)inputs_report(&inputs, invocation);
    return EXIT_USAGE;
}

int selector_input_no_match(const Invocation *invocation, const SelectorInput *selector)
{
    Str text = selector->text, name = selector->name;
    if (name.len > 0 && !glob_is_pattern(name)) {
        output_line(invocation->err,
                    "no object is named '%" STR_FMT "'; to select by a label with this name, use "
                    "'%" STR_FMT "=VALUE', or '%" STR_FMT
                    "=*' for any value; see: eden help selectors",
                    STR_ARG(name), STR_ARG(name), STR_ARG(name));
    } else {
        output_line(invocation->err, "nothing matches '%" STR_FMT "'", STR_ARG(text));
    }
    return EXIT_NOT_MATCHED;
}
