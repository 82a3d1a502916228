// SPDX-License-Identifier: MIT
/* What `ringside probe` makes of a kernel's types and of a user's rights. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "facts.h"
#include "kernel_shape.h"
#include "survey_run.h"

static const struct privileges all = { .bpf = true, .perfmon = true, .syslog = true };
static const struct privileges none = { 0 };

static enum ksym_state as_told(const char *name, void *arg)
{
	const enum ksym_state *state = arg;

	(void)name;
	return *state;
}

static struct kernel modern_kernel(void)
{
	struct kernel k = new_kernel();

	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	add_tracepoint(&k, "io_uring_complete", "io_ring_ctx*,*,io_uring_cqe*");
	return k;
}

static struct survey plan_for(const struct kernel *k, enum ksym_state symbols, const struct privileges *p,
	const char *release)
{
	struct survey s = { 0 };

	snprintf(s.release, sizeof(s.release), "%s", release);
	survey__plan(k->btf, as_told, &symbols, p, &s);
	return s;
}

static void test_everything_there(void **state)
{
	struct kernel k = modern_kernel();
	struct survey s = plan_for(&k, KSYM_PRESENT, &all, "6.18.0");
	size_t i;

	(void)state;
	assert_true(s.works);
	assert_string_equal(s.why, "");
	for (i = 0; i < RS_F_COUNT; i++) {
		/* planned is not yet had */
		assert_false(s.features[i].known);
		assert_int_equal(s.features[i].planned, FEATURE_FULL);
		assert_string_equal(s.features[i].needs, "");
	}
	btf__free(k.btf);
}

/* Without privileges nothing that fits is known; what does not fit is. */
static void test_without_privileges(void **state)
{
	struct kernel k = new_kernel();
	struct survey s;

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	s = plan_for(&k, KSYM_HIDDEN, &none, "6.18.0");
	assert_false(s.works);
	assert_non_null(strstr(s.why, "missing CAP_BPF and CAP_PERFMON"));
	assert_false(s.features[RS_F_SUBMIT].known);
	assert_int_equal(s.features[RS_F_SUBMIT].planned, FEATURE_FULL);
	assert_string_equal(s.features[RS_F_SUBMIT].state.why, "not tried: needs CAP_BPF and CAP_PERFMON");
	assert_string_equal(s.features[RS_F_SUBMIT].needs, "CAP_BPF and CAP_PERFMON");
	/* a hidden address is one more thing to need, and no lack of the kernel's */
	assert_false(s.features[RS_F_RING_EXIT].known);
	assert_int_equal(s.features[RS_F_RING_EXIT].planned, FEATURE_FULL);
	assert_string_equal(s.features[RS_F_RING_EXIT].needs, "CAP_BPF, CAP_PERFMON and CAP_SYSLOG");
	/* no right in the world helps here */
	assert_true(s.features[RS_F_COMPLETE].known);
	assert_int_equal(s.features[RS_F_COMPLETE].state.level, FEATURE_OFF);
	assert_string_equal(s.features[RS_F_COMPLETE].state.why,
		"this kernel has no tracepoint io_uring_complete");
	btf__free(k.btf);
}

static void test_hidden_symbols(void **state)
{
	struct privileges p = all;
	struct kernel k = modern_kernel();
	struct survey s;

	(void)state;
	s = plan_for(&k, KSYM_HIDDEN, &p, "6.18.0");
	assert_true(s.works);
	assert_string_equal(s.features[RS_F_RING_EXIT].needs, "kernel.kptr_restrict of 0 or 1");
	p.syslog = false;
	s = plan_for(&k, KSYM_HIDDEN, &p, "6.18.0");
	assert_string_equal(s.features[RS_F_RING_EXIT].needs, "CAP_SYSLOG");
	s = plan_for(&k, KSYM_ABSENT, &p, "6.18.0");
	assert_true(s.features[RS_F_RING_EXIT].known);
	assert_string_equal(s.features[RS_F_RING_EXIT].needs, "");
	btf__free(k.btf);
}

static void assert_completion_needs(const struct kernel *k, const char *release, const char *want)
{
	struct survey s = plan_for(k, KSYM_PRESENT, &all, release);

	assert_false(s.works);
	assert_non_null(strstr(s.why, "can't observe CQEs posted"));
	assert_string_equal(s.features[RS_F_COMPLETE].needs, want);
}

/* Which kernel would do, if not this one. */
static void test_needs_another_kernel(void **state)
{
	static const char newer[] = "Linux 6.1 or newer", unknown[] = "a ringside that knows this kernel";
	struct kernel k = new_kernel(), old = new_kernel_lacking("io_kiocb.cqe"),
		      bare = { .btf = btf__new_empty() };

	(void)state;
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	add_tracepoint(&k, "io_uring_complete", "u64");
	assert_completion_needs(&k, "5.10.223-cloud", newer);
	assert_completion_needs(&k, "6.0.1", newer);
	assert_completion_needs(&k, "6.1.0", unknown);
	assert_completion_needs(&k, "8.0.0-rc1", unknown);
	/* types in a file do not say whose they are */
	assert_completion_needs(&k, "", unknown);
	add_tracepoint(&old, "io_uring_submit_req", "io_kiocb*");
	assert_string_equal(plan_for(&old, KSYM_PRESENT, &all, "").features[RS_F_COMPLETE].needs, newer);
	assert_string_equal(plan_for(&bare, KSYM_PRESENT, &all, "6.1.0").features[RS_F_COMPLETE].needs,
		"CONFIG_IO_URING=y");
	btf__free(k.btf);
	btf__free(old.btf);
	btf__free(bare.btf);
}

