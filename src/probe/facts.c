// SPDX-License-Identifier: MIT
#include "facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "parse.h"

static const char *const option_names[] = {
	"IO_URING",
	"BPF_SYSCALL",
	"BPF_JIT",
	"BPF_EVENTS",
	"TRACEPOINTS",
	"DEBUG_INFO_BTF",
	"KALLSYMS",
	"FUNCTION_TRACER",
	"DYNAMIC_FTRACE_WITH_DIRECT_CALLS",
	"KPROBE_EVENTS",
	"FPROBE",
	"SECURITY_LOCKDOWN_LSM",
};
_Static_assert(sizeof(option_names) / sizeof(option_names[0]) == SURVEY_OPTIONS, "each has a place");

/* The first line of a small file, without its newline. 0 or negative errno. */
static int read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	int err = 0;

	if (!f)
		return -errno;
	if (!fgets(buf, (int)size, f))
		err = ferror(f) ? -EIO : -ENODATA;
	fclose(f);
	if (!err)
		buf[strcspn(buf, "\n")] = '\0';
	return err;
}

static int read_sysctl(const char *path)
{
	uint64_t n;
	char buf[32];

	if (read_line(path, buf, sizeof(buf)) || parse_u64(buf, 0, 1000, &n))
		return SURVEY_UNKNOWN;
	return (int)n;
}

bool facts__is_x86_guest(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & 1u << 31;
#else
	return false;
#endif
}

void facts__lockdown(const char *text, char *buf, size_t size)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	buf[0] = '\0';
	if (close && (size_t)(close - open) <= size)
		snprintf(buf, size, "%.*s", (int)(close - open - 1), open + 1);
}

void facts__read_lockdown(char *buf, size_t size)
{
	char text[128];

	buf[0] = '\0';
	if (!read_line("/sys/kernel/security/lockdown", text, sizeof(text)))
		facts__lockdown(text, buf, size);
}

/* "CONFIG_NAME=value", "# CONFIG_NAME is not set" */
static void note_option(char *line, struct survey_option *options)
{
	char *value = strchr(line, '=');
	size_t i;

	if (strncmp(line, "CONFIG_", 7) || !value)
		return;
	*value++ = '\0';
	value[strcspn(value, "\n")] = '\0';
	for (i = 0; i < SURVEY_OPTIONS; i++)
		if (!strcmp(options[i].name, line + 7) && strlen(value) < sizeof(options[i].value))
			memcpy(options[i].value, value, strlen(value) + 1);
}

int facts__config(const char *path, struct survey_option options[SURVEY_OPTIONS])
{
	struct survey_option found[SURVEY_OPTIONS];
	char line[1024];
	gzFile f;
	size_t i;
	int err;

	errno = ENOMEM;
	f = gzopen(path, "re");
	if (!f)
		return -errno;
	for (i = 0; i < SURVEY_OPTIONS; i++)
		/* an option that a configuration does not name is not set */
		found[i] = (struct survey_option){ .name = option_names[i], .value = "n" };
	while (gzgets(f, line, sizeof(line)))
		note_option(line, found);
	gzerror(f, &err);
	gzclose(f);
	if (err != Z_OK && err != Z_STREAM_END)
		return err == Z_ERRNO ? -EIO : -EINVAL;
	memcpy(options, found, sizeof(found));
	return 0;
}

static void find_config(const char *release, struct survey_system *s)
{
	static const char *const heads[] = { "/boot/config-", "/usr/lib/modules/" }, *const tails[] = { "",
		"/config" };
	char path[sizeof(s->config)] = "/proc/config.gz";
	size_t i;
	int n;

	for (i = 0; facts__config(path, s->options); i++) {
		if (i == sizeof(heads) / sizeof(heads[0]))
			return;
		n = snprintf(path, sizeof(path), "%s%s%s", heads[i], release, tails[i]);
		if (n < 0 || (size_t)n >= sizeof(path))
			return;
	}
	memcpy(s->config, path, sizeof(path));
}

/* Asks for a ring without saying where its parameters are: who may have one hears so. */
static void ask_io_uring(struct fact *f)
{
	long fd = syscall(SYS_io_uring_setup, 1, NULL);

	if (fd >= 0)
		close((int)fd);
	f->answer = fd >= 0 || errno == EFAULT ? ANSWER_YES : ANSWER_NO;
	if (f->answer == ANSWER_NO)
		snprintf(f->why, sizeof(f->why), "io_uring_setup: %s", strerror(errno));
}

void facts__read(const char *release, struct survey_system *s)
{
	s->btf = !access("/sys/kernel/btf/vmlinux", R_OK);
	facts__read_lockdown(s->lockdown, sizeof(s->lockdown));
	s->unprivileged_bpf_disabled = read_sysctl("/proc/sys/kernel/unprivileged_bpf_disabled");
	s->io_uring_disabled = read_sysctl("/proc/sys/kernel/io_uring_disabled");
	s->kptr_restrict = read_sysctl("/proc/sys/kernel/kptr_restrict");
	ask_io_uring(&s->io_uring);
	find_config(release, s);
}
