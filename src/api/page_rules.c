#include "api/page_rules.h"

/* "q=0", "q=0.0" and so on mean not acceptable. */
static bool is_unwanted(Str parameters)
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
    Str one;
    bool all = false;
    while (accepted.len > 0 && str_split_next(&accepted, ',', &one)) {
        size_t end = str_find(one, STR(";"), 0);
        Str word = str_trim(str_slice(one, 0, end));
        Str parameters = end == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(one, end + 1);
        if (str_eq_ignore_case(word, STR("gzip"))) {
            return !is_unwanted(parameters);
        }
        all = all || (str_eq_c(word, "*") && !is_unwanted(parameters));
    }
    return all;
}

static Str without_weakness(Str tag)
{
    return str_starts(tag, STR("W/")) ? str_from_offset(tag, 2) : tag;
}

bool page_is_known(Str known, Str tag)
{
    Str one;
    if (str_eq_c(str_trim(known), "*")) {
        return true;
    }
    while (known.len > 0 && str_split_next(&known, ',', &one)) {
        if (str_eq(without_weakness(str_trim(one)), without_weakness(tag))) {
            return true;
        }
    }
    return false;
}
