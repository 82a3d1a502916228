// SPDX-License-Identifier: MIT
/* Captures that are not what this version writes: of later ones, and damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <zstd.h>

#include "block.h"
#include "captured.h"
#include "coding.h"

static void put_all(int fd, const void *data, size_t n)
{
	assert_int_equal(write(fd, data, n), n);
}

static void put_head(int fd, uint32_t version, const char *description)
{
	uint32_t n = (uint32_t)strlen(description);
	uint8_t head[HEAD_BYTES];

	memcpy(head, CAPTURE_MAGIC, MAGIC_BYTES);
	put_u32(head + MAGIC_BYTES, version);
	put_u32(head + MAGIC_BYTES + 4, n);
	put_u32(head + MAGIC_BYTES + 8, capture_checksum(description, n));
	put_all(fd, head, sizeof(head));
	put_all(fd, description, n);
}

static void put_block(int fd, struct block b, const uint8_t *raw, size_t n)
{
	uint8_t stored[4096], header[BLOCK_BYTES];

	b.type = BLOCK_DATA;
	b.raw_bytes = (uint32_t)n;
	b.stored_bytes = (uint32_t)ZSTD_compress(stored, sizeof(stored), raw, n, 1);
	b.checksum = capture_checksum(stored, b.stored_bytes);
	block__put(&b, header);
	put_all(fd, header, sizeof(header));
	put_all(fd, stored, b.stored_bytes);
}

/* Of a later version: a kind that we don't know, a column that we don't know, others in another order, and some gone. */
#define LATER                                                                                                \
	"{\"records\":[{\"number\":77,\"name\":\"x\",\"columns\":[{\"name\":\"y\",\"coding\":\"plain\"}]},"  \
	"{\"number\":5,\"columns\":[{\"name\":\"records\",\"coding\":\"delta\"},"                            \
	"{\"name\":\"why\",\"coding\":\"plain\"},{\"name\":\"first_ns\",\"coding\":\"plain\"}]}]}"

static void test_later(void **state)
{
	/* two of kind 77; two losses: records 10 and 12, why 1 and 2, first_ns 5 and 6 */
	static const uint8_t raw[] = { 77, 2, 1, 2, 9, 9, 5, 2, 3, 2, 20, 4, 2, 1, 2, 2, 5, 6 };
	const size_t absent = CAPTURE_LOSS_cpu;
	struct capture_reader *r;
	struct capture_batch b;
	int fd = captured__file();
	char errmsg[128];

	(void)state;
	put_head(fd, CAPTURE_VERSION, LATER);
	put_block(fd, (struct block){ .n_records = 4 }, raw, sizeof(raw));
	r = captured__open(fd);
	assert_int_equal(capture_reader__next(r, &b, errmsg, sizeof(errmsg)), 1);
	assert_int_equal(b.kinds[CAPTURE_LOSS].n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(b.kinds[CAPTURE_LOSS].columns[CAPTURE_LOSS_records][i], 10 + 2 * i);
		assert_int_equal(b.kinds[CAPTURE_LOSS].columns[CAPTURE_LOSS_first_ns][i], 5 + i);
		assert_true(b.kinds[CAPTURE_LOSS].columns[absent][i] == CAPTURE_UNKNOWN);
	}
	assert_int_equal(b.kinds[CAPTURE_REQUEST].n, 0);
	capture_reader__free(r);
	close(fd);
}

static int open_error(int fd, char errmsg[256])
{
	struct capture_reader *r = NULL;
	int err = capture_reader__open(fd, &r, errmsg, 256);

	assert_null(r);
	assert_non_null(strstr(errmsg, "offset"));
	close(fd);
	return err;
}

static int description_error(uint32_t version, const char *description)
{
	int fd = captured__file();
	char errmsg[256];

	put_head(fd, version, description);
	return open_error(fd, errmsg);
}

static void test_bad_heads(void **state)
{
#define COLUMNS_OF(columns) "{\"records\":[{\"number\":5,\"columns\":[" columns "]}]}"
#define COL(name, coding) "{\"name\":\"" name "\",\"coding\":\"" coding "\"}"
	char errmsg[256];
	int fd = captured__file();

	(void)state;
	put_all(fd, "#!/bin/sh\necho this is no capture\n", 34);
	assert_int_equal(open_error(fd, errmsg), -EBADMSG);
	assert_int_equal(open_error(captured__file(), errmsg), -EBADMSG);
	assert_int_equal(description_error(CAPTURE_VERSION + 1, LATER), -EPROTONOSUPPORT);
	assert_int_equal(description_error(CAPTURE_VERSION, "{"), -EBADMSG);
	assert_int_equal(description_error(CAPTURE_VERSION, "[]"), -EBADMSG);
	assert_int_equal(description_error(CAPTURE_VERSION, "{\"records\":[7]}"), -EBADMSG);
	assert_int_equal(description_error(CAPTURE_VERSION, "{\"records\":[{\"number\":-1,\"columns\":[]}]}"),
		-EBADMSG);
	assert_int_equal(
		description_error(CAPTURE_VERSION,
			"{\"records\":[{\"number\":9,\"columns\":[]},{\"number\":9,\"columns\":[]}]}"),
		-EBADMSG);
	assert_int_equal(description_error(CAPTURE_VERSION, "{\"records\":[{\"number\":5}]}"), -EBADMSG);
	assert_int_equal(description_error(CAPTURE_VERSION, COLUMNS_OF("{}")), -EBADMSG);
	assert_int_equal(description_error(CAPTURE_VERSION, COLUMNS_OF(COL("records", "fourier"))),
		-EPROTONOSUPPORT);
	assert_int_equal(description_error(CAPTURE_VERSION,
				 COLUMNS_OF(COL("records", "plain") "," COL("records", "plain"))),
		-EBADMSG);
}

