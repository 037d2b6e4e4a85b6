# Stand-in for the official busybox image: Debian's static busybox with a link per program.
FROM debian:trixie-slim AS build
RUN apt-get update -q && apt-get install -q -y --no-install-recommends busybox-static
RUN mkdir -p /root-fs/bin /root-fs/tmp /root-fs/etc /root-fs/root && chmod 1777 /root-fs/tmp \
  && cp /bin/busybox /root-fs/bin/busybox \
  && for name in $(/bin/busybox --list | grep -v "^busybox$"); do ln -sf busybox "/root-fs/bin/$name"; done \
  && printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' > /root-fs/etc/passwd \
  && printf 'root:x:0:\nnogroup:x:65534:\n' > /root-fs/etc/group

FROM scratch
COPY --from=build /root-fs/ /
ENV PATH=/bin
CMD ["sh"]
