// SPDX-License-Identifier: MIT
#include "stream.h"

#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "log.h"

int stream__flush(FILE *f)
{
	bool failed = ferror(f);

	/* why is not known any more; another byte fails for the same reason, and will not be missed */
	if (failed)
		fputc('\n', f);
	errno = 0;
	if (fflush(f))
		return errno ? -errno : -EIO;
	return failed ? -EIO : 0;
}

int stream__finish_stdout(void)
{
	int err = stream__flush(stdout);

	if (!err)
		return EXIT_OK;
	log_error("can't write to standard output: %s", strerror(-err));
	return EXIT_FAILED;
}
