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

typedef struct Responses {
    Invocation *invocation;
    bool is_document; /* false: text, printed as responses arrive */
    List *items, *problems;
    int worst; /* highest exit code so far */
} Responses;

/* `count` is the number of names. */
void responses_init(Responses *responses, Invocation *invocation, uint32_t count);
/* Adds the response for one name. Returns false for text output: the caller prints it. */
bool responses_add(Responses *responses, Str name, Value response);
/* Adds the problems of one name, and prints them unless the document will contain them. */
void responses_add_problems(Responses *responses, Str name, Inputs *inputs, int code);
/* Prints the document and returns the exit code. */
int responses_end(Responses *responses);

/* The request to send for each name. */
typedef struct EachRequest {
    const char *method;
    const char *prefix; /* target before the name, such as "/v1/nodes/" */
    const char *suffix; /* target after the name, such as "/ping"; or "" */
    Str body;           /* JSON; may be empty */
    const char *done;   /* text printed after the name on success, such as "is removed" */
    /* prints the text output instead; may be NULL */
    void (*print)(const Invocation *invocation, Str name, Value response);
} EachRequest;

/* Sends the request for each name and stops only when the server becomes unreachable. Returns the
 * exit code of the worst failure. */
int responses_request_each(Invocation *invocation, const EachRequest *request, const Str *names,
                           uint32_t count);
