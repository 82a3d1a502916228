// SPDX-License-Identifier: MIT
/* Numbers scaled for people. A unit is left where rounding would already print the next one. */
#include <math.h>
#include <stdio.h>

#include "fmt.h"

/* Decimals that make three significant digits, judged after rounding. */
static int decimals(double v)
{
	if (v < 9.995)
		return 2;
	return v < 99.95 ? 1 : 0;
}

char *fmt_ns(char buf[FMT_LEN], uint64_t ns)
{
	static const struct {
		double ns, end; /* end: where the next unit takes over, in this unit */
		const char *name;
		int max_decimals;
	} units[] = {
		{ 1e3, 999.5, "us", 2 },
		{ 1e6, 999.5, "ms", 2 },
		{ 1e9, 59.95, "s", 2 },
		{ 60e9, 59.95, "min", 1 },
		{ 3600e9, INFINITY, "h", 1 },
	};
	size_t i = 0;
	double v;
	int d;

	if (ns < 1000) {
		snprintf(buf, FMT_LEN, "%uns", (unsigned int)ns);
		return buf;
	}
	while ((double)ns / units[i].ns >= units[i].end)
		i++;
	v = (double)ns / units[i].ns;
	d = decimals(v);
	snprintf(buf, FMT_LEN, "%.*f%s", d < units[i].max_decimals ? d : units[i].max_decimals, v,
		units[i].name);
	return buf;
}

static void format_small_count(char buf[FMT_LEN], const char *sign, double n)
{
	if (n == (double)(unsigned int)n)
		snprintf(buf, FMT_LEN, "%s%.0f", sign, n);
	else if (n < 0.005)
		snprintf(buf, FMT_LEN, "%s<0.01", sign);
	else
		snprintf(buf, FMT_LEN, "%s%.*f", sign, decimals(n), n);
}

char *fmt_count(char buf[FMT_LEN], double n)
{
	static const char suffix[] = "kMGTPE";
	const char *sign = n < 0 ? "-" : "";
	size_t i = 0;

	if (!isfinite(n)) {
		snprintf(buf, FMT_LEN, "n/a");
		return buf;
	}
	n = fabs(n);
	if (n < 9999.5) {
		format_small_count(buf, sign, n);
		return buf;
	}
	for (n /= 1e3; n >= 999.5 && suffix[i + 1]; i++)
		n /= 1e3;
	if (n < 1e6)
		snprintf(buf, FMT_LEN, "%s%.*f%c", sign, decimals(n), n, suffix[i]);
	else
		snprintf(buf, FMT_LEN, "%s%.3g%c", sign, n, suffix[i]);
	return buf;
}

char *fmt_bytes(char buf[FMT_LEN], double n)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	const size_t last = sizeof(units) / sizeof(units[0]) - 1;
	const char *sign = n < 0 ? "-" : "";
	size_t i = 0;
	int d;

	if (!isfinite(n)) {
		snprintf(buf, FMT_LEN, "n/a");
		return buf;
	}
	n = fabs(n);
	if (n < 1023.5) {
		if (n > 0 && n < 0.5)
			snprintf(buf, FMT_LEN, "%s<1B", sign);
		else
			snprintf(buf, FMT_LEN, "%s%.0fB", sign, n);
		return buf;
	}
	for (n /= 1024; n >= 1023.5 && i < last; i++)
		n /= 1024;
	d = decimals(n);
	if (i == 0 && d > 1)
		d = 1; /* "4.0KiB": more digits of a block size are noise */
	if (n < 1e6)
		snprintf(buf, FMT_LEN, "%s%.*f%s", sign, d, n, units[i]);
	else
		snprintf(buf, FMT_LEN, "%s%.3g%s", sign, n, units[i]);
	return buf;
}

/* A part is not rounded to nothing or to everything. */
char *fmt_pct(char buf[FMT_LEN], double part, double whole)
{
	double pct;

	if (!isfinite(part) || !isfinite(whole) || !(whole > 0)) {
		snprintf(buf, FMT_LEN, "-");
		return buf;
	}
	pct = part / whole * 100;
	if (part <= 0)
		snprintf(buf, FMT_LEN, "0%%");
	else if (pct < 0.005)
		snprintf(buf, FMT_LEN, "<0.01%%");
	else if (part < whole && pct >= 99.95)
		snprintf(buf, FMT_LEN, ">99.9%%");
	else if (pct < 1e6)
		snprintf(buf, FMT_LEN, "%.*f%%", decimals(pct), pct);
	else
		snprintf(buf, FMT_LEN, "%.3g%%", pct);
	return buf;
}
