#include "api/page_rules.h"

/* "q=0", "q=0.0" and so on mean not acceptable. */
static bool is_zero_quality(Str parameters)
{
    Str parameter;
    while (parameters.len > 0 && str_split_next(&parameters, ';', &parameter)) {
        parameter = str_trim(parameter);
        if (str_starts(parameter, STR("q=0")) || str_starts(parameter, STR("Q=0"))) {
            for (size_t i = 3; i < parameter.len; i++) {
                if (parameter.data[i] >= '1' && parameter.data[i] <= '9') {
                    return false;
                }
            }
            return true;
        }
    }
    return false;
}

/* "*" matches everything that is not listed. */
bool page_accepts_gzip(Str accepted)
{
    Str item;
    bool accepts_any = false;
    while (accepted.len > 0 && str_split_next(&accepted, ',', &item)) {
        size_t end = str_find(item, STR(";"), 0);
        Str word = str_trim(str_slice(item, 0, end));
        Str parameters = end == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(item, end + 1);
        if (str_eq_ignore_case(word, STR("gzip"))) {
            return !is_zero_quality(parameters);
        }
        accepts_any = accepts_any || (str_eq_c(word, "*") && !is_zero_quality(parameters));
    }
    return accepts_any;
}

static Str strong_tag(Str tag)
{
    return str_starts(tag, STR("W/")) ? str_from_offset(tag, 2) : tag;
}

bool page_is_cached(Str tags, Str tag)
{
    Str item;
    if (str_eq_c(str_trim(tags), "*")) {
        return true;
    }
    while (tags.len > 0 && str_split_next(&tags, ',', &item)) {
        if (str_eq(strong_tag(str_trim(item)), strong_tag(tag))) {
            return true;
        }
    }
    return false;
}
