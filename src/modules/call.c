#include "modules/call.h"

#include "base/bug.h"
#include "base/glob.h"
#include "sys/sha256.h"

Value call_param(const Call *call, const char *name)
{
    int index = action_param_index(call->action, str_from_c(name));
    if (index < 0) {
        BUG("action '%s' has no parameter '%s'", call->action->name, name);
    }
    return call->params[index];
}

bool call_has(const Call *call, const char *name)
{
    return !value_is_missing(call_param(call, name));
}

Str call_str(const Call *call, const char *name)
{
    Value value = call_param(call, name);
    return value_is_string(value) ? value_str(value) : STR_EMPTY;
}

bool call_bool(const Call *call, const char *name)
{
    Value value = call_param(call, name);
    return value.kind == VALUE_BOOL && value.boolean;
}

int64_t call_int(const Call *call, const char *name, int64_t fallback)
{
    Value value = call_param(call, name);
    return value.kind == VALUE_INT ? value.integer : fallback;
}

bool call_is_preserved(Call *call, Str path)
{
    Value keep = call_param(call, "keep");
    for (uint32_t i = 0; value_is_sequence(keep) && i < keep.list->len; i++) {
        if (glob_match(value_str(keep.list->items[i]), path)) {
            return true;
        }
    }
    return false;
}

bool call_choose(const Call *call, const char *const *names, const char **out, Error *err)
{
    *out = NULL;
    for (; *names != NULL; names++) {
        if (!call_has(call, *names)) {
            continue;
        }
        if (*out != NULL) {
            return error_set(err, ERROR_INVALID, "'%s' and '%s' are mutually exclusive", *out,
                             *names);
        }
        *out = *names;
    }
    return true;
}

bool call_blame(Call *call, const char *param)
{
    call->blamed = param;
    return false;
}

bool call_verify(Arena *arena, const Action *action, const Value *params, CallRead read,
                 const char **at, Error *err)
{
    Call call = { .action = action, .params = params, .arena = arena };
    if (read(&call, err)) {
        return true;
    }
    *at = call.blamed;
    for (uint32_t i = 0; *at == NULL && action->params[i].name != NULL; i++) {
        Str quoted = arena_format(arena, "'%s'", action->params[i].name);
        *at = str_starts(str_from_c(err->text), quoted) ? action->params[i].name : NULL;
    }
    return false;
}

bool call_report_missing(Call *call, const char *param, const char *class, Str name)
{
    const CallServices *services = call->services;
    call->blamed = param;
    if (!call->planning) {
        return false;
    }
    if (services == NULL || services->may_be_provided == NULL) {
        return true;
    }
    Str why;
    if (!services->may_be_provided(services->context, call, class, name, &why)) {
        return false;
    }
    call->provided_by = call->provided_by.len == 0
                            ? why
                            : arena_format(call->arena, "%" STR_FMT "; %" STR_FMT,
                                           STR_ARG(call->provided_by), STR_ARG(why));
    return true;
}

bool call_report_missing_program(Call *call, const char *program)
{
    return call_report_missing(call, NULL, "program", str_from_c(program));
}

bool call_journal(Call *call, Str path, Error *err)
{
    const CallServices *services = call->services;
    if (services == NULL || services->journal == NULL) {
        return true;
    }
    return services->journal(services->context, call, path, err);
}

void call_plan(Call *call, Str path, const PlannedFile *file)
{
    if (call->planning && !call->is_prereq_check) {
        host_plan_put(call->host, path, file);
    }
}

bool call_is_claimed(Call *call, Str path)
{
    const CallServices *services = call->services;
    return services != NULL && services->is_claimed != NULL &&
           services->is_claimed(services->context, call, path);
}

void call_progress(Call *call, Str line)
{
    const CallServices *services = call->services;
    if (services != NULL && services->progress != NULL) {
        services->progress(services->context, call, line);
    }
}

Str call_scrub(Call *call, Str text)
{
    const CallServices *services = call->services;
    return services != NULL && services->scrub != NULL
               ? services->scrub(services->context, call, text)
               : text;
}

void call_report_wait(Call *call, Str why)
{
    const CallServices *services = call->services;
    if (services != NULL && services->report_wait != NULL) {
        services->report_wait(services->context, call, why);
    }
}

bool call_has_rebooted(Call *call, int64_t *requested_ms)
{
    const CallServices *services = call->services;
    return services != NULL && services->has_rebooted != NULL &&
           services->has_rebooted(services->context, call, requested_ms);
}

bool call_canceled(const Call *call)
{
    return call->canceled != NULL && atomic_load_explicit(call->canceled, memory_order_relaxed);
}

int64_t call_limit_ms(const Call *call, int64_t own_ms)
{
    bool own = own_ms > 0 && (call->timeout_ms <= 0 || own_ms < call->timeout_ms);
    return own ? own_ms : call->timeout_ms;
}

bool call_sleep(Call *call, int64_t duration_ms, Error *err)
{
    if (clock_sleep_ms(duration_ms, call->canceled)) {
        return true;
    }
    return error_set(err, ERROR_UNAVAILABLE, "canceled while waiting");
}

void outcome_observe(Call *call, Outcome *outcome, Str secret)
{
    char digits[SHA256_HEX + 1];
    sha256_hex(secret, digits);
    Str all = arena_format(call->arena, "%" STR_FMT "%s", STR_ARG(outcome->observed), digits);
    sha256_hex(all, digits);
    outcome->observed = arena_copy(call->arena, str_from(digits, SHA256_HEX));
}

void outcome_change(Call *call, Outcome *outcome, const char *what, Value old_value,
                    Value new_value)
{
    Arena *arena = call->arena;
    if (outcome->changes == NULL) {
        outcome->changes = map_new(arena, 4);
    }
    Map *change = map_new(arena, 2);
    if (!value_is_missing(old_value)) {
        map_append(arena, change, value_string(STR("old")), old_value);
    }
    if (!value_is_missing(new_value)) {
        map_append(arena, change, value_string(STR("new")), new_value);
    }
    map_set_str(arena, outcome->changes, str_from_c(what), value_map(change));
}
