# Stand-in for the tests' busybox: that of the official one, with bash as its shell. Debian's busybox shell drops variables whose
# names are no identifiers, which tests look for.
FROM debian:trixie-slim AS shell
RUN apt-get update -q && apt-get install -q -y --no-install-recommends bash-static

FROM busybox:1.36
COPY --from=shell /usr/bin/bash-static /bin/bash
RUN ln -sf bash /bin/sh
