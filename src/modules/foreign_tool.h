/* Steps that hand their work to another configuration manager: ansible.playbook, puppet.apply.
 *
 * The check runs the tool in its own dry-run mode, apply runs it for real, and both read the report that
 * it leaves in a scratch folder (foreign_report.h). A check proceeds in this order:
 * foreign_tool_choose(), checks of the other parameters, foreign_tool_is_live(), foreign_tool_ready(), and
 * then the dry run. */
#pragma once

#include "modules/scratch.h"
#include "modules/tool.h"

typedef struct ForeignTool {
    const char *name;     /* "Ansible" */
    const char *program;  /* "ansible-playbook" */
    const char *package;  /* that contains the program */
    const char *document; /* "playbook": what it executes, and the parameter with its path */
    const char *text; /* the parameter with the document's text; 'source' is a file of the site */
    const char *file; /* what a document is called in the scratch folder */
} ForeignTool;

/* Which of the three parameters names the document; exactly one must. */
MUST_CHECK bool foreign_tool_choose(const Call *call, const ForeignTool *tool, const char **from,
                                    Error *err);
/* Fails with ERROR_UNAVAILABLE below another root. */
MUST_CHECK bool foreign_tool_is_live(const Call *call, const ForeignTool *tool, Error *err);
/* Whether a dry run can be made. False in `is_ready`: the outcome says that the effect is unknown, because
 * 'ask' is off or an earlier step of the plan will bring the program or the document. Fails with
 * ERROR_NOT_FOUND if no step does. */
MUST_CHECK bool foreign_tool_ready(Call *call, const ForeignTool *tool, const char *from,
                                   Outcome *outcome, bool *is_ready, Error *err);
/* The path of the document, which is written to the scratch folder unless it is on the machine. */
MUST_CHECK bool foreign_tool_document(const ForeignTool *tool, Scratch *scratch, Str *path,
                                      Error *err);
/* The file `name` of the scratch folder, which the tool wrote. */
MUST_CHECK bool foreign_tool_report(Scratch *scratch, const char *name, Str *text, Error *err);
