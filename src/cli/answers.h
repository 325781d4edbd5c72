/* What a server says about several things that were named: told line by line to people, and as one
 * document to programs. About one thing it is what the server says, and nothing around it; else
 *
 *     {"format":"eden.answers/1","items":[...],"problems":[{"name":"web2","code":"E0859","detail":...}]}
 *
 * An item that is no object of the API has "name", too. */
#pragma once

#include "base/problems.h"
#include "cli/cluster_client.h"

typedef struct Answers {
    Invocation *invocation;
    bool is_document; /* else it was told when it came */
    List *items, *problems;
    int worst; /* of the exit codes */
} Answers;

/* `count`: of how many there will be. */
void answers_init(Answers *answers, Invocation *invocation, uint32_t count);
/* What the server says of one; false: it is for people, and somebody else has to print it. */
bool answers_take(Answers *answers, Str name, Value answer);
/* What is wrong with one, told unless the document is all there will be. */
void answers_refuse(Answers *answers, Str name, Inputs *inputs, int code);
/* Prints the document. The exit code. */
int answers_end(Answers *answers);

/* The same request for each of them. */
typedef struct EachRequest {
    const char *method;
    const char *before; /* of the name, "/v1/nodes/" */
    const char *behind; /* "/ping", or "" */
    Str body;           /* JSON; empty: none */
    const char *done;   /* "is removed", for people */
    void (*print)(const Invocation *invocation, Str name, Value answer); /* the same; or NULL */
} EachRequest;

/* All of them are tried, until nobody answers. The exit code is that of the worst failure. */
int answers_ask_each(Invocation *invocation, const EachRequest *request, const Str *names,
                     uint32_t count);
