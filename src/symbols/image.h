/* SPDX-License-Identifier: MIT */
/* An ELF file in memory. It may be anybody's file: nothing in it is believed. */
#ifndef RINGSIDE_IMAGE_H
#define RINGSIDE_IMAGE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct image {
	Elf *elf; /* NULL: none */
	void *bytes;
	size_t size;
	bool mapped; /* bytes are a file, which may shrink: to be read inside of guard__run() only */
};

/* The bytes of a section, a note, a note, a name: in the image, valid until it is closed. */
struct image_part {
	const void *bytes;
	size_t size;
};

/* O_PATH. With `inside` all links on the way are below dir, as for whom dir is the root. */
int image__open_path(int dir, const char *path, bool inside);
/*
 * Opens a regular file for reading without waiting and without the side effects that devices have.
 * A file descriptor; -EINVAL: not a regular file; other negative errno.
 */
int image__open_file(int dir, const char *path, bool inside);

/* Maps the file; fd stays the caller's and is no longer needed. 0; -ENOEXEC: not ELF; other negative errno. */
int image__map(int fd, struct image *ret);
/* Takes bytes, malloc'ed, also on failure. 0; -ENOEXEC; other negative errno. */
int image__take(void *bytes, size_t size, struct image *ret);
/* A closed or zeroed image is fine. */
void image__close(struct image *img);
/* Gives the memory back but for what libelf holds: after guard__run() was left early. */
void image__abandon(struct image *img);

/* Part of the file that is loaded as executable code. 0; -ENOENT: offset or vaddr are in none. */
int image__to_vaddr(const struct image *img, uint64_t file_offset, uint64_t *ret_vaddr);
int image__to_file_offset(const struct image *img, uint64_t vaddr, uint64_t *ret_file_offset);

/* A section with contents. 0; -ENOENT. */
int image__section(const struct image *img, const char *name, struct image_part *ret);
bool image__has_section(const struct image *img, const char *name);
/* NULL: it has none. */
const char *image__section_name(const struct image *img, size_t section);
/* 0; -ENOENT. */
int image__build_id(const struct image *img, struct image_part *ret);
bool image__same_build_id(const struct image *a, const struct image *b);

/* A function in a symbol table. */
struct elf_function {
	const char *name; /* with its version, if it has one */
	uint64_t vaddr, size_bytes;
	size_t section;
	unsigned char binding; /* STB_... */
	bool indirect;	       /* its code chooses the function */
};

/*
 * Calls fn for each function defined in the symbol tables, until it returns other than 0. 0, or what fn
 * returned. Only the first IMAGE_SYMBOLS_MAX symbols of each table are looked at.
 */
int image__functions(const struct image *img, int (*fn)(const struct elf_function *f, void *arg), void *arg);

#define IMAGE_SYMBOLS_MAX (8U << 20)

#endif
