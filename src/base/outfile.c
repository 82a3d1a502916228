// SPDX-License-Identifier: MIT
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void forget(struct outfile *o)
{
	free(o->path);
	free(o->temp);
	memset(o, 0, sizeof(*o));
}

/* mkstemp makes files that only the owner reads; an ordinary file obeys the umask. */
static int open_temp(struct outfile *o, const struct stat *old)
{
	mode_t mask = umask(0), mode = old ? old->st_mode & 0777 : 0666 & ~mask;
	int fd;

	umask(mask);
	if (asprintf(&o->temp, "%s.XXXXXX", o->path) < 0) {
		o->temp = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode)) {
		int err = -errno;

		close(fd);
		unlink(o->temp);
		return err;
	}
	return fd;
}

int outfile__open(const char *path, bool stream, struct outfile *ret)
{
	struct outfile o = { .path = strdup(path) };
	struct stat st;
	bool exists;
	int fd;

	if (!o.path)
		return -ENOMEM;
	/* a rename would replace the link, not what it leads to (/dev/stdout) */
	exists = !lstat(path, &st);
	if (exists && !S_ISREG(st.st_mode))
		stream = true;
	if (stream) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		fd = fd < 0 ? -errno : fd;
	} else {
		fd = open_temp(&o, exists ? &st : NULL);
	}
	if (fd < 0) {
		forget(&o);
		return fd;
	}
	o.f = fdopen(fd, "w");
	if (!o.f) {
		close(fd);
		if (o.temp)
			unlink(o.temp);
		forget(&o);
		return -ENOMEM;
	}
	*ret = o;
	return 0;
}

int outfile__commit(struct outfile *o)
{
	int err = 0;

	if (ferror(o->f))
		err = -EIO;
	if (fclose(o->f) && !err)
		err = -errno;
	if (!err && o->temp && rename(o->temp, o->path))
		err = -errno;
	if (err && o->temp)
		unlink(o->temp);
	forget(o);
	return err;
}

void outfile__abort(struct outfile *o)
{
	if (!o->f)
		return;
	fclose(o->f);
	if (o->temp)
		unlink(o->temp);
	forget(o);
}
