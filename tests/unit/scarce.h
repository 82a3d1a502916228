/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail when told to. Include it in one file of a test built with
 * AddressSanitizer: the real work stays with its allocator, so leaks are still found.
 */
#ifndef RINGSIDE_TEST_SCARCE_H
#define RINGSIDE_TEST_SCARCE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t n, size_t size);
void *__interceptor_realloc(void *p, size_t size);
void *__interceptor_reallocarray(void *p, size_t n, size_t size);
char *__interceptor_strdup(const char *s);

static bool scarce;
static size_t allocations_left;

/* From now on n allocations succeed and all later ones fail. */
static inline void scarce__begin(size_t n)
{
	allocations_left = n;
	scarce = true;
}

static inline void scarce__end(void)
{
	scarce = false;
}

static bool allocation_fails(void)
{
	if (!scarce)
		return false;
	if (allocations_left == 0) {
		errno = ENOMEM;
		return true;
	}
	allocations_left--;
	return false;
}

void *malloc(size_t size)
{
	return allocation_fails() ? NULL : __interceptor_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return allocation_fails() ? NULL : __interceptor_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return allocation_fails() ? NULL : __interceptor_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	return allocation_fails() ? NULL : __interceptor_reallocarray(p, n, size);
}

char *strdup(const char *s)
{
	return allocation_fails() ? NULL : __interceptor_strdup(s);
}

#endif
