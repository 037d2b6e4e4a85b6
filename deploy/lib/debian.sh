# Sourced: packages of other Debian suites, without changing the machine's apt sources. apt downloads a package (and
# checks its signature); the package is unpacked into a separate folder.

# The archive that the machine's apt uses, or GANTRY_DEBIAN_MIRROR. It has the other suites too.
debian_mirror() {
  if [ -n "${GANTRY_DEBIAN_MIRROR:-}" ]; then printf '%s' "$GANTRY_DEBIAN_MIRROR" && return; fi
  mirror=$(listed_mirror)
  # Without package lists apt cannot name the archive.
  if [ -z "$mirror" ] && is_root; then apt-get -qq update >&2 && mirror=$(listed_mirror); fi
  [ -n "$mirror" ] || die "apt knows no archive of Debian packages" "name one: GANTRY_DEBIAN_MIRROR=http://.../debian"
  printf '%s' "${mirror%/}"
}

listed_mirror() {
  apt-get indextargets --format '$(LABEL) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian main //p' | head -n 1
}

# debian_apt SUITE COMMAND...: apt-get with that suite as the only source; lists are kept in our cache.
debian_apt() {
  suite=$1
  shift
  base=$GANTRY_CACHE/apt/$suite
  mkdir -p "$base/lists/partial" "$base/archives/partial" "$base/preferences.d"
  : >"$base/status" # installed packages must not influence the choice of a version
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
    "$(debian_mirror)" "$suite" >"$base/debian.sources"
  apt-get -qq \
    -o Dir::Etc::sourcelist="$base/debian.sources" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$base/preferences.d" \
    -o Dir::State::lists="$base/lists" -o Dir::State::status="$base/status" -o Dir::Cache="$base" -o Dir::Cache::archives="$base/archives" \
    -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Acquire::Languages=none \
    "$@"
}

# debian_unpack SUITE FOLDER PACKAGE...: unpacks the suite's newest build of each package into FOLDER.
debian_unpack() {
  suite=$1 folder=$2
  shift 2
  mkdir -p "$folder"
  download=$(mktemp -d)
  debian_apt "$suite" update || die "cannot read the package lists of Debian $suite from $(debian_mirror)"
  (cd "$download" && debian_apt "$suite" download "$@") || die "cannot download $* from Debian $suite"
  for file in "$download"/*.deb; do dpkg-deb -x "$file" "$folder"; done
  rm -rf "$download"
}

# install_from_apt PACKAGE...: installs packages of the machine's own suite.
install_from_apt() {
  mkdir -p "$GANTRY_CACHE"
  apt-get -qq update || say "apt-get update failed; continuing with the present package lists"
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "$@" >"$GANTRY_CACHE/apt.log" 2>&1 ||
    die "apt-get install $* failed" "see $GANTRY_CACHE/apt.log"
}

# ensure_from_apt PROGRAM PACKAGE WHY: installs PACKAGE where PROGRAM, a name or a path, is missing.
ensure_from_apt() {
  if have "$1"; then return; fi
  is_debian && is_root || die "${1##*/} is missing ($3)" "Debian: sudo apt-get install $2"
  may_install "$2 (Debian's)" "$3"
  install_from_apt "$2"
}
