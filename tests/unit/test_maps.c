/* SPDX-License-Identifier: MIT */
/* The text of /proc/PID/maps, as kernels write it and as none would. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "maps.h"

static int parse(const char *text, struct maps *ret)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	int err;

	assert_non_null(f);
	err = maps__parse(f, ret);
	fclose(f);
	return err;
}

static const char usual[] =
	"00400000-00401000 r--p 00000000 fe:01 77                     /usr/bin/a b\n"
	"00401000-00402000 r-xp 00001000 fe:01 77                     /usr/bin/a b\n"
	"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
	"7f0000002000-7f0000003000 r-xp 00000000 00:1c 18446744073709551615 /tmp/x\\012y (deleted)\n"
	"7f0000003000-7f0000004000 r-xs 00002000 103:05 9             /tmp/x\\013 \n"
	"7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0              [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]\n";

static void test_usual(void **state)
{
	struct maps m;

	(void)state;
	assert_int_equal(parse(usual, &m), 0);
	assert_int_equal(m.n, 6);
	assert_string_equal(m.list[0].path, "/usr/bin/a b");
	assert_true(
		m.list[0].start == 0x401000 && m.list[0].end == 0x402000 && m.list[0].file_offset == 0x1000);
	assert_true(m.list[0].dev == makedev(0xfe, 1) && m.list[0].inode == 77);
	assert_false(m.list[0].deleted);
	assert_null(m.list[1].path);
	assert_string_equal(m.list[2].path, "/tmp/x\ny");
	assert_true(m.list[2].deleted && m.list[2].inode == UINT64_MAX);
	assert_string_equal(m.list[3].path, "/tmp/x\\013 ");
	assert_true(m.list[3].dev == makedev(0x103, 5));
	assert_string_equal(m.list[4].path, "[vdso]");
	maps__free(&m);
}

static void test_find(void **state)
{
	struct maps m;

	(void)state;
	assert_int_equal(parse(usual, &m), 0);
	assert_null(maps__find(&m, 0));
	assert_null(maps__find(&m, 0x400fff));
	assert_ptr_equal(maps__find(&m, 0x401000), &m.list[0]);
	assert_ptr_equal(maps__find(&m, 0x401fff), &m.list[0]);
	assert_null(maps__find(&m, 0x402000));
	assert_ptr_equal(maps__find(&m, 0x7f0000003000), &m.list[3]);
	assert_ptr_equal(maps__find(&m, 0xffffffffff600000), &m.list[5]);
	assert_null(maps__find(&m, UINT64_MAX));
	maps__free(&m);
	assert_int_equal(parse("\n", &m), 0);
	assert_int_equal(m.n, 0);
	assert_null(maps__find(&m, 1));
	maps__free(&m);
}

static void test_nonsense(void **state)
{
	struct maps m;

	(void)state;
	assert_int_equal(
		parse("no mapping at all\n1-\n-2 r-xp\n5000-4000 r-xp 0 0:0 0\n1000-2000 r-xp 0 0:0\n"
		      "1000-2000 r-xp 0 1:2 3 (deleted)\n2000-3000 r-xp 0 1:2 3",
			&m),
		0);
	assert_int_equal(m.n, 2);
	assert_string_equal(m.list[0].path, "(deleted)");
	assert_false(m.list[0].deleted);
	assert_null(m.list[1].path);
	maps__free(&m);
}

static void test_too_many(void **state)
{
	struct maps m = { .n = 77 };
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	for (uint64_t i = 1; i <= MAPS_MAX + 1; i++)
		fprintf(f, "%" PRIx64 "-%" PRIx64 " r-xp 0 0:0 0 [x]\n", i << 12, (i + 1) << 12);
	rewind(f);
	assert_int_equal(maps__parse(f, &m), -E2BIG);
	assert_int_equal(m.n, 77);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
