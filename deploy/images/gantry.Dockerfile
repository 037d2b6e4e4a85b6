# The image of all services: Debian, Node.js and one bundle per service.
#
# BUNDLE=inside (the default) bundles in a build stage; the context is the checkout. `npm run up` bundles on the host and
# builds with BUNDLE=host; the context is the bundle. This saves a second npm ci; the files are the same.
ARG BUNDLE=inside

FROM node:24-slim AS bundle-inside
WORKDIR /source
COPY . .
RUN npm ci && node_modules/.bin/node deploy/tools/bundle.ts /bundle

FROM scratch AS bundle-host
COPY . /bundle/

FROM bundle-${BUNDLE} AS bundle

FROM debian:trixie-slim
# For the proxy, which programs the host's packet filter; for the ingress controller, which configures HAProxy; for the agent, which makes
# file systems on disks.
RUN apt-get update -q && apt-get install -q -y --no-install-recommends nftables iptables conntrack iproute2 haproxy e2fsprogs \
  && rm -rf /var/lib/apt/lists/*
COPY --from=bundle /bundle/bin/ /usr/local/bin/
COPY --from=bundle /bundle/app/ /app/
WORKDIR /app
ENV NODE_ENV=production
CMD ["node", "--version"]
