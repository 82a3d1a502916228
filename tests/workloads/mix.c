// SPDX-License-Identifier: MIT
/*
 * Random programs of valid io_uring requests, and what each of them knows it did.
 *
 * A seed is a program: which rings it opens, how, and what it does on them. Each runs in a
 * process of its own. For each, one line of JSON: the sums, and the same for every ring in
 * the order in which they were opened.
 */
#include <sys/wait.h>

#include "mix_scenes.h"

static const struct scene {
	const char *name;
	void (*play)(struct program *p, struct mring *r);
	unsigned int weight;
} scenes[] = {
	{ "singles", scene_singles, 20 },
	{ "chains", scene_chains, 16 },
	{ "refused", scene_refused, 5 },
	{ "storm", scene_storm, 5 },
	{ "crowd", scene_crowd, 4 },
	{ "drain", scene_drain, 4 },
	{ "silent-nops", scene_silent_nops, 5 },
	{ "silent-write", scene_silent_write, 3 },
	{ "shot", scene_shot, 8 },
	{ "shoot", scene_shoot, 10 },
	{ "twins", scene_twins, 4 },
	{ "ticks", scene_ticks, 2 },
	{ "zerocopy", scene_zerocopy, 4 },
	{ "messages", scene_messages, 6 },
	{ "tags", scene_tags, 2 },
	{ "timers", scene_timers, 4 },
	{ "cancel", scene_cancel, 8 },
	{ "change", scene_change, 6 },
	{ "sync-cancel", scene_sync_cancel, 2 },
	{ "bad-entries", scene_bad_entries, 4 },
	{ "overflow", scene_overflow, 6 },
	{ "flood", scene_flood, 5 },
	{ "feed", scene_feed, 6 },
	{ "reap", scene_reap, 5 },
	{ "quiesce", scene_quiesce, 3 },
	{ "resize", scene_resize, 5 },
	{ "impossible", scene_impossible, 4 },
	{ "close", scene_close, 5 },
};

#define MIX_WORKERS 128
#define N_SCENES (sizeof(scenes) / sizeof(scenes[0]))

struct mix_options {
	uint64_t seed, count;
	unsigned int steps; /* 0: as many as the seed says */
	uint64_t scenes;    /* a bit for each that may be played */
	const char *dir, *out;
	bool verbose;
};

/* What a program tells its parent. */
struct outcome {
	pid_t pid;
	uint32_t n_truths;
	struct mix_truth truths[MIX_RINGS];
};

/* --- rings --------------------------------------------------------------------- */
static uint32_t choose_mode(struct program *p)
{
	uint32_t dice = below(p, 100);

	if (dice < 30)
		return 0;
	if (dice < 45)
		return IORING_SETUP_COOP_TASKRUN;
	if (dice < 55)
		return IORING_SETUP_SINGLE_ISSUER;
	if (dice < 85)
		return IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
	return IORING_SETUP_SQPOLL;
}

static uint32_t choose_flags(struct program *p)
{
	uint32_t flags = choose_mode(p);

	if (flags & (IORING_SETUP_COOP_TASKRUN | IORING_SETUP_DEFER_TASKRUN) && chance(p, 40))
		flags |= IORING_SETUP_TASKRUN_FLAG;
	if (flags & IORING_SETUP_SQPOLL && chance(p, 30))
		flags |= IORING_SETUP_SINGLE_ISSUER;
	if (chance(p, 50))
		flags |= IORING_SETUP_SUBMIT_ALL;
	if (chance(p, 40))
		flags |= MIX_SETUP_NO_SQARRAY;
	if (chance(p, 20))
		flags |= IORING_SETUP_SQE128;
	if (chance(p, 20))
		flags |= IORING_SETUP_CQE32;
	if (chance(p, 15))
		flags |= IORING_SETUP_R_DISABLED;
	if (chance(p, 15))
		flags |= MIX_SETUP_NO_MMAP;
	if (flags & MIX_SETUP_NO_MMAP && chance(p, 60))
		flags |= MIX_SETUP_REGISTERED_FD_ONLY;
	return flags | IORING_SETUP_CLAMP;
}

