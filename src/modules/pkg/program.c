#include "modules/pkg/program.h"

bool package_program_run(Call *call, ToolArgs *args, const char *const *env, int64_t timeout_ms,
                         ProcessResult *result, Error *err)
{
    Tool tool = {
        .argv = tool_args_end(call, args), .env = env, .timeout_ms = timeout_ms, .join_output = true
    };
    return tool_run(call, &tool, result, err);
}

bool package_program_is_done(const ProcessResult *result)
{
    return result->ending == PROCESS_EXITED && result->exit_code == 0;
}

void package_program_add_items(Call *call, ToolArgs *args, const PackageChange *change,
                               const char *between)
{
    tool_arg(call, args, STR("--"));
    for (uint32_t i = 0; i < change->count; i++) {
        const PackageItem *item = &change->items[i];
        Str word = item->name;
        if (between != NULL && item->version.len > 0) {
            word = arena_format(call->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(item->name),
                                between, STR_ARG(item->version));
        }
        tool_arg(call, args, word);
    }
}

void package_program_add_offers(Call *call, ToolArgs *args, const PackageOffer *offers,
                                uint32_t count)
{
    tool_arg(call, args, STR("--"));
    for (uint32_t i = 0; i < count; i++) {
        tool_arg(call, args, offers[i].name);
    }
}

void package_program_add_names(Call *call, ToolArgs *args, const Str *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        tool_arg(call, args, names[i]);
    }
}
