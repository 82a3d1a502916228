// SPDX-License-Identifier: MIT
#include "debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define DEBUG_DIR "/usr/lib/debug"
#define BUILD_ID_MAX 64
#define UNPACKED_MAX_BYTES (64U << 20)
#define UNPACK_MEMORY_MAX_BYTES (64U << 20)

/* How a file proves that it is the one that is looked for. */
struct wanted {
	struct image_part build_id; /* size 0: none, then crc counts */
	uint32_t crc;
};

static bool is_wanted(const struct image *img, const struct wanted *w)
{
	struct image_part id;
	uLong crc = 0;

	if (w->build_id.size)
		return !image__build_id(img, &id) && id.size == w->build_id.size &&
		       !memcmp(id.bytes, w->build_id.bytes, id.size);
	for (size_t at = 0, n; at < img->size; at += n) {
		n = img->size - at < INT_MAX ? img->size - at : INT_MAX;
		crc = crc32(crc, (const Bytef *)img->bytes + at, (uInt)n);
	}
	return (uint32_t)crc == w->crc;
}

static int try_path(int root, const char *path, const struct wanted *w, struct image *ret)
{
	struct image img;
	int fd = image__open_file(root, path, true), err;

	if (fd < 0)
		return fd;
	err = image__map(fd, &img);
	close(fd);
	if (err)
		return err;
	if (!is_wanted(&img, w)) {
		image__close(&img);
		return -ENOENT;
	}
	*ret = img;
	return 0;
}

static int try_build_id(int root, const struct wanted *w, struct image *ret)
{
	const unsigned char *id = w->build_id.bytes;
	char path[sizeof(DEBUG_DIR) + 32 + 2 * BUILD_ID_MAX];
	size_t len;

	if (w->build_id.size < 2 || w->build_id.size > BUILD_ID_MAX)
		return -ENOENT;
	len = (size_t)snprintf(path, sizeof(path), "%s/.build-id/%02x/", DEBUG_DIR, id[0]);
	for (size_t i = 1; i < w->build_id.size; i++, len += 2)
		snprintf(path + len, sizeof(path) - len, "%02x", id[i]);
	snprintf(path + len, sizeof(path) - len, ".debug");
	return try_path(root, path, w, ret);
}

/* The places where debuggers look for a file that .gnu_debuglink names. */
static int try_link(int root, const char *name, const char *dir, const struct wanted *w, struct image *ret)
{
	static const struct {
		const char *before, *after;
	} places[] = { { "", "" }, { "", "/.debug" }, { DEBUG_DIR, "" } };
	char path[2 * PATH_MAX];
	int len;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		len = snprintf(path, sizeof(path), "%s%s%s/%s", places[i].before, dir, places[i].after, name);
		if (len > 0 && (size_t)len < sizeof(path) && !try_path(root, path, w, ret))
			return 0;
	}
	return -ENOENT;
}

/* .gnu_debuglink: a file name, zeros to a multiple of 4, a checksum. */
static int read_link(const struct image *img, const char **ret_name, uint32_t *ret_crc)
{
	struct image_part link;
	uint32_t crc;
	size_t len;

	if (image__section(img, ".gnu_debuglink", &link))
		return -ENOENT;
	len = strnlen(link.bytes, link.size);
	if (len == 0 || link.size - len < 1 + sizeof(crc) || memchr(link.bytes, '/', len))
		return -ENOENT;
	memcpy(&crc, (const char *)link.bytes + link.size - sizeof(crc), sizeof(crc));
	if (((const unsigned char *)img->bytes)[EI_DATA] !=
		(__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB))
		crc = __builtin_bswap32(crc);
	*ret_name = link.bytes;
	*ret_crc = crc;
	return 0;
}

static int find_below(const struct image *img, int root, const char *path, struct image *ret)
{
	struct wanted w = { 0 };
	const char *name;
	char *dir;
	int err;

	if (!image__build_id(img, &w.build_id) && !try_build_id(root, &w, ret))
		return 0;
	if (!path || read_link(img, &name, &w.crc))
		return -ENOENT;
	dir = strdup(path);
	if (!dir)
		return -ENOMEM;
	*(strrchr(dir, '/') ?: dir) = '\0';
	err = try_link(root, name, dir, &w, ret);
	free(dir);
	return err;
}

static int open_own_root(void)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int debugfile__find(const struct image *img, int root, const char *path, struct image *ret)
{
	int err = root < 0 ? -ENOENT : find_below(img, root, path, ret), own;

	if (err != -ENOENT)
		return err;
	own = open_own_root();
	if (own < 0)
		return own;
	err = find_below(img, own, path, ret);
	close(own);
	return err;
}

static int find_shared_below(int root, const char *path, const struct wanted *w, struct image *ret)
{
	/* a relative name starts at the debug file, which is found by its build-id then */
	if (path[0] == '/' && !try_path(root, path, w, ret))
		return 0;
	return try_build_id(root, w, ret);
}

int debugfile__find_shared(const struct image *img, int root, struct image *ret)
{
	struct image_part link;
	struct wanted w = { 0 };
	int err = -ENOENT, own;
	size_t len;

	if (image__section(img, ".gnu_debugaltlink", &link))
		return -ENOENT;
	len = strnlen(link.bytes, link.size);
	if (link.size - len < 2)
		return -ENOENT;
	w.build_id = (struct image_part){ .bytes = (const char *)link.bytes + len + 1,
		.size = link.size - len - 1 };
	if (root >= 0)
		err = find_shared_below(root, link.bytes, &w, ret);
	if (!err)
		return 0;
	own = open_own_root();
	if (own < 0)
		return own;
	err = find_shared_below(own, link.bytes, &w, ret);
	close(own);
	return err ? -ENOENT : 0;
}

/* Until the stream ends; *bytes grows, never above UNPACKED_MAX_BYTES. */
static int unpack_all(lzma_stream *stream, unsigned char **bytes, size_t *size)
{
	size_t capacity = 0;
	unsigned char *grown;
	lzma_ret err;

	do {
		capacity = capacity ? 2 * capacity : 64 << 10;
		if (capacity > UNPACKED_MAX_BYTES)
			return -EFBIG;
		grown = realloc(*bytes, capacity);
		if (!grown)
			return -ENOMEM;
		*bytes = grown;
		stream->next_out = grown + stream->total_out;
		stream->avail_out = capacity - stream->total_out;
		err = lzma_code(stream, LZMA_FINISH);
	} while (err == LZMA_OK && stream->avail_out == 0);
	if (err != LZMA_STREAM_END)
		return err == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
	*size = stream->total_out;
	return 0;
}

int debugfile__unpack(const struct image *img, struct image *ret)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	struct image_part packed;
	unsigned char *bytes = NULL;
	size_t size;
	int err;

	if (image__section(img, ".gnu_debugdata", &packed))
		return -ENOENT;
	if (lzma_stream_decoder(&stream, UNPACK_MEMORY_MAX_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed.bytes;
	stream.avail_in = packed.size;
	err = unpack_all(&stream, &bytes, &size);
	lzma_end(&stream);
	if (err) {
		free(bytes);
		return err;
	}
	return image__take(bytes, size, ret);
}
