/* SPDX-License-Identifier: MIT */
/* Reads that hang in a worker for as long as they are told to: their buffer is on a page that is not there yet. */
#ifndef SERVE_STUCK_H
#define SERVE_STUCK_H

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "work.h"

struct stuck {
	int uffd;
	int file;
	char *page;
	uint64_t n;
};

static inline void stuck__begin(struct stuck *s)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	s->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (s->uffd < 0)
		die(WORK_SKIP, "userfaultfd: %s", strerror(errno));
	s->page = mmap(NULL, WORK_BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->page == MAP_FAILED)
		die(1, "out of memory");
	reg.range.start = (uintptr_t)s->page;
	reg.range.len = WORK_BLOCK;
	if (ioctl(s->uffd, UFFDIO_API, &api) || ioctl(s->uffd, UFFDIO_REGISTER, &reg))
		die(WORK_SKIP, "userfaultfd: %s", strerror(errno));
	s->file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (s->file < 0)
		die(1, "/proc/self/exe: %s", strerror(errno));
}

static inline void stuck__add(struct stuck *s, struct wring *r, uint64_t n)
{
	if (!s->page)
		stuck__begin(s);
	if (!s->n && madvise(s->page, WORK_BLOCK, MADV_DONTNEED))
		die(1, "madvise: %s", strerror(errno));
	for (uint64_t i = 0; i < n; i++) {
		unsigned int slot;
		struct io_uring_sqe *sqe = wring__sqe(r, &slot);

		io_uring_prep_read(sqe, s->file, s->page, 1, 0);
		sqe->flags |= IOSQE_ASYNC;
		wring__queue(r, sqe, slot, SLOT_REQUEST);
	}
	wring__submit(r, 0);
	s->n += n;
}

/* The page comes; the reads are still to be reaped. */
static inline void stuck__end(struct stuck *s)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)s->page, WORK_BLOCK } };

	if (s->n && ioctl(s->uffd, UFFDIO_ZEROPAGE, &zero))
		die(1, "UFFDIO_ZEROPAGE: %s", strerror(errno));
	s->n = 0;
}

#endif
