# SPDX-License-Identifier: ISC
# nix run .#hpn-ssh, nix profile install, or an input of other flakes.
{
  description = "SSH suite for large data and long paths, a drop-in for OpenSSH";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = f: nixpkgs.lib.genAttrs systems
        (system: f nixpkgs.legacyPackages.${system});
      version = builtins.head (builtins.match
        ".*AC_INIT\\(\\[HPN-SSH], \\[([0-9.]+)].*"
        (builtins.readFile ./configure.ac));
    in {
      packages = each (pkgs: rec {
        hpn-ssh = pkgs.stdenv.mkDerivation {
          pname = "hpn-ssh";
          inherit version;
          src = self;
          nativeBuildInputs = with pkgs; [ autoreconfHook pkg-config ];
          buildInputs = with pkgs; [
            krb5 libedit libfido2 libseccomp libxcrypt openssl p11-kit pam
            unbound zlib
          ];
          # Loaded at run time, where no PATH of libraries is.
          configureFlags = [
            "--sysconfdir=/etc"
            "--localstatedir=/var"
            "--with-privsep-path=/run/hpnsshd"
            "--disable-werror"
            "--without-ipsec-mb"
            "PAM_LIBRARY=${pkgs.pam}/lib/libpam.so.0"
            "GSSAPI_LIBRARY=${pkgs.lib.getLib pkgs.krb5}/lib/libgssapi_krb5.so.2"
            "KRB5_LIBRARY=${pkgs.lib.getLib pkgs.krb5}/lib/libkrb5.so.3"
            "UNBOUND_LIBRARY=${pkgs.lib.getLib pkgs.unbound}/lib/libunbound.so.8"
          ];
          # What is outside of the store is the system's; hpnssh-keysign gets
          # its rights from a wrapper there (security.wrappers).
          installFlags = [
            "confdir=${placeholder "out"}/etc/hpnssh"
            "privsepdir=${placeholder "out"}/var/empty"
            "runstatedir=${placeholder "out"}/var/run"
          ];
          enableParallelBuilding = true;
        };
        default = hpn-ssh;
      });
    };
}
