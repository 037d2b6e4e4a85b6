# Sourced after say.sh: the release that deploy/previous-release names, as a tag or a commit. Services of it run beside those of this tree.

# Prints the id of its commit.
previous_commit() {
  name=$(cat "$GANTRY_ROOT/deploy/previous-release")
  printf '%s' "$name" | grep -Eqx '[0-9A-Za-z][0-9A-Za-z._-]*' || die "deploy/previous-release must contain the name of one commit or tag, and contains: $name"
  have git || die "git is missing (it has the release $name that deploy/previous-release names)" "Debian: sudo apt-get install git"
  (cd "$GANTRY_ROOT" && git rev-parse --verify --quiet "$name^{commit}") && return
  die "the release $name that deploy/previous-release names is not in this clone" \
    "a clone without the whole history: git fetch --unshallow --tags" "a folder without a history: git clone the repository"
}

# extract_previous FOLDER: its files.
extract_previous() {
  previous=$(previous_commit)
  (cd "$GANTRY_ROOT" && git archive "$previous") | tar -x -C "$1"
}
