# Stand-in for resource-consumer: its two programs, compiled from Kubernetes' module, and Debian's stress.
FROM debian:trixie-slim
RUN apt-get update -q && apt-get install -q -y --no-install-recommends stress && rm -rf /var/lib/apt/lists/*
COPY resource-consumer /consumer
COPY consume-cpu /consume-cpu
EXPOSE 8080
ENTRYPOINT ["/consumer"]
