// SPDX-License-Identifier: MIT
/* Where a command's output goes, and what may be drawn there. */
#include "sinks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "log.h"
#include "parse.h"
#include "stream.h"

#define WIDTH_DEFAULT 80
#define WIDTH_MIN 40
#define WIDTH_MAX 400

static int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;
	uint64_t n;

	if (isatty(fd) && !ioctl(fd, TIOCGWINSZ, &w) && w.ws_col)
		return w.ws_col < WIDTH_MIN ? WIDTH_MIN : w.ws_col;
	if (columns && !parse_u64(columns, WIDTH_MIN, WIDTH_MAX, &n))
		return (int)n;
	return WIDTH_DEFAULT;
}

static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *v;
	size_t i;

	/* the first that is set decides, as in setlocale() */
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		v = getenv(names[i]);
		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}

static struct text_options style_for(FILE *f)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool tty = isatty(fileno(f));

	return (struct text_options){
		.width = terminal_width(fileno(f)),
		.color = tty && !(no_color && *no_color) && term && strcmp(term, "dumb"),
		.unicode = tty && is_utf8(),
	};
}

static int open_file(const char *path, bool stream, struct outfile *ret)
{
	int err = outfile__open(path, stream, ret);

	if (err)
		log_error("can't write '%s': %s", path, strerror(-err));
	return err;
}

int sinks_options__check(const struct sinks_options *o, char *errmsg, size_t errsize)
{
	if (!o->out || !o->json.value || strcmp(o->out, o->json.value))
		return 0;
	snprintf(errmsg, errsize, "-o and --json name the same file ('%s')", o->out);
	return -EINVAL;
}

int sinks__open(struct sinks *s, const struct sinks_options *o, bool stream)
{
	FILE *main_out = stdout;
	int err;

	if (o->out && strcmp(o->out, "-")) {
		err = open_file(o->out, stream, &s->text_file);
		if (err)
			return err;
		main_out = s->text_file.f;
	}
	if (!o->json.given) {
		s->text = main_out;
	} else if (!o->json.value || !strcmp(o->json.value, "-")) {
		s->json = main_out;
	} else {
		err = open_file(o->json.value, stream, &s->json_file);
		if (err)
			return err;
		s->json = s->json_file.f;
		s->text = main_out;
	}
	s->style = style_for(main_out);
	return 0;
}

static int commit(struct outfile *f)
{
	char *path;
	int err;

	if (!f->f)
		return 0;
	path = strdup(f->path);
	err = outfile__commit(f);
	if (err)
		log_error("can't write '%s': %s", path ? path : "report", strerror(-err));
	free(path);
	return err;
}

int sinks__commit(struct sinks *s)
{
	int err = commit(&s->text_file), err2 = commit(&s->json_file), err3 = stream__flush(stdout);

	sinks__say(err3);
	return err ? err : err2 ? err2 : err3;
}

void sinks__abort(struct sinks *s)
{
	outfile__abort(&s->text_file);
	outfile__abort(&s->json_file);
}

int sinks__put_json(struct sinks *s, json_t *j, size_t flags)
{
	int err = 0;

	if (!j)
		return -ENOMEM;
	/* what did not fit into memory is no error of the stream */
	if (json_dumpf(j, s->json, flags) && !ferror(s->json))
		err = -ENOMEM;
	fputc('\n', s->json);
	json_decref(j);
	return err ? err : stream__flush(s->json);
}

int sinks__flush_text(struct sinks *s, int err)
{
	int flushed = s->text && (!err || err == -EIO) ? stream__flush(s->text) : 0;

	return flushed ? flushed : err;
}

int sinks__say(int err)
{
	if (err)
		log_error("can't write the report: %s", strerror(-err));
	return err;
}