static void test_file_that_is_none(void **state)
{
	static const char *const paths[] = { "/no/such/file", "/proc/self/exe", "/proc/version" };
	struct survey_request r = { 0 };
	struct survey *s = calloc(1, sizeof(*s));
	char errmsg[512];
	size_t i;

	(void)state;
	assert_non_null(s);
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		r.btf_file = paths[i];
		assert_true(survey__run(&r, s, errmsg, sizeof(errmsg)) < 0);
		assert_non_null(strstr(errmsg, paths[i]));
		assert_non_null(strstr(errmsg, i ? "neither BTF nor ELF" : "No such file"));
	}
	free(s);
}

static void test_file(void **state)
{
	char path[] = "/tmp/ringside-survey-XXXXXX";
	struct survey_request r = { .btf_file = path };
	struct kernel k = modern_kernel();
	struct survey *s = calloc(1, sizeof(*s));
	const void *data;
	char errmsg[512];
	__u32 size;
	size_t i;
	int fd;

	(void)state;
	assert_non_null(s);
	fd = mkstemp(path);
	data = btf__raw_data(k.btf, &size);
	assert_true(fd >= 0 && data);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(close(fd), 0);
	assert_int_equal(survey__run(&r, s, errmsg, sizeof(errmsg)), 0);
	unlink(path);
	assert_int_equal(s->depth, SURVEY_PLANNED);
	assert_true(s->works);
	/* nothing of this machine */
	assert_string_equal(s->release, "");
	for (i = 0; i < RS_F_COUNT; i++)
		assert_int_equal(s->features[i].planned, FEATURE_FULL);
	free(s);
	btf__free(k.btf);
}

static void assert_lockdown(const char *text, const char *want)
{
	char got[16] = "untouched";

	facts__lockdown(text, got, sizeof(got));
	assert_string_equal(got, want);
}

static void test_lockdown(void **state)
{
	(void)state;
	assert_lockdown("[none] integrity confidentiality", "none");
	assert_lockdown("none [integrity] confidentiality\n", "integrity");
	assert_lockdown("none integrity [confidentiality]", "confidentiality");
	assert_lockdown("", "");
	assert_lockdown("none integrity", "");
	assert_lockdown("[none", "");
	assert_lockdown("[a level that does not fit]", "");
}

static const char *option(const struct survey_option *options, const char *name)
{
	size_t i;

	for (i = 0; i < SURVEY_OPTIONS; i++)
		if (!strcmp(options[i].name, name))
			return options[i].value;
	fail_msg("no option %s", name);
	return "";
}

static void write_config(const char *path, const char *mode, const char *text)
{
	gzFile f = gzopen(path, mode);

	assert_non_null(f);
	assert_int_equal(gzputs(f, text), strlen(text));
	assert_int_equal(gzclose(f), Z_OK);
}

static void test_config(void **state)
{
	static const char text[] =
		"# CONFIG_KPROBE_EVENTS is not set\nCONFIG_IO_URING=y\n"
		"CONFIG_IO_URING_ZCRX=m\nCONFIG_BPF_JIT=m\nCONFIG_LOCALVERSION=\"-x=y\"\n\n=\nCONFIG_";
	static const char *const modes[] = { "wT", "w" }; /* as it is, gzipped */
	struct survey_option options[SURVEY_OPTIONS];
	char path[] = "/tmp/ringside-config-XXXXXX";
	size_t i;
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	for (i = 0; i < 2; i++) {
		write_config(path, modes[i], text);
		memset(options, 0, sizeof(options));
		assert_int_equal(facts__config(path, options), 0);
		assert_string_equal(option(options, "IO_URING"), "y");
		assert_string_equal(option(options, "BPF_JIT"), "m");
		assert_string_equal(option(options, "KPROBE_EVENTS"), "n");
		assert_string_equal(option(options, "FPROBE"), "n");
	}
	/* cut short: what was read of it is not the whole truth */
	assert_int_equal(truncate(path, 30), 0);
	memset(options, 0, sizeof(options));
	assert_true(facts__config(path, options) < 0);
	assert_null(options[0].name);
	unlink(path);
	assert_int_equal(facts__config(path, options), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_there),
		cmocka_unit_test(test_without_privileges),
		cmocka_unit_test(test_hidden_symbols),
		cmocka_unit_test(test_needs_another_kernel),
		cmocka_unit_test(test_file_that_is_none),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_lockdown),
		cmocka_unit_test(test_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
