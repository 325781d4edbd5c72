#include "cli/verbs.h"

#include "base/bug.h"

static bool is_for(const Option *option, const char *verb)
{
    Str rest = str_from_c(option->verbs == NULL ? verb : option->verbs), name;
    while (str_split_next(&rest, '|', &name)) {
        if (str_eq_c(name, verb)) {
            return true;
        }
    }
    return false;
}

/* An option of another verb would be taken and do nothing. */
static int refuse_option(const Invocation *invocation, const Option *option, const char *verb)
{
    Str rest = str_from_c(option->verbs), name;
    Buf whose = buf_make_in(invocation->arena, BUF_UNLIMITED);
    while (str_split_next(&rest, '|', &name)) {
        buf_put_format(&whose, "%s'eden %s %" STR_FMT "'", whose.len == 0 ? "" : " and ",
                       invocation->command->name, STR_ARG(name));
    }
    return usage_error(invocation, "option '--%s' is for %" STR_FMT ", not for 'eden %s %s'",
                       option->name, STR_ARG(buf_str(&whose)), invocation->command->name, verb);
}

int verbs_check_options(const Invocation *invocation, const char *verb)
{
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        if (!is_for(invocation->given[i].option, verb)) {
            return refuse_option(invocation, invocation->given[i].option, verb);
        }
    }
    return EXIT_OK;
}

int verbs_run(Invocation *invocation, const Verb *verbs)
{
    bool bare = invocation->arg_count == 0;
    while (!bare && verbs->name != NULL && strcmp(verbs->name, invocation->args[0]) != 0) {
        verbs++;
    }
    BUG_IF(verbs->name == NULL); /* the row lists the choices */
    int code = verbs_check_options(invocation, verbs->name);
    if (code != EXIT_OK) {
        return code;
    }
    uint32_t count = bare ? 0 : invocation->arg_count - 1;
    const char *takes = verbs->args[0] == '\0' ? "no argument" : verbs->args;
    if (count > verbs->args_max) {
        return usage_error(invocation, "'%s %s' takes %s; '%s' is one too many",
                           invocation->command->name, verbs->name, takes,
                           invocation->args[verbs->args_max + 1]);
    }
    if (count < verbs->args_min) {
        return usage_error(invocation, "'%s %s' takes %s", invocation->command->name, verbs->name,
                           takes);
    }
    return verbs->run(invocation);
}
