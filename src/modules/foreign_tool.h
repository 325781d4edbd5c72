/* Steps that delegate to another configuration manager: ansible.playbook, puppet.apply.
 *
 * check runs the tool in its own dry-run mode, apply runs it for real, and both parse the report
 * that it leaves in a scratch directory (foreign_report.h). A check proceeds in this order:
 * foreign_tool_choose(), checks of the other parameters, foreign_tool_is_live(),
 * foreign_tool_ready(), and then the dry run. */
#pragma once

#include "modules/scratch.h"
#include "modules/tool.h"

typedef struct ForeignTool {
    const char *name;     /* "Ansible" */
    const char *program;  /* "ansible-playbook" */
    const char *package;  /* package that contains the program */
    const char *document; /* "playbook": the kind of document, and the parameter with its path */
    /* the parameter with the content of the document; 'source' is a file in the site */
    const char *text;
    const char *file; /* file name of a document in the scratch directory */
} ForeignTool;

/* Determines which of the three parameters is set; exactly one must be. */
MUST_CHECK bool foreign_tool_choose(const Call *call, const ForeignTool *tool, const char **from,
                                    Error *err);
/* ActionClaims function: the document may create anything. */
void foreign_claims(Arena *arena, const Value *params, List *claims);
/* Fails with ERROR_UNAVAILABLE in another root. */
MUST_CHECK bool foreign_tool_is_live(const Call *call, const ForeignTool *tool, Error *err);
/* Determines whether a dry run is possible. It is not if 'ask' is false, or if an earlier step of
 * the plan will create the program or the document; then sets `is_ready` to false and the outcome
 * to unknown. Fails with ERROR_NOT_FOUND if one is missing and no step creates it. */
MUST_CHECK bool foreign_tool_ready(Call *call, const ForeignTool *tool, const char *from,
                                   Outcome *outcome, bool *is_ready, Error *err);
/* Returns the path of the document, after writing it to the scratch directory unless it already is
 * on the machine. */
MUST_CHECK bool foreign_tool_document(const ForeignTool *tool, Scratch *scratch, Str *path,
                                      Error *err);
/* Reads the file `name` that the tool wrote to the scratch directory. */
MUST_CHECK bool foreign_tool_report(Scratch *scratch, const char *name, Str *text, Error *err);
