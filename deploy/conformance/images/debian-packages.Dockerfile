# Stand-in for images that are one or two commands on a base system: Debian's packages of them.
FROM debian:trixie-slim
ARG PACKAGES
RUN apt-get update -q && apt-get install -q -y --no-install-recommends $PACKAGES && rm -rf /var/lib/apt/lists/*
