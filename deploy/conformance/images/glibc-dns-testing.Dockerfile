# Stand-in for glibc-dns-testing: Debian's resolver, and dig. Tests that serve names of their own want the original's CoreDNS.
FROM debian:trixie-slim
RUN apt-get update -q && apt-get install -q -y --no-install-recommends bind9-dnsutils && rm -rf /var/lib/apt/lists/*
