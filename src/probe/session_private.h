/* SPDX-License-Identifier: MIT */
/* The parts of a session; private to session*.c. */
#ifndef RINGSIDE_SESSION_PRIVATE_H
#define RINGSIDE_SESSION_PRIVATE_H

#include "session.h"

struct bpf_link;
struct ring_buffer;
struct ringside_bpf;

#define LIBBPF_LOG_BYTES (64u << 10)
/* Complaints only, without the instructions they are about: a line or a few. */
#define VERIFIER_LOG_BYTES (16u << 10)

struct session {
	struct ringside_bpf *skel;
	struct plan plan;
	struct session_maps maps;
	struct session_tables tables;
	struct bpf_link *links[RS_F_COUNT];
	struct bpf_link *begins[RS_F_COUNT]; /* of variants that have two programs */
	struct bpf_link *also[RS_F_COUNT][COMPANIONS];
	struct ring_buffer *wakeups; /* and stacks */
	bool woken;
	session_stack_fn on_stack;
	void *on_stack_arg;
	bool scan;
	bool scan_in_part;   /* iterators do not meet all processes whose rings are watched */
	uint32_t pid_ns;     /* ours, 0: the initial one */
	double unwatched_ns; /* what a NOP takes without our programs; 0: not known */
	struct cost_rates rates;
	bool rates_known;
	uint32_t setup_flags;
	bool no_watch; /* the kernel refuses the programs that it takes */
	bool no_notes; /* the kernel refuses programs that note files and stacks */
	const struct span_place *spans;
	size_t n_spans;
	struct bpf_link **span_links; /* two a span; or of all of a file together, by descriptor: */
	int *span_fds;
	size_t n_span_links, n_span_fds;
	uint32_t sample;
	char *log; /* what libbpf said */
	char *verifier_log;
	const char **refused; /* by variant */
	char (*refused_text)[192];
};

/* 0 if what is essential is there, or need not be; else errmsg says what is not, and why. */
int session__check_essential(const struct session *s, const struct session_options *o, char *errmsg,
	size_t errsize);

/*
 * Chooses the programs for this kernel and loads them; the maps exist then. 0, or negative errno and
 * one line in errmsg.
 */
int session__load(struct session *s, const struct session_options *o, char *errmsg, size_t errsize);

/* Unmaps, detaches and unloads everything. */
void session__unload(struct session *s);

/* Whether moves of CQ heads are to be seen, and can be. */
static inline bool session__can_watch(const struct session *s, const struct session_options *o)
{
	return o->watch_heads && !s->no_watch;
}

/* Files that are noted at a time; once half of them are there, they are read out. */
#define FILES_MAX 1024u

static inline bool session__notes_files(const struct session *s)
{
	return s->plan.state[RS_F_FILES].level != FEATURE_OFF && !s->no_notes;
}

/* Stacks on their way to us; a power of 2. */
#define STACKS_BYTES (512u << 10)

static inline bool session__takes_stacks(const struct session *s)
{
	return s->plan.state[RS_F_CALL_SITES].level != FEATURE_OFF && !s->no_notes;
}

/* Whether the block layer is observed, as far as it is known before it is attached to. */
static inline bool session__sees_block(const struct session *s)
{
	return s->plan.chosen[RS_F_BLOCK] != NULL;
}

/* Decides the sizes of the maps, between opening the object and loading it. 0 or negative errno. */
int session__size_maps(struct session *s, const struct session_options *o);
/* Maps the tables into memory and fills them, after loading. 0 or negative errno. */
int session__set_up_tables(struct session *s);
void session__unmap_tables(struct session *s);
/* Makes entries free. Last-in first-out, so that the highest is pushed first: small numbers are used first. */
int session__push_free(int fd, uint32_t first, uint32_t end);

/*
 * Spans (session_spans.c). Whether programs for them are loaded: they were asked for, or everything is tried.
 */
bool session__wants_spans(const struct session_options *o);
/* Why the kernel has no uprobes for us, in words; "": it has. */
void session__ask_uprobes(char *why, size_t size);
/* Whether the programs have been chosen, for the spans that there are. */
bool session__has_spans(const struct session *s);
/* Decides the sizes of their maps, or that there are none. 0 or negative errno. */
int session__size_spans(struct session *s);
/* Between opening the object and loading it. */
void session__prepare_spans(struct session *s);
int session__fill_spans(struct session *s);
/* 0, or negative errno and one line in errmsg. */
int session__attach_spans(struct session *s, char *errmsg, size_t errsize);
void session__detach_spans(struct session *s);

/* The entry, beyond those in use, of the ring that our own cost is measured on. */
static inline uint32_t session__own_ring(const struct session *s)
{
	return s->tables.n_rings;
}

/* Before the programs are attached, and when they count: what does watching a request cost? */
void session__measure_unwatched(struct session *s);
void session__measure_watched(struct session *s);

/* Our process in the initial pid namespace. 0 or negative errno. */
int session__own_pid(struct session *s, uint32_t *ret);

/*
 * Makes the processes of o->targets those whose rings are watched; the programs have to be attached.
 * 0, or negative errno and one line in errmsg.
 */
int session__add_targets(struct session *s, const struct session_options *o, char *errmsg, size_t errsize);

#endif
