/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses in user space: module, function, source line. Works from files alone, those that the process
 * has mapped and their debug files, in its mount namespace; asks no network. What can't be known stays unknown.
 */
#ifndef RINGSIDE_SYMBOLS_H
#define RINGSIDE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum frame_kind {
	FRAME_UNKNOWN,	 /* nothing was mapped there */
	FRAME_ANONYMOUS, /* mapped, from no file: code made at run time */
	FRAME_FILE,	 /* from a file that can't be read as ELF, or no more; offset is the position in it */
	FRAME_ELF, /* from an ELF file or the vDSO; offset is the virtual address that the file gives it */
};

/* NULL and 0: unknown. All strings are the frame's own. */
struct frame {
	enum frame_kind kind;
	uint64_t addr;
	char *module; /* path in the process's mount namespace, "[vdso]", "[anon]"; of FRAME_UNKNOWN NULL */
	bool module_deleted;	  /* its path is where it was */
	uint64_t offset;	  /* in module: see kind */
	char *function;		  /* from the symbol tables, as the linker knows it: C++ names stay mangled */
	uint64_t function_offset; /* of addr in function */
	char *inlined;		  /* the innermost function inlined there, which file and line belong to */
	char *file;
	int line;
};

struct symbols;

struct symbols_limits {
	size_t processes; /* whose mappings are remembered; the longest unused is forgotten */
	size_t modules;	  /* files of all of them; frames of what is beyond have no names */
	size_t awake;	  /* files whose symbol tables and DWARF are in memory at a time */
};

#define SYMBOLS_LIMITS_DEFAULT ((struct symbols_limits){ .processes = 256, .modules = 1024, .awake = 16 })

/* limits NULL: the default. 0 or negative errno. */
int symbols__new(const struct symbols_limits *limits, struct symbols **ret);
void symbols__free(struct symbols *s);

/*
 * Notes what the process has mapped now, and holds these files and their debug files, so that addresses can be
 * resolved when it is gone. What was noted of it before is replaced: to be called again after it executed another
 * program. pid is a number in our pid namespace.
 * 0; -ESRCH: there is no such process, or it ended meanwhile; -E2BIG: too many mappings; other negative errno.
 */
int symbols__remember(struct symbols *s, pid_t pid);
void symbols__forget(struct symbols *s, pid_t pid);

/*
 * Fills ret[i] for addrs[i], a stack from its innermost frame on: all but the first are return addresses, and what
 * is looked up is the call before them. Remembers the process if it was not, and once more if something is mapped
 * where nothing was. To be freed with frames__free().
 * 0; -ESRCH: not remembered, and gone; other negative errno. ret is untouched on failure.
 */
int symbols__resolve(struct symbols *s, pid_t pid, const uint64_t *addrs, size_t n, struct frame *ret);
void frames__free(struct frame *frames, size_t n);

struct stack_registers {
	uint64_t ip, sp, bp;
	bool bp_known;
};

/* A copy of a part of a stack. */
struct stack {
	uint64_t start;
	const unsigned char *bytes;
	size_t size;
};

enum unwind_end {
	UNWIND_COMPLETE, /* up to where the thread begins */
	UNWIND_CUT,	 /* as far as the copy of the stack goes, or there is room */
	UNWIND_NO_FRAMES, /* up to code of which no file says how its frames look, and that has no frame pointer */
};

/*
 * The addresses of a stack for symbols__resolve(), ret[0] is regs->ip. Each step goes by what the file with the code says
 * of its frames (.eh_frame), else by the frame pointer. x86-64 only.
 * 0; -ESRCH: the process is not remembered, and gone; other negative errno. Outputs are untouched on failure.
 */
int symbols__unwind(struct symbols *s, pid_t pid, const struct stack_registers *regs, const struct stack *st,
	uint64_t *ret, size_t max, size_t *ret_n, enum unwind_end *ret_end);

/* How many modules are held, and how many files had no place. */
size_t symbols__modules(const struct symbols *s);
size_t symbols__modules_refused(const struct symbols *s);

#define FRAME_TEXT_LEN 512

/*
 * One line for people, long names cut; returns buf:
 *   inlined in function+0x1c (file.c:12), function+0x1c [libx.so], libx.so+0x1234, [anon] 0x7f00..., 0x7f00...
 */
char *frame__text(char buf[FRAME_TEXT_LEN], const struct frame *f);

#endif