static struct mix_truth *program__truth(struct program *p)
{
	if (p->n_truths == MIX_RINGS)
		die(1, "too many rings");
	return &p->truths[p->n_truths++];
}

static void register_things(struct program *p, struct mring *r)
{
	int files[MIX_FILE_SLOTS] = { p->file, -1, -1, -1, -1, -1, -1, -1 };
	struct iovec iov = { p->file_buf, MIX_BUF_BYTES };
	struct io_uring_rsrc_update up = { .offset = ~0u, .data = (uint64_t)r->fd };
	unsigned int workers[2] = { MIX_WORKERS, 0 };

	/* else a few reads that wait on workers, as parts of chains, keep all others from being run */
	mring__register(r, IORING_REGISTER_IOWQ_MAX_WORKERS, workers, 2);
	if (chance(p, 50))
		r->has_files = !mring__register(r, IORING_REGISTER_FILES, files, MIX_FILE_SLOTS);
	if (chance(p, 40))
		r->has_buffers = !mring__register(r, IORING_REGISTER_BUFFERS, &iov, 1);
	if (r->fd >= 0 && chance(p, 20) && mring__register(r, IORING_REGISTER_RING_FDS, &up, 1) == 1) {
		r->enter_fd = (int)up.offset;
		r->enter_flags = IORING_ENTER_REGISTERED_RING;
	}
}

static void program__open_ring(struct program *p, struct mring *r)
{
	struct io_uring_params params = { .flags = choose_flags(p), .sq_thread_idle = 1 + below(p, 3) };
	uint32_t entries = 1u << below(p, 8);
	struct mring *friend = &p->rings[below(p, MIX_LIVE_RINGS)];
	struct mix_truth *t = program__truth(p);
	int err;

	params.cq_entries = entries << below(p, 3);
	if (params.cq_entries < 8)
		params.cq_entries = 8;
	params.flags |= IORING_SETUP_CQSIZE;
	if (friend->open && friend->fd >= 0 && chance(p, 40)) {
		params.flags |= IORING_SETUP_ATTACH_WQ;
		params.wq_fd = (uint32_t) friend->fd;
	}
	err = mring__open(r, t, entries, &params);
	if (err) {
		params.flags = IORING_SETUP_CQSIZE;
		err = mring__open(r, t, entries, &params);
	}
	if (err)
		die(1, "io_uring_setup: %s", strerror(-err));
	r->shuffle = below(p, entries);
	say(p, "  ring %u: opened, %u SQ entries, %u CQ entries, flags 0x%x", ring__index(p, r),
		r->sq_entries, r->cq_entries, r->flags);
	if (mring__has(r, IORING_SETUP_R_DISABLED) &&
		mring__register(r, IORING_REGISTER_ENABLE_RINGS, NULL, 0))
		die(1, "a ring can't be enabled");
	register_things(p, r);
}

/* Which opcodes the kernel knows, from a ring that does nothing else. */
static void program__probe(struct program *p)
{
	struct io_uring_params params = { 0 };
	struct io_uring_probe *probe = arena__take(p, sizeof(*probe) + 256 * sizeof(probe->ops[0]));
	struct mring r;
	int err = mring__open(&r, program__truth(p), 1, &params);

	if (err)
		die(err == -ENOSYS || err == -EPERM ? WORK_SKIP : 1, "io_uring_setup: %s", strerror(-err));
	if (mring__register(&r, IORING_REGISTER_PROBE, probe, 256))
		die(WORK_SKIP, "this kernel can't tell which opcodes it knows");
	p->last_op = probe->last_op;
	mring__close(&r);
}