/* The description promises one column of losses, by name. */
static int block_error(struct block b, const uint8_t *raw, size_t n)
{
	struct capture_reader *r;
	struct capture_batch batch;
	int fd = captured__file(), got;
	char errmsg[256];

	put_head(fd, CAPTURE_VERSION, COLUMNS_OF(COL("records", "plain")));
	put_block(fd, b, raw, n);
	r = captured__open(fd);
	got = capture_reader__next(r, &batch, errmsg, sizeof(errmsg));
	if (got < 0)
		assert_non_null(strstr(errmsg, "block at offset"));
	assert_int_equal(capture_reader__next(r, &batch, errmsg, sizeof(errmsg)), 0);
	capture_reader__string(r, 0, NULL);
	capture_reader__free(r);
	close(fd);
	return got;
}

static void test_bad_blocks(void **state)
{
#define ERROR_OF(header, ...)                                                                                \
	({                                                                                                   \
		static const uint8_t raw[] = { __VA_ARGS__ };                                                \
		block_error((struct block){ header }, raw, sizeof(raw));                                     \
	})
	(void)state;
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 1, 1, 1, 7), 1);
	/* a kind that is not described; more columns than are; none of something; twice the same kind */
	assert_int_equal(ERROR_OF(.n_records = 1, 6, 1, 1, 1, 7), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 1, 2, 1, 7, 1, 7), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 0, 1, 0), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 1, 1, 1, 7, 5, 1, 1, 1, 7), -EBADMSG);
	/* fewer values than records, more, one that does not end, a column longer than the block */
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 2, 1, 1, 7), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 1, 1, 2, 7, 7), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 1, 1, 1, 0x80), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 1, 1, 9, 7), -EBADMSG);
	/* more records than a block may have; half a section */
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 0xff, 0xff, 0x7f, 1, 1, 7), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_records = 1, 5, 1), -EBADMSG);
	/* strings: other than the header says, one longer than the section, one more than there is */
	assert_int_equal(ERROR_OF(.n_strings = 2, 0, 1, 1, 2, 1, 'a'), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_strings = 1, 0, 1, 1, 2, 2, 'a'), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_strings = 1, 0, 1, 1, 3, 1, 'a', 'b'), -EBADMSG);
	assert_int_equal(ERROR_OF(.n_strings = 1, 0, 1, 1, 2, 1, 'a'), 1);
}

/* What is read of a file that had 3 blocks of 10 records is theirs, and of each that is missing there was an error. */
static void read_damaged(int fd)
{
	struct capture_reader *r;
	struct capture_batch b;
	char errmsg[256] = "";
	size_t blocks = 0, bad = 0;
	bool whole;
	int got;

	if (capture_reader__open(fd, &r, errmsg, sizeof(errmsg))) {
		assert_non_null(strstr(errmsg, "offset"));
		return;
	}
	whole = capture_reader__is_whole(r, errmsg, sizeof(errmsg));
	while ((got = capture_reader__next(r, &b, errmsg, sizeof(errmsg)))) {
		size_t n = 0;

		blocks++;
		bad += got < 0;
		for (size_t k = 0; k < CAPTURE_KINDS && got > 0; k++)
			n += b.kinds[k].n;
		assert_true(got < 0 || n == 10);
	}
	if (blocks - bad < 3)
		assert_non_null(strstr(errmsg, "offset"));
	assert_true(!whole || blocks == 3);
	capture_reader__seek(r, 0);
	if (!bad)
		assert_int_equal(captured__expect(r, 8, 0), 10 * blocks);
	capture_reader__free(r);
}

/* Any byte of it, in several ways. */
static void test_any_byte(void **state)
{
	static const uint8_t flips[] = { 0x01, 0x80, 0xff };
	struct capture_writer *w;
	int fd = captured__file();
	uint8_t byte, bad;
	off_t size;

	(void)state;
	assert_int_equal(capture_writer__open(fd, NULL, &w), 0);
	for (uint64_t i = 0; i < 3; i++) {
		captured__add(w, 8, 10 * i, 10 * (i + 1));
		assert_int_equal(capture_writer__flush(w), 0);
	}
	assert_int_equal(capture_writer__finish(w), 0);
	capture_writer__free(w);
	size = lseek(fd, 0, SEEK_END);
	for (off_t at = 0; at < size; at++) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		for (size_t i = 0; i < sizeof(flips); i++) {
			bad = byte ^ flips[i];
			assert_int_equal(pwrite(fd, &bad, 1, at), 1);
			read_damaged(fd);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
}

static void test_no_regular_file(void **state)
{
	struct capture_reader *r;
	char errmsg[256];
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(capture_reader__open(fds[0], &r, errmsg, sizeof(errmsg)), -ESPIPE);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_bad_heads),
		cmocka_unit_test(test_bad_blocks),
		cmocka_unit_test(test_any_byte),
		cmocka_unit_test(test_no_regular_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
