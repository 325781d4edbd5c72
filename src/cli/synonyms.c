#include "cli/synonyms.h"

#include "base/suggest.h"

/* Each line means one thing. A word may stand in several: the first that a command has is taken. */
static const char *const meanings[] = {
    "list|ls|all|index",
    "show|get|describe|info|inspect|view|cat|display|status",
    "create|add|new|make|insert|apply",
    "delete|remove|rm|del|destroy|drop|erase|revoke|unset",
    "set|update|edit|change|put|patch|write|modify",
    "label|tag|annotate",
    "approve|accept|allow|admit|sign|join",
    "reject|deny|refuse|decline",
    "revoke|delete|remove|rm|disable|invalidate|expire",
    "remove|delete|rm|del|kick|leave|drop|decommission",
    "ping|check|test|alive",
    "tail|watch|follow|log|list|show",
    "verify|check|validate|test",
    "use|switch|select|set|change",
    "rotate|renew|roll|replace",
    "why|explain|trace",
    "get|show|read|value",
};

static bool has_word(const char *list, Str word)
{
    Str rest = str_from_c(list), one;
    while (str_split_next(&rest, '|', &one)) {
        if (str_eq_ignore_case(one, word)) {
            return true;
        }
    }
    return false;
}

Str synonym_among(Str word, const char *choices)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        if (!has_word(meanings[i], word)) {
            continue;
        }
        Str rest = str_from_c(meanings[i]), one;
        while (str_split_next(&rest, '|', &one)) {
            if (has_word(choices, one)) {
                return one;
            }
        }
    }
    return STR_EMPTY;
}

Str synonym_or_near(Str word, const char *choices)
{
    Str found = synonym_among(word, choices);
    if (found.len > 0) {
        return found;
    }
    Suggest suggest = suggest_make(word);
    Str rest = str_from_c(choices), one;
    while (str_split_next(&rest, '|', &one)) {
        suggest_offer(&suggest, one);
    }
    (void)suggest_found(&suggest, &found);
    return found;
}
