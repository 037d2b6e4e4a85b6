# Stand-in for apparmor-loader: its program, compiled from Kubernetes' module, and Debian's apparmor.
FROM debian:trixie-slim
RUN apt-get update -q && apt-get install -q -y --no-install-recommends apparmor && rm -rf /var/lib/apt/lists/*
COPY apparmor-loader /usr/bin/loader
ENTRYPOINT ["/usr/bin/loader", "-logtostderr", "-v=2"]
CMD ["/profiles"]
