/* How many processors are in use. Counted from the kernel's list of ranges, "0-3,8", and not from
 * /proc/cpuinfo, which takes the kernel a millisecond and more on large machines. */
#include "facts/fact.h"

static bool count_range(Str range, int64_t *count)
{
    Str first;
    int64_t low, high;
    if (!str_split_next(&range, '-', &first) || !str_to_i64(first, &low)) {
        return false;
    }
    high = low;
    if (range.len > 0 && !str_to_i64(range, &high)) {
        return false;
    }
    *count += high - low + 1;
    return low >= 0 && high >= low && high < INT32_MAX;
}

static bool read_cpus(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    const char *path = "/sys/devices/system/cpu/online";
    Str list, rest, range;
    if (!fact_word(&world->kernel, arena, path, &list, err)) {
        return false;
    }
    if (list.len == 0) {
        *out = value_null();
        return true;
    }
    int64_t count = 0;
    for (rest = list; str_split_next(&rest, ',', &range);) {
        if (!count_range(range, &count)) {
            return error_set(err, ERROR_INVALID, "%s: '%" STR_FMT "' is no list of processors",
                             path, STR_ARG(list));
        }
    }
    *out = value_int(count);
    return true;
}

const Fact fact_cpus = {
    .name = "cpus",
    .help = "How many processors are in use.",
    .example = "4",
    .read = read_cpus,
};
