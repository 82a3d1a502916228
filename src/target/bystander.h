/* SPDX-License-Identifier: MIT */
/*
 * A process of ours that does nothing but stand in our process group: a signal that it got too was sent to
 * all of the group, and not to ringside alone. Nothing else tells the two apart: kill(2) leaves the same
 * siginfo_t in both cases.
 */
#ifndef RINGSIDE_BYSTANDER_H
#define RINGSIDE_BYSTANDER_H

#include <signal.h>
#include <sys/types.h>

struct bystander;

/* It ends with its owner, however that ends. 0 or negative errno; *ret is untouched on failure. */
int bystander__start(struct bystander **ret);

pid_t bystander__pid(const struct bystander *b);

/*
 * Whether it got this signal, which its owner has got, from the same sender, since the last time this was
 * asked about the number. If not, waits up to wait_ms for it to come. 1, 0 or negative errno.
 */
int bystander__got(struct bystander *b, const siginfo_t *info, int wait_ms);

/* NULL is fine. */
void bystander__free(struct bystander *b);

#endif
