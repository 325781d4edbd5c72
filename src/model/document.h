/* Documents of a site: YAML, bare or wrapped as `metadata:` plus `spec:`. */
#pragma once

#include "model/fields.h"

typedef enum DocumentKind {
    DOCUMENT_KNOWN, /* its keys are known: `spec` alone means that it is wrapped */
    DOCUMENT_FREE,  /* any keys (variables, macros): wrapped only with both, and nothing else */
} DocumentKind;

/* Reads the file; `*out` is what is in it, null when it is empty. Where its metadata is wrong the rest
 * is there nevertheless, for readers that look for further problems; else a failure leaves nothing
 * (missing). A file that is not there is a
 * problem at `named_at`; unless `missing` is given, which then tells of it. `path` is relative to
 * the site. */
bool document_read(const SiteLoad *load, Str path, DocumentKind kind, Value named_at, bool *missing,
                   Value *out);
/* Whether "x.yml" lies where "x.yaml" is looked for. Documents of a site end in ".yaml"; the other
 * ending is never read, and an error wherever it may be meant. */
bool document_has_twin(const SiteLoad *load, Str path);
/* Tells that the file is not there, with the nearest that is. */
Problem *document_missing(const SiteLoad *load, Str path, Value named_at);
/* Compiles a template below templates/, so that its mistakes are told before anything runs; each of
 * them once. */
bool document_check_template(const SiteLoad *load, Str name);
/* Reads `metadata:`; `*name` is missing when it has none. */
bool document_metadata(const SiteLoad *load, Value metadata, Value *name);

/* Whether a name can be a path below a folder of the site: no "..", no leading or double '/'. */
bool document_is_name(Str name);
