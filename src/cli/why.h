/* Why a step did what it did, from the record of a run: one object, which is what `-o json` prints
 * and what the text is made from.
 *
 *     {"format":"eden.why/1","run","at","node","site":{"path","digest"},
 *      "step","action","file","line","result","cause","reason","comment","changed","reacted","reaction",
 *      "chain":[{"step","action","file","line","result","text","kind","origin","detail"}..],
 *      "conditions":[{"condition","text","answer","uses":[..],"ask":[..]}..],
 *      "requisites":[{"kind","step","result","origin","detail","file","line","decided":bool}..],
 *      "parameters":[{"name","value","template","bytes","file","line","uses":[..],"ask":[..]}..],
 *      "owed":[..],"changes","diff","stdout","stderr","exit_code","error"}
 *
 * The chain starts with the step itself; each entry is the cause of the one before it, and `kind`
 * the requisite that led there. `reaction` says what a step that listens reacted to at the end.
 * What is empty is left out. */
#pragma once

#include "run/recorded.h"

Value why_value(const Recorded *recorded, uint32_t step, Arena *arena);
/* For people. */
void why_print(Value why, Buf *out);

/* What went wrong in a whole run:
 *
 *     {"format":"eden.why-run/1","run","at","node","site","result","counts":{"ok":N..},
 *      "steps":[{"step","action","file","line","result","text","root":{..the same..}}..]}
 *
 * The steps are those that failed, were blocked, or did not come to an end; `root` is the first
 * cause, where that is another step. */
Value why_run_value(const Recorded *recorded, Arena *arena);
void why_run_print(Value why, Buf *out);
