// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
#define RS_DEFINE_MAPS
#include "common.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
