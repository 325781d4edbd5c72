#include "base/hash.h"

const char hash_anchor = 0;
