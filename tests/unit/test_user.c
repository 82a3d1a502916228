/* SPDX-License-Identifier: MIT */
/* Whom the program runs as: the caller of sudo, from passwd and group files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user.h"

static const char passwd_text[] = "root:x:0:0:root:/root:/bin/bash\n"
				  "a line that is none\n"
				  "ann:x:1000:1000:Ann,,,:/home/ann:/bin/zsh\n"
				  "bob:x:1001:100::/home/bob:\n";

static const char group_text[] = "root:x:0:\n"
				 "disk:x:6:ann\n"
				 "users:x:100:\n"
				 "annex:x:7:annette,bob\n"
				 "kvm:x:106:bob,ann\n"
				 "ann:x:1000:ann\n";

static FILE *open_text(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(f);
	return f;
}

static void lookup(uid_t uid, gid_t gid, const char *name, struct run_as *ret)
{
	FILE *passwd = open_text(passwd_text), *group = open_text(group_text);

	assert_int_equal(run_as__lookup(uid, gid, name, passwd, group, ret), 0);
	fclose(passwd);
	fclose(group);
}

static void test_user_with_groups(void **state)
{
	static const gid_t groups[] = { 1000, 6, 106 };
	struct run_as u;

	(void)state;
	lookup(1000, 1000, NULL, &u);
	assert_int_equal(u.uid, 1000);
	assert_int_equal(u.gid, 1000);
	assert_string_equal(u.name, "ann");
	assert_string_equal(u.home, "/home/ann");
	assert_string_equal(u.shell, "/bin/zsh");
	assert_int_equal(u.n_groups, 3);
	assert_memory_equal(u.groups, groups, sizeof(groups));
	run_as__free(&u);
	assert_null(u.name);
}

/* newgrp: the group of the moment is not the one of passwd; the user has both. */
static void test_other_primary_group(void **state)
{
	static const gid_t groups[] = { 106, 100, 7 };
	struct run_as u;

	(void)state;
	lookup(1001, 106, "ann", &u);
	assert_string_equal(u.name, "bob");
	assert_string_equal(u.shell, "");
	assert_int_equal(u.gid, 106);
	assert_int_equal(u.n_groups, 3);
	assert_memory_equal(u.groups, groups, sizeof(groups));
	run_as__free(&u);
}

static void test_user_without_entry(void **state)
{
	struct run_as u;

	(void)state;
	lookup(5000, 5001, NULL, &u);
	assert_null(u.name);
	assert_null(u.home);
	assert_null(u.shell);
	assert_int_equal(u.n_groups, 1);
	assert_int_equal(u.groups[0], 5001);
	run_as__free(&u);

	/* A user of a directory service may still be in local groups. */
	lookup(5000, 5001, "annette", &u);
	assert_string_equal(u.name, "annette");
	assert_null(u.home);
	assert_int_equal(u.n_groups, 2);
	assert_int_equal(u.groups[1], 7);
	run_as__free(&u);
}

static void test_no_files(void **state)
{
	struct run_as u;

	(void)state;
	assert_int_equal(run_as__lookup(1, 2, NULL, NULL, NULL, &u), 0);
	assert_int_equal(u.uid, 1);
	assert_int_equal(u.gid, 2);
	assert_int_equal(u.n_groups, 1);
	assert_null(u.name);
	run_as__free(&u);
	run_as__free(NULL);
}

static void set_sudo(const char *uid, const char *gid)
{
	if (uid)
		setenv("SUDO_UID", uid, 1);
	else
		unsetenv("SUDO_UID");
	if (gid)
		setenv("SUDO_GID", gid, 1);
	else
		unsetenv("SUDO_GID");
	unsetenv("SUDO_USER");
}

static void test_sudo(void **state)
{
	struct run_as u = { .uid = 42 };

	(void)state;
	if (geteuid() != 0)
		skip();
	set_sudo(NULL, NULL);
	assert_int_equal(run_as__from_sudo(&u), 0);
	/* root by sudo from root. */
	set_sudo("0", "0");
	assert_int_equal(run_as__from_sudo(&u), 0);
	assert_int_equal(u.uid, 42);

	set_sudo("54321", "54322");
	setenv("SUDO_USER", "ringside-test", 1);
	assert_int_equal(run_as__from_sudo(&u), 1);
	assert_int_equal(u.uid, 54321);
	assert_int_equal(u.gid, 54322);
	assert_string_equal(u.name, "ringside-test");
	assert_int_equal(u.n_groups, 1);
	run_as__free(&u);
	set_sudo(NULL, NULL);
}

static void test_sudo_garbage(void **state)
{
	static const char *const bad[][2] = {
		{ "", "" },
		{ "1000", NULL },
		{ NULL, "1000" },
		{ "1000x", "1000" },
		{ "1000", "-1" },
		{ " 1000", "1000" },
		{ "4294967295", "1000" },
		{ "4294968296", "1000" },
	};
	struct run_as u = { .uid = 42 };

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		set_sudo(bad[i][0], bad[i][1]);
		assert_int_equal(run_as__from_sudo(&u), -EINVAL);
		assert_int_equal(u.uid, 42);
	}
	set_sudo(NULL, NULL);
}

static void test_sudo_without_root(void **state)
{
	struct run_as u;

	(void)state;
	if (geteuid() == 0)
		skip();
	set_sudo("1000", "1000");
	assert_int_equal(run_as__from_sudo(&u), 0);
	set_sudo(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_with_groups),
		cmocka_unit_test(test_other_primary_group),
		cmocka_unit_test(test_user_without_entry),
		cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_sudo),
		cmocka_unit_test(test_sudo_garbage),
		cmocka_unit_test(test_sudo_without_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
