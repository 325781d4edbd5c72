/* The part of approving that asks the machine itself, over SSH. */
#pragma once

#include "api/bodies.h"
#include "api/call.h"

/* Answers the call, later. */
void ssh_approve(ApiCall *call, const ApproveWish *wish);
