# Sourced after debian.sh: finds or installs Go 1.26 or newer.

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
