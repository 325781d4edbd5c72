/* Explains a step from the record of a run. Builds one object, which `-o json` prints and from
 * which the text output is generated.
 *
 *     {"format":"eden.why/1","run","at","node","site":{"path","digest"},
 *      "step","action","file","line","result","cause","reason","comment","changed","reacted","reaction",
 *      "chain":[{"step","action","file","line","result","text","kind","origin","detail"}..],
 *      "conditions":[{"condition","text","answer","uses":[..],"ask":[..]}..],
 *      "requisites":[{"kind","step","result","origin","detail","file","line","decided":bool}..],
 *      "parameters":[{"name","value","template","bytes","file","line","uses":[..],"ask":[..]}..],
 *      "owed":[..],"changes","diff","stdout","stderr","exit_code","error"}
 *
 * The chain starts with the step itself; each entry is the cause of the previous one, and `kind` is
 * the requisite that links them. `reaction` is what a step that listens reacted to at the end.
 * Empty fields are omitted. */
#pragma once

#include "run/recorded.h"

Value why_value(const Recorded *recorded, uint32_t step, Arena *arena);
/* Prints it as text. */
void why_print(Value why, Buf *out);

/* Explains what went wrong in an entire run:
 *
 *     {"format":"eden.why-run/1","run","at","node","site","result","counts":{"ok":N..},
 *      "steps":[{"step","action","file","line","result","text","root":{..the same..}}..]}
 *
 * The steps are those that failed, were blocked, or did not finish; `root` is the root cause, if
 * that is another step. */
Value why_run_value(const Recorded *recorded, Arena *arena);
void why_run_print(Value why, Buf *out);
