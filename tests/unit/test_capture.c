// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "block.h"
#include "captured.h"
#include "coding.h"
#include "scarce.h"
#include "schema.h"

static struct capture_writer *writer(int fd)
{
	struct capture_writer *w;

	assert_int_equal(capture_writer__open(fd, NULL, &w), 0);
	return w;
}

static void test_codings(void **state)
{
	static const uint64_t values[] = { 0, 1, 63, 64, 127, 128, 1ull << 32, INT64_MAX, 1ull << 63,
		UINT64_MAX - 1, UINT64_MAX };
	const size_t n = sizeof(values) / sizeof(values[0]);
	uint8_t buf[VARINT_MAX_BYTES];

	(void)state;
	for (int coding = 0; coding < CAPTURE_CODINGS; coding++) {
		uint64_t wrote = 0, reads = 0, v;

		for (size_t i = 0; i < 2 * n; i++) {
			uint64_t want = values[i < n ? i : 2 * n - 1 - i];
			struct span s = { buf, varint__put(buf, coded(coding, want, &wrote)) };

			assert_int_equal(varint__get(&s, &v), 0);
			assert_ptr_equal(s.p, s.end);
			assert_true(decoded(coding, v, &reads) == want);
		}
	}
}

static void test_varint_bad(void **state)
{
	static const uint8_t endless[] = { 0x80, 0x80 },
			     long_one[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	struct span s = { endless, endless + sizeof(endless) };
	uint64_t v = 7;

	(void)state;
	assert_int_equal(varint__get(&s, &v), -EBADMSG);
	s = (struct span){ long_one, long_one + sizeof(long_one) };
	assert_int_equal(varint__get(&s, &v), -EBADMSG);
	s = (struct span){ NULL, NULL };
	assert_int_equal(varint__get(&s, &v), -EBADMSG);
	assert_int_equal(v, 7);
}

/* More than a block, of all kinds. */
static void test_round_trip(void **state)
{
	const uint64_t n = 60000;
	uint64_t first_ns, last_ns;
	struct capture_reader *r;
	struct capture_writer *w;
	int fd = captured__file();
	char errmsg[128];

	(void)state;
	w = writer(fd);
	captured__add(w, 1, 0, n);
	assert_int_equal(capture_writer__finish(w), 0);
	assert_true(capture_writer__written(w).blocks > 2);
	assert_int_equal(capture_writer__written(w).records, n);
	capture_writer__free(w);

	r = captured__open(fd);
	assert_true(capture_reader__is_whole(r, errmsg, sizeof(errmsg)));
	assert_int_equal(capture_reader__n_records(r), n);
	assert_int_equal(captured__expect(r, 1, 0), n);
	assert_true(capture_reader__times(r, &first_ns, &last_ns));
	assert_in_range(first_ns, 1000000, 1005000);
	assert_in_range(last_ns, 1000000 + 1000 * (n - 6), 1005000 + 1000 * n);
	capture_reader__free(r);
	close(fd);
}

static void test_empty(void **state)
{
	json_t *facts = json_pack("{s:s}", "kernel", "6.18");
	struct capture_reader *r;
	struct capture_writer *w;
	int fd = captured__file();
	char errmsg[128];
	uint64_t ns;

	(void)state;
	assert_int_equal(capture_writer__open(fd, facts, &w), 0);
	assert_int_equal(capture_writer__finish(w), 0);
	capture_writer__free(w);
	r = captured__open(fd);
	assert_true(capture_reader__is_whole(r, errmsg, sizeof(errmsg)));
	assert_true(json_equal((json_t *)capture_reader__facts(r), facts));
	assert_false(capture_reader__times(r, &ns, &ns));
	assert_int_equal(captured__expect(r, 1, 0), 0);
	assert_null(capture_reader__string(r, 0, NULL));
	capture_reader__free(r);
	json_decref(facts);
	close(fd);
}

static void test_strings(void **state)
{
	static char long_one[70000];
	uint64_t a, b, c, again, zeros, n_long;
	struct capture_reader *r;
	struct capture_writer *w;
	int fd = captured__file();
	size_t n;

	(void)state;
	w = writer(fd);
	assert_int_equal(capture_writer__intern(w, "/data/wal", 9, &a), 0);
	assert_int_equal(capture_writer__intern(w, "", 0, &b), 0);
	captured__add(w, 2, 0, 10);
	assert_int_equal(capture_writer__flush(w), 0);
	assert_int_equal(capture_writer__intern(w, "/data/wal", 9, &again), 0);
	assert_int_equal(again, a);
	assert_int_equal(capture_writer__intern(w, "a\0b", 3, &zeros), 0);
	assert_int_equal(capture_writer__intern(w, "a\0c", 3, &c), 0);
	assert_int_not_equal(zeros, c);
	memset(long_one, 'x', sizeof(long_one));
	assert_int_equal(capture_writer__intern(w, long_one, sizeof(long_one), &n_long), 0);
	assert_int_equal(capture_writer__finish(w), 0);
	capture_writer__free(w);

	r = captured__open(fd);
	/* asked for out of turn, and before any block has been read */
	assert_memory_equal(capture_reader__string(r, c, &n), "a\0c", 4);
	assert_int_equal(n, 3);
	assert_string_equal(capture_reader__string(r, a, &n), "/data/wal");
	assert_string_equal(capture_reader__string(r, b, &n), "");
	assert_non_null(capture_reader__string(r, n_long, &n));
	assert_int_equal(n, 65535);
	assert_null(capture_reader__string(r, n_long + 1, NULL));
	assert_null(capture_reader__string(r, CAPTURE_UNKNOWN, NULL));
	assert_int_equal(captured__expect(r, 2, 0), 10);
	capture_reader__free(r);
	close(fd);
}

/* A string that is asked for while a batch of another block is being looked at. */
static void test_batch_outlives_strings(void **state)
{
	uint64_t values[CAPTURE_LOSS_COLUMNS] = { 1, 2, 3, 4 }, late;
	struct capture_reader *r;
	struct capture_writer *w;
	struct capture_batch b;
	int fd = captured__file();
	char errmsg[128];

	(void)state;
	w = writer(fd);
	assert_int_equal(capture_writer__add(w, CAPTURE_LOSS, values, 1), 0);
	assert_int_equal(capture_writer__flush(w), 0);
	assert_int_equal(capture_writer__intern(w, "later", 5, &late), 0);
	values[CAPTURE_LOSS_records] = 5;
	assert_int_equal(capture_writer__add(w, CAPTURE_LOSS, values, 2), 0);
	assert_int_equal(capture_writer__finish(w), 0);
	capture_writer__free(w);
	r = captured__open(fd);
	assert_int_equal(capture_reader__next(r, &b, errmsg, sizeof(errmsg)), 1);
	assert_string_equal(capture_reader__string(r, late, NULL), "later");
	assert_int_equal(b.kinds[CAPTURE_LOSS].columns[CAPTURE_LOSS_records][0], 4);
	capture_reader__free(r);
	close(fd);
}

static void test_seek(void **state)
{
	struct capture_reader *r;
	struct capture_writer *w;
	int fd = captured__file();

	(void)state;
	w = writer(fd);
	for (uint64_t i = 0; i < 10; i++) {
		captured__add(w, 3, 100 * i, 100 * (i + 1));
		assert_int_equal(capture_writer__flush(w), 0);
	}
	assert_int_equal(capture_writer__finish(w), 0);
	capture_writer__free(w);
	r = captured__open(fd);
	/* record 450 is in the fifth block, whose first is 400 */
	capture_reader__seek(r, 1000000 + 1000 * 450);
	assert_int_equal(captured__expect(r, 3, 400), 1000);
	capture_reader__seek(r, 0);
	assert_int_equal(captured__expect(r, 3, 0), 1000);
	capture_reader__seek(r, UINT64_MAX);
	assert_int_equal(captured__expect(r, 3, 1000), 1000);
	capture_reader__free(r);
	close(fd);
}

/* At every length that a crash may leave: whole blocks are there, and it is said where they end. */
static void test_cut_short(void **state)
{
	uint64_t ends[4], records[] = { 0, 20, 40, 60 };
	struct capture_reader *r;
	struct capture_writer *w;
	int fd = captured__file();
	char errmsg[256];
	off_t size;

	(void)state;
	w = writer(fd);
	ends[0] = capture_writer__written(w).file_bytes;
	for (uint64_t i = 0; i < 3; i++) {
		captured__add(w, 4, 20 * i, 20 * (i + 1));
		assert_int_equal(capture_writer__flush(w), 0);
		ends[i + 1] = capture_writer__written(w).file_bytes;
	}
	assert_int_equal(capture_writer__finish(w), 0);
	capture_writer__free(w);
	size = lseek(fd, 0, SEEK_END);
	while (--size >= 0) {
		size_t whole = 3;

		assert_int_equal(ftruncate(fd, size), 0);
		if ((uint64_t)size < ends[0]) {
			assert_int_equal(capture_reader__open(fd, &r, errmsg, sizeof(errmsg)), -EBADMSG);
			assert_non_null(strstr(errmsg, "offset"));
			continue;
		}
		r = captured__open(fd);
		assert_false(capture_reader__is_whole(r, errmsg, sizeof(errmsg)));
		assert_non_null(strstr(errmsg, "offset"));
		while (ends[whole] > (uint64_t)size)
			whole--;
		assert_int_equal(captured__expect(r, 4, 0), records[whole]);
		capture_reader__free(r);
	}
	close(fd);
}

/* A process that is killed while it writes. */
static void test_killed(void **state)
{
	struct capture_reader *r;
	int fd = captured__file(), tells[2], status;
	char byte, errmsg[256];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(tells), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct capture_writer *w = writer(fd);

		for (uint64_t i = 0;; i += 5000) {
			captured__add(w, 5, i, i + 5000);
			if (capture_writer__written(w).blocks && write(tells[1], "", 1) != 1)
				_exit(1);
		}
	}
	assert_int_equal(read(tells[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	r = captured__open(fd);
	assert_false(capture_reader__is_whole(r, errmsg, sizeof(errmsg)));
	assert_true(capture_reader__n_records(r) > 0);
	assert_int_equal(captured__expect(r, 5, 0), capture_reader__n_records(r));
	capture_reader__free(r);
	close(tells[0]);
	close(tells[1]);
	close(fd);
}

/* What was written before the disk was full can be read, and the error stays. */
static void test_disk_full(void **state)
{
	struct rlimit was, small;
	uint64_t values[CAPTURE_MAX_COLUMNS], time_ns, n;
	struct capture_reader *r;
	struct capture_writer *w;
	char path[] = "/tmp/capture.XXXXXX", errmsg[256];
	int fd = mkstemp(path), err = 0;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 3 << 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	w = writer(fd);
	for (n = 0; !err; n++) {
		enum capture_kind kind = captured__record(6, n, values, &time_ns);

		err = capture_writer__add(w, kind, values, time_ns);
	}
	assert_int_equal(err, -EFBIG);
	assert_int_equal(capture_writer__finish(w), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(capture_writer__finish(w), -EFBIG);
	r = captured__open(fd);
	assert_false(capture_reader__is_whole(r, errmsg, sizeof(errmsg)));
	assert_int_equal(lseek(fd, 0, SEEK_END), capture_writer__written(w).file_bytes);
	assert_true(capture_writer__written(w).blocks >= 1);
	assert_int_equal(captured__expect(r, 6, 0), capture_writer__written(w).records);
	capture_writer__free(w);
	capture_reader__free(r);
	close(fd);
}

static void test_nothing_can_be_written(void **state)
{
	struct capture_writer *w = NULL;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(capture_writer__open(fd, NULL, &w), -ENOSPC);
	assert_null(w);
	close(fd);
}

/* True: nothing was short of memory. */
static bool write_and_read(int fd)
{
	struct capture_writer *w;
	struct capture_reader *r;
	struct capture_batch b;
	uint64_t values[CAPTURE_MAX_COLUMNS], time_ns, s;
	char errmsg[128];
	bool all = true;
	int err;

	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		fail();
	err = capture_writer__open(fd, NULL, &w);
	if (err) {
		assert_int_equal(err, -ENOMEM);
		return false;
	}
	for (uint64_t i = 0; i < 8; i++) {
		enum capture_kind kind = captured__record(7, i, values, &time_ns);

		err = capture_writer__add(w, kind, values, time_ns);
		assert_true(!err || err == -ENOMEM);
		all &= !err;
	}
	err = capture_writer__intern(w, "name", 4, &s);
	assert_true(!err || err == -ENOMEM);
	all &= !err;
	err = capture_writer__finish(w);
	assert_true(!err || err == -ENOMEM);
	all &= !err;
	capture_writer__free(w);
	err = capture_reader__open(fd, &r, errmsg, sizeof(errmsg));
	if (err) {
		assert_true(err == -ENOMEM || err == -EBADMSG);
		return false;
	}
	err = capture_reader__next(r, &b, errmsg, sizeof(errmsg));
	assert_true(err >= 0 || err == -ENOMEM);
	all &= err == 1 && capture_reader__string(r, 0, NULL);
	capture_reader__free(r);
	return all;
}

/* zstd and jansson have allocators of their own making, which fail as well. */
static void test_scarce_memory(void **state)
{
	int fd = captured__file();
	bool all = false;

	(void)state;
	for (size_t n = 0; !all; n++) {
		scarce__begin(n);
		all = write_and_read(fd);
		scarce__end();
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codings),
		cmocka_unit_test(test_varint_bad),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_batch_outlives_strings),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_nothing_can_be_written),
		cmocka_unit_test(test_scarce_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
