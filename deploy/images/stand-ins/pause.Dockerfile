# Stand-in for registry.k8s.io/pause: a static init that waits, reaps children and ends at SIGTERM.
FROM debian:trixie-slim AS build
RUN apt-get update -q && apt-get install -q -y --no-install-recommends catatonit

FROM scratch
COPY --from=build /usr/bin/catatonit /pause
USER 65535:65535
ENTRYPOINT ["/pause", "-P"]
