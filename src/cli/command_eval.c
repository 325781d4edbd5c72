/* eden eval: prints the value of an expression. */
#include "cli/batch.h"
#include "cli/output.h"
#include "cli/template_inputs.h"

/* Users who know templates often type the braces too. */
static void hint_braces(const char *expression, Fault *fault)
{
    Str text = str_trim(str_from_c(expression));
    if (fault->class != FAULT_SYNTAX) {
        return;
    }
    if (str_starts(text, STR("{{")) || str_ends(text, STR("}}"))) {
        fault->hint = STR("write the expression without '{{' and '}}'");
    } else if (str_starts(text, STR("{%"))) {
        fault->hint = STR("this is a template; use 'eden render'");
    }
}

static int eval_run(Invocation *invocation)
{
    TemplateSettings settings;
    int usage = template_settings_get(invocation, &settings);
    if (usage != EXIT_OK) {
        return usage;
    }
    if (invocation_flag(invocation, "batch")) {
        return batch_run(invocation, &settings, BATCH_EXPRESSIONS);
    }
    if (invocation->arg_count == 0) {
        return usage_error(invocation, "EXPR is required");
    }
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    Value variables;
    if (!inputs_variables(&inputs, invocation, &variables)) {
        return inputs_report(&inputs, invocation);
    }
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    Str name = STR("<argument>");
    const Template *template;
    Fault fault;
    Value value;
    if (!templates_compile_expression(templates, name, str_from_c(invocation->args[0]), &template,
                                      &fault) ||
        !template_evaluate(template, variables, &rendered, &value, &fault)) {
        hint_braces(invocation->args[0], &fault);
        inputs_add_fault(&inputs, &fault, name, NULL);
        return inputs_report(&inputs, invocation);
    }
    return output_value(&inputs, invocation, OUTPUT_LINE, value);
}

static const Option options[] = {
    VARIABLE_OPTIONS,
    LIMIT_OPTIONS,
    { .name = "batch",
      .help = "read JSON lines {expression, options, context} from standard input" },
    OUTPUT_OPTION("json|yaml", "json", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden eval '1 + 2 * 3'", "7" },
    { "eden eval \"nodes | selectattr('role', 'eq', 'web') | map(attribute='name') | list\" -v "
      "fleet.yaml",
      "query variables" },
    { 0 },
};

const Command command_eval = {
    .name = "eval",
    .group = GROUP_AUTHOR,
    .args = { { "[EXPR]" } },
    .help = "Print the value of an expression as JSON.",
    .text = "EXPR is an expression as it appears between '{{' and '}}' in a template. Variables\n"
            "are read from -v and -D, as for 'eden render'. A site's vars, server and macros are\n"
            "available only with 'eden render --site'. Ranges and other iterables are printed as\n"
            "lists.",
    .options = options,
    .examples = examples,
    .run = eval_run,
};
