# Sourced by the scripts in deploy/bin: folders, and functions for output.

GANTRY_ROOT=$(cd "$(dirname "$0")/../.." && pwd)
GANTRY_CACHE=${GANTRY_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gantry}
export GANTRY_CACHE
GANTRY_TOOLS=$GANTRY_CACHE/tools/bin
GANTRY_INSTALL=${GANTRY_INSTALL:-yes}

say() { printf '%s\n' "$*" >&2; }

# die MESSAGE...: prints one line per argument and exits.
die() {
  printf 'gantry: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '        %s\n' "$line" >&2; done
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }
is_debian() { have apt-get && [ -r /usr/share/keyrings/debian-archive-keyring.gpg ]; }

# may_install WHAT WHY: announces an installation, or exits where GANTRY_INSTALL forbids it.
may_install() {
  if [ "$GANTRY_INSTALL" = no ]; then
    die "$1 is missing ($2), and GANTRY_INSTALL=no forbids to install it"
  fi
  say "installing $1: $2"
}
