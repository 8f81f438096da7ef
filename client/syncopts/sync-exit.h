/* SPDX-License-Identifier: ISC */
/* Exit statuses of hpnsync, which scripts know from rsync(1), and one more. */
#ifndef HPN_CLIENT_SYNCOPTS_SYNC_EXIT_H
#define HPN_CLIENT_SYNCOPTS_SYNC_EXIT_H

enum sync_exit {
	SYNC_EXIT_OK = 0,
	SYNC_EXIT_USAGE = 1,
	SYNC_EXIT_FILES = 3, /* a source, target or file of options that cannot
			      * be used at all */
	SYNC_EXIT_REFUSED = 4, /* an option that is rsync's, and not here */
	SYNC_EXIT_OUTPUT = 11, /* a log file cannot be written, or a disk is
			        * full */
	SYNC_EXIT_PROTOCOL = 12, /* the connection was lost */
	SYNC_EXIT_SIGNAL = 20,
	SYNC_EXIT_MEMORY = 22,
	SYNC_EXIT_PARTIAL = 23, /* something could not be copied or deleted */
	SYNC_EXIT_VANISHED = 24, /* a source was gone when it was to be read */
	SYNC_EXIT_DELETES = 25, /* nothing was deleted: it were too many */
	SYNC_EXIT_TIMEOUT = 30,
	SYNC_EXIT_AGAIN = 75, /* it was told to end: the same command goes on */
	SYNC_EXIT_UNREACHABLE = 255, /* nobody was logged in */
};

#endif
