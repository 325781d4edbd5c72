/* The actions of module firewall; firewall.c puts them into the table. */
#pragma once

#include "modules/call.h"

extern const ParamSpec firewall_rules_params[];
bool firewall_rules_check(Call *call, Outcome *outcome, Error *err);
bool firewall_rules_apply(Call *call, Outcome *outcome, Error *err);
void firewall_rules_claims(Arena *arena, const Value *params, List *claims);
