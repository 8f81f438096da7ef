/* SPDX-License-Identifier: ISC */
/*
 * What an SFTP session may do to files: the rights of confine@hpnssh.org
 * (docs/SFTP.md), as they stand on the wire. Each row of the server's table of
 * requests names those that it takes, so a right that is given up is gone
 * from all requests at once.
 */
#ifndef HPN_XFER_SFTP_SFTP_RIGHTS_H
#define HPN_XFER_SFTP_SFTP_RIGHTS_H

enum sftp_right {
	SFTP_MAY_LIST = 1,	/* names, attributes, texts of links */
	SFTP_MAY_READ = 2,	/* what is in files, and digests of it */
	SFTP_MAY_MAKE = 4,	/* names that were not there */
	SFTP_MAY_CHANGE = 8,	/* what is in files, or has a name, already */
	SFTP_MAY_LINK = 16,	/* links, besides MAKE */
	SFTP_MAY_DELETE = 32,	/* take names away */
	SFTP_MAY_MODE = 64,	/* permissions of what is there */
	SFTP_MAY_OWNER = 128,	/* owners and groups */
	SFTP_MAY_TIMES = 256,
	SFTP_MAY_ALL = 511,
};

enum sftp_confine_flag {
	SFTP_CONFINE_LINKS = 1, /* links that stay below are followed */
};

#endif
