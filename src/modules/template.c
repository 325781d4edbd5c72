/* template.*: values. Parameters arrive evaluated, so there is nothing left to do. */
#include "modules/call.h"

static bool expression_query(Call *call, Outcome *outcome, Error *err)
{
    outcome->value = call_param(call, "content");
    outcome->out = call_str(call, "content");
    return true;
}

static const ParamSpec expression_params[] = {
    { "content", PARAM_ANY, .required = true, .help = "the value, or a template that gives it" },
    { 0 },
};

static const Action actions[] = {
    { "expression", "Give a value to other steps and to macros.", expression_params,
      expression_query, .query = expression_query,
      .text =
          "What is exactly one '{{ }}' keeps its type, white space around it does not count. The\n"
          "value of a step is 'value' of its result; of a macro it is the macro itself.\n",
      .example = "- name: how many\n"
                 "  template.expression:\n"
                 "    - content: \"{{ [1, 2, 3] | length }}\"\n" },
    { 0 },
};

const Module modules_template = {
    .name = "template",
    .help = "Values from templates.",
    .actions = actions,
};
