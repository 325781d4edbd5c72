/* Input: an expression. Invariants: it evaluates to a value, which JSON and YAML can print or
 * reject, or to an error, and always to the same one; a value not marked as secret contains no
 * secret. */
#include <stdlib.h>

#include "base/bug.h"
#include "lang/json.h"
#include "lang/template/native.h"
#include "lang/yaml.h"
#include "template_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole result of an evaluation as text; false if it hit a limit. Memory is counted in blocks
 * that an earlier evaluation may have left, so the limit is not always hit at the same point. */
static bool evaluate(const TemplateWorld *world, const Template *expression, Rendered *rendered,
                     Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Fault fault;
    Value value;
    if (!template_evaluate(expression, template_world_variables(world, &arena), rendered, &value,
                           &fault)) {
        check_fault(world, &fault);
        check_memory(world, rendered);
        buf_put_format(out, "%s %u:%u %" STR_FMT, fault_class_name(fault.class), fault.line,
                       fault.column, STR_ARG(fault.message));
        return fault.class != FAULT_LIMIT;
    }
    check_memory(world, rendered);
    Error err;
    const JsonStyle style = { .allow_nan = true };
    size_t start = out->len;
    if (!json_print(out, value, &style, &err)) {
        BUG_IF(err.text[0] == '\0');
        out->len = start;
        out->overflow = false;
        buf_put_c(out, err.text);
    }
    AUTO_CLEAR(Buf) yaml = buf_make(1 << 20);
    if (yaml_print(&yaml, value, NULL, &err) && !value_holds_secret(value)) {
        check_no_secret(world, buf_str(out));
        check_no_secret(world, buf_str(&yaml));
    }
    return true;
}

/* A bare name may be that of a filter, test or function to explain, or a policy for undefined
 * values. */
static void look_up(Str name)
{
    UndefinedMode mode;
    BUG_IF(undefined_mode_from_name(name, &mode) && undefined_mode_from_class(name, &mode));
    const Native *natives[] = { filter_find(name), test_find(name), global_find(name) };
    for (size_t i = 0; i < COUNT_OF(natives); i++) {
        if (natives[i] != NULL) {
            AUTO_CLEAR(Buf) out = buf_make(1 << 16);
            native_put_signature(natives[i], i == 0, &out);
            BUG_IF(out.overflow || str_find(buf_str(&out), name, 0) == STR_NOT_FOUND);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(TemplateWorld) world;
    template_world_init(&world, str_from((const char *)data, size));
    look_up(world.text);
    AUTO(Templates) *templates = templates_new(&world.settings);
    const Template *expression;
    Fault fault;
    if (!templates_compile_expression(templates, STR("fuzz"), world.text, &expression, &fault)) {
        check_fault(&world, &fault);
        return 0;
    }
    AUTO_CLEAR(Rendered) rendered = rendered_make(&world.settings.limits);
    AUTO_CLEAR(Buf) first = buf_make(1 << 20), second = buf_make(1 << 20);
    bool complete = evaluate(&world, expression, &rendered, &first);
    complete = evaluate(&world, expression, &rendered, &second) && complete;
    if (complete && !str_eq(buf_str(&first), buf_str(&second))) {
        BUG("first:\n%" STR_FMT "\nthen:\n%" STR_FMT, STR_ARG(buf_str(&first)),
            STR_ARG(buf_str(&second)));
    }
    return 0;
}
