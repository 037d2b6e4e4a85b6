# Sourced: the Node.js that the lock file pins, and the packages, installed by npm when they are missing or out of date.

ensure_packages() {
  marker=$GANTRY_ROOT/node_modules/.package-lock.json
  if [ -f "$marker" ] && [ ! "$GANTRY_ROOT/package-lock.json" -nt "$marker" ]; then return; fi
  have npm || die "npm is missing" "install Node.js 18 or newer: https://nodejs.org (Debian: sudo apt-get install nodejs npm)"
  if [ "$GANTRY_INSTALL" = no ]; then die "the npm packages of package-lock.json are not installed, and GANTRY_INSTALL=no forbids it" "run: npm ci"; fi
  unverified=$(cd "$GANTRY_ROOT" && node deploy/lib/unverified-packages.mjs) || die "package-lock.json cannot be read"
  [ -z "$unverified" ] || die "package-lock.json has no checksum for" $unverified \
    "npm would install them unverified; add as \"integrity\" what this says of each: npm view NAME@VERSION dist.integrity"
  say "installing the npm packages of package-lock.json (Node.js 24 is among them)"
  mkdir -p "$GANTRY_CACHE"
  (cd "$GANTRY_ROOT" && npm ci --no-audit --no-fund >"$GANTRY_CACHE/npm-ci.log" 2>&1) ||
    die "npm ci failed" "$(tail -n 5 "$GANTRY_CACHE/npm-ci.log")"
  touch "$marker"
}

# The Node.js that npm installed; where npm has no build of it, the machine's own.
pinned_node() {
  if [ -x "$GANTRY_ROOT/node_modules/.bin/node" ]; then
    printf '%s' "$GANTRY_ROOT/node_modules/.bin/node"
  elif have node && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 24 ]; then
    command -v node
  else
    die "Node.js 24 is missing: npm carries it for Linux alone" "install it: https://nodejs.org"
  fi
}

# run_typescript FILE ARGUMENT...: runs a source file with the pinned Node.js.
run_typescript() {
  file=$1
  shift
  PATH=$GANTRY_ROOT/node_modules/.bin:$PATH
  export PATH
  exec "$(pinned_node)" --conditions=gantry-source --disable-warning=ExperimentalWarning "$GANTRY_ROOT/$file" "$@"
}
