# Sourced after debian.sh: finds or installs Go 1.26 or newer, and builds programs with it.

GO_PACKAGES="golang-1.26-go golang-1.26-src"

# ensure_go WHY: prints the path of `go`: the machine's if it is new enough, else Debian testing's, unpacked into the cache.
ensure_go() {
  for program in go "$GANTRY_CACHE/unpacked/golang/usr/lib/go-1.26/bin/go"; do
    if have "$program" && go_is_new_enough "$program"; then command -v "$program" && return; fi
  done
  is_debian || die "Go 1.26 or newer is missing ($1)" "install it: https://go.dev/dl"
  may_install "$GO_PACKAGES (Debian testing's)" "$1"
  rm -rf "$GANTRY_CACHE/unpacked/golang"
  debian_unpack testing "$GANTRY_CACHE/unpacked/golang" $GO_PACKAGES
  # The package links its sources by absolute paths.
  for folder in src test; do
    if [ -d "$GANTRY_CACHE/unpacked/golang/usr/share/go-1.26/$folder" ]; then
      ln -sfn "$GANTRY_CACHE/unpacked/golang/usr/share/go-1.26/$folder" "$GANTRY_CACHE/unpacked/golang/usr/lib/go-1.26/$folder"
    fi
  done
  printf '%s' "$GANTRY_CACHE/unpacked/golang/usr/lib/go-1.26/bin/go"
}

go_is_new_enough() {
  found=$(cd / && GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed 's/^go//')
  [ "$(printf '1.26\n%s\n' "$found" | sort -V | head -n 1)" = 1.26 ]
}

# build_go FOLDER NAME WHY: prints the path of the program of the Go module in FOLDER, which has no folders. It is built into the cache, under a name with
# a hash of its sources.
build_go() {
  program=$GANTRY_CACHE/clients/$2-$(cat "$1"/* | sha256sum | cut -c1-16)
  if [ ! -x "$program" ]; then
    go=$(ensure_go "$3")
    say "building ${1#"$GANTRY_ROOT/"} (a minute or two, the first time)"
    mkdir -p "$GANTRY_CACHE/clients"
    (cd "$1" && CGO_ENABLED=0 "$go" build -trimpath -ldflags "-s -w" -o "$program.new" .) >"$GANTRY_CACHE/go-$2.log" 2>&1 ||
      die "building ${1#"$GANTRY_ROOT/"} failed" "$(tail -n 5 "$GANTRY_CACHE/go-$2.log")"
    mv "$program.new" "$program"
  fi
  printf '%s' "$program"
}
