#include "model/selector_forms.h"

#include <stddef.h>

const SelectorForm selector_forms[] = {
    { "*", "all nodes", false },
    { "web1", "the node with this name", false },
    { "web*", "names with this prefix; '?' matches one character, '[0-9]' one character in the set",
      false },
    { "role=web", "the label 'role' has the value 'web'", false },
    { "role=web-*", "a pattern for the value", false },
    { "role=*", "the label is present, with any value", false },
    { "role=", "the label is present and empty", false },
    { "role!=web", "the label has a different value, or is absent; the same as '!role=web'",
      false },
    { "!web1", "not; 'not web1' is the same", false },
    { "role=web and dc=fra", "both", false },
    { "role=web or role=db", "either of them; 'and' binds tighter", false },
    { "role=web and (dc=fra or dc=ams)", "parentheses for grouping", false },
    { "server.os == 'debian'",
      "an expression about the node; in sites, and to select nodes by the facts that servers store",
      true },
    { NULL, NULL, false },
};
