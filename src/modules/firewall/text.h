/* The rules of a firewall as text for nft; pure.
 *
 * One table, which is replaced as a whole and at one moment. */
#pragma once

#include "base/error.h"
#include "lang/value.h"

enum {
    FIREWALL_RULES_MAX = 4096
};

typedef struct FirewallWish {
    Str family, name; /* of the table: "inet", "eden" */
    bool drops;       /* what no rule speaks of */
    bool basics;      /* answers, the machine itself and ICMP come in whatever the rules say */
    Value rules;      /* rows; missing or null: none */
    Str content;      /* rules in nft's own words, behind the rows */
    Str definitions;  /* whatever else the table shall have */
} FirewallWish;

/* "inet eden" to its parts; a lone name is in family inet. */
MUST_CHECK bool firewall_parse_table(Str text, FirewallWish *out, Error *err);
/* "table inet eden { ... }". The words of experts are not understood here, but they cannot leave the
 * braces that they are put into. */
MUST_CHECK bool firewall_format(Arena *arena, const FirewallWish *wish, Str *out, Error *err);
/* What puts `table` in place of the one that is there, if any; empty: takes that away. */
Str firewall_replace(Arena *arena, const FirewallWish *wish, Str table);

/* The file that is loaded at boot, and that remembers how nft listed the table when it was loaded
 * last: nft says things in its own way, and what others change shows only in there. */
Str firewall_file(Arena *arena, Str script, Str listing);
/* The two parts of such a file. False when it is none. */
bool firewall_parse_file(Arena *arena, Str file, Str *script, Str *listing);
