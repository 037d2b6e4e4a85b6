# The one image of all services: Node.js, one bundle per service, and nothing else on top of Debian.
#
# BUNDLE=inside (the default) installs and bundles in a build stage; its context is the checkout. `npm run up` bundles on
# the host and builds with BUNDLE=host, where the context is the finished bundle: the same files from the same lock file,
# without a second npm ci.
ARG BUNDLE=inside

FROM node:24-slim AS bundle-inside
WORKDIR /source
COPY . .
RUN npm ci && node_modules/.bin/node deploy/tools/bundle.ts /bundle

FROM scratch AS bundle-host
COPY . /bundle/

FROM bundle-${BUNDLE} AS bundle

FROM debian:trixie-slim
COPY --from=bundle /bundle/bin/ /usr/local/bin/
COPY --from=bundle /bundle/app/ /app/
WORKDIR /app
ENV NODE_ENV=production
CMD ["node", "--version"]
