/* SPDX-License-Identifier: MIT */
/* What a kernel lets a user observe: plain data, filled by probe/, shown by out/. */
#ifndef RINGSIDE_SURVEY_H
#define RINGSIDE_SURVEY_H

#include "snapshot.h"

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

struct fact {
	enum answer answer;
	char why[160]; /* of a no, or why it is not known; may be "" */
};

enum survey_depth {
	SURVEY_PLANNED, /* from a file of kernel types: nothing is known of the running kernel */
	SURVEY_UNTRIED, /* from the running kernel's types: this user may not load anything */
	SURVEY_TRIED,	/* everything that fits was loaded and attached */
};

struct survey_feature {
	enum feature_level planned; /* by the kernel's types */
	bool known;		    /* whether state.level is a fact; else it is what is planned */
	struct feature_state state;
	char needs[160]; /* what would make it full; "": nothing, or nothing that we know */
};

/* Names, without CONFIG_, and values of the kernel's build options that matter here. */
#define SURVEY_OPTIONS 12
struct survey_option {
	const char *name;
	char value[12]; /* "y", "m", "n" */
};

#define SURVEY_UNKNOWN (-1)

struct survey_system {
	bool btf;	   /* /sys/kernel/btf/vmlinux can be read */
	char lockdown[24]; /* "none", "integrity", "confidentiality"; "": not known */
	/* values of kernel.*, or SURVEY_UNKNOWN */
	int unprivileged_bpf_disabled, io_uring_disabled, kptr_restrict;
	struct fact io_uring;	     /* this user may create rings */
	struct fact fentry, kprobes; /* could be used; not needed */
	char config[128];	     /* file that the options are from; "": none */
	struct survey_option options[SURVEY_OPTIONS];
};

struct survey_user {
	unsigned int uid;
	bool cap_bpf, cap_perfmon, cap_syslog;
	bool foreign_user_ns, foreign_pid_ns; /* not in the initial namespace */
	bool seccomp;			      /* has a seccomp filter */
};

struct survey {
	enum survey_depth depth;
	const char *file; /* SURVEY_PLANNED: the types are from there */
	char release[65]; /* of the running kernel; "" when SURVEY_PLANNED */
	struct survey_feature features[RS_F_COUNT];
	bool works;    /* `stat` can run, or could by this plan */
	char why[512]; /* why it can't, or why nothing was tried: one line; "" */
	/* not filled when SURVEY_PLANNED */
	struct survey_system system;
	struct survey_user user;
};

#endif
