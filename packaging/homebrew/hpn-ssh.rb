# SPDX-License-Identifier: ISC
# For a tap: brew install OWNER/TAP/hpn-ssh. A release has its copy, with the
# checksum of its tarball (packaging/recipes.sh).
class HpnSsh < Formula
  desc "SSH suite for large data and long paths, a drop-in for OpenSSH"
  homepage "https://hpn-ssh.invalid/"
  url "https://hpn-ssh.invalid/releases/v0.0.0/hpn-ssh-0.0.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "ISC"

  depends_on "make" => :build
  depends_on "pkgconf" => :build
  depends_on "krb5"
  depends_on "libedit"
  depends_on "openssl@3"

  uses_from_macos "zlib"

  def install
    # loaded at run time; on macOS it is where no loader looks
    kerberos = Formula["krb5"].opt_lib
    args = %W[
      --prefix=#{prefix}
      --sysconfdir=#{etc}
      --localstatedir=#{var}
      --disable-werror
      --without-pam
      --without-seccomp
      --without-ipsec-mb
      --without-pkcs11
      --without-libfido2
      --without-libunbound
      GSSAPI_LIBRARY=#{kerberos/shared_library("libgssapi_krb5")}
      KRB5_LIBRARY=#{kerberos/shared_library("libkrb5")}
    ]
    make = Formula["make"].opt_bin/"gmake"
    system "./configure", *args
    system make
    system make, "install"
    # root's, for logins by the name of a host; Homebrew installs nothing setuid
    rm libexec/"hpnssh/hpnssh-keysign"
    # macOS has no server, and no units then
    rm_r lib/"systemd" if OS.linux?
  end

  test do
    assert_match "aes256-gcm@openssh.com", shell_output("#{bin}/hpnssh -Q cipher")
    system bin/"hpnssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"
    assert_match "ED25519", shell_output("#{bin}/hpnssh-keygen -l -f key.pub")
  end
end
