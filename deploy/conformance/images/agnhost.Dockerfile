# Stand-in for agnhost: its program, compiled from Kubernetes' module, on Debian with the commands that tests run beside it.
FROM registry.k8s.io/pause:3.10 AS pause

# What `fake-registry-server` serves: the pause image of the cluster as pause:testing, in folders as the original's
# prepare_registry.sh fills them. A tag names a list, which names a manifest, which names a configuration and a layer.
FROM debian:trixie-slim AS registry
COPY --from=pause /pause /layer/pause
WORKDIR /registry/pause
ARG TARGETARCH
# `keep` moves a file to where the server looks for its digest, and prints how others refer to it. Layer and compression
# carry no time, so that a program always has the same digests. The stand-in for pause ends at once without `-P`, which the
# original ignores.
RUN set -eu; types=application/vnd.docker; \
  keep() { \
    hash=$(sha256sum < "$3" | cut -d ' ' -f 1); size=$(stat -c %s "$3"); \
    folder=$1/sha256/$(printf %.2s "$hash")/$hash; \
    mkdir -p "$folder"; mv "$3" "$folder/data"; \
    printf '"mediaType": "%s", "digest": "sha256:%s", "size": %s' "$2" "$hash" "$size"; \
  }; \
  tar -c -C /layer --mtime=@0 --owner=0 --group=0 --numeric-owner pause > /tar; \
  diff=$(sha256sum < /tar | cut -d ' ' -f 1); gzip -n < /tar > /layer.gz; \
  layer=$(keep blobs $types.image.rootfs.diff.tar.gzip /layer.gz); \
  platform=$(printf '"architecture": "%s", "os": "linux"' "$TARGETARCH"); \
  command='"User": "65535:65535", "WorkingDir": "/", "Entrypoint": ["/pause", "-P"]'; \
  printf '{%s, "config": {%s}, "rootfs": {"type": "layers", "diff_ids": ["sha256:%s"]}}' "$platform" "$command" "$diff" > /config; \
  config=$(keep blobs $types.container.image.v1+json /config); \
  one=$types.distribution.manifest.v2+json; \
  printf '{"schemaVersion": 2, "mediaType": "%s", "config": {%s}, "layers": [{%s}]}' $one "$config" "$layer" > /manifest; \
  manifest=$(keep manifests $one /manifest); \
  many=$types.distribution.manifest.list.v2+json; \
  printf '{"schemaVersion": 2, "mediaType": "%s", "manifests": [{%s, "platform": {%s}}]}' $many "$manifest" "$platform" > /list; \
  keep manifests $many /list | grep -o 'sha256:[0-9a-f]*' > manifests/testing

FROM debian:trixie-slim
RUN apt-get update -q \
  && apt-get install -q -y --no-install-recommends bind9-dnsutils busybox-static ca-certificates curl iperf iproute2 \
    netcat-openbsd util-linux \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir -p /uploads /opt/busybox && busybox --install -s /opt/busybox && ln -s /usr/bin/iperf /usr/local/bin/iperf \
  && useradd -m -u 1000 user-defined-in-image && groupadd -g 50000 group-defined-in-image \
  && usermod -a -G group-defined-in-image user-defined-in-image
# The original's smaller commands are busybox's; Debian's own come first.
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/busybox
COPY files/agnhost/porter/localhost.crt files/agnhost/porter/localhost.key /
COPY agnhost /agnhost
COPY --from=registry /registry /var/registry
RUN ln -s agnhost /agnhost-2
ARG VERSION
LABEL version=$VERSION
EXPOSE 80 8080 8081 9376 5000
ENTRYPOINT ["/agnhost"]
CMD ["pause"]
