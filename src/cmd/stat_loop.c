// SPDX-License-Identifier: MIT
/* Waiting: for the program, the processes, the clock, the user. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "stat.h"

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* poll() rounds down; waking up early would spin. */
static int timeout_ms(uint64_t now, uint64_t deadline)
{
	return deadline <= now ? 0 : (int)((deadline - now + 999999) / 1000000);
}

static void note_child_end(struct stat_run *r, int status)
{
	r->child_ended = true;
	r->child_status = status;
	if (WIFSIGNALED(status))
		snprintf(r->ended, sizeof(r->ended), "killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		snprintf(r->ended, sizeof(r->ended), "exited with status %d", WEXITSTATUS(status));
}

/* Returns whether the target has ended. */
static bool target_ended(struct stat_run *r)
{
	int status;

	if (r->child) {
		if (child__reap(r->child, false, &status) != 1)
			return false;
		note_child_end(r, status);
		return true;
	}
	return r->o->pids.n && !pid_set__refresh(&r->pids);
}

static size_t fill_pollfds(const struct stat_run *r, struct pollfd *p)
{
	size_t n = 0, i;

	p[n++] = (struct pollfd){ .fd = r->signal_fd, .events = POLLIN };
	if (r->live)
		p[n++] = (struct pollfd){ .fd = live__wakeup_fd(r->live), .events = POLLIN };
	if (r->child && !r->child_ended)
		p[n++] = (struct pollfd){ .fd = child__pidfd(r->child), .events = POLLIN };
	for (i = 0; i < r->pids.n; i++)
		p[n++] = (struct pollfd){ .fd = r->pids.fds[i], .events = POLLIN };
	return n;
}

struct deadlines {
	uint64_t end, interval, tick; /* ~0: never */
};

static uint64_t soonest(const struct deadlines *d)
{
	uint64_t t = d->end < d->interval ? d->end : d->interval;

	return t < d->tick ? t : d->tick;
}

/* What the clock asks for. 1: the window is over; 0; negative errno. */
static int run_clock(struct stat_run *r, struct deadlines *d, uint64_t now)
{
	int err;

	if (now >= d->tick) {
		err = live__tick(r->live);
		if (err) {
			log_error("can't read the BPF maps: %s", strerror(-err));
			return err;
		}
		d->tick = now + LIVE_TICK_MS * 1000000ull;
	}
	if (now >= d->end)
		return 1;
	if (now >= d->interval) {
		err = stat_run__interval(r);
		if (err)
			return err;
		while (d->interval <= now)
			d->interval += r->o->interval_ns;
	}
	return 0;
}

int stat_run__loop(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	struct pollfd *fds = calloc(r->pids.n + 3, sizeof(*fds));
	uint64_t now = now_ns();
	struct deadlines d = {
		.end = o->duration_ns ? now + o->duration_ns : ~0ull,
		.interval = o->interval_ns ? now + o->interval_ns : ~0ull,
		.tick = now + LIVE_TICK_MS * 1000000ull,
	};
	int n, err = 0;

	if (!fds)
		return -ENOMEM;
	while (!err) {
		n = poll(fds, fill_pollfds(r, fds), timeout_ms(now, soonest(&d)));
		if (n < 0 && errno != EINTR) {
			err = -errno;
			break;
		}
		now = now_ns();
		if (n > 0 && (fds[0].revents & POLLIN) && stat_run__take_signal(r))
			break;
		r->targets_ended = n > 0 && target_ended(r);
		if (r->targets_ended)
			break;
		if (n > 0 && (fds[1].revents & POLLIN))
			d.tick = now;
		err = run_clock(r, &d, now);
	}
	free(fds);
	return err < 0 ? err : 0;
}

int stat_run__wait_child(struct stat_run *r)
{
	struct pollfd fds[2];
	int n;

	while (!r->child_ended) {
		n = poll(fds, fill_pollfds(r, fds), -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && (fds[0].revents & POLLIN))
			stat_run__take_signal(r);
		if (n > 0)
			target_ended(r);
	}
	return 0;
}
