/* SPDX-License-Identifier: ISC */
/*
 * What an SFTP session may do to files: the rights of confine@hpnssh.org
 * (docs/SFTP.md), as on the wire. Each row of the server's table of requests
 * names the rights that the request needs, so a right that is given up is gone
 * for all requests at once.
 */
#ifndef HPN_XFER_SFTP_SFTP_RIGHTS_H
#define HPN_XFER_SFTP_SFTP_RIGHTS_H

enum sftp_right {
	SFTP_MAY_LIST = 1,	/* see names, attributes, targets of links */
	SFTP_MAY_READ = 2,	/* read content of files, and digests of it */
	SFTP_MAY_MAKE = 4,	/* make new names */
	SFTP_MAY_CHANGE = 8,	/* change existing files, or replace names */
	SFTP_MAY_LINK = 16,	/* make links; needs MAKE as well */
	SFTP_MAY_DELETE = 32,	/* remove names */
	SFTP_MAY_MODE = 64,	/* set permissions of existing files */
	SFTP_MAY_OWNER = 128,	/* set owners and groups */
	SFTP_MAY_TIMES = 256,
	SFTP_MAY_ALL = 511,
};

enum sftp_confine_flag {
	SFTP_CONFINE_LINKS = 1, /* links that lead to a place below the
				 * directory are followed */
};

#endif
