// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "filter.h"

static void test_users(void **state)
{
	uint32_t uid = 7;

	(void)state;
	assert_int_equal(filter__user("root", &uid), 0);
	assert_int_equal(uid, 0);
	assert_int_equal(filter__user("4294967294", &uid), 0);
	assert_int_equal(uid, 4294967294u);
	/* the number that stands for "no user" */
	assert_int_equal(filter__user("4294967295", &uid), -ENOENT);
	assert_int_equal(filter__user("no such user", &uid), -ENOENT);
	assert_int_equal(filter__user("", &uid), -ENOENT);
	assert_int_equal(filter__user("0x0", &uid), -ENOENT);
	assert_int_equal(uid, 4294967294u);
}

/* Where cgroup2 is mounted, "" if nowhere. */
static void find_cgroup2(char *dir, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;

	dir[0] = '\0';
	assert_non_null(f);
	while ((m = getmntent(f)))
		if (!strcmp(m->mnt_type, "cgroup2") && !dir[0])
			snprintf(dir, size, "%s", m->mnt_dir);
	endmntent(f);
}

static void test_cgroups(void **state)
{
	char mount[256];
	struct stat st;
	uint64_t id = 7;

	(void)state;
	assert_int_equal(filter__cgroup("/tmp", &id), -EINVAL);
	find_cgroup2(mount, sizeof(mount));
	if (!mount[0]) {
		assert_int_equal(filter__cgroup("/", &id), -ENODEV);
		skip();
	}
	assert_int_equal(filter__cgroup("/no such cgroup", &id), -ENOENT);
	assert_int_equal(id, 7);
	assert_int_equal(stat(mount, &st), 0);
	assert_int_equal(filter__cgroup(mount, &id), 0);
	assert_int_equal(id, st.st_ino);
	id = 7;
	/* as /proc/PID/cgroup calls it */
	assert_int_equal(filter__cgroup("/", &id), 0);
	assert_int_equal(id, st.st_ino);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
