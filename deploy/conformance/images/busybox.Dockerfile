# Stand-in for the tests' busybox: that of the official one. Debian's busybox shell drops variables whose names are no identifiers,
# which tests look for: where there are any, the shell is bash.
FROM debian:trixie-slim AS shell
RUN apt-get update -q && apt-get install -q -y --no-install-recommends bash-static

FROM busybox:1.36
COPY --from=shell /usr/bin/bash-static /bin/bash
RUN rm -f /bin/sh && printf '%s\n' \
  '#!/bin/bash' \
  'while IFS== read -r -d "" name _; do' \
  '  case $name in *[!A-Za-z0-9_]* | [0-9]*) exec -a "$0" /bin/bash "$@" ;; esac' \
  'done </proc/self/environ' \
  'exec -a "$0" /bin/busybox "$@"' >/bin/shell && chmod 755 /bin/shell && mv /bin/shell /bin/sh