/* --- a program --------------------------------------------------------------------- */
static const struct scene *choose_scene(struct program *p, uint64_t allowed)
{
	uint32_t total = 0, at;
	size_t i;

	for (i = 0; i < N_SCENES; i++)
		total += allowed >> i & 1 ? scenes[i].weight : 0;
	at = below(p, total);
	for (i = 0; i < N_SCENES; i++) {
		if (!(allowed >> i & 1))
			continue;
		if (at < scenes[i].weight)
			break;
		at -= scenes[i].weight;
	}
	return &scenes[i];
}

/* Each step has its own dice, so that leaving scenes out changes the others little. */
static void program__step(struct program *p, const struct mix_options *o)
{
	struct mring *r;
	const struct scene *s;

	p->rng.state = p->seed * 0x2545f4914f6cdd1dull + p->step;
	r = &p->rings[below(p, MIX_LIVE_RINGS)];
	s = choose_scene(p, o->scenes);
	if (!r->open) {
		/* a last ring, if need be, stays for all that is left */
		if (p->n_truths == MIX_RINGS)
			return;
		program__open_ring(p, r);
	}
	say(p, "step %u: %s on ring %u", p->step, s->name, ring__index(p, r));
	s->play(p, r);
}

/* Closes the rings, or leaves that to the kernel. */
static void program__finish(struct program *p)
{
	bool leave = chance(p, 30);
	char name[32];

	for (unsigned int i = 0; i < MIX_LIVE_RINGS; i++) {
		struct mring *r = &p->rings[i];

		if (!r->open)
			continue;
		say(p, "end of ring %u", i);
		if (!leave) {
			scene_close(p, r);
			continue;
		}
		ring__submit(p, r);
		add_mutes(p, r);
		ring__reap(p, r);
		ring__settle(p, r);
		ring__quiesce_aux(p, r);
		ring__abandon(p, r);
	}
	for (uint32_t i = 0; i < p->n_names; i++) {
		snprintf(name, sizeof(name), "mix-%d-%u", getpid(), i);
		if (unlinkat(p->dir, name, 0))
			unlinkat(p->dir, name, AT_REMOVEDIR);
	}
}

static void program__run(struct program *p, const struct mix_options *o)
{
	unsigned int steps;

	p->reqs = zalloc(MIX_REQS, sizeof(p->reqs[0]));
	p->groups = zalloc(MIX_REQS, sizeof(p->groups[0]));
	p->open_groups = zalloc(MIX_REQS, sizeof(p->open_groups[0]));
	p->arena = shared_alloc(MIX_ARENA);
	p->file_buf = block_alloc(MIX_BUF_BYTES / WORK_BLOCK);
	p->verbose = o->verbose;
	p->rng.state = p->seed;
	p->noise.state = ~p->seed;
	program__probe(p);
	steps = o->steps ? o->steps : 5 + below(p, 30);
	for (p->step = 1; p->step <= steps; p->step++)
		program__step(p, o);
	p->rng.state = ~p->seed;
	program__finish(p);
}

/* --- all of them --------------------------------------------------------------------- */
static void print_outcome(struct outcome *out, uint64_t seed, FILE *f)
{
	struct mix_truth *sum = zalloc(1, sizeof(*sum));

	for (uint32_t i = 0; i < out->n_truths; i++)
		mix_truth__add(sum, &out->truths[i]);
	fprintf(f, "{\"seed\":%llu,\"pid\":%d,", (unsigned long long)seed, out->pid);
	mix_truth__print(sum, f);
	fputs(",\"rings\":[", f);
	for (uint32_t i = 0; i < out->n_truths; i++) {
		fputs(i ? ",{" : "{", f);
		mix_truth__print_ring(&out->truths[i], f);
		mix_truth__print(&out->truths[i], f);
		fputs("}", f);
	}
	fputs("]}\n", f);
	free(sum);
}

