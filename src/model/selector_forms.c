#include "model/selector_forms.h"

#include <stddef.h>

const SelectorForm selector_forms[] = {
    { "*", "all of them", false },
    { "web1", "the one of this name", false },
    { "web*", "names that begin so; '?' is one character, '[0-9]' one of these", false },
    { "role=web", "the label 'role' has the value 'web'", false },
    { "role=web-*", "a pattern of values", false },
    { "role=*", "the label is there, whatever its value", false },
    { "role=", "the label is there and empty", false },
    { "role!=web", "the label has another value, or is not there; the same as '!role=web'", false },
    { "!web1", "not; 'not web1' is the same", false },
    { "role=web and dc=fra", "both", false },
    { "role=web or role=db", "one of them; 'and' binds tighter", false },
    { "role=web and (dc=fra or dc=ams)", "parentheses group", false },
    { "server.os == 'debian'",
      "an expression about the node: in sites, and for lists of nodes by the facts that servers "
      "keep",
      true },
    { NULL, NULL, false },
};
