/* Formatting dates. */
#include <math.h>

#include "lang/template/filter.h"
#include "lang/template/strftime.h"

/* In Ansible the filtered value is the format, in Salt it is the time: the argument that is a
 * number is the time. */
static bool filter_strftime(Render *r, const Args *args, Value *out)
{
    Value format = args->values[0];
    Value time = arg_or(args, 1, value_null());
    if (format.kind == VALUE_INT || format.kind == VALUE_FLOAT) {
        Value other = format;
        format = time.kind == VALUE_NULL ? value_string(STR("%Y-%m-%d")) : time;
        time = other;
    }
    Str text;
    double seconds = (double)r->settings->now;
    if (!op_text(r, format, &text)) {
        return false;
    }
    if (time.kind != VALUE_NULL && !value_to_float(r, time, &seconds)) {
        bool swapped =
            time.kind == VALUE_STRING && str_find(value_str(time), STR("%"), 0) != STR_NOT_FOUND;
        return swapped &&
               render_hint(r, "pass the time in seconds since 1970; strings are not parsed");
    }
    double whole = floor(seconds);
    if (!(whole >= STRFTIME_MIN && whole <= STRFTIME_MAX)) {
        return render_raise(r, FAULT_VALUE, "the time is outside the years 1 to 9999");
    }
    Buf date = render_buf(r);
    strftime_put(text, (int64_t)whole, (uint32_t)((seconds - whole) * 1e6), &date);
    return take_text(r, &date, false, out);
}

const Native filters_time[] = {
    { .name = "strftime",
      .call = filter_strftime,
      .params = { { "value" }, { "second", "none" }, { "utc", "true" } },
      .help =
          "Formats a time in seconds since 1970, such as '%Y-%m-%d', always in UTC. The default "
          "time is now. As in Salt, the filtered value can also be the time, with the format as "
          "the argument.",
      .example = "{{ '%Y-%m-%d %H:%M' | strftime(1700000000) }}",
      .output = "2023-11-14 22:13" },
    { 0 },
};
