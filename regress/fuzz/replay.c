/* SPDX-License-Identifier: ISC */
/*
 * Replays a seed corpus through a fuzz target, without libFuzzer: each file
 * of the directories and files named on the command line is given twice, so
 * that state left over by the first run shows.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static unsigned int replayed;

static int
replay_file(const char *path, size_t len)
{
	/* as large as the file, so that ASan finds a read behind its end */
	uint8_t *data = malloc(len > 0 ? len : 1);
	FILE *f = fopen(path, "rb");
	int r = -1;

	if (data == NULL || f == NULL || fread(data, 1, len, f) != len) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		goto out;
	}
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, len);
	LLVMFuzzerTestOneInput(data, len);
	replayed++;
	r = 0;
out:
	if (f != NULL)
		fclose(f);
	free(data);
	return r;
}

static int
replay_path(const char *path)
{
	struct stat st;
	struct dirent **names;
	int i, count, r = 0;

	if (stat(path, &st) == -1) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path, (size_t)st.st_size);
	if ((count = scandir(path, &names, NULL, alphasort)) == -1) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	for (i = 0; i < count; i++) {
		char *child = NULL;

		if (r == 0 && names[i]->d_name[0] != '.') {
			if (asprintf(&child, "%s/%s", path,
				names[i]->d_name) == -1)
				r = -1;
			else
				r = replay_path(child);
			free(child);
		}
		free(names[i]);
	}
	free(names);
	return r;
}

int
main(int argc, char **argv)
{
	static const uint8_t nothing[1];
	int i;

	if (LLVMFuzzerInitialize != NULL)
		LLVMFuzzerInitialize(&argc, &argv);
	LLVMFuzzerTestOneInput(nothing, 0);
	for (i = 1; i < argc; i++)
		if (replay_path(argv[i]) != 0)
			return 1;
	if (replayed == 0) {
		fprintf(stderr, "no corpus file\n");
		return 1;
	}
	return 0;
}
