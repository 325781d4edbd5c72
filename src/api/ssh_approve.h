/* Approval of a machine by verifying it over SSH. */
#pragma once

#include "api/bodies.h"
#include "api/call.h"

/* Responds when the verification is done. */
void ssh_approve(ApiCall *call, const ApproveRequest *request);
