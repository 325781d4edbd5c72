/* The actions of module ssh, one file each; ssh.c puts them into the table. */
#pragma once

#include "modules/call.h"

extern const ParamSpec authorized_key_params[];
bool authorized_key_check(Call *call, Outcome *outcome, Error *err);
bool authorized_key_apply(Call *call, Outcome *outcome, Error *err);
void authorized_key_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec known_host_params[];
bool known_host_check(Call *call, Outcome *outcome, Error *err);
bool known_host_apply(Call *call, Outcome *outcome, Error *err);
void known_host_claims(Arena *arena, const Value *params, List *claims);
