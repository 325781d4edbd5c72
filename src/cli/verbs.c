#include "cli/verbs.h"

#include "base/bug.h"

int verbs_run(Invocation *invocation, const Verb *verbs)
{
    bool bare = invocation->arg_count == 0;
    while (!bare && verbs->name != NULL && strcmp(verbs->name, invocation->args[0]) != 0) {
        verbs++;
    }
    BUG_IF(verbs->name == NULL); /* the row lists the choices */
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
