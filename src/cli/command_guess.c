/* Suggestions for unknown commands and verbs: similar words first, then terms of other tools. */
#include "cli/command_guess.h"

#include "base/suggest.h"
#include "cli/subject.h"

/* Terms of other tools, and the equivalent command. */
static const struct {
    const char *words;
    const char *command;
} other_tools[] = {
    { "list|ls|hosts|machines|members|servers|minions|inventory", "nodes list" },
    { "status|health|diagnose|debug", "doctor" },
    { "check|lint|test|verify-site|syntax-check", "validate" },
    { "diff|dry-run|dryrun|preview|noop", "plan" },
    { "converge|deploy|highstate|install|sync|up", "apply" },
    { "log|journal", "logs" },
    { "history|jobs", "runs" },
    { "users|permissions|rbac|grant", "roles" },
    { "ca|cert|certs|certificate|certificates", "pki" },
    { "grains|facter|setup|gather", "facts" },
    { "settings", "config" },
    { "variables|pillar|hiera|lookup", "vars" },
    { "enroll|register|bootstrap", "join" },
    { "server|master", "serve" },
    { "daemon|minion", "agent" },
    { "ctx|profile", "context" },
    { "template|jinja", "render" },
    { "snapshot|dump", "backup" },
    { "curl|request|rest", "api" },
    { "demo|sandbox|playground|up-local", "dev" },
    { "doc|docs|describe", "explain" },
    { "commands", "help" },
};

static bool contains_word(const char *list, Str word)
{
    Str rest = str_from_c(list), one;
    while (str_split_next(&rest, '|', &one)) {
        if (str_eq_ignore_case(one, word)) {
            return true;
        }
    }
    return false;
}

/* --- Commands -------------------------------------------------------------------------------- */

static Str by_synonym(Str word)
{
    for (size_t i = 0; i < COUNT_OF(other_tools); i++) {
        if (contains_word(other_tools[i].words, word)) {
            return str_from_c(other_tools[i].command);
        }
    }
    return STR_EMPTY;
}

/* Suggests "nodes ping" for 'ping'. */
static Str by_verb(Arena *arena, Str word)
{
    const Command *found = NULL;
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (verb_find(commands[i], word) != NULL) {
            if (found != NULL) {
                return STR_EMPTY;
            }
            found = commands[i];
        }
    }
    return found == NULL ? STR_EMPTY
                         : arena_format(arena, "%s %" STR_FMT, found->name, STR_ARG(word));
}

/* Suggests "tokens create" for 'tokens-create'. */
static Str by_separator(Arena *arena, Str word)
{
    for (size_t i = 1; i + 1 < word.len; i++) {
        const Command *command =
            memchr("-_.:/", word.data[i], 5) == NULL ? NULL : command_find(str_slice(word, 0, i));
        Str verb_name = str_from_offset(word, i + 1);
        if (command != NULL && verb_find(command, verb_name) != NULL) {
            return arena_format(arena, "%s %" STR_FMT, command->name, STR_ARG(verb_name));
        }
    }
    return STR_EMPTY;
}

static Str by_spelling(Str word)
{
    Suggest suggest = suggest_make(word);
    Str suggestion = STR_EMPTY;
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (str_eq_ignore_case(str_from_c(commands[i]->name), word)) {
            return str_from_c(commands[i]->name);
        }
        suggest_offer(&suggest, str_from_c(commands[i]->name));
    }
    (void)suggest_found(&suggest, &suggestion);
    return suggestion;
}

Str command_guess(Arena *arena, Str word)
{
    Str found = by_synonym(word);
    if (found.len == 0 && subject_topic_find(word) != NULL) {
        found = arena_format(arena, "help %" STR_FMT, STR_ARG(word));
    }
    found = found.len > 0 ? found : by_verb(arena, word);
    found = found.len > 0 ? found : by_separator(arena, word);
    return found.len > 0 ? found : by_spelling(word);
}

/* --- Verbs ----------------------------------------------------------------------------------- */

/* Each row is a set of synonyms. A word may be in several rows: the first row with a verb of the
 * command wins. */
static const char *const synonyms[] = {
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

static Str verb_by_synonym(const Command *command, Str word)
{
    for (size_t i = 0; i < COUNT_OF(synonyms); i++) {
        Str rest = str_from_c(contains_word(synonyms[i], word) ? synonyms[i] : ""), one;
        while (str_split_next(&rest, '|', &one)) {
            if (verb_find(command, one) != NULL) {
                return one;
            }
        }
    }
    return STR_EMPTY;
}

Str verb_guess(const Command *command, Str word)
{
    Str found = verb_by_synonym(command, word);
    Suggest suggest = suggest_make(word);
    for (const Verb *verb = command->verbs; verb->name != NULL; verb++) {
        suggest_offer(&suggest, str_from_c(verb->name));
    }
    if (found.len == 0) {
        (void)suggest_found(&suggest, &found);
    }
    return found;
}
