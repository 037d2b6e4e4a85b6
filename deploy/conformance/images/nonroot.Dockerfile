# Stand-in for nonroot: a Debian image whose user is not root.
FROM debian:trixie-slim
USER 1234