/* Runs a program in a process of its own. */
static void run_seed(const struct program *proto, uint64_t seed, const struct mix_options *o, FILE *f)
{
	struct outcome *out = shared_alloc(sizeof(*out));
	int status;
	pid_t pid;

	fflush(f);
	pid = fork();
	if (pid < 0)
		die(1, "fork: %s", strerror(errno));
	if (pid == 0) {
		struct program p = *proto;

		p.seed = seed;
		p.truths = out->truths;
		program__run(&p, o);
		out->n_truths = p.n_truths;
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		die(1, "waitpid: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == WORK_SKIP)
		exit(WORK_SKIP);
	if (status)
		die(1, "seed %llu failed, status 0x%x", (unsigned long long)seed, status);
	out->pid = pid;
	print_outcome(out, seed, f);
	munmap(out, sizeof(*out));
}

/* A file without a name, by every road that leads to it. */
static void open_files(struct program *p, const char *dir)
{
	struct work w = { .dir = dir };
	char path[32];

	p->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		die(1, "%s: %s", dir, strerror(errno));
	p->file = work__file(&w, MIX_FILE_BYTES, O_RDWR);
	p->scratch = work__file(&w, MIX_FILE_BYTES, O_RDWR);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->file);
	p->direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

__attribute__((noreturn)) static void usage(int status)
{
	FILE *f = status ? stderr : stdout;

	fprintf(f,
		"usage: %s --seed N [--count PROGRAMS] [--dir DIR] [--out FILE] [--verbose]\n"
		"       [--steps N] [--only SCENE,...] [--without SCENE,...]\n"
		"scenes:",
		program_invocation_short_name);
	for (size_t i = 0; i < N_SCENES; i++)
		fprintf(f, " %s", scenes[i].name);
	fputc('\n', f);
	exit(status);
}

static uint64_t scene_mask(char *list)
{
	uint64_t mask = 0;

	for (char *save = NULL, *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		size_t i = 0;

		while (i < N_SCENES && strcmp(scenes[i].name, s))
			i++;
		if (i == N_SCENES)
			die(2, "no scene %s", s);
		mask |= 1ull << i;
	}
	return mask;
}

static struct mix_options parse(int argc, char **argv)
{
	static const struct option longs[] = { { "seed", 1, NULL, 's' }, { "count", 1, NULL, 'c' },
		{ "steps", 1, NULL, 'n' }, { "only", 1, NULL, 'O' }, { "without", 1, NULL, 'w' },
		{ "dir", 1, NULL, 'd' }, { "out", 1, NULL, 'o' }, { "verbose", 0, NULL, 'v' },
		{ "help", 0, NULL, 'h' }, { 0 } };
	const char *tmp = getenv("TMPDIR");
	struct mix_options o = { .count = 1, .scenes = ~0ull, .dir = tmp && *tmp ? tmp : "/tmp" };
	bool seeded = false;
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o.seed = work_number("--seed", optarg, UINT64_MAX / 2);
			seeded = true;
			break;
		case 'c':
			o.count = work_number("--count", optarg, 1000000);
			break;
		case 'n':
			o.steps = (unsigned int)work_number("--steps", optarg, 1000);
			break;
		case 'O':
			o.scenes &= scene_mask(optarg);
			break;
		case 'w':
			o.scenes &= ~scene_mask(optarg);
			break;
		case 'd':
			o.dir = optarg;
			break;
		case 'o':
			o.out = optarg;
			break;
		case 'v':
			o.verbose = true;
			break;
		default:
			usage(c == 'h' ? 0 : 2);
		}
	}
	if (optind != argc || !seeded || !(o.scenes << (64 - N_SCENES)))
		usage(2);
	return o;
}

int main(int argc, char **argv)
{
	struct mix_options o = parse(argc, argv);
	struct program proto = { 0 };
	FILE *f = o.out ? fopen(o.out, "we") : stdout;

	if (!f)
		die(1, "%s: %s", o.out, strerror(errno));
	open_files(&proto, o.dir);
	for (uint64_t i = 0; i < o.count; i++)
		run_seed(&proto, o.seed + i, &o, f);
	if (fflush(f) || ferror(f) || (o.out && fclose(f)))
		die(1, "%s: %s", o.out ? o.out : "stdout", strerror(errno));
	return 0;
}
