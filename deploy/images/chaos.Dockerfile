# What `npm run chaos` needs of its machine, for the Compose service `chaos`: the docker command with its plugin. The checkout is mounted, with the
# Node.js and the packages that npm has installed there.
FROM debian:trixie-slim
RUN apt-get update -q && apt-get install -q -y --no-install-recommends docker-cli docker-compose \
  && rm -rf /var/lib/apt/lists/*
