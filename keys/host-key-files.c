/* SPDX-License-Identifier: ISC */
#include "keys/host-key-files.h"

const char *const host_key_files[HOST_KEY_FILES] = {
	SYSCONFDIR "/ssh_host_ecdsa_key",
	SYSCONFDIR "/ssh_host_ed25519_key",
	SYSCONFDIR "/ssh_host_rsa_key",
	SYSCONFDIR "/ssh_host_mldsa44_ed25519_key",
	OPENSSH_DIR "/ssh_host_ecdsa_key",
	OPENSSH_DIR "/ssh_host_ed25519_key",
	OPENSSH_DIR "/ssh_host_rsa_key",
};
