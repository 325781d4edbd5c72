/* Role: what whoever has it may do. */
#include "api/kind_rows.h"
#include "api/kind_stored.h"

static const KindField rule[] = {
    { .name = "verbs",
      .shape = KIND_FIELD_LIST,
      .is_required = true,
      .min = 1,
      .max = 63,
      .help = "get, list, watch, create, update, delete, words as approve and ping, or * for all" },
    { .name = "kinds",
      .shape = KIND_FIELD_LIST,
      .is_required = true,
      .min = 1,
      .max = 63,
      .help = "Node, Facts and so on, or * for all" },
    { .name = "selector",
      .type = KIND_FIELD_SELECTOR,
      .max = 4096,
      .help = "only objects with such names and labels; all of them when it is not there" },
    { 0 },
};

static const KindField spec[] = {
    { .name = "rules",
      .type = KIND_FIELD_OBJECT,
      .shape = KIND_FIELD_LIST,
      .is_required = true,
      .fields = rule,
      .help = "what may be done; what no rule allows may not" },
    { 0 },
};

static const KindColumn columns[] = {
    { "RULES", "spec.rules", false, NULL },
    { 0 },
};

const Kind kind_role = {
    .name = "Role",
    .plural = "roles",
    .help = "What whoever has the role may do: verbs, with kinds of objects, perhaps only some.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_UPDATE | KIND_DELETE | KIND_WATCH,
    .spec = spec,
    .columns = columns,
    STORED_KIND,
};
