// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <wchar.h>

#include "render.h"
#include "scarce.h"

static const char long_target[] =
	"fio --name=randread --rw=randread --bs=4k --ioengine=io_uring --iodepth=32 --size=1G --runtime=2";

/* Columns of a line by the C library's own table. */
static int columns_of(const char *line, size_t len)
{
	mbstate_t state = { 0 };
	int sum = 0;
	wchar_t wc;
	size_t n;

	for (; len; line += n, len -= n) {
		n = mbrtowc(&wc, line, len, &state);
		if (n == (size_t)-1 || n == (size_t)-2 || wcwidth(wc) < 0)
			fail_msg("unprintable: %.*s", (int)len, line);
		sum += wcwidth(wc);
	}
	return sum;
}

static void assert_fits(const char *text, int width)
{
	const char *line = text;

	while (*line) {
		size_t len = strcspn(line, "\n");

		if (columns_of(line, len) > width)
			fail_msg("%d columns where %d fit: %.*s", columns_of(line, len), width, (int)len,
				line);
		if (len && line[len - 1] == ' ')
			fail_msg("blanks at the end of: %.*s", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

static void nothing(struct fab *f)
{
	(void)f;
}

static void idle(struct fab *f)
{
	fab__ring(f, 12, "idle");
}

/* Names chosen to break the layout and the terminal. */
static void hostile(struct fab *f)
{
	fab__sick(f);
	memcpy(f->s->rings[0].comm, "\x1b[31m\n\r\t\x9b\xff\xc3\xa9", 12);
	memcpy(f->s->rings[1].comm, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc", 14);
	fab__task(f, 5, "a\xcc\x81\xe2\x80\xaexyz", 1, 1);
	fab__finding(f, SEVERITY_WARN,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		0, -1);
}

static void (*const scenes[])(
	struct fab *f) = { nothing, idle, fab__healthy, fab__sick, fab__crowd, fab__huge, hostile };

static void test_every_line_fits(void **state)
{
	static const int widths[] = { 40, 60, 80, 81, 120, 200 };
	struct text_options o = plain;
	size_t scene, w;

	(void)state;
	for (scene = 0; scene < ARRAY_SIZE(scenes); scene++) {
		struct fab f = fab__new();

		scenes[scene](&f);
		for (w = 0; w < 4 * ARRAY_SIZE(widths); w++) {
			char *text;

			o.width = widths[w / 4];
			o.unicode = w & 1;
			o.rings = w & 2;
			text = render_as(&f, long_target, "exited with status 1", &o);
			assert_fits(text, o.width);
			free(text);
		}
		fab__free(&f);
	}
}

/* Only what the options allow reaches the terminal, whatever the observed program calls itself. */
static void test_only_plain_characters(void **state)
{
	struct text_options o = plain;
	struct fab f = fab__new();
	char *text, *p;

	(void)state;
	hostile(&f);
	text = render_as(&f, "evil\x1b]0;title\x07\xc2\x9b", NULL, &o);
	for (p = text; *p; p++) {
		if (*p != '\n' && (*p < 0x20 || *p > 0x7e))
			fail_msg("byte %#x in the report", (unsigned char)*p);
	}
	free(text);
	o.unicode = true;
	text = render_as(&f, "evil\x1b]0;title\x07\xc2\x9b", NULL, &o);
	assert_begins(text, "3 rings");
	assert_has(text, "\u2588");
	assert_lacks(text, "\x1b");
	assert_lacks(text, "\xc2\x9b");
	assert_lacks(text, "\xe2\x80\xae");
	free(text);
	fab__free(&f);
}

/* Without its escape sequences the coloured report is the plain one. */
static void test_color_adds_nothing_else(void **state)
{
	struct text_options o = plain;
	struct fab f = fab__new();
	char *mono, *color, *from, *to;

	(void)state;
	fab__sick(&f);
	mono = render_as(&f, long_target, NULL, &o);
	o.color = true;
	color = render_as(&f, long_target, NULL, &o);
	assert_has(color, "\033[1;31mCRIT \033[0m");
	for (from = to = color; *from; from++) {
		if (*from == '\033')
			from += strcspn(from, "m");
		else
			*to++ = *from;
	}
	*to = '\0';
	assert_string_equal(color, mono);
	free(mono);
	free(color);
	fab__free(&f);
}

static void test_interval(void **state)
{
	struct text_options o = { .width = 120 };
	struct fab f = fab__new();
	char *text;

	(void)state;
	setenv("TZ", "UTC", 1);
	fab__healthy(&f);
	text = render_interval(&f, &o, true);
	assert_begins(text,
		"TIME      RINGS  SUBM/S  DONE/S   ERRS   PUNT  FLIGHT     P50     P99     MAX  BYTES/S  TOP OP\n"
		"22:13:22      1    602k    602k      0      0      32  ");
	assert_has(text, " 2.30GiB  READ 100%\n");
	assert_int_equal(count_of(text, "\n"), 2);
	free(text);
	fab__feature(&f, RS_F_PUNT, FEATURE_OFF, "");
	/* the rings of an interval were there in it, also those that ended and those that are not listed */
	f.s->rings[0].state = RING_CLOSED;
	f.s->n_others = 2;
	text = render_interval(&f, &o, false);
	assert_begins(text, "22:13:22      3    602k    602k      0    n/a      32  ");
	free(text);
	/* on a terminal that is not wide: those in flight tell what DONE/S does */
	text = render_interval(&f, &plain, true);
	assert_begins(text, "TIME     RINGS SUBM/S  ERRS  PUNT FLIGHT    P50    P99    MAX BYTES/S TOP OP\n");
	free(text);
	f.s->fidelity.missed = 2;
	text = render_interval(&f, &o, false);
	assert_has(text, "\nCOUNTS INCOMPLETE: 2 events skipped");
	free(text);
	fab__free(&f);
}

/* The columns of a quiet interval stand where those of a busy one do, at any width. */
static void test_interval_columns_do_not_move(void **state)
{
	static const int widths[] = { 40, 60, 80, 120 };
	struct fab f = fab__new(), none = fab__new();
	struct text_options o = plain;
	size_t i;

	(void)state;
	fab__healthy(&f);
	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		char *busy, *quiet, *head, *where;

		o.width = widths[i];
		busy = render_interval(&f, &o, true);
		quiet = render_interval(&none, &o, false);
		assert_fits(busy, o.width);
		assert_fits(quiet, o.width);
		/* P99 is right-aligned: its last character is the cell's */
		head = busy;
		where = strstr(head, "P99");
		assert_non_null(where);
		assert_true(strlen(quiet) > (size_t)(where + 2 - head));
		assert_int_equal(quiet[where + 2 - head], '-');
		free(busy);
		free(quiet);
	}
	fab__free(&f);
	fab__free(&none);
}

static void test_disk_full(void **state)
{
	struct fab f = fab__new();
	struct report r = { .snap = f.s, .diag = &f.d, .target = "x" };
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	fab__sick(&f);
	assert_int_equal(report__text(&r, &plain, full), -ENOSPC);
	clearerr(full);
	assert_int_equal(report__interval_text(&r, &plain, true, full), -ENOSPC);
	fclose(full);
	fab__free(&f);
}

static void test_out_of_memory(void **state)
{
	struct text_options o = { .width = 80, .rings = true };
	struct fab f = fab__new();
	struct report r = { .snap = f.s, .diag = &f.d, .target = long_target };
	FILE *null = fopen("/dev/null", "w");
	static char buf[BUFSIZ];
	int err = -ENOMEM;
	size_t n;

	(void)state;
	assert_non_null(null);
	assert_int_equal(setvbuf(null, buf, _IOFBF, sizeof(buf)), 0);
	fab__sick(&f);
	for (n = 0; err; n++) {
		scarce__begin(n);
		err = report__text(&r, &o, null);
		scarce__end();
		assert_true(err == 0 || err == -ENOMEM);
	}
	assert_true(n > 100);
	for (err = -ENOMEM, n = 0; err; n++) {
		scarce__begin(n);
		err = report__interval_text(&r, &o, true, null);
		scarce__end();
		assert_true(err == 0 || err == -ENOMEM);
	}
	assert_true(n > 10);
	fclose(null);
	fab__free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_line_fits),
		cmocka_unit_test(test_only_plain_characters),
		cmocka_unit_test(test_color_adds_nothing_else),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_interval_columns_do_not_move),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_out_of_memory),
	};

	/* for wcwidth() */
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
