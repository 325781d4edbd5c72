/* Collects the responses to requests about several named objects. Text output is printed line by
 * line as responses arrive; JSON and YAML are printed as one document. For a single name that
 * document is the server's response unchanged; for several it is
 *
 *     {"format":"eden.answers/1","items":[...],"problems":[{"name":"web2","code":"E0859","detail":...}]}
 *
 * An item that is not an API object also has "name". */
#pragma once

#include "base/problems.h"
#include "cli/cluster_client.h"

typedef struct Answers {
    Invocation *invocation;
    bool is_document; /* false: text, printed as it arrives */
    List *items, *problems;
    int worst; /* highest exit code so far */
} Answers;

/* `count` is the number of names. */
void answers_init(Answers *answers, Invocation *invocation, uint32_t count);
/* Adds the response for one name. Returns false for text output: the caller prints it. */
bool answers_take(Answers *answers, Str name, Value answer);
/* Adds the problems of one name, and prints them unless the document will contain them. */
void answers_refuse(Answers *answers, Str name, Inputs *inputs, int code);
/* Prints the document and returns the exit code. */
int answers_end(Answers *answers);

/* The request to send for each name. */
typedef struct EachRequest {
    const char *method;
    const char *before; /* target before the name, such as "/v1/nodes/" */
    const char *behind; /* target after the name, such as "/ping"; or "" */
    Str body;           /* JSON; may be empty */
    const char *done;   /* text output after the name, such as "is removed" */
    /* prints the text output instead; may be NULL */
    void (*print)(const Invocation *invocation, Str name, Value answer);
} EachRequest;

/* Sends the request for each name and stops only when the server becomes unreachable. Returns the
 * exit code of the worst failure. */
int answers_ask_each(Invocation *invocation, const EachRequest *request, const Str *names,
                     uint32_t count);
