// SPDX-License-Identifier: MIT
#include "binary.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"
#include "procdir.h"

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#elif defined(__riscv)
#define MULTIARCH "riscv64-linux-gnu"
#elif defined(__powerpc64__)
#define MULTIARCH "powerpc64le-linux-gnu"
#else
#define MULTIARCH "."
#endif

static const char *const library_dirs[] = { "/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64",
	"/lib", "/usr/lib", "/usr/local/lib/" MULTIARCH, "/usr/local/lib64", "/usr/local/lib" };

bool binary__is_named(const char *file, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len))
		return false;
	file += len;
	if (*file == '\0')
		return true;
	/* "libssl.so" means "libssl.so.3" */
	if (strstr(name, ".so"))
		return *file == '.' && isdigit((unsigned char)file[1]);
	if (*file == '-' && isdigit((unsigned char)file[1]))
		file = strstr(file, ".so") ?: "";
	return !strncmp(file, ".so", 3) && (file[3] == '\0' || file[3] == '.');
}

/* What was found so far: one file, or two that differ. */
struct search {
	const char *name;
	int fd;
	char *path, *other;
};

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, "\177ELF", sizeof(magic));
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Takes fd. */
static int found(struct search *s, int fd, const char *path)
{
	char *copy;

	if (s->path && (s->other || same_file(s->fd, fd))) {
		close(fd);
		return 0;
	}
	copy = strdup(path);
	if (!copy) {
		close(fd);
		return -ENOMEM;
	}
	if (s->path) {
		s->other = copy;
		close(fd);
	} else {
		s->path = copy;
		s->fd = fd;
	}
	return 0;
}

static void drop(struct search *s)
{
	if (s->path)
		close(s->fd);
	free(s->path);
	free(s->other);
	s->path = s->other = NULL;
}

static int search_maps(struct search *s, const struct procdir *dir)
{
	const char *file;
	struct maps maps;
	int err = procdir__maps(dir, &maps), fd;

	if (err)
		return err;
	for (size_t i = 0; i < maps.n && !err; i++) {
		if (!maps.list[i].inode || !maps.list[i].path)
			continue;
		file = strrchr(maps.list[i].path, '/');
		if (strchr(s->name, '/') ? strcmp(maps.list[i].path, s->name)
					 : !file || !binary__is_named(file + 1, s->name))
			continue;
		fd = procdir__open_mapping(dir, &maps.list[i]);
		if (fd >= 0)
			err = found(s, fd, maps.list[i].path);
	}
	maps__free(&maps);
	return err;
}

/* The first program of that name; also a script, so that the error can name it. */
static int search_path(struct search *s, int root)
{
	const char *list = getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
	char path[PATH_MAX];
	struct stat st;
	size_t len;
	int fd, n;

	for (; *list; list += list[len] ? len + 1 : len) {
		len = strcspn(list, ":");
		n = snprintf(path, sizeof(path), "%.*s/%s", (int)(len < PATH_MAX ? len : PATH_MAX), list,
			s->name);
		if (*list != '/' || n < 0 || (size_t)n >= sizeof(path))
			continue;
		fd = image__open_file(root, path, true);
		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && (st.st_mode & 0111))
			return found(s, fd, path);
		close(fd);
	}
	return 0;
}

static DIR *open_dir(int root, const char *path)
{
	int place = image__open_path(root, path, true), fd;
	DIR *dir;

	if (place < 0)
		return NULL;
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(place);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

static int search_dir(struct search *s, int root, const char *where)
{
	DIR *dir = open_dir(root, where);
	const struct dirent *e;
	char path[PATH_MAX];
	int err = 0, fd;

	while (dir && !err && (e = readdir(dir))) {
		if (!binary__is_named(e->d_name, s->name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", where, e->d_name);
		fd = image__open_file(root, path, true);
		if (fd >= 0 && !is_elf(fd)) /* libc.so is a text for the linker */
			close(fd);
		else if (fd >= 0)
			err = found(s, fd, path);
	}
	if (dir)
		closedir(dir);
	return err;
}

static int search_root(struct search *s, int root)
{
	int err, fd;

	if (strchr(s->name, '/')) {
		fd = image__open_file(root, s->name, true);
		return fd < 0 ? 0 : found(s, fd, s->name);
	}
	err = search_path(s, root);
	for (size_t i = 0; i < sizeof(library_dirs) / sizeof(library_dirs[0]) && !err && !s->path; i++)
		err = search_dir(s, root, library_dirs[i]);
	return err;
}

static int search_own(struct search *s)
{
	int fd, err;

	if (strchr(s->name, '/')) {
		fd = image__open_file(AT_FDCWD, s->name, false);
		return fd < 0 ? fd : found(s, fd, s->name);
	}
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = search_root(s, fd);
	close(fd);
	return err;
}

static int search_process(struct search *s, pid_t pid, int *ret_root)
{
	struct procdir dir;
	int err = procdir__open(pid, &dir);

	if (err)
		return err;
	*ret_root = procdir__root(&dir);
	err = search_maps(s, &dir);
	/* a relative path is ours */
	if (!err && !s->path && *ret_root >= 0 && (s->name[0] == '/' || !strchr(s->name, '/')))
		err = search_root(s, *ret_root);
	procdir__close(&dir);
	return err;
}

static void explain(const struct search *s, pid_t pid, int err, char why[BINARY_WHY_LEN])
{
	if (s->other)
		snprintf(why, BINARY_WHY_LEN, "%s may be %s or %s: give its path", s->name, s->path,
			s->other);
	else if (err == -ENOENT && strchr(s->name, '/'))
		snprintf(why, BINARY_WHY_LEN, "there is no file %s", s->name);
	else if (err == -ENOENT)
		snprintf(why, BINARY_WHY_LEN,
			"there is no program or library %s in the usual places: give its path", s->name);
	else if (err == -ESRCH)
		snprintf(why, BINARY_WHY_LEN, "there is no process %d", (int)pid);
	else if (err == -EINVAL)
		snprintf(why, BINARY_WHY_LEN, "%s is no regular file", s->name);
	else
		snprintf(why, BINARY_WHY_LEN, "%s: %s", s->name, strerror(-err));
}

int binary__find(const char *name, pid_t pid, struct binary *ret, char why[BINARY_WHY_LEN])
{
	struct search s = { .name = name };
	int root = -1, err = pid ? search_process(&s, pid, &root) : 0;

	if (!err && !s.path)
		err = search_own(&s);
	if (!err && (!s.path || s.other))
		err = -ENOENT;
	if (err) {
		explain(&s, pid, err, why);
		drop(&s);
		if (root >= 0)
			close(root);
		return err;
	}
	*ret = (struct binary){ .fd = s.fd, .root = root, .path = s.path };
	return 0;
}

void binary__close(struct binary *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	if (b->root >= 0)
		close(b->root);
	free(b->path);
}
