/* Parses the limits of runs, absolute or as a share of the machine's memory. */
#include "cli/run_limits.h"

#include "sys/machine.h"

enum {
    MEMORY_MIN = 16 << 20, /* less would stop eden itself */
    TASKS_MIN = 16,
    PERCENT = 100
};

static bool is_none(Str text)
{
    return str_eq_c(text, "none");
}

static int unit_bits(char unit)
{
    switch (unit) {
    case 'K': return 10;
    case 'M': return 20;
    case 'G': return 30;
    case 'T': return 40;
    default: return 0;
    }
}

static bool parse_share(Str number, int64_t memory, int64_t *out)
{
    int64_t share;
    if (!str_to_i64(number, &share) || share < 1 || share > PERCENT) {
        return false;
    }
    *out = memory / PERCENT * share;
    *out = *out > 0 && *out < MEMORY_MIN ? MEMORY_MIN : *out;
    return true;
}

bool run_memory_parse(Str text, int64_t memory, int64_t *out, Error *err)
{
    int64_t number;
    *out = 0;
    if (is_none(text)) {
        return true;
    }
    Str head = text.len == 0 ? text : str_slice(text, 0, text.len - 1);
    if (str_ends(text, STR("%")) && parse_share(head, memory, out)) {
        return true;
    }
    int bits = text.len == 0 ? 0 : unit_bits(text.data[text.len - 1]);
    if (!str_to_i64(bits > 0 ? head : text, &number) || number < 1 || number > INT64_MAX >> bits ||
        number << bits < MEMORY_MIN) {
        return error_set(
            err, ERROR_INVALID,
            "must be at least 16M, such as '2G', a percentage such as '75%%', or 'none'");
    }
    *out = number << bits;
    return true;
}

bool run_tasks_parse(Str text, int64_t *out, Error *err)
{
    *out = 0;
    return is_none(text) || (str_to_i64(text, out) && *out >= TASKS_MIN && *out <= INT32_MAX) ||
           error_set(err, ERROR_INVALID, "must be a number of at least %d, or 'none'", TASKS_MIN);
}

bool run_limits_get(Invocation *invocation, CgroupLimits *out)
{
    Error err;
    Str memory = str_from_c(invocation_text(invocation, "run-memory-max"));
    Str tasks = str_from_c(invocation_text(invocation, "run-tasks-max"));
    if (!run_memory_parse(memory, machine_memory(), &out->memory_bytes, &err)) {
        usage_error(invocation, "--run-memory-max %s", err.text);
        return false;
    }
    if (!run_tasks_parse(tasks, &out->tasks, &err)) {
        usage_error(invocation, "--run-tasks-max %s", err.text);
        return false;
    }
    return true;
}
