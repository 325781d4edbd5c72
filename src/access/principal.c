#include "access/principal.h"

#include <stdio.h>

#include "base/json_out.h"

DEFINE_ENUM_NAMES(
    PrincipalKind, principal_kind, [PRINCIPAL_LOCAL] = "local", [PRINCIPAL_TOKEN] = "token",
    [PRINCIPAL_CERTIFICATE] = "certificate", [PRINCIPAL_SESSION] = "session",
    [PRINCIPAL_NODE] = "node", [PRINCIPAL_JOIN] = "join", [PRINCIPAL_SOURCE] = "source")

void principal_set_label(const char *kind, const char *id, const char *label, Principal *out)
{
    AUTO_CLEAR(Buf) quoted = buf_make(BUF_UNLIMITED);
    if (label[0] != '\0') {
        buf_put_char(&quoted, ' ');
        json_text_put(&quoted, str_from_c(label));
    }
    snprintf(out->who, sizeof out->who, "%s:%s%" STR_FMT, kind, id, STR_ARG(buf_str(&quoted)));
}

void principal_local(Str user, uint32_t uid, Principal *out)
{
    *out = (Principal){ .kind = PRINCIPAL_LOCAL, .roles = "admin" };
    Str name = str_slice(user, 0, PRINCIPAL_NAME_MAX - 20);
    if (name.len == 0) {
        snprintf(out->name, sizeof out->name, "uid %u", uid);
        snprintf(out->who, sizeof out->who, "user:uid %u", uid);
    } else {
        snprintf(out->name, sizeof out->name, "%" STR_FMT, STR_ARG(name));
        snprintf(out->who, sizeof out->who, "user:%" STR_FMT " (uid %u)", STR_ARG(name), uid);
    }
    snprintf(out->credential, sizeof out->credential, "local:%u", uid);
}
